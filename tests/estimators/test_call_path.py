"""The number of files and functions that a warm partial_fit passes through."""

import sys
from pathlib import Path

import numpy as np
import pytest

import thalweg
from thalweg import PetrelsADMM, RobustOnlineNMF
from thalweg.synthetic import subspace_stream

SOURCE = Path(thalweg.__file__).parent


def path_of(model, X):
    """Return the files and the number of Python functions of one call, without compiled loops."""
    calls = []

    def note(frame, event, argument):
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(SOURCE) and file.parent.name != "_native":
            calls.append(file)

    sys.setprofile(note)
    try:
        model.partial_fit(X)
    finally:
        sys.setprofile(None)
    return set(calls), len(calls)


def warm(model, X, n_batches):
    for _ in range(n_batches):
        model.partial_fit(X)
    return model


def test_a_batch_of_robust_online_nmf():
    X = np.random.default_rng(0).random((16, 3)) @ np.random.default_rng(1).random((3, 40))
    # a batch of four updates the noise estimate and counts residuals, and this is none of them
    files, n_calls = path_of(warm(RobustOnlineNMF(3, random_state=0), X, 95), X)
    assert len(files) <= 15
    assert n_calls <= 60


@pytest.mark.parametrize(
    ("start", "size", "most_files", "most_calls"),
    [(1060, 4, 10, 60), (1080, 8, 12, 60), (1081, 32, 12, 80)],
)
def test_a_batch_of_petrels_admm(start, size, most_files, most_calls):
    """The second batch ends at a check of drift, noise and jumps; the third one is two blocks.

    A check also passes through the noise scales of the features, and through the leverages.

    One interval of four between checks counts residuals, and these are none of them.
    """
    X = subspace_stream(1200, 20, 2, outlier_density=0.1, missing=0.0, random_state=0).X
    model = PetrelsADMM(2, random_state=0).partial_fit(X[: start - 10])
    assert model.state_.init_samples is None, "the initialisation is not over"
    files, n_calls = path_of(warm(model, X[start - 10 : start], 1), X[start : start + size])
    assert len(files) <= most_files
    assert n_calls <= most_calls
