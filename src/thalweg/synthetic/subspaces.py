"""A stream near a subspace that jumps or turns, with gaps and outliers, [T] V-A."""

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


class SubspaceStream(NamedTuple):
    """Contaminated samples, what they were made of, and the subspace at each of them.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        Clean data, outliers and noise together, with NaN where an entry is missing.
    clean : array of shape (n_samples, n_features)
        The points of the subspace.
    outliers : array of shape (n_samples, n_features)
        What was planted, behind gaps too; zero where there is none.
    starts : array of shape (n_subspaces,)
        The sample at which each subspace begins: 0, and the jumps.
    bases : array of shape (n_subspaces, n_features, n_components)
        Orthonormal bases U at these samples, basis vectors as columns.
    turns : array of shape (n_subspaces, n_features, n_components)
        Where each basis vector turns to: V with V'V = I and U'V = 0, or zeros at rest.
    rotation : float
        Angle by which the subspace turns with each sample, in radians.

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

        U cos(a) + V sin(a), where a is ``rotation`` times the samples since the last jump. The
        metrics of subspaces want its transpose, which is laid out like ``components_``.
        """
        if not (isinstance(t, Integral) and 0 <= t < len(self.X)):
            raise ParameterError(
                f"t should be the number of a sample from 0 to {len(self.X) - 1}, but {t!r} came. "
                "Give the row of X at which the basis is wanted."
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

    Mixing matrix A and weights w_t are standard normal. A is drawn anew at each jump, and
    between jumps its columns turn along a geodesic: A_t = U_t T, where U_t is ``basis_at(t)``
    and T stays as it is. All principal angles between the subspaces of two samples without a
    jump between them are ``rotation`` times their distance, and A_t keeps its singular values.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Sizes, at least 1, with no more components than features.
    missing : float
        Probability that an entry is missing, in [0, 1]. It does not change the other entries.
    outlier_density : float
        Probability that an entry is an outlier, seen or not, in [0, 1].
    outlier_intensity : float
        Size of the outliers (fac-outlier in [T]), >= 0, in the unit that ``noise`` says.
    snr : float
        Signal-to-noise ratio in decibels, -300 or more; inf for no noise.
    noise : {"relative", "absolute"}
        With "relative" the noise is scaled to |noise| = |clean| 10^(-snr / 20), in the norm of
        all entries, and outliers are uniform on [0, outlier_intensity max|clean|]. With
        "absolute" its standard deviation is 10^(-snr / 20), and they are uniform on
        [0, outlier_intensity].
    outlier_sign : {"nonnegative", "any"}
        With "any" the interval of the outliers begins at minus its end, and not at 0.
    jumps : iterable of int
        Samples, in order, at which a new subspace begins.
    rotation : float
        Angle by which the subspace turns with each sample, in radians, in [0, pi / 2]. Other
        than 0 it needs ``n_features >= 2 * n_components``.
    random_state : int, Generator or None
        Seed or source of the random numbers.

    Returns
    -------
    SubspaceStream
        ``X``, ``clean``, ``outliers``, in float64, and the true basis by ``basis_at(t)``.

    Notes
    -----
    [T] prints the absolute form. Entries of the signal have the mean square ``n_components`` in
    it, so that the ratio of signal and noise is about ``snr + 10 log10(n_components)``, and not
    ``snr``. The relative form is what the published demonstration of the method does.

    With one seed, streams that differ in outliers, noise or gaps have the same subspaces and
    weights, and the same normal numbers in their noise.

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
    """Return the points of the subspaces, where these begin, and where they turn to."""
    weights = rng.standard_normal((n_samples, n_components))
    clean = np.empty((n_samples, n_features))
    bases = np.zeros((len(starts), n_features, n_components))
    turns = np.zeros_like(bases)
    for k, (start, stop) in enumerate(pairwise([*starts, n_samples])):
        # The second half is drawn at rest too, so that rotation does not change what follows.
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
    """Return numbers from U[least, most] at places that are hit independently, else zeros."""
    outliers = np.zeros(shape)
    for block in blocks(len(outliers)):
        # Below density, a number from U[0, 1] is again uniform: it tells both place and size.
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
            f"jumps should be increasing numbers of samples from 1 to {n_samples - 1}, but "
            f"{jumps!r} came. Give a list such as jumps=[{n_samples // 2}], or none."
        )
    return np.array(starts, dtype=np.intp)


def _require_known(name: str, value: object, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ParameterError(
            f"{name} should be one of {', '.join(map(repr, known))}, but {value!r} came. "
            "Give one of these names."
        )


def _require_decibels(snr: float) -> None:
    if not (isinstance(snr, Real) and -300 <= snr <= inf):
        raise ParameterError(
            f"snr should be a number of decibels >= -300, but {snr!r} came. "
            "Give a number such as snr=20.0, or inf for no noise."
        )


def _require_room(n_features: int, n_components: int, rotation: float) -> None:
    """Raise unless the subspace fits in, and its complement can take it in when it turns."""
    if not (isinstance(rotation, Real) and 0 <= rotation <= pi / 2):
        raise ParameterError(
            f"rotation should be an angle between 0 and pi / 2, but {rotation!r} came. "
            "Give radians a sample, such as rotation=0.001."
        )
    most = n_features // 2 if rotation else n_features
    if n_components > most:
        raise ParameterError(
            f"n_components should be at most {most} with n_features={n_features} and "
            f"rotation={rotation!r}, but {n_components!r} came. Give fewer, or more features."
        )
