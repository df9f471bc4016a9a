import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from thalweg import synthetic
from thalweg.apps._films import film
from thalweg.cli._app import app


@pytest.fixture
def run():
    """Return a function that runs the command in this process."""

    def call(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments])

    return call


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Change to a folder with small data, named as in the examples."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    scene = synthetic.moving_scene(30, shape=(16, 24), missing=0.0, random_state=0)
    frames = np.rint(255 * scene.frames).astype(np.uint8).reshape(-1, 16, 24)
    with film(tmp_path / "street.mp4", (16, 24), 25.0) as writer:
        writer.write(frames)
    (tmp_path / "faces").mkdir()
    for i, frame in enumerate(frames):
        Image.fromarray(frame).save(tmp_path / "faces" / f"{i}.png")
    words = ["river", "boat", "bank", "soup", "salt", "bread", "news", "vote", "law", "film"]
    text = "\n".join(" ".join(rng.choice(words, 6)) for _ in range(40))
    (tmp_path / "news.txt").write_text(text)
    X = rng.random((120, 2)) @ rng.random((2, 6)) + 0.01 * rng.random((120, 6))
    rows = [",".join(f"{x:.5f}" if rng.random() > 0.05 else "" for x in row) for row in X]
    (tmp_path / "wells.csv").write_text("\n".join(["a,b,c,d,e,f", *rows]))
    np.save(tmp_path / "field.npy", rng.random((6, 7, 9)))
    return tmp_path
