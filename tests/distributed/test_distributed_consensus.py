"""Runs of a consensus on a cluster."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from thalweg import OnlineNMF, consensus


def test_runs_of_a_consensus_are_shared_out(scaled: Callable[[int], Any]) -> None:
    client = scaled(2)
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.gamma(1.0, 1.0, (200, 2)) @ rng.gamma(0.5, 40.0, (2, 20))) * 1.0
    for data in (X, sparse.csr_array(X)):
        model = OnlineNMF(2, epochs=3, n_jobs=1)
        here, there = (consensus(model, data, n_runs=3, client=one) for one in (None, client))
        np.testing.assert_allclose(here.runs, there.runs, rtol=1e-10)
        np.testing.assert_array_equal(here.labels, there.labels)
