"""OR-NMF that remembers all samples (Guan et al., 2012): OL-Guan of [D]."""

from collections.abc import Callable
from typing import Any

from thalweg.estimators.or_nmf import ORNMF
from thalweg.learning.progress import Progress

__all__ = ["OLGuan"]


class OLGuan(ORNMF):
    """Online NMF by averaged stochastic gradients over all samples so far.

    Minimises the mean of ``|x - W h|^2 / 2`` over nonnegative codes h and components W in the
    simplex. It is Algorithm 1 of the paper, :class:`thalweg.ORNMF` with ``buffer_size=None``:
    memory, and time of an update, grow with the number of samples.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    window, horizon, tol : optional
        As in :class:`thalweg.ORNMF`.
    batch_size : "auto" or int, default="auto"
        Samples of :meth:`fit` between two callbacks; the components change after each window.
    epochs, shuffle, init, random_state, callback, keep_history : optional
        As in :class:`thalweg.ORNMF`.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    statistics_ : Buffer
        All samples, and their codes.
    objective_ : float
        Mean loss of the samples at ``components_``, with the codes of their time.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    N. Guan, D. Tao, Z. Luo and B. Yuan, "Online nonnegative matrix factorization with robust
    stochastic approximation", IEEE Transactions on Neural Networks and Learning Systems, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.OLGuan(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """

    # what ORNMF lets users choose, and OL-Guan does not
    buffer_size = None
    loss = "squared"
    constraint = "simplex"
    code_penalty = None
    dictionary_penalty = None
    finds_rank = False
    frozen_components = None

    def __init__(
        self,
        n_components: int = 10,
        *,
        window: int = 1,
        horizon: int | None = None,
        tol: float = 1e-3,
        batch_size: str | int = "auto",
        epochs: int = 1,
        shuffle: bool = True,
        init: Any = "auto",
        random_state: Any = None,
        callback: Callable[[Progress], None] | None = None,
        keep_history: bool = False,
    ) -> None:
        self.n_components = n_components
        self.window = window
        self.horizon = horizon
        self.tol = tol
        self.batch_size = batch_size
        self.epochs = epochs
        self.shuffle = shuffle
        self.init = init
        self.random_state = random_state
        self.callback = callback
        self.keep_history = keep_history
