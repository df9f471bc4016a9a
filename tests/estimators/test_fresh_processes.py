"""Fits are the same to the last bit in every process, whatever ran before in it."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib, sys
import numpy as np
import thalweg

MODELS = {
    "robust": ("RobustOnlineNMF", {"batch_size": 300}),
    "counts": ("OnlineNMF", {"loss": "kl", "batch_size": 300}),
    "squares": ("OnlineNMF", {"loss": "squared-l2", "batch_size": 300}),
    "tracker": ("PetrelsADMM", {}),
}
rng = np.random.default_rng(0)
X = rng.random((700, 5)) @ rng.gamma(0.5, 1.0, (5, 37)) + 0.05 * rng.random((700, 37))
X[rng.random(X.shape) < 0.05] += 1.0
kept = []
for fit in sys.argv[1:]:
    model, dtype, n_jobs = fit.split(":")
    name, settings = MODELS[model]
    estimator = getattr(thalweg, name)(5, random_state=0, n_jobs=int(n_jobs), **settings)
    found = estimator.fit(X.astype(dtype)).decompose(X.astype(dtype))
    assert found.codes.dtype == dtype
    parts = (estimator.components_, found.codes, found.outliers)
    print(model, dtype, hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
    kept.append(np.empty(rng.integers(1, 99_999)))  # later arrays are elsewhere in memory
"""
MODELS = ("robust", "counts", "squares", "tracker")
FITS = [f"{model}:{dtype}" for model in MODELS for dtype in ("float32", "float64")]
# Which fits a process makes, and with how many threads.
PROCESSES = {
    "in order": [f"{fit}:1" for fit in FITS],
    "in reverse, two threads": [f"{fit}:2" for fit in reversed(FITS)],
    "single precision only, three threads": [f"{fit}:3" for fit in FITS if "float32" in fit],
}


def bits(fits: list[str]) -> dict[str, str]:
    """Return a digest of each fit in a new process."""
    command = [sys.executable, "-c", SCRIPT, *fits]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return bits(PROCESSES["in order"])


@pytest.mark.parametrize("process", list(PROCESSES)[1:])
def test_bits_do_not_depend_on_the_process(process: str, expected: dict[str, str]) -> None:
    found = bits(PROCESSES[process])
    assert len(found) == len(PROCESSES[process])
    assert {name: expected[name] for name in found} == found


def test_different_fits_have_different_bits(expected: dict[str, str]) -> None:
    assert len(set(expected.values())) == len(FITS)
