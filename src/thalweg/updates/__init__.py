"""Update the dictionary after a batch.

The state of an update is a tuple of arrays. States that are sums or means over samples merge.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

from thalweg._typing import Array, Observed
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
    """The interface of dictionary updates, which are frozen dataclasses.

    Attributes
    ----------
    name : str
        Name of the update.
    """

    name: ClassVar[str]

    def init(self, W: Array) -> S:
        """Return the state before the first batch."""
        ...

    def step(
        self,
        W: Array,
        state: S,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> tuple[Array, S]:
        """Return dictionary and state after the batch V.

        ``observed`` is False at gaps, or has the weights of the entries; ``sample_weight`` has
        positive weights of the samples.
        """
        ...

    def merge(self, states: Sequence[S]) -> S:
        """Return the state after the samples of all given states."""
        ...

    def objective(self, W: Array, state: S) -> float:
        """Return the value at W of the function that the update minimises."""
        ...


@runtime_checkable
class BlockUpdate(Protocol[S]):
    """A dictionary update for a batch that is distributed in blocks.

    The merged summaries of the blocks are sufficient: the dictionary is the same as for the whole
    batch in one place.
    """

    def summarise(
        self,
        W: Array,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> Any:
        """Return the summary of a block that was encoded with W."""
        ...

    def merge(self, states: Sequence[Any]) -> Any:
        """Return the summary of all blocks."""
        ...

    def take_in(
        self, W: Array, state: S, latest: Any, n_samples: int | None = None
    ) -> tuple[Array, S]:
        """Return dictionary and state after a batch with the summary ``latest``.

        ``n_samples`` is the number of samples, by default the sum of their weights.
        """
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
        Outliers. At missing entries ``V - R`` equals ``W @ H``.

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
    """The interface of batch methods: outer iterations over all samples.

    Attributes
    ----------
    name : str
        Name of the method.
    """

    name: ClassVar[str]

    def start(self, V: Array, W: Array, observed: Observed | None) -> S:
        """Return the initial state."""
        ...

    def advance(
        self,
        V: Array,
        state: S,
        observed: Observed | None,
        sample_weight: Array | None = None,
    ) -> S:
        """Return the state after one iteration."""
        ...

    def factors(self, state: S) -> Factors:
        """Return the feasible point of a state."""
        ...


@runtime_checkable
class BlockMethod(Protocol[S]):
    """A batch method for samples that are distributed in blocks.

    Each block has its own state. The fields named in ``shared`` belong to the dictionary and are
    the same in all blocks. ``advance`` is ``visit`` and ``move`` of a single block, and may also
    replace unused atoms.

    Attributes
    ----------
    shared : tuple of str
        Fields of the state that belong to the dictionary.
    """

    shared: ClassVar[tuple[str, ...]]

    def visit(
        self,
        V: Array,
        state: S,
        observed: Observed | None,
        sample_weight: Array | None = None,
    ) -> tuple[S, Any]:
        """Update the variables of the samples of a block; return the sums that W depends on."""
        ...

    def merge(self, sums: Sequence[Any]) -> Any:
        """Return the sums over all blocks."""
        ...

    def move(self, state: S, sums: Any) -> S:
        """Update the variables of the dictionary."""
        ...


def half_life(n_samples: float) -> float:
    """Return the forgetting factor f with f^n_samples = 1/2.

    Parameters
    ----------
    n_samples : float
        Number of later samples after which the weight of a sample is halved.

    Returns
    -------
    float
        Value of the parameter ``forgetting`` of streaming estimators.

    Examples
    --------
    >>> from thalweg import half_life
    >>> round(half_life(1000) ** 1000, 12)
    0.5
    """
    if not n_samples > 0:
        raise ParameterError(
            f"n_samples must be a positive number, got {n_samples!r}. Use forgetting=1.0 to "
            "forget nothing."
        )
    return float(0.5 ** (1.0 / n_samples))
