"""Incremental NMF, without and with a volume term: [R] IV-C and IV-D."""

from collections.abc import Callable
from typing import Any

from thalweg._checks import check_share, require_nonnegative
from thalweg.baselines._base import StreamingBaseline
from thalweg.encoders.fast import LEAST_SQUARES
from thalweg.learning.composition import Composition
from thalweg.learning.progress import Progress
from thalweg.prox.simplex import Simplex
from thalweg.updates.incremental import Incremental

__all__ = ["INMF", "INMFVC"]


class INMF(StreamingBaseline):
    """Incremental NMF: the codes of the latest batch and the components are updated jointly.

    Minimises ``sum_i forgetting^(t - i) |x_i - W h_i|^2 / 2`` over nonnegative components W and
    the latest codes h_t by multiplicative updates ([R] (39)-(40)); earlier codes are fixed.
    Components sum to 1.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    forgetting : float, default=1.0
        Factor of a sample's weight for each later sample; see :func:`thalweg.half_life`. It is
        S_old of [R] (39), with S_new = 1 - S_old. With 1 all samples have the same weight, as
        for S_old = S_new = 1 in [R] V.
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
    S. S. Bucak and B. Gunsel, "Incremental subspace learning via non-negative matrix
    factorization", Pattern Recognition, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.INMF(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        forgetting: float = 1.0,
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
        self.forgetting = forgetting

    def make_learner(self) -> Composition:
        """Return the learner of these parameters, which are checked.

        Returns
        -------
        Composition
            A frozen dataclass.
        """
        forgetting = check_share("forgetting", self.forgetting)
        return self._composition(
            LEAST_SQUARES, Incremental(constraint=Simplex(), forgetting=forgetting)
        )


class INMFVC(StreamingBaseline):
    """Incremental NMF with a volume constraint: INMF that prefers components of a small volume.

    Minimises the weighted mean of ``|x - W h|^2 / 2`` plus ``mu log volume(W)`` over nonnegative
    components W and the latest codes by multiplicative updates ([R] (41)-(42)). The volume is
    sqrt(det(W'W)), which is the paper's |det W| for square W. Components sum to 1.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    volume_weight : float, default=0.1
        delta in mu = delta exp(-tau t) s after t samples. s is the mean square of the model in
        its weakest direction, which is 0 with fewer samples than components. Components stay
        linearly independent for values below 1/4.
    volume_decay : float, default=0.01
        tau in mu.
    fade : float, default=1.0
        Of t samples, sample i has the weight (i / t)^fade. It is L - 1 of the paper's amnesic
        average [R] (42), with L from 1 to 4: the latest sample has a share of about L / t.
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
        Mean loss of the samples at ``components_``, with the codes of their time, plus the
        volume term.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

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
    >>> baselines.INMFVC(4, random_state=0).fit(X).components_.shape
    (4, 4)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        volume_weight: float = 0.1,
        volume_decay: float = 0.01,
        fade: float = 1.0,
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
        self.volume_weight = volume_weight
        self.volume_decay = volume_decay
        self.fade = fade

    def make_learner(self) -> Composition:
        """Return the learner of these parameters, which are checked.

        Returns
        -------
        Composition
            A frozen dataclass.
        """
        require_nonnegative(
            volume_weight=self.volume_weight, volume_decay=self.volume_decay, fade=self.fade
        )
        update = Incremental(
            constraint=Simplex(),
            fade=float(self.fade),
            volume=float(self.volume_weight),
            decay=float(self.volume_decay),
        )
        return self._composition(LEAST_SQUARES, update)
