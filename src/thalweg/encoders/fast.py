"""Codes by exact alternation: closed-form outliers, then nonnegative least squares."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from thalweg import _native
from thalweg._typing import Array, Indices, Mask, Observed
from thalweg.encoders import Codes
from thalweg.encoders._iteration import Exit, StoppingRule, encode_chunks
from thalweg.encoders._robust_problem import Point, RobustProblem, in_data_units, standardised
from thalweg.encoders.columns import CHUNK_ENTRIES, MAX_CHUNK_SIZE, times
from thalweg.prox import Prox
from thalweg.prox.l1 import L1
from thalweg.prox.orthant import Orthant
from thalweg.solvers.nnls import Gram, invert, nnls, prepare
from thalweg.solvers.proximal_gradient import accelerated

__all__ = ["LEAST_SQUARES", "Fast"]

# Over-relaxation of the codes. The loss decreases for all values below 2, since the majoriser is
# too steep at entries with outliers; 1.4 saves about a fifth of the alternations.
# benchmarks: ratios
_OVER_RELAXATION = 1.4
# Tolerance, relative to the loss, of the alternation before the Newton steps of ``exit="gap"``.
_WARM_START_TOL = 1e-4
# Alternations before Newton steps are tried on samples that are not certified.
_ALTERNATIONS_BEFORE_NEWTON = 8
# Step sizes of the line search along a Newton direction.
_NEWTON_STEPS = tuple(0.5**k for k in range(8))
# Relative tolerance of the codes under a penalty without closed form.
_PROXIMAL_TOL = 1e-10
# Ridge of Newton's Gram matrix, in units of the largest diagonal entry of the sample's Gram matrix.
# It keeps the matrix definite if outliers leave fewer entries than codes.
_NEWTON_RIDGE = 1e-10
# A sample's Gram matrix is the whole one minus that of its missing entries if every atom keeps at
# least this share of its energy; otherwise cancellation would cost accuracy.
_MIN_ENERGY_SHARE = 0.01
# Safety factor of the bound on the largest eigenvalue of a Gram matrix, against rounding errors.
_EIGENVALUE_MARGIN = 1.0 + 1e-9


@dataclass(frozen=True)
class Fast:
    """Compute argmin_{h, r} |v - W h - r|^2/2 + g(r) + omega(h) by exact alternation.

    For fixed codes the outliers have a closed form. For fixed outliers the codes are the exact
    solution of nonnegative least squares with the Gram matrix W'W; missing entries are removed
    from the Gram matrix of each sample. With ``exit="gap"``, samples with slow convergence get
    Newton steps on the piecewise quadratic objective in which the outliers are eliminated.

    Parameters
    ----------
    outliers : Prox
        Penalty of the outliers, bounds included.
    penalty : Prox
        Penalty of the codes, infinite for negative codes.
    tol : float
        Tolerance relative to the loss.
    exit : {"decrease", "gap"}
        Stop when the change of the loss, or when the duality gap, is at most ``tol``.
    max_iter : int
        Maximum number of alternations.
    noise_tol : float
        A sample also stops when its estimated suboptimality is at most this multiple of
        K / n times its loss, n the number of observed entries: the part of the loss that noise
        in the codes explains. Codes for learning need no more. The outliers may then belong to
        the codes before the last alternation. 0 disables this criterion.

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
    noise_tol: float = 0.0

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Observed | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        wide = np.asarray(W, dtype=np.float64)
        shared = wide.T @ wide
        if observed is None:
            problem = RobustProblem(V, W, None, self.outliers, self.penalty)
            if self._is_compiled or _is_small(V):
                return self._encode(problem, shared, H0)
        else:
            problem = standardised(V, W, observed, self.outliers, self.penalty)
        codes = encode_chunks(problem, H0, lambda part, start: self._encode(part, shared, start))
        return in_data_units(codes, V, W, problem.scales)

    @property
    def _is_compiled(self) -> bool:
        """Whether all is done by one kernel, whose work arrays do not grow with the batch."""
        exact = getattr(self.penalty, "coefficients", None) is not None
        return exact and isinstance(self.outliers, L1) and self.exit != "gap"

    def _encode(self, problem: RobustProblem, shared: Array, H0: Array | None) -> Codes:
        certified = self.exit == "gap"
        iteration = _Alternation(problem, shared, certified and hasattr(self.outliers, "curvature"))
        if iteration.exact and isinstance(self.outliers, L1):
            codes = self._compiled(problem, iteration, H0, self.outliers.native)
            if not certified:
                return codes
            H0, iteration.steps = codes.H, _ALTERNATIONS_BEFORE_NEWTON
        return StoppingRule(self.tol, self.exit, self.max_iter, every=1).run(problem, iteration, H0)

    def _compiled(
        self,
        problem: RobustProblem,
        iteration: "_Alternation",
        H0: Array | None,
        outliers: _native.L1Penalty,
    ) -> Codes:
        """Run the alternation in compiled code, for l1 outliers and elastic-net codes."""
        (F, B), K, dtype = problem.V.shape, problem.W.shape[1], problem.V.dtype
        H = np.empty((B, K), dtype) if H0 is None else np.array(H0.T, dtype, order="C")
        R, loss, cost = np.empty((B, F), dtype), np.empty(B, dtype), np.empty(B, dtype)
        solved = np.zeros(B, np.bool_)
        settings = _native.AlternationSettings(
            l1=iteration.l1,
            l2=iteration.l2,
            relaxation=_OVER_RELAXATION,
            tol=max(self.tol, _WARM_START_TOL) if self.exit == "gap" else self.tol,
            noise_tol=self.noise_tol,
            max_iter=self.max_iter,
            warm_start=H0 is not None,
        )
        scales = problem.scales
        mask = problem.observed if scales is None else None  # scales are 0 at missing entries
        _native.alternate_l1(
            np.ascontiguousarray(problem.V.T),
            None if mask is None else np.ascontiguousarray(mask.T),
            None if scales is None else np.ascontiguousarray(scales.T),
            np.ascontiguousarray(problem.W.T),
            iteration.gram,
            outliers,
            settings,
            (H, R, loss, cost, solved),
        )
        return Codes(H.T, R.T, loss, cost, solved)


