"""Move the dictionary after a batch; the state is arrays, and mergeable where it is sums."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

from thalweg._typing import Array, Mask
from thalweg.encoders import Codes
from thalweg.errors import ParameterError

__all__ = [
    "BatchMethod",
    "BlockMethod",
    "BlockUpdate",
    "DictionaryUpdate",
    "Factors",
    "half_life",
]

S = TypeVar("S")


@runtime_checkable
class DictionaryUpdate(Protocol[S]):
    """Takes in a batch and its codes; a frozen dataclass in a file of its own.

    Attributes
    ----------
    name : str
        What users write to choose it.
    """

    name: ClassVar[str]

    def init(self, W: Array) -> S:
        """Return the state before the first batch."""
        ...

    def step(
        self, W: Array, state: S, V: Array, codes: Codes, observed: Mask | None = None
    ) -> tuple[Array, S]:
        """Return the dictionary and the state after the batch V; ``observed`` is False at gaps."""
        ...

    def merge(self, states: Sequence[S]) -> S:
        """Return the state of all the samples behind several states."""
        ...

    def objective(self, W: Array, state: S) -> float:
        """Return what the update minimises, at W."""
        ...


@runtime_checkable
class BlockUpdate(Protocol[S]):
    """A dictionary update whose batch may lie in several places, block by block.

    What is summarised of the blocks and merged is all that the update needs of a batch: the
    dictionary moves as it would with all blocks in one place.
    """

    def summarise(self, W: Array, V: Array, codes: Codes, observed: Mask | None = None) -> Any:
        """Return what the update needs to know of a block that was encoded with W."""
        ...

    def merge(self, states: Sequence[Any]) -> Any:
        """Return what is to be known of all blocks."""
        ...

    def take_in(self, W: Array, state: S, latest: Any) -> tuple[Array, S]:
        """Return the dictionary and the state after a batch that was summarised and merged."""
        ...


class Factors(NamedTuple):
    """A feasible point of the batch problem.

    Attributes
    ----------
    W : array of shape (F, K)
        Dictionary.
    H : array of shape (K, N)
        Codes.
    R : array of shape (F, N)
        Outliers; over gaps whatever makes ``V - R`` equal to ``W @ H``.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates import Factors
    >>> Factors(np.ones((3, 1)), np.ones((1, 2)), np.zeros((3, 2))).H.shape
    (1, 2)
    """

    W: Array
    H: Array
    R: Array


@runtime_checkable
class BatchMethod(Protocol[S]):
    """Lowers the loss of all samples at once, round by round; a frozen dataclass.

    Attributes
    ----------
    name : str
        What users write to choose it.
    """

    name: ClassVar[str]

    def start(self, V: Array, W: Array, observed: Mask | None) -> S:
        """Return the state before the first round."""
        ...

    def advance(self, V: Array, state: S, observed: Mask | None) -> S:
        """Return the state after one round."""
        ...

    def factors(self, state: S) -> Factors:
        """Return the feasible point of a state."""
        ...


@runtime_checkable
class BlockMethod(Protocol[S]):
    """A batch method whose samples may lie in several places, block by block.

    Each block has a state of its own; the fields named by ``shared`` belong to the dictionary and
    are the same in all of them. ``advance`` is ``visit`` and ``move`` of a single block, and
    may replace atoms that no sample uses.

    Attributes
    ----------
    shared : tuple of str
        Fields of the state that belong to the dictionary.
    """

    shared: ClassVar[tuple[str, ...]]

    def visit(self, V: Array, state: S, observed: Mask | None) -> tuple[S, Any]:
        """Move what belongs to the samples of a block, and return what they ask of W."""
        ...

    def merge(self, sums: Sequence[Any]) -> Any:
        """Return what the samples of several blocks ask of W."""
        ...

    def move(self, state: S, sums: Any) -> S:
        """Move what belongs to the dictionary."""
        ...


def half_life(n_samples: float) -> float:
    """Return the forgetting factor that halves a sample's weight after ``n_samples`` more.

    Parameters
    ----------
    n_samples : float
        How many samples later a sample counts half.

    Returns
    -------
    float
        For the parameter ``forgetting`` of the streaming estimators.

    Examples
    --------
    >>> from thalweg import half_life
    >>> round(half_life(1000) ** 1000, 12)
    0.5
    """
    if not n_samples > 0:
        raise ParameterError(
            f"half_life needs a positive number of samples, got {n_samples!r}. "
            "For no forgetting use forgetting=1.0."
        )
    return float(0.5 ** (1.0 / n_samples))
