"""Learn a dictionary or a subspace from batches: the loops, without scikit-learn.

A *learner* is a frozen dataclass, built once per call from checked parameters. All that changes is
in a state, a NamedTuple that is passed in and returned. Estimators build a learner, run it and
publish the state as attributes; ``thalweg.distributed`` runs the same learner on blocks elsewhere.
"""

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:  # progress records are imported without SciPy
    from thalweg.encoders import Encoder
    from thalweg.learning.batches import Batch

__all__ = ["Learner"]

S = TypeVar("S")


@runtime_checkable
class Learner(Protocol[S]):
    """Learns from one batch after the other.

    Examples
    --------
    >>> from thalweg.learning import Learner
    >>> from thalweg.learning.composition import Composition
    >>> isinstance(Composition(n_components=2), Learner)
    True
    """

    def init(self, batch: "Batch", form: Any, rng: Any) -> S:
        """Return the state before the first batch, from some samples."""
        ...

    def learn(self, state: S, batch: "Batch") -> S:
        """Return the state after one more batch."""
        ...

    def encoder(self, state: S) -> "Encoder":
        """Return the encoder that users get."""
        ...
