"""A learner made of any encoder and any dictionary update."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from thalweg._typing import Array
from thalweg.encoders import Encoder
from thalweg.encoders.fast import Fast
from thalweg.learning.batches import Batch, DataForm
from thalweg.learning.code_prior import empty_prior
from thalweg.learning.dictionaries import random_dictionary, scaled_dictionary
from thalweg.learning.online import OnlineLearner
from thalweg.learning.online_state import OnlineState
from thalweg.prox.orthant import Orthant
from thalweg.updates import DictionaryUpdate
from thalweg.updates.surrogate import Surrogate

__all__ = ["Composition"]


@dataclass(frozen=True, eq=False)
class Composition(OnlineLearner):
    """An encoder and a dictionary update, with nothing automatic.

    Parameters
    ----------
    n_components : int
        Number of columns K of the dictionary.
    code_encoder : Encoder
        Finds the codes of a batch.
    dictionary_update : DictionaryUpdate
        Updates the dictionary.
    initial : str or array of shape (K, F)
        Initial components, as in :mod:`thalweg.learning.dictionaries`.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import DataForm, as_batch
    >>> from thalweg.learning.composition import Composition
    >>> learner, batch = Composition(2), as_batch(np.ones((10, 4)))
    >>> learner.init(batch, DataForm(), np.random.default_rng(0)).W.shape
    (4, 2)
    """

    n_components: int
    code_encoder: Encoder = field(default_factory=Fast)
    dictionary_update: DictionaryUpdate[Any] = field(default_factory=Surrogate)
    initial: Any = "random"

    @property
    def frozen(self) -> Array:
        """No columns."""
        return np.empty((0, 0))

    def check_continues(self, state: OnlineState) -> None:
        """Accept any parameters: no columns are frozen."""

    def without_initial(self) -> "Composition":
        """Return the learner without the initial components, which may be large."""
        return replace(self, initial="random")

    def encoder(self, state: OnlineState) -> Encoder:
        """Return the encoder."""
        return self.code_encoder

    def update(self, state: OnlineState) -> DictionaryUpdate[Any]:
        """Return the dictionary update."""
        return self.dictionary_update

    def first_state(self, batch: Batch, form: DataForm, rng: np.random.Generator) -> OnlineState:
        """Return the initial dictionary."""
        constraint = getattr(self.dictionary_update, "constraint", None) or Orthant()
        # a loss may be infinite where the model is 0
        draw = scaled_dictionary if hasattr(self.dictionary_update, "loss") else random_dictionary
        nothing = np.empty((batch.V.shape[0], 0))
        automatic = isinstance(self.initial, str) and self.initial == "auto"
        initial = "random" if automatic else self.initial
        W = draw(initial, nothing, self.n_components, batch, constraint, rng)
        return OnlineState(W, None, empty_prior(self.n_components), form)
