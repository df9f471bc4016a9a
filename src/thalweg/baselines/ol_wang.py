"""Online NMF under Huber's loss with constant step sizes (Wang et al., 2013): OL-Wang of [D]."""

from collections.abc import Callable
from math import inf
from typing import Any

from thalweg._checks import check_count, require_positive
from thalweg.baselines._base import StreamingBaseline
from thalweg.divergences.huber import Huber
from thalweg.encoders.newton import Newton
from thalweg.estimators import parameters
from thalweg.learning.composition import Composition
from thalweg.learning.progress import Progress
from thalweg.updates.subgradient import Subgradient

__all__ = ["OLWang"]


class OLWang(StreamingBaseline):
    """Online NMF under Huber's loss by gradient steps of constant size.

    Minimises the mean of ``sum_j huber(x_j - (W h)_j) + omega(h)`` over nonnegative codes h and
    components W. huber(u) is u^2 / 2 up to the threshold delta, and delta (|u| - delta / 2)
    beyond. After each batch the components take one projected gradient step. Since its size does
    not decrease, the components do not converge ([D] Remark 6).

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    huber_threshold : float, default=1.0
        Residual delta beyond which Huber's loss is linear, in the units of the data.
    code_penalty : str or Prox, optional
        Penalty omega of the codes: ``"l1"``, as in the original paper, ``"l2"``,
        ``"elastic-net"``, or an object such as ``L1(0.1)``.
    step_size : float, default=0.1
        Step size, in units of the inverse curvature.
    batch_size : "auto" or int, default="auto"
        Samples between two updates of the components in :meth:`fit`.
    epochs, shuffle, init, random_state, callback, keep_history : optional
        As in :class:`thalweg.OnlineFactorization`; ``init="auto"`` is ``"random"``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    statistics_ : Scales
        Means over the samples.
    objective_ : float
        Mean loss of the samples, each with the components of its time.
    outlier_share_ : float
        Share of residuals beyond the threshold among the observed entries of the latest batches.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    N. Wang, J. Wang and D.-Y. Yeung, "Online robust non-negative dictionary learning for visual
    tracking", ICCV, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.OLWang(2, huber_threshold=0.1, random_state=0).fit(X).components_.shape
    (2, 8)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        huber_threshold: float = 1.0,
        code_penalty: Any = None,
        step_size: float = 0.1,
        batch_size: str | int = "auto",
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
        self.huber_threshold = huber_threshold
        self.code_penalty = code_penalty
        self.step_size = step_size

    def make_learner(self) -> Composition:
        """Return the learner of these parameters, which are checked.

        Returns
        -------
        Composition
            A frozen dataclass.
        """
        require_positive(huber_threshold=self.huber_threshold, step_size=self.step_size)
        count = check_count("n_components", self.n_components)
        penalty = parameters.code_penalty(self.code_penalty, count)
        loss = Huber(float(self.huber_threshold))
        update = Subgradient(loss=loss, schedule=(float(self.step_size), inf))
        return self._composition(Newton(loss=loss, penalty=penalty), update)
