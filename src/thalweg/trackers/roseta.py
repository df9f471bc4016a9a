"""ROSETA: proximal steps of the subspace along the slope of the least absolute residual."""

from dataclasses import dataclass
from typing import ClassVar

from thalweg._checks import require_positive
from thalweg._typing import Array, Mask
from thalweg.encoders import Encoder
from thalweg.trackers import Track
from thalweg.trackers._robust_fit import RobustFit
from thalweg.trackers._turning import Steered, choose, follow, steady

__all__ = ["Roseta"]


@dataclass(frozen=True)
class Roseta:
    """ROSETA of Mansour and Jiang (2015).

    Codes h and outliers s minimise |s|_1 with v = U h + s on the entries observed, by ADMM with
    multipliers y. The new basis minimises the augmented Lagrangian of the sample and
    |U+ - U|^2 / 2, which at the end of ADMM is

        U+ = U + y h' / (1 + mu |h|^2).

    y is orthogonal to U, so an orthonormal basis of the same space is a rotation by
    atan(|y| |h| / (1 + mu |h|^2)): one step of ROSETA turns by less than a quarter, and samples
    with large codes turn less. mu is rate 2^-l / (1 + eta), where eta rises when two gradients
    in a row agree, and the level l changes when eta leaves [1, 15], by the rule of GRASTA. A
    sample costs O(F K^2) and O(F K) for each round of ADMM.

    The paper alternates between codes and a filling of the gaps, and its mu is the weight of
    ADMM too. Here codes are solved for on the entries observed, and ADMM has a weight of its own,
    relative to the mean residual of least squares: the minimum is the same. Lengths of codes
    are relative to their mean over the last 100 samples, gradients are compared by their cosine,
    and y is relative to its largest norm; so nothing depends on units. Outliers are all that is
    left by the fit, noise too.

    Parameters
    ----------
    rate : float
        Factor of mu: with a larger one steps are shorter at first.
    rho : float
        Weight of ADMM.
    tol : float
        ADMM ends when loss and dual differ by no more than this share of the loss.
    max_iter : int
        Cap on the rounds of ADMM.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.roseta import Roseta
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(20), rng.normal(size=500))
    >>> V[rng.random(V.shape) < 0.1] += 10.0
    >>> tracker = Roseta()
    >>> state, _ = tracker.step(tracker.init(np.eye(20, 1)), V)
    >>> bool(abs(state.U.sum()) / 20**0.5 > 0.999)
    True
    """

    rate: float = 16.0
    rho: float = 1.8
    tol: float = 1e-3
    max_iter: int = 200
    name: ClassVar[str] = "roseta"

    def __post_init__(self) -> None:
        require_positive(rate=self.rate, rho=self.rho, tol=self.tol, max_iter=self.max_iter)

    def init(self, U: Array) -> Steered:
        """Return the state with the basis U and no samples."""
        return steady(U)

    def step(self, state: Steered, V: Array, observed: Mask | None = None) -> tuple[Steered, Track]:
        """Return the state after the columns of V, and their codes and outliers."""
        rule = choose("proximal", self.rate, "proximal")
        return follow(state, V, observed, rule, self.rate, self._fit())

    def encoder(self, state: Steered) -> Encoder:
        """Return the fit of least absolute residual, with a cap 20 times as high."""
        return self._fit().patient()

    def _fit(self) -> RobustFit:
        return RobustFit(rho=self.rho, tol=self.tol, max_iter=self.max_iter)
