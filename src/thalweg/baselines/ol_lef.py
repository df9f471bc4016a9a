"""Online Itakura-Saito NMF (Lefevre et al., 2011): OL-Lef of [D], ONMF-IS of [R] IV-B."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._checks import check_share
from thalweg.baselines._base import StreamingBaseline
from thalweg.divergences.itakura_saito import ItakuraSaito
from thalweg.encoders.multiplicative import Multiplicative as MultiplicativeEncoder
from thalweg.learning.batches import DataForm
from thalweg.learning.composition import Composition
from thalweg.learning.divergence import DivergenceModel
from thalweg.learning.progress import Progress
from thalweg.prox.orthant import Orthant
from thalweg.prox.simplex import Simplex
from thalweg.updates.multiplicative import Multiplicative

__all__ = ["OLLef"]

_LOSS, _CONSTRAINT = ItakuraSaito(), Simplex()


class OLLef(StreamingBaseline):
    """Online NMF under the Itakura-Saito divergence by multiplicative updates.

    Minimises ``sum_i forgetting^(t - i) d(x_i | W h_i)`` with ``d(x | p) = sum(x / p - log(x / p)
    - 1)`` over components W in the simplex. Codes and components minimise separable majorisers,
    whose coefficients for earlier samples are two running means ([R] (38)). Entries of 0 are
    raised to a small share of the mean, since the divergence is infinite there.

    Parameters
    ----------
    n_components : int, default=10
        Number of components.
    forgetting : float, default=1.0
        Factor of a sample's weight for each later sample; see :func:`thalweg.half_life`.
    batch_size : "auto" or int, default="auto"
        Samples between two updates of the components in :meth:`fit`.
    epochs, shuffle, init, random_state, callback, keep_history : optional
        As in :class:`thalweg.OnlineFactorization`; ``init="auto"`` is ``"random"``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The components.
    statistics_ : Majorisers
        Coefficients of the majorisers of the samples.
    form_ : DataForm
        Has the smallest entry that is passed to the divergence.
    objective_ : float
        Mean majoriser of the samples at ``components_``.
    n_samples_seen_, n_batches_seen_, n_features_in_ : int
        Counts.

    References
    ----------
    A. Lefevre, F. Bach and C. Fevotte, "Online algorithms for nonnegative matrix factorization
    with the Itakura-Saito divergence", WASPAA, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import baselines
    >>> X = np.random.default_rng(0).random((50, 8)) + 0.1
    >>> baselines.OLLef(2, random_state=0).fit(X).components_.shape
    (2, 8)
    """

    _published = ("form",)

    def __init__(
        self,
        n_components: int = 10,
        *,
        forgetting: float = 1.0,
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
        self.forgetting = forgetting

    def make_learner(self) -> Composition:
        """Return the learner of these parameters, which are checked.

        Returns
        -------
        Composition
            A frozen dataclass.
        """
        forgetting = check_share("forgetting", self.forgetting)
        update = Multiplicative(loss=_LOSS, constraint=_CONSTRAINT, forgetting=forgetting)
        return self._composition(MultiplicativeEncoder(_LOSS), update, _PositiveData)


@dataclass(frozen=True, eq=False)
class _PositiveData(Composition):
    """A composition that raises entries of 0, where the divergence is infinite."""

    def form(self, X: Any) -> DataForm:
        """Return the dense form with the smallest entry for the divergence."""
        nothing = np.empty((X.shape[1], 0))
        model = DivergenceModel(self.n_components, _LOSS, Orthant(), _CONSTRAINT, nothing)
        return model.form(X)._replace(sparse=False)
