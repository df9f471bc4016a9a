"""Online matrix factorisation by a quadratic surrogate: [R] IV-E and IV-F."""

from collections.abc import Callable
from typing import Any

from thalweg._checks import require_nonnegative
from thalweg.baselines._base import StreamingBaseline
from thalweg.encoders.fast import LEAST_SQUARES
from thalweg.learning.composition import Composition
from thalweg.learning.progress import Progress
from thalweg.prox.simplex import Simplex
from thalweg.solvers.diagonal_newton import DiagonalNewton
from thalweg.updates.surrogate import Surrogate

__all__ = ["OMF", "OMFDA"]


class OMF(StreamingBaseline):
    """Online matrix factorisation: the mean loss with fixed codes, by block coordinate descent.

    Minimises ``sum_i (i / t)^fade |x_i - W h_i|^2 / 2`` over components W in the simplex, one
    component after the other ([R] (44)-(45)). h_i are the codes of the components at the time
    of sample i.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    fade : float, default=0.0
        Of t samples, sample i has the weight (i / t)^fade. It is rho of section 3.4.2 of the
        original paper. [R] has equal weights: 0.
    batch_size : "auto" or int, default=1
        Samples between two updates of the components in :meth:`fit`.
    epochs, shuffle, init, random_state, callback, keep_history : optional
        As in :class:`thalweg.OnlineFactorization`; ``init="auto"`` is ``"random"``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    statistics_ : Statistics
        Means over the samples.
    objective_ : float
        Mean loss of the samples at ``components_``, with the codes of their time.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    J. Mairal, F. Bach, J. Ponce and G. Sapiro, "Online learning for matrix factorization and
    sparse coding", Journal of Machine Learning Research, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.OMF(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        fade: float = 0.0,
        batch_size: str | int = 1,
        epochs: int = 1,
        shuffle: bool = True,
        init: Any = "auto",
        random_state: Any = None,
        callback: Callable[[Progress], None] | None = None,
        keep_history: bool = False,
    ) -> None:
        super().__init__(
            n_components, batch_size, epochs, shuffle, init, random_state, callback, keep_history
        )
        self.fade = fade

    def make_learner(self) -> Composition:
        """Return the learner of these parameters, which are checked.

        Returns
        -------
        Composition
            A frozen dataclass.
        """
        require_nonnegative(fade=self.fade)
        update = Surrogate(constraint=Simplex(), fade=float(self.fade), replace_unused=False)
        return self._composition(LEAST_SQUARES, update)


class OMFDA(StreamingBaseline):
    """Online matrix factorisation with a diagonal approximation of the Hessian.

    Minimises ``sum_i |x_i - W h_i|^2 / 2`` over components W in the simplex by projected steps
    that are scaled by the inverse diagonal of the Hessian ([R] IV-F). h_i are the codes of the
    components at the time of sample i.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    batch_size : "auto" or int, default=1
        Samples between two updates of the components in :meth:`fit`.
    epochs, shuffle, init, random_state, callback, keep_history : optional
        As in :class:`thalweg.OnlineFactorization`; ``init="auto"`` is ``"random"``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    statistics_ : Statistics
        Means over the samples.
    objective_ : float
        Mean loss of the samples at ``components_``, with the codes of their time.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    F. Wang, C. Tan, A. C. Konig and P. Li, "Efficient document clustering via online nonnegative
    matrix factorizations", SIAM International Conference on Data Mining, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.OMFDA(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        batch_size: str | int = 1,
        epochs: int = 1,
        shuffle: bool = True,
        init: Any = "auto",
        random_state: Any = None,
        callback: Callable[[Progress], None] | None = None,
        keep_history: bool = False,
    ) -> None:
        super().__init__(
            n_components, batch_size, epochs, shuffle, init, random_state, callback, keep_history
        )

    def make_learner(self) -> Composition:
        """Return the learner of these parameters, which are checked.

        Returns
        -------
        Composition
            A frozen dataclass.
        """
        update = Surrogate(solver=DiagonalNewton(), constraint=Simplex(), replace_unused=False)
        return self._composition(LEAST_SQUARES, update)
