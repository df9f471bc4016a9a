"""Blocks of samples for methods that visit all samples in each round."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from thalweg._typing import Array
from thalweg.divergences import Divergence
from thalweg.learning.batches import Batch, DataForm

__all__ = ["BlockLoss", "BlockTasks", "LocalBlocks", "RoundState", "total_loss"]


class RoundState(NamedTuple):
    """All that a batch factorisation remembers after a round; codes belong to the blocks.

    Attributes
    ----------
    W : array of shape (F, K)
        Dictionary.
    form : DataForm
        The form in which blocks are passed to encoders.
    outlier_weight : float
        Weight of the l1 norm of the outliers; 0 for models without one.
    loss : Divergence or None
        The loss in use; None for models with outliers.
    n_samples, n_iter : int
        Samples, and rounds so far.
    objective : float
        Mean loss of the samples, with all penalties.
    outlier_share : float
        Share of outliers among the observed entries.
    converged : bool
        Whether the stopping criterion was met.
    noise_scale : float or array of shape (F,)
        Standard deviation of the noise, of all or of each feature; NaN if it was not estimated.
    relative_scales : array of shape (F,) or None
        Noise scales of the features, by which they are weighed; None if all are weighed the same.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.rounds import RoundState
    >>> RoundState(np.ones((3, 2))).n_iter
    0
    """

    W: Array
    form: DataForm = DataForm()
    outlier_weight: float = 0.0
    loss: Divergence | None = None
    n_samples: int = 0
    n_iter: int = 0
    objective: float = float("nan")
    outlier_share: float = 0.0
    converged: bool = False
    noise_scale: float | Array = float("nan")
    relative_scales: Array | None = None


class BlockLoss(NamedTuple):
    """The contribution of a block to the objective, and its outliers.

    Examples
    --------
    >>> from thalweg.learning.rounds import BlockLoss
    >>> BlockLoss(loss=3.0, n_outliers=1.0, n_entries=10).loss
    3.0
    """

    loss: float
    n_outliers: float
    n_entries: int


def total_loss(parts: Sequence[BlockLoss]) -> tuple[float, float]:
    """Return the sum of the losses, and the share of outliers, over all blocks.

    Examples
    --------
    >>> from thalweg.learning.rounds import BlockLoss, total_loss
    >>> total_loss([BlockLoss(3.0, 1.0, 10), BlockLoss(1.0, 0.0, 10)])
    (4.0, 0.05)
    """
    n_entries = sum(part.n_entries for part in parts)
    share = sum(part.n_outliers for part in parts) / max(n_entries, 1)
    return sum(part.loss for part in parts), share


class BlockTasks(Protocol):
    """Applies functions to all blocks of samples; results may stay where the blocks are.

    A handle stands for a result. Results of empty blocks are None.
    """

    def share(self, value: Any) -> Any:
        """Return a handle of a value that all blocks need."""
        ...

    def map(
        self, task: str, function: Callable[..., Any], shared: Any, *each: Sequence[Any]
    ) -> list[Any]:
        """Return handles of ``function(batch, shared, *arguments)`` for all blocks.

        ``each`` has sequences with one argument, or handle, for each block.
        """
        ...

    def follow(self, task: str, function: Callable[[Any], Any], handles: list[Any]) -> list[Any]:
        """Return handles of ``function(result)``, computed where the results are."""
        ...

    def collect(self, handles: list[Any]) -> list[Any]:
        """Return the results, without those of empty blocks."""
        ...


@dataclass(frozen=True, eq=False)
class LocalBlocks:
    """Blocks in the memory of this process; a handle is the result itself.

    Parameters
    ----------
    batches : callable
        Returns an iterable of the batches, each time it is called.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.learning.batches import as_batch
    >>> from thalweg.learning.rounds import LocalBlocks
    >>> blocks = LocalBlocks(lambda: [as_batch(np.ones((4, 3)))])
    >>> blocks.map("sum", lambda batch, scale: float(scale * batch.V.sum()), 2.0)
    [24.0]
    """

    batches: Callable[[], Iterable[Batch]]

    def share(self, value: Any) -> Any:
        """Return the value."""
        return value

    def map(
        self, task: str, function: Callable[..., Any], shared: Any, *each: Sequence[Any]
    ) -> list[Any]:
        """Apply the function to one batch after the other."""
        if not each:
            return [function(batch, shared) for batch in self.batches()]
        rows = zip(self.batches(), *each, strict=True)
        return [function(batch, shared, *arguments) for batch, *arguments in rows]

    def follow(self, task: str, function: Callable[[Any], Any], handles: list[Any]) -> list[Any]:
        """Apply the function to one result after the other."""
        return [function(handle) for handle in handles]

    def collect(self, handles: list[Any]) -> list[Any]:
        """Return the results."""
        return handles
