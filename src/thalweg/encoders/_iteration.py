"""The frame that encoders share: chunks, stopping of each sample by itself, results."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

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
# Samples that are done are carried along until they are this share of those at work.
_DEAD_WEIGHT = 0.3


class Iteration(Protocol):
    """An encoder's iteration on one chunk; what it remembers of each sample is its own."""

    def start(self, problem: RobustProblem) -> Array:
        """Return the first codes."""
        ...

    def step(self, problem: RobustProblem, H: Array, point: Point) -> Array:
        """Return the next codes."""
        ...

    def settled(self, tol: float) -> Mask | bool:
        """Tell which samples may stop, as far as what the codes do not show is concerned."""
        ...

    def keep(self, columns: Indices) -> None:
        """Forget all samples but these."""
        ...


@dataclass(frozen=True)
class StoppingRule:
    """When a sample is done: its loss hardly changes, or its duality gap is small.

    Attributes
    ----------
    tol : float
        Relative to the loss.
    exit : {"decrease", "gap"}
        What is compared with ``tol``.
    max_iter : int
        Cap on the number of steps.
    every : int
        The gap costs about as much as a step, and is looked at every so many of them.
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
        """Tell which samples are done."""
        if self.exit == "decrease" and previous is not None:
            # A start outside of the penalty's domain has an infinite loss.
            still = (np.abs(previous - point.loss) <= self.tol * previous) & np.isfinite(previous)
            done: Mask = still & iteration.settled(self.tol)
            return done
        if self.exit == "gap" and step % self.every == 0:
            return problem.certain(point, self.tol)
        return np.zeros(point.loss.shape, dtype=np.bool_)

    def run(self, problem: RobustProblem, iteration: Iteration, H0: Array | None) -> Codes:
        """Iterate until each sample has met the rule; one that has is not touched again."""
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
            if finished > _DEAD_WEIGHT * done.size:
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
    """Encode a few columns at a time, so that the work arrays do not grow with the batch."""
    unseen, width = None, problem.W.shape[1]
    if problem.observed is not None:
        width = max(width, width**2 // 4)  # a sample with gaps may need a K x K matrix of its own
        # Whatever stands at a gap is an outlier: it is set aside, and put back at the end.
        unseen = np.where(problem.observed.T, problem.V.dtype.type(0), problem.V.T).T
        problem = replace(problem, V=problem.V - unseen)
    pieces = chunks(problem.V, width)
    if len(pieces) <= 1:
        codes = encode(problem, H0)
    else:
        codes = empty(problem)
        for part in pieces:
            found = encode(problem.take(part), None if H0 is None else H0[:, part])
            for whole, piece in zip(codes, found, strict=True):
                whole[..., part] = piece
    return codes if unseen is None else codes._replace(R=codes.R + unseen)


def encode_divergence_chunks(
    problem: DivergenceProblem,
    H0: Array | None,
    run: Callable[[DivergenceProblem, Array], Codes],
    n_work: int = 1,
) -> Codes:
    """Encode a divergence problem in chunks of columns, from H0 or from uniform codes.

    ``n_work`` is the number of entries that the method keeps per sample beyond its features.
    """
    parts = []
    for columns in chunks(problem.V, max(problem.W.shape[1], n_work)) or [slice(0)]:
        part = problem.take(columns)
        H = part.start() if H0 is None else H0[:, columns].astype(part.V.dtype)
        parts.append(run(part, np.asfortranarray(H)))
    return parts[0] if len(parts) == 1 else _concatenate(parts)


def _concatenate(parts: list[Codes]) -> Codes:
    H, R, *scalars = zip(*parts, strict=True)
    return Codes(np.hstack(H), np.hstack(R), *(np.concatenate(part) for part in scalars))


def empty(problem: RobustProblem) -> Codes:
    """Return room for the codes of a chunk."""
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
