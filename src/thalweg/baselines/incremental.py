"""The baselines of [R] by multiplicative updates: ONMF, INMF and INMF-VC."""

from typing import Any

from thalweg.encoders.fast import LEAST_SQUARES
from thalweg.estimators.online_factorization import OnlineFactorization
from thalweg.prox.simplex import Simplex
from thalweg.updates.cao_onmf import CaoONMF
from thalweg.updates.incremental import Incremental

__all__ = ["inmf", "inmf_vc", "onmf"]


def onmf(n_components: int = 10, **parameters: Any) -> Any:
    """Return ONMF, [R] (35)-(37): each chunk is factorised beside the dictionary so far.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    **parameters
        Of :class:`thalweg.OnlineFactorization`; ``batch_size`` is ``n_components`` by default,
        as in [R] V.

    Returns
    -------
    OnlineFactorization
        For nonnegative data; components have the sum 1.

    References
    ----------
    B. Cao, D. Shen, J.-T. Sun, X. Wang, Q. Yang and Z. Chen, "Detect and track latent factors
    with online nonnegative matrix factorization", IJCAI, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.onmf(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """
    settings = {"batch_size": n_components, **parameters}
    return OnlineFactorization(
        n_components, encoder=LEAST_SQUARES, update=CaoONMF(constraint=Simplex()), **settings
    )


def inmf(n_components: int = 10, *, past: float = 1.0, **parameters: Any) -> Any:
    """Return INMF, [R] (39)-(40): the latest code and the dictionary are found together.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    past : float, default=1.0
        S_old of (39), with S_new = 1 - S_old: the factor of a sample's weight for each later
        one. 1 lets all samples count the same, as S_old = S_new = 1 does in [R] V.
    **parameters
        Of :class:`thalweg.OnlineFactorization`; ``batch_size`` is 1 by default.

    Returns
    -------
    OnlineFactorization
        For nonnegative data; components have the sum 1.

    References
    ----------
    S. S. Bucak and B. Gunsel, "Incremental subspace learning via non-negative matrix
    factorization", Pattern Recognition, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.inmf(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """
    update = Incremental(constraint=Simplex(), forgetting=past)
    settings = {"batch_size": 1, **parameters}
    return OnlineFactorization(n_components, encoder=LEAST_SQUARES, update=update, **settings)


def inmf_vc(
    n_components: int = 10,
    *,
    volume: float = 0.1,
    decay: float = 0.01,
    amnesic: float = 2.0,
    **parameters: Any,
) -> Any:
    """Return INMF-VC, [R] (41)-(42): INMF that prefers components of a small volume.

    For a square matrix of components the volume is that of the paper, abs(det W); for others the
    root of det(W'W).

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    volume, decay : float
        delta and tau of mu = delta exp(-tau t), the weight of the logarithm of the volume after
        t samples, relative to the mean square of the model in its weakest direction: 0 while
        there are fewer samples than components. Below 1/4 the components stay independent.
    amnesic : float, default=2.0
        L of (42), from 1 to 4: the latest of t samples weighs about L / t.
    **parameters
        Of :class:`thalweg.OnlineFactorization`; ``batch_size`` is 1 by default.

    Returns
    -------
    OnlineFactorization
        For nonnegative data; components have the sum 1.

    References
    ----------
    G. Zhou, Z. Yang, S. Xie and J.-M. Yang, "Online blind source separation using incremental
    nonnegative matrix factorization with volume constraint", IEEE Transactions on Neural
    Networks, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 4))
    >>> baselines.inmf_vc(4, random_state=0).fit(X).components_.shape
    (4, 4)
    """
    update = Incremental(constraint=Simplex(), fade=amnesic - 1.0, volume=volume, decay=decay)
    settings = {"batch_size": 1, **parameters}
    return OnlineFactorization(n_components, encoder=LEAST_SQUARES, update=update, **settings)
