"""Iterate encoders in chunks of samples, with one stopping criterion per sample."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from thalweg._threads import map_in_threads
from thalweg._typing import Array, Indices, Mask
from thalweg.encoders import Codes
from thalweg.encoders._robust_problem import Point, RobustProblem
from thalweg.encoders.columns import chunks, take_columns
from thalweg.encoders.divergence_problem import DivergenceProblem

__all__ = [
    "Exit",
    "Iteration",
    "StoppingRule",
    "empty",
    "encode_chunks",
    "encode_divergence_chunks",
]

Exit = Literal["decrease", "gap"]
# Converged samples are removed from the work arrays once they exceed this share of them.
# speed only: results do not depend on it
_MAX_CONVERGED_SHARE = 0.3
# Work entries per sample with missing entries, as a share of K^2: the size of its Gram matrix
# relative to a chunk's other arrays.
# speed only: results do not depend on it
_GRAM_WORK_SHARE = 0.25


class Iteration(Protocol):
    """One algorithm on one chunk of samples, with its state."""

    def start(self, problem: RobustProblem) -> Array:
        """Return the initial codes."""
        ...

    def step(self, problem: RobustProblem, H: Array, point: Point) -> Array:
        """Return the next codes."""
        ...

    def settled(self, tol: float) -> Mask | bool:
        """Return which samples have converged in the variables other than the codes."""
        ...

    def keep(self, columns: Indices) -> None:
        """Drop the state of all other samples."""
        ...


@dataclass(frozen=True)
class StoppingRule:
    """Stop each sample at a small change of its loss, or at a small duality gap.

    Attributes
    ----------
    tol : float
        Tolerance relative to the loss.
    exit : {"decrease", "gap"}
        Quantity compared with ``tol``: the change of the loss in one step, or the duality gap.
    max_iter : int
        Maximum number of steps.
    every : int
        Number of steps between two computations of the gap, which cost about a step each.
    """

    tol: float
    exit: Exit
    max_iter: int
    every: int

    def met(
        self,
        problem: RobustProblem,
        iteration: Iteration,
        point: Point,
        previous: Array | None,
        step: int,
    ) -> Mask:
        """Return which samples meet the criterion."""
        if self.exit == "decrease" and previous is not None:
            # The loss is infinite for initial codes outside the domain of the penalty.
            still = (np.abs(previous - point.loss) <= self.tol * previous) & np.isfinite(previous)
            done: Mask = still & iteration.settled(self.tol)
            return done
        if self.exit == "gap" and step % self.every == 0:
            return problem.certain(point, self.tol)
        return np.zeros(point.loss.shape, dtype=np.bool_)

    def run(self, problem: RobustProblem, iteration: Iteration, H0: Array | None) -> Codes:
        """Iterate until all samples meet the criterion, and keep each at its first such codes."""
        result = empty(problem)
        H = iteration.start(problem) if H0 is None else H0.astype(problem.V.dtype)
        alive = np.arange(problem.V.shape[1])
        done = np.zeros(alive.size, dtype=np.bool_)
        previous: Array | None = None
        for step in range(self.max_iter + 1):
            point = problem.at(H)
            met = self.met(problem, iteration, point, previous, step)
            fresh = (met | (step == self.max_iter)) & ~done
            if fresh.any():
                _record(result, alive, fresh, met, H, point)
                done |= fresh
            finished = np.count_nonzero(done)
            if finished == done.size:
                break
            if finished > _MAX_CONVERGED_SHARE * done.size:
                columns = np.flatnonzero(~done)
                alive, done = alive[columns], np.zeros(columns.size, dtype=np.bool_)
                problem, H = problem.take(columns), take_columns(H, columns)
                point = Point(
                    point.loss[columns],
                    take_columns(point.Z, columns),
                    take_columns(point.E, columns),
                )
                iteration.keep(columns)
            previous = point.loss
            H = iteration.step(problem, H, point)
        return result


def encode_chunks(
    problem: RobustProblem, H0: Array | None, encode: Callable[[RobustProblem, Array | None], Codes]
) -> Codes:
    """Encode in chunks of columns, so that the work arrays do not grow with the batch."""
    missing, n_work = None, problem.W.shape[1]
    if problem.observed is not None:
        # A sample with missing entries needs its own K x K Gram matrix.
        n_work = max(n_work, int(_GRAM_WORK_SHARE * n_work**2))
        # Values at missing entries are outliers: subtract them here, add them to R at the end.
        missing = np.where(problem.observed.T, problem.V.dtype.type(0), problem.V.T).T
        problem = replace(problem, V=problem.V - missing)
    pieces = chunks(problem.V, n_work)
    if len(pieces) <= 1:
        codes = encode(problem, H0)
    else:
        codes = empty(problem)

        def encode_part(part: slice) -> None:
            found = encode(problem.take(part), None if H0 is None else H0[:, part])
            for whole, piece in zip(codes, found, strict=True):
                whole[..., part] = piece

        deque(map_in_threads(encode_part, pieces), maxlen=0)
    return codes if missing is None else codes._replace(R=codes.R + missing)


def encode_divergence_chunks(
    problem: DivergenceProblem,
    H0: Array | None,
    run: Callable[[DivergenceProblem, Array], Codes],
    n_work: int = 1,
) -> Codes:
    """Encode a divergence problem in chunks of columns, from H0 or from uniform codes.

    ``n_work`` is the number of entries that the method keeps per sample beyond its features.
    """

    def encode_part(columns: slice) -> Codes:
        part = problem.take(columns)
        H = part.start() if H0 is None else H0[:, columns].astype(part.V.dtype)
        return run(part, np.asfortranarray(H))

    pieces = chunks(problem.V, max(problem.W.shape[1], n_work)) or [slice(0)]
    parts = list(map_in_threads(encode_part, pieces))
    return parts[0] if len(parts) == 1 else _concatenate(parts)


def _concatenate(parts: list[Codes]) -> Codes:
    H, R, *scalars = zip(*parts, strict=True)
    return Codes(np.hstack(H), np.hstack(R), *(np.concatenate(part) for part in scalars))


def empty(problem: RobustProblem) -> Codes:
    """Return an uninitialised result for a chunk."""
    F, B = problem.V.shape
    dtype = problem.V.dtype
    H, R = np.empty((B, problem.W.shape[1]), dtype).T, np.empty((B, F), dtype).T
    return Codes(H, R, np.zeros(B, dtype), np.zeros(B, dtype), np.zeros(B, np.bool_))


def _record(result: Codes, alive: Indices, fresh: Mask, met: Mask, H: Array, point: Point) -> None:
    columns = np.flatnonzero(fresh)
    into = alive[columns]
    E = take_columns(point.E, columns)
    result.H.T[into] = H.T[columns]
    result.R.T[into] = (take_columns(point.Z, columns) - E).T
    result.loss[into] = point.loss[columns]
    result.cost[into] = point.loss[columns] - 0.5 * np.einsum("fb,fb->b", E, E)
    result.solved[into] = met[columns]
