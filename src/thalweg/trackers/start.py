"""A first basis from a few dirty samples."""

from typing import NamedTuple

import numpy as np

from thalweg import _kernels
from thalweg._typing import Array, Mask
from thalweg.trackers._blocks import pack
from thalweg.trackers._noise import noise_level
from thalweg.trackers._probabilistic import likely_codes

__all__ = ["Start", "robust_basis", "robust_start"]

_ATTEMPTS = 5  # first guesses; one of singular vectors, the others random
_TRIAL = 2  # rounds for each of them
_ROUNDS = 15  # for the best
_POLISH = 10  # with what was found
_STEPS = 6  # of each fit; the next one goes on from there
_ENOUGH = 1e-3  # relative progress below which rounds end
_FEATURES = 512  # more are fitted only at the end
# An entry beyond so many times what its row and column are like may be an outlier at first sight.
_SUSPECT = 3.0
# Quantile of sizes that is looked at, and how many times as large the median of normal numbers is.
_LOW, _MEDIAN_TO_LOW = 0.25, 2.117
# Huber's knee, as a share of the typical entry: small, so that the fit is nearly one of least
# absolute values.
_KNEE = 1e-2
_FEW = 4  # entries for each code below which samples do not determine their codes well
_LIMIT = 2.5  # noise levels from which an entry is an outlier


class Start(NamedTuple):
    """An orthonormal basis, and the noise level of the entries that agree on it.

    Attributes
    ----------
    U : array of shape (F, K)
        Basis with orthonormal columns.
    noise : float
        Standard deviation of the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.start import Start
    >>> Start(np.eye(3, 2), 0.1).noise
    0.1
    """

    U: Array
    noise: float


class _Data(NamedTuple):
    """Samples as rows, which entries were observed, and what is typical of an entry's place."""

    X: Array
    observed: Mask
    typical: Array


class _Pair(NamedTuple):
    """A basis and the codes of the samples."""

    U: Array
    H: Array


def robust_basis(
    V: Array, K: int, observed: Mask | None = None, *, seed: int = 0, guess: Array | None = None
) -> Array:
    """Return an orthonormal basis of the K dimensions that most entries agree on.

    The low-rank matrix U H minimises the sum of min(|v - u' h|, c) over the entries observed, with
    c three times what is typical of an entry's row and column: basis and codes are fitted in
    turns by least absolute values, from several first guesses, and then by least squares on
    the entries within 2.5 noise levels.

    Parameters
    ----------
    V : array of shape (F, N)
        Samples; any finite number may stand where nothing was observed.
    K : int
        Dimensions; at most F. With fewer samples the others are at random.
    observed : boolean array of shape (F, N), optional
        False at gaps.
    seed : int
        Of the random guesses.
    guess : array of shape (F, K), optional
        One more guess.

    Returns
    -------
    array of shape (F, K)
        Basis with orthonormal columns.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.start import robust_basis
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(30), rng.normal(size=60))
    >>> V[rng.random(V.shape) < 0.3] = 20.0
    >>> U = robust_basis(V, 1)
    >>> bool(abs(U.sum()) / 30**0.5 > 0.999999)
    True
    """
    return robust_start(V, K, observed, seed=seed, guess=guess).U


def robust_start(
    V: Array, K: int, observed: Mask | None = None, *, seed: int = 0, guess: Array | None = None
) -> Start:
    """Return the basis of :func:`robust_basis`, and the noise level.

    Parameters
    ----------
    V, K, observed, seed, guess
        As in :func:`robust_basis`.

    Returns
    -------
    Start
        The basis, and the noise level of the entries within 2.5 levels of it.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.trackers.start import robust_start
    >>> rng = np.random.default_rng(0)
    >>> V = np.outer(np.ones(30), rng.normal(size=60)) + 0.1 * rng.normal(size=(30, 60))
    >>> V[rng.random(V.shape) < 0.3] = 20.0
    >>> bool(0.09 < robust_start(V, 1).noise < 0.11)
    True
    """
    rng = np.random.default_rng(seed)
    X = V.T.astype(np.float64)
    mask = np.ones(X.shape, dtype=np.bool_) if observed is None else observed.T
    X = np.where(mask, X, 0.0)
    some = np.sort(rng.permutation(len(V))[:_FEATURES])
    part = _Data(X[:, some], mask[:, some], _typical(X[:, some], mask[:, some]))
    if not part.typical.any():
        return Start(_orthonormal(np.zeros((len(V), 0)), K, rng).astype(V.dtype), 0.0)
    rank = min(K, *part.X.shape)
    H = _codes(part, rank, rng, guess[some] if guess is not None and rank == K else None)
    U = _fit(X.T, mask.T, H, _knee(part))
    trusted, noise = _trusted(X, mask, _Pair(U, H))
    U = _fit(X.T, trusted.T, H, np.inf)
    return Start(_orthonormal(U, K, rng).astype(V.dtype), noise)


