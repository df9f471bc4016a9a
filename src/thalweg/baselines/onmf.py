"""Online NMF by factorising dictionary and chunk together (Cao et al., 2007): [R] IV-A."""

from collections.abc import Callable
from typing import Any

from thalweg._checks import check_count
from thalweg.baselines._base import StreamingBaseline
from thalweg.encoders.fast import LEAST_SQUARES
from thalweg.learning.batches import DataForm
from thalweg.learning.composition import Composition
from thalweg.learning.progress import Progress
from thalweg.prox.simplex import Simplex
from thalweg.updates.cao_onmf import CaoONMF

__all__ = ["ONMF"]


class ONMF(StreamingBaseline):
    """Online NMF that factorises each batch jointly with the weighted dictionary.

    With components W, the norms of all earlier codes of each component on the diagonal of D, and
    a batch U, minimises ``|[W D, U] - W_new [H_old, H_new]|^2 / 2`` over nonnegative W_new and H
    by multiplicative updates ([R] (35)-(37)). Earlier samples are kept as a matrix of shape
    (n_components, n_components). Components sum to 1.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    batch_size : "auto" or int, default="auto"
        Samples between two updates of the components in :meth:`fit`. ``"auto"`` is
        ``n_components``, as in [R] V.
    epochs, shuffle, init, random_state, callback, keep_history : optional
        As in :class:`thalweg.OnlineFactorization`; ``init="auto"`` is ``"random"``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    statistics_ : CaoState
        The state of the dictionary update.
    objective_ : float
        Mean loss of the samples, each encoded by the components of its time.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    B. Cao, D. Shen, J.-T. Sun, X. Wang, Q. Yang and Z. Chen, "Detect and track latent factors
    with online nonnegative matrix factorization", IJCAI, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8))
    >>> baselines.ONMF(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
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

    def make_learner(self) -> Composition:
        """Return the learner of these parameters, which are checked.

        Returns
        -------
        Composition
            A frozen dataclass.
        """
        return self._composition(LEAST_SQUARES, CaoONMF(constraint=Simplex()))

    def _batch_size(self, n: int, form: DataForm) -> int:
        if isinstance(self.batch_size, str) and self.batch_size == "auto":
            return check_count("n_components", self.n_components)
        return check_count("batch_size", self.batch_size)