class _Alternation:
    def __init__(self, problem: RobustProblem, shared: Array, newton: bool) -> None:
        self.whole = shared
        coefficients: tuple[float, float] | None = getattr(problem.penalty, "coefficients", None)
        self.exact = coefficients is not None
        self.l1, self.l2 = map(float, coefficients or (0.0, 0.0))
        self.gram = _prepare(problem, shared, _OVER_RELAXATION * self.l2)
        self.passive: Mask | None = None
        self.newton = newton
        self.steps = 0

    def start(self, problem: RobustProblem) -> Array:
        """Return the optimal codes without outliers."""
        H = np.zeros((problem.W.shape[1], problem.V.shape[1]))
        return self._codes(problem, self.gram, problem.in_codes(problem.V), H, 1.0)

    def step(self, problem: RobustProblem, H: Array, point: Point) -> Array:
        """Return the optimal codes for the outliers of the last codes."""
        self.steps += 1
        if self.passive is None:
            self.passive = H > 0
        slope = problem.in_codes(point.E)
        relax = _OVER_RELAXATION if self.exact else 1.0
        C = relax * (slope - self.l2 * H) + _apply(self.gram, H)
        new = self._codes(problem, self.gram, C, H, relax)
        if self.newton and self.steps > _ALTERNATIONS_BEFORE_NEWTON:
            new = _best(problem, H, new, self._newton(problem, H, point, slope))
        return new

    def settled(self, tol: float) -> bool:
        """Return True, since the outliers are a function of the codes."""
        return True

    def keep(self, columns: Indices) -> None:
        """Drop the state of all other samples."""
        if self.passive is not None:
            self.passive = self.passive.T[columns].T
        self.gram = self.gram.of(columns)

    def _codes(self, problem: RobustProblem, gram: Gram, C: Array, H: Array, relax: float) -> Array:
        """Minimise h'Gh/2 - c'h + relax omega(h); G contains the quadratic part of omega."""
        if self.exact:
            new, self.passive, _ = nnls(gram, C - relax * self.l1, self.passive)
        else:
            H = H.astype(np.float64)
            # The Gram matrix of some rows of W is at most that of all rows, up to rounding errors.
            bound = _EIGENVALUE_MARGIN * float(np.linalg.eigvalsh(self.whole)[-1])
            if problem.scales is not None:
                bound *= float(problem.scales.max(initial=0.0)) ** 2
            new, _ = accelerated(gram.each(), C, problem.penalty, H, tol=_PROXIMAL_TOL, bound=bound)
        codes: Array = new.astype(problem.V.dtype)
        return codes

    def _newton(self, problem: RobustProblem, H: Array, point: Point, slope: Array) -> Array:
        """Minimise the quadratic model of the entries where the envelope has curvature."""
        inliers = problem.outliers.curvature(point.Z)  # type: ignore[attr-defined]
        if problem.observed is not None:
            inliers = inliers & problem.observed
        if problem.scales is None:
            G = np.empty((inliers.shape[1], *self.whole.shape))
            _subset_grams(problem.W, inliers, self.whole, G)
        else:
            G = _weighted_grams(problem.W, np.where(inliers, problem.scales, 0) ** 2)
        diagonal = np.einsum("bkk->bk", G)
        # In units of the Gram matrix of all observed entries, since there may be no inliers.
        sizes = np.diagonal(self.gram.each(), axis1=-2, axis2=-1)
        ridge = _NEWTON_RIDGE * sizes.max(axis=-1, initial=np.finfo(float).tiny)
        diagonal += self.l2 + ridge.reshape(-1, 1)
        gram = prepare(G)
        return self._codes(problem, gram, slope - self.l2 * H + _apply(gram, H), H, 1.0)


