"""The baselines of [R] that minimise a quadratic surrogate, OMF and OMF-DA; and [R] itself."""

from typing import Any

from thalweg.encoders.fast import LEAST_SQUARES
from thalweg.estimators.online_factorization import OnlineFactorization
from thalweg.estimators.or_nmf import ORNMF
from thalweg.prox.simplex import Simplex
from thalweg.solvers.diagonal_newton import DiagonalNewton
from thalweg.updates.surrogate import Surrogate

__all__ = ["ol_guan", "omf", "omf_da"]


def omf(n_components: int = 10, *, rho: float = 0.0, **parameters: Any) -> Any:
    """Return OMF, [R] (44)-(45): the mean loss with all codes kept, one atom after the other.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    rho : float, default=0.0
        Forgetting of the original (its section 3.4.2): the past is multiplied by
        (1 - 1/t)^rho at sample t. [R] has none.
    **parameters
        Of :class:`thalweg.OnlineFactorization`; ``batch_size`` is 1 by default.

    Returns
    -------
    OnlineFactorization
        For nonnegative data; components have the sum 1.

    References
    ----------
    J. Mairal, F. Bach, J. Ponce and G. Sapiro, "Online learning for matrix factorization and
    sparse coding", Journal of Machine Learning Research, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.omf(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """
    update = Surrogate(constraint=Simplex(), fade=rho, replace_unused=False)
    settings = {"batch_size": 1, **parameters}
    return OnlineFactorization(n_components, encoder=LEAST_SQUARES, update=update, **settings)


def omf_da(n_components: int = 10, **parameters: Any) -> Any:
    """Return OMF-DA, [R] IV-F: OMF by projected steps with the diagonal of the Hessian.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    **parameters
        Of :class:`thalweg.OnlineFactorization`; ``batch_size`` is 1 by default.

    Returns
    -------
    OnlineFactorization
        For nonnegative data; components have the sum 1.

    References
    ----------
    F. Wang, C. Tan, A. C. Konig and P. Li, "Efficient document clustering via online nonnegative
    matrix factorizations", SIAM International Conference on Data Mining, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.omf_da(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """
    update = Surrogate(solver=DiagonalNewton(), constraint=Simplex(), replace_unused=False)
    settings = {"batch_size": 1, **parameters}
    return OnlineFactorization(n_components, encoder=LEAST_SQUARES, update=update, **settings)


def ol_guan(n_components: int = 10, **parameters: Any) -> Any:
    """Return OL-Guan of [D], which is the OR-NMF of [R] with all samples in its buffer.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    **parameters
        Of :class:`thalweg.ORNMF`.

    Returns
    -------
    ORNMF
        For nonnegative data; components have the sum 1.

    References
    ----------
    N. Guan, D. Tao, Z. Luo and B. Yuan, "Online nonnegative matrix factorization with robust
    stochastic approximation", IEEE Transactions on Neural Networks and Learning Systems, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.ol_guan(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """
    return ORNMF(n_components, **{"buffer_size": None, **parameters})
