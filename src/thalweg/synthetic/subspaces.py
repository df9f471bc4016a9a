"""Streams near a subspace that jumps or rotates, with gaps and outliers, [T] V-A."""

from collections.abc import Iterable
from itertools import pairwise
from math import cos, inf, pi, sin
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from thalweg._checks import generator, require_nonnegative
from thalweg._typing import Array, Indices
from thalweg.errors import ParameterError
from thalweg.synthetic._blocks import blocks
from thalweg.synthetic._checks import require_shares, require_sizes

__all__ = ["SubspaceStream", "subspace_stream"]

Noise = Literal["relative", "absolute"]
Sign = Literal["nonnegative", "any"]

# Lowest signal-to-noise ratio in decibels: noise 1e15 times the signal, about 1 / eps.
_LOWEST_SNR = -300


class SubspaceStream(NamedTuple):
    """Contaminated samples, their clean part and outliers, and the true subspace over time.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        The sum of clean data, outliers and noise, with NaN at missing entries.
    clean : array of shape (n_samples, n_features)
        The points of the subspace.
    outliers : array of shape (n_samples, n_features)
        The true outliers, also at missing entries; 0 where there is none.
    starts : array of shape (n_subspaces,)
        The first sample of each subspace: 0, and the jumps.
    bases : array of shape (n_subspaces, n_features, n_components)
        Orthonormal bases U at these samples, with basis vectors as columns.
    turns : array of shape (n_subspaces, n_features, n_components)
        Directions V in which the bases rotate, with V'V = I and U'V = 0; 0 without rotation.
    rotation : float
        Rotation of the subspace per sample, in radians.

    Examples
    --------
    >>> from thalweg.synthetic import subspace_stream
    >>> stream = subspace_stream(300, 20, 3, jumps=[100], rotation=0.001, random_state=0)
    >>> stream.X.shape, stream.basis_at(150).shape
    ((300, 20), (20, 3))
    """

    X: Array
    clean: Array
    outliers: Array
    starts: Indices
    bases: Array
    turns: Array
    rotation: float

    def basis_at(self, t: int) -> Array:
        """Return the true orthonormal basis at sample t, of shape (n_features, n_components).

        U cos(a) + V sin(a), where a is ``rotation`` times the number of samples since the last
        jump. The subspace metrics take its transpose, which has the layout of ``components_``.
        """
        if not (isinstance(t, Integral) and 0 <= t < len(self.X)):
            raise ParameterError(
                f"t must be a sample index from 0 to {len(self.X) - 1}, got {t!r}. "
                "Use the index of a row of X."
            )
        k = int(np.searchsorted(self.starts, t, side="right")) - 1
        angle = self.rotation * float(t - self.starts[k])
        basis: Array = cos(angle) * self.bases[k] + sin(angle) * self.turns[k]
        return basis


