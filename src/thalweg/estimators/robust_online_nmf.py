"""Online NMF with outliers: [O]."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.encoders import Codes, Encoder
from thalweg.encoders.columns import times
from thalweg.estimators import _parameters as parameters
from thalweg.estimators._input import Batch
from thalweg.estimators._robust import Robust
from thalweg.estimators._start import frozen_columns
from thalweg.estimators._streaming import Progress, Streaming
from thalweg.updates import DictionaryUpdate
from thalweg.updates.surrogate import Statistics, Surrogate

__all__ = ["RobustOnlineNMF"]

# How fast the samples encoded by the first, poor dictionaries lose their weight. The paper's
# solvers keep the paper's equal weights.
_FADE = 8.0
# While learning, codes need not be as accurate as those that users get: so many times tol, and
# this share of what noise makes of codes, may be left.
_LOOSER, _LOOSE = 3.0, 0.2
# In so many first batches the residual is mostly what the dictionary has yet to learn. An automatic
# weight is then too large, and what is alike in outliers would be learned; this share of it is not.
_EARLY, _SHARE = 20, 0.6
# A small weight lets the dictionary move little, so it goes farther: the more, the smaller the
# weight is beside the noise. Up to twice as far the loss still falls, as it does for codes.
_FARTHER, _FARTHEST = 1.7, 2.0


class RobustOnlineNMF(Robust, Streaming):
    """Nonnegative low-rank components of a stream with gaps and outliers.

    Finds ``X = codes @ components_ + outliers`` batch by batch, in memory that does not grow
    with the number of samples. Codes and outliers of a batch are found for the components so
    far; the components then minimise a quadratic that stands for all samples observed ([O],
    Algorithm 1).

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    solver : {"fast", "pgd", "admm"}, default="fast"
        ``"fast"`` alternates closed-form outliers with exact nonnegative least squares;
        ``"pgd"`` and ``"admm"`` are the paper's OPGD and OADMM.
    outlier_weight : "auto" or float, default="auto"
        Residual beyond which an entry is an outlier (the paper's lambda). ``"auto"`` follows
        the noise level of the stream, and does not depend on the data's units.
    outlier_bound : float, optional
        Largest size of an outlier (the paper's M); None or inf for none.
    outlier_sign : {"any", "nonnegative"}, default="any"
        Whether outliers may be negative.
    outlier_structure : {"entries", "samples"}, default="entries"
        Whether single entries or whole samples are outliers.
    constraint : str or Prox, default="l2-ball"
        Set of each component: ``"nonnegative"``, ``"l2-ball"``, ``"l1-ball"``, ``"simplex"``,
        ``"elastic-net-ball"``, ``"box"``, or an object of :mod:`thalweg.prox`.
    code_penalty : str or Prox, optional
        Penalty of the codes: ``"l1"``, ``"l2"``, ``"elastic-net"``, ``"group-lasso"``,
        ``"sparse-group-lasso"``, or an object.
    dictionary_penalty : str or Prox, optional
        Penalty of the components: ``"l1"``, ``"l2"``, ``"elastic-net"``, or an object.
    frozen_components : array of shape (n_frozen, n_features), optional
        Components that are known; they come first and never change.
    forgetting : float, default=1.0
        Factor of a sample's weight for each later sample; see :func:`thalweg.half_life`.
    batch_size : "auto" or int, default="auto"
        Samples between two changes of the components in :meth:`fit`.
    epochs : int, default=1
        Passes over the data in :meth:`fit`.
    shuffle : bool, default=True
        Whether :meth:`fit` takes the samples in random order; keep the order of a drifting
        stream with False.
    init : {"random", "samples"} or array of shape (n_components, n_features), default="random"
        First components.
    tol : float, default=1e-3
        Relative accuracy of the codes; below 1e-5 it is certified by a duality gap. While
        learning, ``solver="fast"`` finds codes to three times and components to this accuracy.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the first components and of the order of the samples.
    callback : callable, optional
        Called with a :class:`thalweg.estimators.Progress` after each batch.
    keep_history : bool, default=False
        Whether to keep each batch's progress in ``history_``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    statistics_ : Statistics
        All that is remembered of the samples.
    outlier_weight_ : float
        The weight in use.
    outlier_share_ : float
        Share of outliers among the entries observed in the latest batches.
    objective_ : float
        The quadratic that stands for the loss of all samples, at ``components_``.
    history_ : list of Progress
        Only with ``keep_history=True``.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    R. Zhao and V. Y. F. Tan, "Online nonnegative matrix factorization with outliers", IEEE
    Transactions on Signal Processing, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import RobustOnlineNMF, synthetic
    >>> data = synthetic.nmf_with_outliers(2000, 100, 10, random_state=0)
    >>> model = RobustOnlineNMF(10, random_state=0).fit(data.X)
    >>> found = model.decompose(data.X).low_rank
    >>> error = np.mean((found - data.clean) ** 2)
    >>> bool(error < 0.2 * np.mean((data.X - data.clean) ** 2))
    True
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        solver: str = "fast",
        outlier_weight: str | float = "auto",
        outlier_bound: float | None = None,
        outlier_sign: str = "any",
        outlier_structure: str = "entries",
        constraint: Any = "l2-ball",
        code_penalty: Any = None,
        dictionary_penalty: Any = None,
        frozen_components: Any = None,
        forgetting: float = 1.0,
        batch_size: str | int = "auto",
        epochs: int = 1,
        shuffle: bool = True,
        init: Any = "random",
        tol: float = 1e-3,
        random_state: Any = None,
        callback: Callable[[Progress], None] | None = None,
        keep_history: bool = False,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.outlier_weight = outlier_weight
        self.outlier_bound = outlier_bound
        self.outlier_sign = outlier_sign
        self.outlier_structure = outlier_structure
        self.constraint = constraint
        self.code_penalty = code_penalty
        self.dictionary_penalty = dictionary_penalty
        self.frozen_components = frozen_components
        self.forgetting = forgetting
        self.batch_size = batch_size
        self.epochs = epochs
        self.shuffle = shuffle
        self.init = init
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.keep_history = keep_history

    def _update(self) -> DictionaryUpdate[Statistics]:
        l1, l2 = parameters.dictionary_penalty(self.dictionary_penalty)
        count = parameters.check_count("n_components", self.n_components)
        frozen = frozen_columns(self.frozen_components, count, self.n_features_in_)
        fast = self.solver == "fast"
        return Surrogate(
            solver=self._solver(tol=self.tol) if fast else self._solver(),
            constraint=self._constraint(),
            l1=l1,
            l2=l2,
            forgetting=parameters.check_share("forgetting", self.forgetting),
            frozen=frozen.shape[1],
            fade=_FADE if fast else 0.0,
        )

    def _observe(self, batch: Batch, codes: Codes, W: Array) -> None:
        self._follow_noise(batch, self.n_batches_seen_, W, codes.H)

    def _tune(self, batch: Batch) -> Encoder:
        if self.solver != "fast":
            return self._encoder()
        share = _SHARE if self._is_early() else 1.0
        return self._encoder_for(share * self.outlier_weight_, _LOOSER, noise_tol=_LOOSE)

    def _lesson(self, batch: Batch, codes: Codes, W: Array) -> Codes:
        if not self._is_early():
            return codes
        factor = min(_FARTHER * self.noise_.scale / self.outlier_weight_, _FARTHEST)
        if factor <= 1.0:
            return codes
        rest = batch.V - times(W, codes.H) - codes.R  # zero over gaps
        return codes._replace(R=codes.R - codes.R.dtype.type(factor - 1.0) * rest)

    def _outlier_share(self, batch: Batch, codes: Codes) -> float:
        if self._is_early():  # at the weight itself these would be none
            near = np.abs(codes.R) <= (1.0 - _SHARE) * self.outlier_weight_
            codes = codes._replace(R=np.where(near, 0, codes.R))
        return super()._outlier_share(batch, codes)

    def _is_early(self) -> bool:
        if self.solver != "fast" or self.outlier_structure != "entries":
            return False
        return self.n_batches_seen_ < _EARLY and self._automatic()
