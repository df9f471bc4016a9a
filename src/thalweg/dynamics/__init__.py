"""Time: processes that follow consecutive samples, smoothed, filtered and forecast.

The model of a table is

    X = centre + season + codes @ components + local + outliers + noise

where codes and the local deviation of each feature are first-order autoregressions.
"""

from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from thalweg._typing import Array

__all__ = ["Dynamics", "Expected"]


class Expected(NamedTuple):
    """Mean and standard deviation of the entries of a table, given its observed entries.

    Attributes
    ----------
    mean : array of shape (n_samples, n_features)
        Expected value of each entry, observed or not.
    std : array of shape (n_samples, n_features)
        Standard deviation of a measurement of the entry, which includes the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.dynamics import Expected
    >>> Expected(np.zeros((2, 1)), np.ones((2, 1))).std.shape
    (2, 1)
    """

    mean: Array
    std: Array


@runtime_checkable
class Dynamics(Protocol):
    """The interface of models in time, which are frozen dataclasses.

    Attributes
    ----------
    name : str
        Name of the model.
    """

    name: ClassVar[str]

    def fit(self, X: Array, times: Array, n_components: int) -> Any:
        """Return the state of the model for a table with one row per time.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The table; NaN marks missing entries.
        times : array of shape (n_samples,)
            Increasing times of the rows.
        n_components : int
            Number of codes; 0 leaves the local deviations only.

        Returns
        -------
        NamedTuple
            Parameters, and the moments of the last row, from which forecasts start.
        """
        ...

    def smooth(self, state: Any, X: Array, times: Array) -> Expected:
        """Return the moments of all entries of a table given its observed entries.

        Parameters
        ----------
        state : NamedTuple
            Result of ``fit``.
        X : array of shape (n_samples, n_features)
            The table; NaN marks missing entries.
        times : array of shape (n_samples,)
            Increasing times of the rows.

        Returns
        -------
        Expected
            Means and standard deviations.
        """
        ...

    def forecast(self, state: Any, times: Array) -> Expected:
        """Return the moments of rows after the last one.

        Parameters
        ----------
        state : NamedTuple
            Result of ``fit``.
        times : array of shape (n_steps,)
            Increasing times after that of the last row.

        Returns
        -------
        Expected
            Means and standard deviations.
        """
        ...
