"""Codes and outliers of a batch for a fixed dictionary.

Every encoder minimises, for each sample v (a column of V) over h and r,

    |v - W h - r|^2 / 2 + g(r) + omega(h)

where g is the outliers' penalty with its bounds and omega the codes' penalty, whose domain is
the nonnegative orthant. A gap is an outlier that costs nothing: over the entries that were not
observed, g is zero and r is free, so the best r is v - W h there whatever v is. It follows that a
gap adds nothing to the loss, to its gradient in h, or to its gradient in W.
"""

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from thalweg._typing import Array, Mask

__all__ = ["Codes", "Encoder"]


class Codes(NamedTuple):
    """What an encoder found for a batch of B samples.

    Attributes
    ----------
    H : array of shape (K, B)
        Codes.
    R : array of shape (F, B)
        Outliers; over gaps it is what makes ``V - R`` equal to ``W @ H``.
    loss : array of shape (B,)
        The minimum found for each sample.
    cost : array of shape (B,)
        The part of it that the penalties make up: g(r) + omega(h).
    solved : boolean array of shape (B,)
        Whether the stopping rule was met, before the iteration cap.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> Fast().encode(np.ones((3, 2)), np.ones((3, 1))).H
    array([[1., 1.]])
    """

    H: Array
    R: Array
    loss: Array
    cost: Array
    solved: Mask


@runtime_checkable
class Encoder(Protocol):
    """Finds codes and outliers; a frozen dataclass in a file of its own.

    Attributes
    ----------
    name : str
        What users write to choose it.
    """

    name: ClassVar[str]

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V, each as if it were alone.

        Parameters
        ----------
        V : array of shape (F, B)
            Samples; any finite number may stand where nothing was observed.
        W : array of shape (F, K)
            Dictionary.
        H0 : array of shape (K, B), optional
            Where to begin.
        observed : boolean array of shape (F, B), optional
            False at gaps; by default there is none.
        """
        ...
