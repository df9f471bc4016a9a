"""Sparse counts: the model where they are, and their codes."""

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def products_at(indptr: Any, indices: Any, W: Any, H: Any, found: Any) -> Any:
    """Set found to the entries of H W' at the places of a sparse matrix of rows."""
    K = W.shape[1]
    for s in range(H.shape[0]):
        h = H[s]
        for i in range(indptr[s], indptr[s + 1]):
            w = W[indices[i]]
            total = h.dtype.type(0.0)
            for k in range(K):
                total += w[k] * h[k]
            found[i] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _explain(atoms: Any, v: Any, n: Any, h: Any, haze: Any, back: Any) -> Any:
    """Set back_k to the sum of v_i a_ik / p_i, with p = A h + haze the model of n counts.

    Returned is the sum of v_i haze / p_i: what the haze explains.
    """
    K = h.size
    hidden = 0.0
    for k in range(K):
        back[k] = 0.0
    for i in range(n):
        a = atoms[i]
        p = haze
        for k in range(K):
            p += a[k] * h[k]
        share = v[i] / p
        hidden += share * haze
        for k in range(K):
            back[k] += share * a[k]
    return hidden


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _log_likelihood(atoms: Any, v: Any, n: Any, h: Any, haze: Any) -> Any:
    """Return the sum of v_i log(p_i / v_i) + v_i."""
    total = 0.0
    for i in range(n):
        p = haze
        for k in range(h.size):
            p += atoms[i, k] * h[k]
        total += v[i] * (1.0 + np.log(p / v[i]))
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def count_codes(
    indptr: Any,
    indices: Any,
    data: Any,
    W: Any,
    mass: Any,
    haze: Any,
    H: Any,
    loss: Any,
    tol: Any,
    max_iter: Any,
) -> Any:
    """Minimise mass' h - sum_i v_i log((W h + haze sum(v))_i) over h >= 0, for sparse rows v.

    Expectation-maximisation from the rows of H, until the duality gap is below ``tol`` times
    the divergence: with y = v / p, and rho the largest entry of W'y / mass, y / rho is feasible
    for the dual problem. ``loss`` gets the divergence, negative where the gap stayed larger.
    ``mass`` has one row for all samples, or one for each.
    """
    K = W.shape[1]
    longest = 0
    for s in range(H.shape[0]):
        longest = max(longest, indptr[s + 1] - indptr[s])
    atoms = np.empty((longest, K), dtype=W.dtype)
    v = np.empty(longest, dtype=W.dtype)
    back = np.empty(K, dtype=W.dtype)
    for s in range(H.shape[0]):
        h, m = H[s], mass[min(s, mass.shape[0] - 1)]
        n, total = 0, 0.0
        for i in range(indptr[s], indptr[s + 1]):
            if data[i] > 0.0:
                for k in range(K):
                    atoms[n, k] = W[indices[i], k]
                v[n] = data[i]
                total += data[i]
                n += 1
        constant = haze * total
        for step in range(max_iter + 1):
            hidden = _explain(atoms, v, n, h, constant, back)
            rho, cost = 0.0, 0.0
            for k in range(K):
                cost += m[k] * h[k]
                rho = max(rho, back[k] / m[k])
            gap = cost
            if total > 0.0:
                gap += total * np.log(rho) - total + hidden / rho
            # The logarithms of the divergence are looked up when it is about to matter.
            if gap <= 4.0 * tol * total or step == max_iter:
                loss[s] = cost - _log_likelihood(atoms, v, n, h, constant)
                if gap <= tol * loss[s]:
                    break
                if step == max_iter:
                    loss[s] = -loss[s]
                    break
            for k in range(K):
                h[k] *= back[k] / m[k]
