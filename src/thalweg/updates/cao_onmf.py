"""The dictionary stands for all that came before: the ONMF of Cao et al."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.encoders import Codes
from thalweg.prox import Prox
from thalweg.prox.l2_ball import L2Ball
from thalweg.solvers.multiplicative import rescale
from thalweg.updates.atom_scaling import sizes

__all__ = ["CaoONMF", "CaoState"]

# A zero cannot be multiplied: codes and atoms begin at no less than this share of their mean.
_SEED = 1e-3


class CaoState(NamedTuple):
    """What is kept of the samples so far.

    Attributes
    ----------
    A : array of shape (K, K)
        Sum of h h', in the coordinates of the latest dictionary.
    objective : array of shape ()
        Mean loss of the samples, each at the dictionary that it met.
    n_samples : array of shape ()
        Number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.cao_onmf import CaoONMF
    >>> CaoONMF().init(np.ones((3, 2))).A.shape
    (2, 2)
    """

    A: Array
    objective: Array
    n_samples: Array


@dataclass(frozen=True)
class CaoONMF:
    """argmin over W, H >= 0 of |[W_old L, V] - W H|^2/2: [R] (36).

    The samples so far are taken to be W_old H_old, and L, the norms of the rows of H_old, makes
    W_old as heavy as they are. The new codes of the old samples are G H_old with
    G = H_1 L^-1 ([R] (37)), so that L needs the products of the rows of H_old only: K^2 numbers
    in place of the n K of the paper. ([R] IV-A takes the *columns* of H_old, one for each
    sample.) Codes and dictionary take turns with the updates of Lee and Seung.

    Parameters
    ----------
    constraint : Prox
        A set with a ``gauge``: atoms are scaled onto its border, all codes inversely.
    tol, max_iter : float, int
        Relative decrease in a round below which the updates of a batch end, and their cap.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.updates.cao_onmf import CaoONMF
    >>> V, W = np.array([[0.3], [0.4]]), np.array([[1.0], [0.1]])
    >>> update = CaoONMF(max_iter=1000, tol=1e-9)
    >>> W, state = update.step(W, update.init(W), V, Fast().encode(V, W))
    >>> W.ravel().round(3)
    array([0.6, 0.8])
    """

    name: ClassVar[str] = "cao-onmf"

    constraint: Prox = field(default_factory=L2Ball)
    tol: float = 1e-4
    max_iter: int = 200

    def init(self, W: Array) -> CaoState:
        """Return the state of no samples."""
        K = W.shape[1]
        return CaoState(np.zeros((K, K), W.dtype), np.zeros(()), np.zeros(()))

    def step(
        self, W: Array, state: CaoState, V: Array, codes: Codes, observed: Mask | None = None
    ) -> tuple[Array, CaoState]:
        """Factorise the dictionary and the batch together.

        Gaps need no mark here: the outliers make V - R equal to W H over them.
        """
        n, K = V.shape[1], W.shape[1]
        if n == 0:
            return W, state
        weights = np.sqrt(np.diag(state.A))
        M = np.hstack([W * weights, V - codes.R])
        W, H = self.factorise(M, W, np.hstack([np.diag(weights), codes.H]))
        size = sizes(W, self.constraint, np.ones(K, np.bool_))
        W, H = np.asfortranarray(W / size), H * size[:, None]
        moved = np.divide(H[:, :K], weights, out=np.zeros_like(state.A), where=weights > 0)
        total = state.n_samples + float(n)
        mean = state.objective + (codes.loss.sum() - n * state.objective) / total
        A = moved @ state.A @ moved.T + H[:, K:] @ H[:, K:].T
        return W, CaoState(A, np.asarray(mean), np.asarray(total))

    def factorise(self, M: Array, W: Array, H: Array) -> tuple[Array, Array]:
        """Return factors of M with a lower error than the given ones."""
        W, H = _seeded(W), _seeded(H)
        square, value = 0.5 * float(np.vdot(M, M)), np.inf
        for _ in range(self.max_iter):
            H = H * rescale(W.T @ M, (W.T @ W) @ H, (1.0, 0.0))
            A, B = H @ H.T, M @ H.T
            W = W * rescale(B, W @ A, (1.0, 0.0))
            previous, value = value, square + float(0.5 * np.vdot(W @ A, W) - np.vdot(W, B))
            if previous - value <= self.tol * abs(previous):
                break
        return W, H

    def merge(self, states: Sequence[CaoState]) -> CaoState:
        """Return the sum of several states, of one and the same dictionary."""
        total = sum((s.n_samples for s in states), np.zeros(()))
        mean = sum((s.objective * s.n_samples for s in states), np.zeros(()))
        A: Array = np.sum([s.A for s in states], axis=0)
        return CaoState(A, np.asarray(mean / max(total, 1.0)), np.asarray(total))

    def objective(self, W: Array, state: CaoState) -> float:
        """Return the mean loss of the samples so far; W has no part in it."""
        return float(state.objective)


def _seeded(X: Array) -> Array:
    """Return X with zeros raised to a small share of the mean."""
    raised: Array = np.maximum(X, X.dtype.type(_SEED) * X.mean())
    return raised
