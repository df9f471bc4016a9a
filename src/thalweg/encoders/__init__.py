"""Compute codes and outliers of a batch for a fixed dictionary.

For each sample v, a column of V, an encoder solves

    argmin_{h, r} |v - W h - r|^2 / 2 + g(r) + omega(h)

where g is the penalty of the outliers, bounds included, and omega the penalty of the codes, whose
domain is the nonnegative orthant. Encoders with a ``loss`` solve argmin_h d(v | W h) + omega(h).

At a missing entry g is 0 and r is free, so the optimal r is v - W h for any v. Missing entries
therefore contribute neither to the loss nor to its gradients in h and W.
"""

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from thalweg._typing import Array, Mask, Observed

__all__ = ["Codes", "Encoder"]


class Codes(NamedTuple):
    """The result of an encoder for a batch of B samples.

    Attributes
    ----------
    H : array of shape (K, B)
        Codes.
    R : array of shape (F, B)
        Outliers. At missing entries ``V - R`` equals ``W @ H``.
    loss : array of shape (B,)
        Objective of each sample.
    cost : array of shape (B,)
        Penalty terms of the objective: g(r) + omega(h).
    solved : boolean array of shape (B,)
        Whether the stopping criterion was met within ``max_iter`` iterations.

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
    """The interface of encoders, which are frozen dataclasses.

    Attributes
    ----------
    name : str
        Name of the encoder.
    """

    name: ClassVar[str]

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Observed | None = None
    ) -> Codes:
        """Encode the columns of V independently of one another.

        Parameters
        ----------
        V : array of shape (F, B)
            Samples. Missing entries may have any finite value.
        W : array of shape (F, K)
            Dictionary.
        H0 : array of shape (K, B), optional
            Initial codes (warm start).
        observed : array of shape (F, B), optional
            Mask that is False at missing entries, or weights of the entries; see
            :mod:`thalweg.encoders.entry_weights`. By default all entries are observed.

        Returns
        -------
        Codes
            Codes, outliers and losses.
        """
        ...
