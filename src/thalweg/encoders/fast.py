"""Exact alternation: closed-form outliers, then exact codes, for the whole batch at once."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Indices, Mask
from thalweg.encoders import Codes
from thalweg.encoders._iteration import Exit, StoppingRule, empty, encode_chunks
from thalweg.encoders._robust_problem import Point, RobustProblem
from thalweg.encoders.columns import times
from thalweg.prox import Prox
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant
from thalweg.solvers.nnls import Gram, invert, nnls, prepare
from thalweg.solvers.proximal_gradient import accelerated

__all__ = ["Fast"]

# Codes go so much farther than to the minimum for the outliers at hand. Up to 2 the loss still
# falls, since the majoriser is that much too steep where there are outliers; this saves about a
# fifth of the alternations.
_RELAXATION = 1.4
# A start for the certified exit need not be more accurate than this.
_ROUGH = 1e-4
# Alternations before Newton steps are tried on what is still not certain.
_WARM_UP = 8
# Shares of a Newton step that are tried.
_STEPS = tuple(0.5**k for k in range(8))
# Relative accuracy of the codes where a penalty leaves no closed form.
_INNER = 1e-10
_NO_GAPS = np.empty((0, 0), dtype=np.bool_)
# Keeps Newton's Gram matrix definite when outliers leave fewer entries than codes.
_RIDGE = 1e-10
# Share of an atom's energy that gaps have to leave if their Gram matrix is to be taken off.
_ENOUGH = 0.01


@dataclass(frozen=True)
class Fast:
    """argmin over h, r of |v - W h - r|^2/2 + g(r) + omega(h), by exact alternation.

    For fixed codes the outliers are closed form; for fixed outliers the codes are nonnegative
    least squares in Gram space, solved exactly. Gaps are eliminated from each sample's Gram
    matrix. With ``exit="gap"``, samples for which the alternation is slow get Newton steps on
    the piecewise quadratic that is left when the outliers are put in.

    Parameters
    ----------
    outliers : Prox
        Penalty of the outliers, with their bounds.
    penalty : Prox
        Penalty of the codes, infinite where a code is negative.
    tol : float
        Relative accuracy.
    exit : {"decrease", "gap"}
        Stop when the loss decreases by less than ``tol``, or when the duality gap is below it.
    max_iter : int
        Cap on the number of alternations.
    loose : float
        What may be left to gain of the loss, as a share of what noise makes of codes: enough to
        learn from. Outliers may then be those of the codes before the last.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.prox.l1 import L1
    >>> V = np.array([[1.0], [1.0], [9.0]])
    >>> codes = Fast(outliers=L1(0.1), exit="gap", tol=1e-9).encode(V, np.ones((3, 1)))
    >>> codes.H.round(3), codes.R.ravel().round(3)
    (array([[1.05]]), array([0.  , 0.  , 7.85]))
    """

    name: ClassVar[str] = "fast"

    outliers: Prox = field(default_factory=L1)
    penalty: Prox = field(default_factory=Orthant)
    tol: float = 1e-3
    exit: Exit = "decrease"
    max_iter: int = 1000
    loose: float = 0.0

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        shared = _gram(W)
        problem = RobustProblem(V, W, observed, self.outliers, self.penalty)
        return encode_chunks(problem, H0, lambda part, start: self._encode(part, shared, start))

    def _encode(self, problem: RobustProblem, shared: Array, H0: Array | None) -> Codes:
        certified = self.exit == "gap"
        iteration = _Alternation(problem, shared, certified and hasattr(self.outliers, "curvature"))
        if iteration.exact and isinstance(self.outliers, L1):
            codes = self._compiled(problem, iteration, H0, self.outliers.limits)
            if not certified:
                return codes
            H0, iteration.steps = codes.H, _WARM_UP  # Newton steps may begin at once
        return StoppingRule(self.tol, self.exit, self.max_iter, every=1).run(problem, iteration, H0)

    def _compiled(
        self,
        problem: RobustProblem,
        iteration: "_Alternation",
        H0: Array | None,
        limits: tuple[float, float, float],
    ) -> Codes:
        """Run the same alternation as one kernel, for the outliers and penalties most used."""
        result, dtype = empty(problem), problem.V.dtype.type
        if H0 is not None:
            result.H[:] = H0
        _kernels.alternate_l1(
            np.ascontiguousarray(problem.V.T),
            _NO_GAPS if problem.observed is None else np.ascontiguousarray(problem.observed.T),
            np.ascontiguousarray(problem.W.T),
            tuple(iteration.gram),
            H0 is None,
            (iteration.l1, iteration.l2),
            tuple(map(dtype, limits)),
            _RELAXATION,
            max(self.tol, _ROUGH) if self.exit == "gap" else self.tol,
            self.max_iter,
            self.loose,
            (result.H.T, result.R.T, *result[2:]),
        )
        return result


class _Alternation:
    def __init__(self, problem: RobustProblem, shared: Array, newton: bool) -> None:
        self.whole = shared
        coefficients: tuple[float, float] | None = getattr(problem.penalty, "coefficients", None)
        self.exact = coefficients is not None
        self.l1, self.l2 = map(float, coefficients or (0.0, 0.0))
        self.gram = _prepare(problem, shared, _RELAXATION * self.l2)
        self.passive: Mask | None = None
        self.newton = newton
        self.steps = 0

    def start(self, problem: RobustProblem) -> Array:
        """Return codes that are good if there are no outliers."""
        H = np.zeros((problem.W.shape[1], problem.V.shape[1]))
        return self._codes(problem, self.gram, times(problem.W.T, problem.V), H, 1.0)

    def step(self, problem: RobustProblem, H: Array, point: Point) -> Array:
        """Return the codes that are best for the outliers of the last ones."""
        self.steps += 1
        if self.passive is None:
            self.passive = H > 0
        slope = times(problem.W.T, point.E)
        relax = _RELAXATION if self.exact else 1.0
        C = relax * (slope - self.l2 * H) + _apply(self.gram, H)
        new = self._codes(problem, self.gram, C, H, relax)
        if self.newton and self.steps > _WARM_UP:
            new = _best(problem, H, new, self._newton(problem, H, point, slope))
        return new

    def settled(self, tol: float) -> bool:
        """Tell that the codes show all there is."""
        return True

    def keep(self, columns: Indices) -> None:
        """Forget all samples but these."""
        if self.passive is not None:
            self.passive = self.passive.T[columns].T
        self.gram = self.gram.of(columns)

    def _codes(self, problem: RobustProblem, gram: Gram, C: Array, H: Array, relax: float) -> Array:
        """Minimise h'Gh/2 - c'h + relax omega(h), what is quadratic in omega being part of G."""
        if self.exact:
            new, self.passive, _ = nnls(gram, C - relax * self.l1, self.passive)
        else:
            H = H.astype(np.float64)
            # No sample's Gram matrix is larger than the whole, but for rounding and the ridge.
            bound = (1.0 + 1e-9) * float(np.linalg.eigvalsh(self.whole)[-1])
            new, _ = accelerated(gram.each(), C, problem.penalty, H, tol=_INNER, bound=bound)
        codes: Array = new.astype(problem.V.dtype)
        return codes

    def _newton(self, problem: RobustProblem, H: Array, point: Point, slope: Array) -> Array:
        """Minimise the quadratic model on the entries where the envelope is curved."""
        curved = problem.outliers.curvature(point.Z)  # type: ignore[attr-defined]
        if problem.observed is not None:
            curved = curved & problem.observed
        G = np.empty((curved.shape[1], *self.whole.shape))
        _kept_grams(problem.W, curved, self.whole, G)
        diagonal = np.einsum("bkk->bk", G)
        # Relative to all entries observed: of those that are curved there may be none.
        sizes = np.diagonal(self.gram.each(), axis1=-2, axis2=-1)
        ridge = _RIDGE * sizes.max(axis=-1, initial=np.finfo(float).tiny)
        diagonal += self.l2 + ridge.reshape(-1, 1)
        gram = prepare(G)
        return self._codes(problem, gram, slope - self.l2 * H + _apply(gram, H), H, 1.0)


def _best(problem: RobustProblem, H: Array, new: Array, target: Array) -> Array:
    """Return the best, for each sample, of ``new`` and of the points between H and target."""
    least = problem.at(new).loss
    for step in _STEPS:
        trial = H + H.dtype.type(step) * (target - H)
        loss = problem.at(trial).loss
        better = loss < least
        new, least = np.where(better, trial, new), np.where(better, loss, least)
    return new


def _gram(W: Array) -> Array:
    wide = np.asarray(W, dtype=np.float64)
    return wide.T @ wide


def _kept_grams(W: Array, kept: Mask, whole: Array, grams: Array) -> None:
    """Set grams (B, K, K) to those of the rows of W that each sample keeps."""
    wide, rows = np.ascontiguousarray(W, dtype=np.float64), np.ascontiguousarray(kept.T)
    _kernels.kept_grams(wide, rows, whole, _ENOUGH, grams)


def _prepare(problem: RobustProblem, whole: Array, l2: float) -> Gram:
    """Return the Gram matrix of all samples, and of each with gaps its own, plus l2."""
    ridge = l2 * np.eye(len(whole))
    if problem.observed is None:
        return prepare(whole + ridge if l2 else whole)
    gappy = np.flatnonzero(~problem.observed.all(axis=0))
    G = np.empty((1 + gappy.size, *whole.shape))
    G[0] = whole
    _kept_grams(problem.W, problem.observed.T[gappy].T, whole, G[1:])
    place = np.zeros(problem.observed.shape[1], dtype=np.intp)
    place[gappy] = 1 + np.arange(gappy.size)
    return invert(G + ridge if l2 else G, place)


def _apply(gram: Gram, H: Array) -> Array:
    """Return G h for each column h of H."""
    if gram.place.size == 0:
        return times(gram.G[0], H)
    product: Array = np.einsum("bij,jb->ib", gram.each(), H)
    return product
