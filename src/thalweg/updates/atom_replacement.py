"""Replace atoms that no sample uses by residuals of badly approximated samples."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from thalweg._typing import Array, Indices
from thalweg.encoders import Codes
from thalweg.encoders.columns import chunks
from thalweg.prox import Prox
from thalweg.updates._running_means import dead_atoms
from thalweg.updates.atom_scaling import scale_into

if TYPE_CHECKING:
    from thalweg.updates.surrogate import Statistics

__all__ = ["WorstResiduals", "dead_atoms", "replace_atoms", "replace_dead_atoms", "worst_residuals"]

# A sample may replace an atom if its squared residual exceeds this share of its squared norm,
# both without outliers: 10 % in amplitude.
_BAD_RESIDUAL_SHARE = 0.01


class WorstResiduals(NamedTuple):
    """The largest residuals of a batch, in descending order.

    Attributes
    ----------
    squares : array of shape (n,)
        Squared norm of each residual.
    residuals : array of shape (F, n)
        Residuals v - r - W h.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.updates.atom_replacement import WorstResiduals
    >>> WorstResiduals(np.array([4.0]), np.array([[2.0], [0.0]])).residuals.shape
    (2, 1)
    """

    squares: Array
    residuals: Array


def replace_dead_atoms(
    W: Array, state: "Statistics", V: Array, codes: Codes, constraint: Prox, frozen: int
) -> tuple[Array, "Statistics"]:
    """Replace dead atoms by the largest residuals of a batch, one sample per atom.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.updates.atom_replacement import replace_dead_atoms
    >>> from thalweg.updates.surrogate import Surrogate
    >>> V, W = np.array([[1.0], [2.0]]), np.array([[1.0, 0.5], [0.0, 0.0]])
    >>> codes = Fast().encode(V, W)._replace(H=np.array([[1.0], [0.0]]), R=np.zeros((2, 1)))
    >>> state = Surrogate().absorb(Surrogate().init(W), V, codes)
    >>> replace_dead_atoms(W, state, V, codes, L2Ball(), frozen=0)[0]
    array([[1., 0.],
           [0., 1.]])
    """
    dead = dead_atoms(state, frozen)
    if not dead or V.shape[1] == 0:
        return W, state
    return replace_atoms(W, state, dead, [worst_residuals(W, V, codes, len(dead))], constraint)


def worst_residuals(W: Array, V: Array, codes: Codes, count: int) -> WorstResiduals:
    """Return the residuals of the worst approximated samples, at most ``count``.

    Outliers are subtracted first, so that no sample is selected because of its outliers.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import Fast
    >>> from thalweg.updates.atom_replacement import worst_residuals
    >>> V, W = np.array([[1.0, 1.0], [0.0, 3.0]]), np.array([[1.0], [0.0]])
    >>> codes = Fast().encode(V, W)._replace(R=np.zeros((2, 2)))
    >>> worst_residuals(W, V, codes, 2).squares
    array([9.])
    """
    squares, energies = np.empty((2, V.shape[1]), W.dtype)
    for part in chunks(V, W.shape[1]):
        clean, residuals = _residuals(W, V, codes, part)
        squares[part] = np.einsum("fb,fb->b", residuals, residuals)
        energies[part] = np.einsum("fb,fb->b", clean, clean)
    bad = squares > _BAD_RESIDUAL_SHARE * energies
    worst = np.array([s for s in np.argsort(-squares, kind="stable") if bad[s]][:count], np.intp)
    return WorstResiduals(squares[worst], _residuals(W, V, codes, worst)[1])


def _residuals(W: Array, V: Any, codes: Codes, columns: Indices | slice) -> tuple[Array, Array]:
    """Return some samples without their outliers, and their residuals; V may be sparse."""
    samples = V[:, columns]
    clean = (samples.toarray() if sparse.issparse(samples) else samples) - codes.R[:, columns]
    return clean, clean - W @ codes.H[:, columns]


def replace_atoms(
    W: Array,
    state: "Statistics",
    dead: list[int],
    parts: Sequence[WorstResiduals],
    constraint: Prox,
) -> tuple[Array, "Statistics"]:
    """Replace the given atoms by the largest residuals of all parts, projected onto the set.

    The statistics of a replaced atom are set to 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.prox.l2_ball import L2Ball
    >>> from thalweg.updates.atom_replacement import WorstResiduals, replace_atoms
    >>> from thalweg.updates.surrogate import Surrogate
    >>> W = np.array([[1.0, 0.5], [0.0, 0.0]])
    >>> found = WorstResiduals(np.array([4.0]), np.array([[0.0], [2.0]]))
    >>> replace_atoms(W, Surrogate().init(W), [1], [found], L2Ball())[0]
    array([[1., 0.],
           [0., 1.]])
    """
    squares = np.concatenate([part.squares for part in parts])
    residuals = np.hstack([part.residuals for part in parts])
    W, A, B = W.copy(order="F"), state.A.copy(), state.B.copy(order="F")
    for k, s in zip(dead, np.argsort(-squares, kind="stable"), strict=False):
        atom = np.maximum(residuals[:, s], 0.0)
        size = np.linalg.norm(atom)
        if size > 0.0:
            W[:, k] = scale_into(atom / size, constraint)
            A[..., k, :], A[..., :, k], B[:, k] = 0.0, 0.0, 0.0
    return W, state._replace(A=A, B=B)