def _codes(data: _Data, K: int, rng: np.random.Generator, guess: Array | None) -> Array:
    """Return codes of the samples that leave most entries with a small residual."""
    counts = data.observed.sum(axis=1)
    if np.median(counts[counts > 0]) < _FEW * K:
        return likely_codes(data.X, _plain(data), K, rng)
    pairs = [_best(data, _guesses(data, K, rng))]
    if guess is not None:
        pairs.append(_best(data, [guess.astype(np.float64)]))
    return min(pairs, key=lambda pair: _truncated(data, pair)).H


def _typical(X: Array, observed: Mask) -> Array:
    """Return the size that is typical of each entry's row and column together."""
    sizes = np.abs(X)
    rows, columns = _usual(sizes, observed), _usual(sizes.T, observed.T)
    overall = sizes.sum() / max(np.count_nonzero(observed), 1)
    if not overall > 0.0:
        return np.zeros_like(X)
    middle = float(_usual(sizes[None], observed[None])[0])
    if not middle > np.finfo(np.float64).eps * overall:  # most entries are nothing beside the rest
        return np.full_like(X, overall)
    both: Array = np.outer(rows, columns) / middle
    at_least: Array = np.maximum(both, 0.1 * min(middle, overall))
    return at_least


def _usual(sizes: Array, observed: Mask) -> Array:
    """Return what a normal number's median would be, from a quantile that outliers do not reach.

    Where four in ten entries are outliers, some samples have them in more than half of theirs.
    """
    pairs = zip(sizes, observed, strict=True)
    low = [np.quantile(size[there], _LOW) if there.any() else 0.0 for size, there in pairs]
    return _MEDIAN_TO_LOW * np.array(low)


def _guesses(data: _Data, K: int, rng: np.random.Generator) -> list[Array]:
    """Return bases to begin with: of the entries that do not look like outliers, and random."""
    first = np.linalg.svd(np.where(_plain(data), data.X, 0.0), full_matrices=False)[2][:K].T
    others = (rng.normal(size=(data.X.shape[1], K)) for _ in range(_ATTEMPTS - 1))
    return [first, *(np.linalg.qr(U)[0] for U in others)]


def _best(data: _Data, guesses: list[Array]) -> _Pair:
    """Return the pair that the best of some guesses after two rounds ends with."""
    pairs = [_Pair(U, np.zeros((len(data.X), U.shape[1]))) for U in guesses]
    for _ in range(_TRIAL):
        pairs = [_turn(data, _plain(data), pair, _knee(data)) for pair in pairs]
    return _settled(data, min(pairs, key=lambda pair: _truncated(data, pair)))


def _settled(data: _Data, pair: _Pair) -> _Pair:
    """Return the pair after rounds that lower the truncated loss."""
    loss = _truncated(data, pair)
    for _ in range(_ROUNDS):
        after = _turn(data, _plain(data), pair, _knee(data))
        before, loss = loss, _truncated(data, after)
        if not loss < (1.0 - _ENOUGH) * before:
            break
        pair = after
    return _polish(data, pair)


def _plain(data: _Data) -> Mask:
    """Return the entries that do not look like outliers at first sight."""
    return data.observed & (np.abs(data.X) <= _SUSPECT * data.typical)


def _knee(data: _Data) -> float:
    return _KNEE * float(data.typical.mean())


def _turn(data: _Data, taking: Mask, pair: _Pair, knee: float) -> _Pair:
    """Fit codes, and then the basis, each beginning where it was."""
    H, T = np.linalg.qr(_fit(data.X, taking, pair.U, knee, pair.H))
    return _Pair(_fit(data.X.T, taking.T, H, knee, pair.U @ T.T), H)


def _truncated(data: _Data, pair: _Pair) -> float:
    capped = np.minimum(np.abs(data.X - pair.H @ pair.U.T), _SUSPECT * data.typical)
    return float(capped[data.observed].sum())


def _polish(data: _Data, pair: _Pair) -> _Pair:
    """Return the pair after rounds of nearly least squares on the entries that fit."""
    for _ in range(_POLISH):
        trusted, noise = _trusted(data.X, data.observed, pair)
        pair = _turn(data, trusted, pair, noise)
    return pair


def _trusted(X: Array, observed: Mask, pair: _Pair) -> tuple[Mask, float]:
    """Return the entries within the limit of a model, and the noise level that they have."""
    residual = np.abs(X - pair.H @ pair.U.T)
    noise = noise_level(residual[observed], _LIMIT, pair.U.size + pair.H.size)
    trusted: Mask = observed & (residual <= _LIMIT * noise)
    return trusted, noise


def _fit(X: Array, observed: Mask, U: Array, knee: float, H: Array | None = None) -> Array:
    """Return the codes of the rows of X that minimise Huber's function on the entries observed."""
    X, observed = np.ascontiguousarray(X), np.ascontiguousarray(observed)
    H = np.zeros((len(X), U.shape[1])) if H is None else H.copy()
    _kernels.huber_codes(X, observed, pack(U), knee, _STEPS, H, np.empty(len(X), dtype=np.bool_))
    return H


def _orthonormal(U: Array, K: int, rng: np.random.Generator) -> Array:
    """Return an orthonormal basis of K dimensions that holds the columns of U."""
    random = rng.normal(size=(len(U), K - U.shape[1]))
    size = np.abs(U).max(initial=0.0) or 1.0
    return np.linalg.qr(np.hstack([U / size, random]))[0]
