"""The baselines of [D]: Itakura-Saito by multiplicative updates, Huber by steps of one size."""

from math import inf
from typing import Any

from thalweg.divergences.huber import Huber
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.encoders.multiplicative import Multiplicative as MultiplicativeCodes
from thalweg.encoders.newton import Newton
from thalweg.estimators.online_factorization import OnlineFactorization
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant
from thalweg.prox.simplex import Simplex
from thalweg.updates.multiplicative import Multiplicative
from thalweg.updates.subgradient import Subgradient

__all__ = ["ol_lef", "ol_wang"]


def ol_lef(n_components: int = 10, *, forgetting: float = 1.0, **parameters: Any) -> Any:
    """Return OL-Lef of [D]: online Itakura-Saito NMF by multiplicative updates.

    Codes and dictionary both minimise majorisers, those of past samples kept as two sums; atoms
    have the sum 1.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    forgetting : float, default=1.0
        Factor of a sample's weight for each later sample.
    **parameters
        Of :class:`thalweg.OnlineFactorization`: ``batch_size``, ``random_state``, ...

    Returns
    -------
    OnlineFactorization
        For positive data.

    References
    ----------
    A. Lefevre, F. Bach and C. Fevotte, "Online algorithms for nonnegative matrix factorization
    with the Itakura-Saito divergence", WASPAA, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8)) + 0.1
    >>> baselines.ol_lef(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """
    loss = ItakuraSaito()
    return OnlineFactorization(
        n_components,
        encoder=MultiplicativeCodes(loss),
        update=Multiplicative(loss=loss, constraint=Simplex(), forgetting=forgetting),
        **parameters,
    )


def ol_wang(
    n_components: int = 10,
    *,
    knee: float = 1.0,
    sparsity: float = 0.0,
    step: float = 0.1,
    **parameters: Any,
) -> Any:
    """Return OL-Wang of [D]: online NMF under Huber's loss by gradient steps of one size.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    knee : float, default=1.0
        Residual beyond which Huber's loss is linear, in the units of the data.
    sparsity : float, default=0.0
        Weight of the l1 penalty of the codes.
    step : float, default=0.1
        The step, in units of the inverse curvature; unlike that of [D] it does not fall, so that
        the components go on moving (Remark 6).
    **parameters
        Of :class:`thalweg.OnlineFactorization`: ``batch_size``, ``random_state``, ...

    Returns
    -------
    OnlineFactorization
        For nonnegative data.

    References
    ----------
    N. Wang, J. Wang and D.-Y. Yeung, "Online robust non-negative dictionary learning for visual
    tracking", ICCV, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.ol_wang(2, knee=0.1, random_state=0).fit(X).components_.shape
    (2, 8)
    """
    loss = Huber(knee)
    penalty = L1(sparsity, nonnegative=True) if sparsity else Orthant()
    return OnlineFactorization(
        n_components,
        encoder=Newton(loss=loss, penalty=penalty),
        update=Subgradient(loss=loss, schedule=(step, inf)),
        **parameters,
    )
