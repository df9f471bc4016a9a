"""Errors of hidden entries, with the gaps that they lie in."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask

__all__ = ["Scores"]


class Scores(NamedTuple):
    """Errors of hidden entries.

    Attributes
    ----------
    errors, std : array of shape (n,)
        Errors, and the standard deviations of the model.
    lengths : integer array of shape (n,)
        Lengths of the gaps while the entries were hidden.
    columns : integer array of shape (n,)
        Features.
    gaps : integer array of shape (n,)
        Numbers of the gaps; gaps of several features that begin in one row have one number.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics.scores import Scores
    >>> ones = np.ones((3, 2))
    >>> Scores.of(ones, ones, ones.astype(int), ones > 0).gaps
    array([0, 0, 1, 1, 2, 2])
    """

    errors: Array
    std: Array
    lengths: Any
    columns: Any
    gaps: Any

    @classmethod
    def of(
        cls, errors: Array, std: Array, lengths: Any, hidden: Mask, starts: Any = None
    ) -> "Scores":
        """Return the scores of the hidden entries of a table.

        Parameters
        ----------
        errors, std : array of shape (N, F)
            Errors, and the standard deviations of the model.
        lengths : integer array of shape (N, F)
            Lengths of gaps.
        hidden : boolean array of shape (N, F)
            Hidden entries.
        starts : integer array of shape (N, F) or None
            Rows in which the gaps begin; None takes each row for a gap.

        Returns
        -------
        Scores
            One entry for each hidden one.
        """
        rows, columns = np.nonzero(hidden)
        found, unit = (part[rows, columns].astype(np.float64) for part in (errors, std))
        gaps = rows if starts is None else starts[rows, columns]
        return cls(found, unit, lengths[rows, columns], columns, gaps)

    @classmethod
    def join(cls, parts: Sequence["Scores"]) -> "Scores":
        """Return the scores of several tables as one."""
        shifted, first = [], 0
        for part in parts:
            shifted.append(part._replace(gaps=part.gaps + first))
            first += int(part.gaps.max(initial=0)) + 1
        return cls(*(np.concatenate(columns) for columns in zip(*shifted, strict=True)))
