"""The ONMF of Cao et al.: factorise the weighted dictionary together with each batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from thalweg._typing import Array, Observed
from thalweg.encoders import Codes
from thalweg.encoders.entry_weights import require_mask
from thalweg.prox import Prox
from thalweg.prox.l2_ball import L2Ball
from thalweg.solvers.multiplicative import rescale
from thalweg.updates.atom_scaling import column_gauges

__all__ = ["CaoONMF", "CaoState"]

# Initial codes and atoms are at least this share of their mean, since multiplicative updates cannot
# change zeros.
_MIN_ENTRY_SHARE = 1e-3


class CaoState(NamedTuple):
    """Statistics of all samples so far.

    Attributes
    ----------
    A : array of shape (K, K)
        Sum of h h', in the coordinates of the latest dictionary.
    objective : array of shape ()
        Mean loss of the samples, each with the dictionary of its time.
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
    """Compute argmin_{W, H >= 0} |[W_old L, V] - W H|^2/2: [R] (36).

    W_old H_old stands for the earlier samples, and L, the diagonal matrix of the norms of the rows
    of H_old, gives W_old their weight. The new codes of the old samples are G H_old with
    G = H_1 L^-1 ([R] (37)). So L needs the K^2 inner products of the rows of H_old only, not the
    n K codes of the paper. ([R] IV-A prints the *columns* of H_old, one for each sample.) Codes and
    dictionary are updated in turn by the rules of Lee and Seung.

    Parameters
    ----------
    constraint : Prox
        A set with a ``gauge``: atoms are scaled onto its boundary, all codes inversely.
    tol, max_iter : float, int
        The updates of a batch stop at this relative decrease of the objective in an iteration,
        or after ``max_iter`` iterations.

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
        self,
        W: Array,
        state: CaoState,
        V: Array,
        codes: Codes,
        observed: Observed | None = None,
        sample_weight: Array | None = None,
    ) -> tuple[Array, CaoState]:
        """Factorise the weighted dictionary and the batch jointly.

        A mask is not needed, since V - R equals W H at missing entries; entries cannot have
        weights.
        """
        require_mask(observed, "CaoONMF")
        n, K = V.shape[1], W.shape[1]
        if n == 0:
            return W, state
        weights = np.sqrt(np.diag(state.A))
        clean, latest, mass = V - codes.R, codes.H, float(n)
        if sample_weight is not None:  # squares weigh u times as much in units of sqrt(u)
            roots, mass = np.sqrt(sample_weight).astype(W.dtype), float(sample_weight.sum())
            clean, latest = clean * roots, latest * roots
        M = np.hstack([W * weights, clean])
        W, H = self.factorise(M, W, np.hstack([np.diag(weights), latest]))
        size = column_gauges(W, self.constraint, np.ones(K, np.bool_))
        W, H = np.asfortranarray(W / size), H * size[:, None]
        moved = np.divide(H[:, :K], weights, out=np.zeros_like(state.A), where=weights > 0)
        total = state.n_samples + mass
        latest_loss = codes.loss.sum() if sample_weight is None else codes.loss @ sample_weight
        mean = state.objective + (latest_loss - mass * state.objective) / total
        A = moved @ state.A @ moved.T + H[:, K:] @ H[:, K:].T
        return W, CaoState(A, np.asarray(mean), np.asarray(total))

    def factorise(self, M: Array, W: Array, H: Array) -> tuple[Array, Array]:
        """Return factors of M, starting from W and H."""
        W, H = _positive(W), _positive(H)
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
        """Return the sum of several states with the same dictionary."""
        total = sum((s.n_samples for s in states), np.zeros(()))
        mean = sum((s.objective * s.n_samples for s in states), np.zeros(()))
        A: Array = np.sum([s.A for s in states], axis=0)
        return CaoState(A, np.asarray(mean / max(total, 1.0)), np.asarray(total))

    def objective(self, W: Array, state: CaoState) -> float:
        """Return the mean loss of the samples so far, which does not depend on W."""
        return float(state.objective)


def _positive(X: Array) -> Array:
    """Return X with its zeros raised to a small share of the mean."""
    raised: Array = np.maximum(X, X.dtype.type(_MIN_ENTRY_SHARE) * X.mean())
    return raised
