"""The examples on generated data find what they say, at a small size."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.shared.examples import example as load

pytest.importorskip("matplotlib", reason="the examples draw")


def is_picture(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size < 400_000


def test_gaps_of_sensors_are_filled(tmp_path):
    errors = load("sensors").main(["--output", str(tmp_path)])
    assert errors["PetrelsADMM"] < 0.1 * errors["interpolation"] < 0.1 * errors["column mean"]
    assert is_picture(tmp_path / "sensors.png")


def test_sensors_are_as_said():
    table = load("sensors").generate(hours=400)
    assert 0.3 <= table.down.mean() < 0.33
    np.testing.assert_array_equal(np.isnan(table.X), table.down)
    assert np.linalg.matrix_rank(table.truth) == 3
    off = np.abs(table.X - table.truth)[~table.down] > 0.5
    assert 0.015 < off.mean() < 0.035


def test_alarms_are_few_and_those_of_faults(tmp_path):
    found = load("alarms").main(["--output", str(tmp_path)])
    assert 0.007 < found["p-values below 0.01"] < 0.015
    assert found["rejected"] > 3.0 * found["p-values below 0.01"]
    assert found["false discoveries"] < 0.09
    assert found["power"] > 0.9
    assert is_picture(tmp_path / "alarms.png")


def test_gaps_are_filled_from_the_past(tmp_path):
    found = load("time").main(["--output", str(tmp_path)])
    assert found["error of fills"] < 0.5 * found["error of the mean"]
    assert 0.85 < found["covered"] < 0.95
    assert is_picture(tmp_path / "time.png")


def test_the_automatic_weight_has_no_units(tmp_path, monkeypatch):
    units = load("units")
    monkeypatch.setattr(units, "SAMPLES", 600)
    monkeypatch.setattr(units, "WEIGHTS", np.array([0.01, 0.1, 1.0, 100.0]))
    curves, automatic = units.main(["--output", str(tmp_path)])
    best = {name: units.WEIGHTS[np.argmax(curve)] for name, curve in curves.items()}
    assert best == {"x 1": 0.1, "x 0.1": 0.01, "x 10": 1.0}
    values = list(automatic.values())
    assert max(values) - min(values) < 0.1
    assert min(values) > max(map(max, curves.values())) - 0.5
    assert is_picture(tmp_path / "units.png")


def test_each_noise_has_its_loss(tmp_path, monkeypatch):
    losses = load("losses")
    monkeypatch.setattr(losses, "SAMPLES", 700)
    found = losses.main(["--output", str(tmp_path)])
    best = {noise: min(row, key=row.__getitem__) for noise, row in found.items()}
    assert best["counts (Poisson)"] == "kl"
    assert best["multiplicative (Gamma)"] == "itakura-saito"
    assert best["additive (Gauss)"] == "squared-l2"
    assert best["5 % outliers"] in ("huber", "l1")
    assert is_picture(tmp_path / "losses.png")


def test_the_faster_the_turn_the_shorter_the_memory(tmp_path, monkeypatch):
    forgetting = load("forgetting")
    monkeypatch.setattr(forgetting, "SAMPLES", 2000)
    monkeypatch.setattr(forgetting, "LIVES", (40, 160, 5000))
    errors = forgetting.main(["--output", str(tmp_path)])
    best = {name: int(np.argmin(curve)) for name, curve in errors.items()}
    assert best == {"still": 2, "slow": 1, "fast": 0}
    assert is_picture(tmp_path / "forgetting.png")


def test_a_resumed_fit_is_the_one_without_a_break(tmp_path, capsys):
    resume = load("resume")
    runs = resume.main(["--output", str(tmp_path)])
    straight, first, resumed = runs.values()
    assert first.processed[-1] == resume.CUT < straight.processed[-1]
    assert first.processed + resumed.processed == straight.processed
    assert first.losses + resumed.losses == straight.losses
    assert not np.array_equal(first.components, straight.components)
    np.testing.assert_array_equal(resumed.components, straight.components)
    assert "components identical: True" in capsys.readouterr().out
    assert is_picture(tmp_path / "resume.png")
