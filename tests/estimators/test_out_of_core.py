"""A file that memory could not hold is learned from; ``out_of_core`` does it with 8 GB."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thalweg import RobustOnlineNMF, streams

ROOT = Path(__file__).resolve().parents[2]
MB = 2**20
ROWS, FEATURES, SPARE = 64_000, 512, 96 * MB
CODE = """
import json, sys
from pathlib import Path
from benchmarks.cases.scale._capped_fit import fit_capped
print(json.dumps(fit_capped(Path(sys.argv[1]), cap=0, spare=int(sys.argv[2]), n_components=2,
                            random_state=0, batch_size=1000)))
"""


def write(path: Path) -> Path:
    """Write 250 MB of rank 2, a block at a time."""
    rng = np.random.default_rng(0)
    mapped = np.lib.format.open_memmap(path, "w+", np.float64, (ROWS, FEATURES))
    codes, components = rng.random((4000, 2)), rng.random((2, FEATURES))
    for begin in range(0, ROWS, 4000):
        mapped[begin : begin + 4000] = np.roll(codes, begin // 4000, axis=0) @ components
    mapped.flush()
    return path


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the cap is one of Linux")
def test_more_than_memory_holds(tmp_path: Path) -> None:
    path = write(tmp_path / "x.npy")
    assert path.stat().st_size > 2 * SPARE
    command = [sys.executable, "-c", CODE, str(path), str(SPARE)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["refused"], "the whole file fits: the cap caps nothing"
    assert found["n_samples"] == ROWS
    assert found["private"] < found["cap"]
    free = RobustOnlineNMF(2, random_state=0).fit_stream(streams.open(path), batch_size=1000)
    assert found["components"] == pytest.approx(float(free.components_.sum()), rel=1e-12)
    path.unlink()
