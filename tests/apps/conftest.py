import csv
from pathlib import Path

import numpy as np
import pytest

from thalweg import synthetic


def _write_table(path: Path, X, names=None) -> Path:
    """Write a CSV file with empty cells for gaps."""
    names = names or [f"c{i}" for i in range(X.shape[1])]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(names)
        rows.writerows([["" if np.isnan(x) else repr(float(x)) for x in row] for row in X])
    return path


@pytest.fixture(scope="session")
def scene():
    """Return a short video with its truth, without gaps."""
    return synthetic.moving_scene(150, shape=(40, 56), missing=0.0, random_state=0)


@pytest.fixture
def film(scene):
    return scene.frames.reshape(-1, *scene.shape)


@pytest.fixture(scope="session")
def sensors():
    """Return a table of rank 2 with noise, gaps and outliers, its truth, and the outlier mask."""
    rng = np.random.default_rng(0)
    low_rank = rng.normal(size=(600, 2)) @ rng.normal(size=(2, 20))
    units = np.logspace(-3, 3, 20) / low_rank.std(axis=0)  # columns of very different sizes
    clean = units * low_rank + np.linspace(-50, 50, 20)
    noise = 0.02 * rng.normal(size=clean.shape)
    off = rng.random(clean.shape) < 0.05
    noise += np.where(off, rng.choice([-8.0, 8.0], clean.shape), 0.0)
    X = clean + np.logspace(-3, 3, 20) * noise
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, clean, off & ~np.isnan(X)


@pytest.fixture
def table(sensors, write_table, tmp_path):
    return write_table(tmp_path / "sensors.csv", sensors[0])


@pytest.fixture(scope="session")
def write_table():
    return _write_table