def subspace_stream(
    n_samples: int = 5000,
    n_features: int = 50,
    n_components: int = 2,
    *,
    missing: float = 0.1,
    outlier_density: float = 0.05,
    outlier_intensity: float = 5.0,
    snr: float = 20.0,
    noise: Noise = "relative",
    outlier_sign: Sign = "nonnegative",
    jumps: Iterable[int] = (),
    rotation: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> SubspaceStream:
    """Draw the synthetic stream of [T] V-A: x_t = A w_t + noise + outliers, with gaps.

    The mixing matrix A and the weights w_t are standard normal. A new A is drawn at each jump.
    Between jumps the subspace rotates along a geodesic: A_t = U_t T, where U_t is ``basis_at(t)``
    and T is constant. Without a jump between samples s and t, all principal angles between their
    subspaces are ``rotation * |t - s|``, and A_t keeps its singular values.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Sizes, at least 1, with no more components than features.
    missing : float
        Probability that an entry is missing, in [0, 1]. The other entries do not depend on it.
    outlier_density : float
        Probability that an entry, observed or missing, is an outlier, in [0, 1].
    outlier_intensity : float
        Size of the outliers (fac-outlier in [T]), >= 0, in the unit that ``noise`` defines.
    snr : float
        Signal-to-noise ratio in decibels, -300 or more; inf for no noise.
    noise : {"relative", "absolute"}
        With "relative", the noise is scaled to |noise| = |clean| 10^(-snr / 20) in the Frobenius
        norm, and outliers are uniform on [0, outlier_intensity max|clean|]. With "absolute", the
        standard deviation of the noise is 10^(-snr / 20), and outliers are uniform on
        [0, outlier_intensity].
    outlier_sign : {"nonnegative", "any"}
        With "any", the interval of the outliers is symmetric about 0.
    jumps : iterable of int
        Increasing sample indices at which a new subspace starts.
    rotation : float
        Rotation of the subspace per sample in radians, in [0, pi / 2]. A nonzero rotation needs
        ``n_features >= 2 * n_components``.
    random_state : int, Generator or None
        Seed or random number generator.

    Returns
    -------
    SubspaceStream
        ``X``, ``clean``, ``outliers``, in float64, and the true basis by ``basis_at(t)``.

    Notes
    -----
    [T] prints the absolute form. The entries of the signal have the mean square ``n_components``,
    so that its signal-to-noise ratio is about ``snr + 10 log10(n_components)``, and not ``snr``.
    The published demonstration of the method uses the relative form.

    With the same seed, streams that differ in outliers, noise or gaps have the same subspaces and
    weights, and the same noise up to its scale.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.synthetic import subspace_stream
    >>> stream = subspace_stream(1000, snr=10.0, missing=0.0, random_state=0)
    >>> rest = stream.X - stream.clean - stream.outliers
    >>> round(20 * np.log10(np.linalg.norm(stream.clean) / np.linalg.norm(rest)), 6)
    np.float64(10.0)
    """
    require_sizes(n_samples=n_samples, n_features=n_features, n_components=n_components)
    require_shares(missing=missing, outlier_density=outlier_density)
    require_nonnegative(outlier_intensity=outlier_intensity)
    _require_known("noise", noise, get_args(Noise))
    _require_known("outlier_sign", outlier_sign, get_args(Sign))
    _require_decibels(snr)
    _require_room(n_features, n_components, rotation)
    starts = _starts(jumps, n_samples)
    rng = generator(random_state)
    clean, bases, turns = _signal(n_samples, n_features, n_components, starts, rotation, rng)
    relative = noise == "relative"
    X = rng.standard_normal(clean.shape)
    scale = 10.0 ** (-snr / 20)
    X *= scale * np.linalg.norm(clean) / np.linalg.norm(X) if relative else scale
    size = outlier_intensity * (np.abs(clean).max() if relative else 1.0)
    least = 0.0 if outlier_sign == "nonnegative" else -size
    outliers = _outliers(clean.shape, outlier_density, least, size, rng)
    X += clean
    X += outliers
    for block in blocks(n_samples):
        X[block][rng.random(X[block].shape) < missing] = np.nan
    return SubspaceStream(X, clean, outliers, starts, bases, turns, float(rotation))


def _signal(
    n_samples: int,
    n_features: int,
    n_components: int,
    starts: Indices,
    rotation: float,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array]:
    """Return the clean samples, and the bases U and directions V of each subspace."""
    weights = rng.standard_normal((n_samples, n_components))
    clean = np.empty((n_samples, n_features))
    bases = np.zeros((len(starts), n_features, n_components))
    turns = np.zeros_like(bases)
    for k, (start, stop) in enumerate(pairwise([*starts, n_samples])):
        # The second half is drawn without rotation too, so that later random numbers do not change.
        drawn = rng.standard_normal((n_features, 2 * n_components))
        Q, T = np.linalg.qr(drawn if rotation else drawn[:, :n_components])
        bases[k] = Q[:, :n_components]
        if rotation:
            turns[k] = Q[:, n_components:]
        points = weights[start:stop] @ T[:n_components, :n_components].T
        angle = rotation * np.arange(stop - start)[:, None]
        clean[start:stop] = np.cos(angle) * points @ bases[k].T
        clean[start:stop] += np.sin(angle) * points @ turns[k].T
    return clean, bases, turns


def _outliers(
    shape: tuple[int, ...], density: float, least: float, most: float, rng: np.random.Generator
) -> Array:
    """Return U[least, most] numbers at independent entries of probability ``density``, else 0."""
    outliers = np.zeros(shape)
    for block in blocks(len(outliers)):
        # A U[0, 1] number below density is uniform on [0, density]: one draw gives place and size.
        chance = rng.random(outliers[block].shape)
        hit = chance < density
        outliers[block][hit] = least + (most - least) * (chance[hit] / density)
    return outliers


def _starts(jumps: Any, n_samples: int) -> Indices:
    """Return the first sample of each subspace."""
    try:
        starts = [0, *jumps]
        good = all(isinstance(t, Integral) for t in starts)
        good = good and all(before < after for before, after in pairwise([*starts, n_samples]))
    except TypeError:
        good = False
    if not good:
        raise ParameterError(
            f"jumps must be increasing sample indices from 1 to {n_samples - 1}, got {jumps!r}. "
            f"Use a list such as jumps=[{n_samples // 2}], or () for no jumps."
        )
    return np.array(starts, dtype=np.intp)


def _require_known(name: str, value: object, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ParameterError(
            f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}. "
            "Use one of these names."
        )


def _require_decibels(snr: float) -> None:
    if not (isinstance(snr, Real) and _LOWEST_SNR <= snr <= inf):
        raise ParameterError(
            f"snr must be a number of decibels >= {_LOWEST_SNR}, got {snr!r}. "
            "Use a number such as snr=20.0, or inf for no noise."
        )


def _require_room(n_features: int, n_components: int, rotation: float) -> None:
    """Raise unless the features have room for the subspace, and for its rotation."""
    if not (isinstance(rotation, Real) and 0 <= rotation <= pi / 2):
        raise ParameterError(
            f"rotation must be an angle between 0 and pi / 2, got {rotation!r}. "
            "Use radians per sample, such as rotation=0.001."
        )
    most = n_features // 2 if rotation else n_features
    if n_components > most:
        raise ParameterError(
            f"n_components must be at most {most} with n_features={n_features} and "
            f"rotation={rotation!r}, got {n_components!r}. Use fewer components, or more features."
        )