def _is_small(V: Array) -> bool:
    """Return whether a batch is one chunk."""
    return V.shape[1] <= MAX_CHUNK_SIZE and V.size <= CHUNK_ENTRIES


def _best(problem: RobustProblem, H: Array, new: Array, target: Array) -> Array:
    """Return for each sample the best of ``new`` and of trial points from H towards ``target``."""
    least = problem.at(new).loss
    for step in _NEWTON_STEPS:
        trial = H + H.dtype.type(step) * (target - H)
        loss = problem.at(trial).loss
        better = loss < least
        new, least = np.where(better, trial, new), np.where(better, loss, least)
    return new


def _subset_grams(W: Array, kept: Mask, whole: Array, grams: Array) -> None:
    """Write into ``grams`` (B, K, K) the Gram matrices of the rows of W that each sample keeps."""
    wide, rows = np.ascontiguousarray(W, dtype=np.float64), np.ascontiguousarray(kept.T)
    _native.subset_grams(wide, rows, whole, _MIN_ENERGY_SHARE, grams)


def _weighted_grams(W: Array, weights: Array) -> Array:
    """Return W' diag(w) W for each column w of ``weights``, in double precision."""
    G = np.zeros((weights.shape[1], W.shape[1], W.shape[1]))
    rows = np.ascontiguousarray(weights.T, np.float64)
    _native.weighted_grams(rows, np.ascontiguousarray(W, np.float64), 0.0, 1.0, G)
    return G


def _prepare(problem: RobustProblem, whole: Array, l2: float) -> Gram:
    """Return W'W + l2 I, and one such matrix for each sample with missing entries."""
    ridge = l2 * np.eye(len(whole)) if l2 else None
    if problem.scales is not None:
        G = _weighted_grams(problem.W, problem.scales**2)
        return invert(G if ridge is None else G + ridge, np.arange(len(G)))
    if problem.observed is None:
        return prepare(whole if ridge is None else whole + ridge)
    incomplete = np.flatnonzero(~problem.observed.all(axis=0))
    G = np.empty((1 + incomplete.size, *whole.shape))
    G[0] = whole
    _subset_grams(problem.W, problem.observed.T[incomplete].T, whole, G[1:])
    place = np.zeros(problem.observed.shape[1], dtype=np.intp)
    place[incomplete] = 1 + np.arange(incomplete.size)
    return invert(G if ridge is None else G + ridge, place)


def _apply(gram: Gram, H: Array) -> Array:
    """Return G h for each column h of H."""
    if gram.place.size == 0:
        return times(gram.G[0], H)
    product: Array = np.einsum("bij,jb->ib", gram.each(), H)
    return product


# Nonnegative least squares: no residual is large enough for an outlier of this weight.
LEAST_SQUARES = Fast(outliers=L1(1e30))
