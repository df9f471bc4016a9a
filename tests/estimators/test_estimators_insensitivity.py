"""[O] Figures 2 to 6 in small: parameters hardly matter within wide ranges."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from thalweg import OnlineFactorization, RobustOnlineNMF
from thalweg.encoders.admm import Admm
from thalweg.encoders.pgd import Pgd
from thalweg.metrics import empirical_loss, reconstruction_loss
from thalweg.prox.l1 import L1
from thalweg.solvers.admm import MatrixAdmm
from thalweg.solvers.projected_gradient import ProjectedGradient
from thalweg.synthetic import OutlierData, nmf_with_outliers
from thalweg.updates.surrogate import Surrogate

F, K, N = 50, 10, 1200
WEIGHT = F**-0.5
SOLVERS = ["fast", "pgd", "admm"]


@cache
def data(contaminated: float = 0.7, density: float = 0.1) -> OutlierData:
    return nmf_with_outliers(N, F, K, contaminated=contaminated, density=density, random_state=0)


def loss(model: Any, X: Any = None) -> float:
    X = data().X if X is None else X
    return empirical_loss(X, model.components_, outlier_weight=WEIGHT, outlier_bound=1.0, tol=1e-6)


@cache
def canonical(solver: str) -> float:
    return loss(robust(solver).fit(data().X))


@cache
def at_start() -> float:
    """Return the loss before anything is learned."""
    model = robust("fast", batch_size=20)
    model.partial_fit(np.full((1, F), np.nan))
    return loss(model)


def robust(solver: str, n_components: int = K, batch_size: int = 20) -> RobustOnlineNMF:
    return RobustOnlineNMF(
        n_components,
        solver=solver,
        outlier_weight=WEIGHT,
        outlier_bound=1.0,
        batch_size=batch_size,
        random_state=0,
    )


@pytest.mark.parametrize("batch_size", [5, 10, 40])
@pytest.mark.parametrize("solver", SOLVERS)
def test_figure_2_batch_size(solver: str, batch_size: int) -> None:
    """Within 15 % of batches of 20."""
    found = loss(robust(solver, batch_size=batch_size).fit(data().X))
    assert canonical(solver) / 1.15 < found < 1.15 * canonical(solver)
    assert found < 0.6 * at_start()


@pytest.mark.parametrize("n_components", [K // 2, 2 * K])
@pytest.mark.parametrize("solver", SOLVERS)
def test_figure_3_number_of_components(solver: str, n_components: int) -> None:
    """Too few components cost less than twice the loss; too many cost nothing."""
    found = loss(robust(solver, n_components).fit(data().X))
    if n_components < K:
        assert canonical(solver) < found < 2.0 * canonical(solver)
    else:
        assert 0.5 * canonical(solver) < found < 1.05 * canonical(solver)


def oadmm(rho: float) -> OnlineFactorization:
    return OnlineFactorization(
        K,
        encoder=Admm(outliers=L1(WEIGHT, 1.0), rho=rho),
        update=Surrogate(solver=MatrixAdmm(rho=rho)),
        batch_size=20,
        random_state=0,
    )


def opgd(kappa: float) -> OnlineFactorization:
    return OnlineFactorization(
        K,
        encoder=Pgd(outliers=L1(WEIGHT, 1.0), kappa=kappa),
        update=Surrogate(solver=ProjectedGradient(kappa=kappa)),
        batch_size=20,
        random_state=0,
    )


@pytest.mark.parametrize(("rho", "factor"), [(1.0, 1.02), (10.0, 1.2), (100.0, 2.5), (1000.0, 4.5)])
def test_figure_4_rho(rho: float, factor: float) -> None:
    """A decade of rho costs nothing, as printed; three decades do cost.

    With rho of 100 and more a step changes the loss by less than the printed stop of 1e-3 from
    the start on, so that codes end near zero in every batch, however long the stream is.
    """
    found = loss(oadmm(rho).fit(data().X))
    assert found < factor * canonical("admm")
    assert found < at_start()


@pytest.mark.parametrize(
    ("kappa", "factor"), [(0.1, 2.5), (0.2, 2.2), (0.4, 1.25), (0.7, 1.02), (1.0, 1.15)]
)
def test_figure_5_kappa(kappa: float, factor: float) -> None:
    found = loss(opgd(kappa).fit(data().X))
    assert found < factor * canonical("pgd")
    assert found < 0.8 * at_start()


@pytest.mark.parametrize("contamination", [(0.7, 0.1), (0.8, 0.2), (0.9, 0.3)], ids=str)
@pytest.mark.parametrize("solver", SOLVERS)
def test_figure_6_share_of_outliers(solver: str, contamination: tuple[float, float]) -> None:
    """The loss grows with the outliers themselves, as that of the true dictionary does.

    It stays within 15 % of the latter, which is no lower bound: atoms also fit what clipping
    left of the clean data. The clean data are found nearly as well from three times the outliers.
    """
    drawn = data(*contamination)
    model = robust(solver).fit(drawn.X)
    truth = empirical_loss(
        drawn.X, drawn.components, outlier_weight=WEIGHT, outlier_bound=1.0, tol=1e-6
    )
    assert loss(model, drawn.X) < 1.15 * truth
    regret = reconstruction_loss(drawn.clean, model.transform(drawn.X), model.components_)
    assert regret < 0.06 * np.mean(np.sum(drawn.clean**2, axis=1) / 2)
