"""Mixtures of a few sparse archetypes."""

from typing import NamedTuple

import numpy as np

from thalweg._checks import generator
from thalweg._typing import Array
from thalweg.errors import ParameterError
from thalweg.synthetic._checks import require_noise, require_shares, require_sizes

__all__ = ["Mixtures", "archetypal_mixtures"]


class Mixtures(NamedTuple):
    """Mixtures, and what they were made of.

    Attributes
    ----------
    X : array of shape (n_samples, n_features)
        ``codes @ components`` with noise, and nothing below 0.
    clean : array of shape (n_samples, n_features)
        ``codes @ components``.
    components : array of shape (n_components, n_features)
        The true archetypes.
    codes : array of shape (n_samples, n_components)
        Shares of the archetypes; rows have the sum 1.

    Examples
    --------
    >>> from thalweg.synthetic import archetypal_mixtures
    >>> archetypal_mixtures(50, 30, 4, random_state=0).X.shape
    (50, 30)
    """

    X: Array
    clean: Array
    components: Array
    codes: Array


def archetypal_mixtures(
    n_samples: int = 200,
    n_features: int = 1200,
    n_components: int = 20,
    *,
    noise: float = 0.1,
    zeros: float = 0.2,
    spread: float | None = None,
    separable: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> Mixtures:
    """Draw mixtures of archetypes, [A] 5.1.

    Archetypes are uniform on [0, 1] with a share of zeros. Shares are uniform numbers divided by
    their sum, as in [A]: then no sample is near an archetype when there are many. With
    ``spread`` they are Dirichlet numbers instead; 0.1 puts most samples near a corner or an
    edge, so that the data determine the archetypes. With ``separable`` each archetype is
    itself a sample before noise, as in [A] Appendix B::

        X = max(W H + Z, 0),    W = [I; V],    V >= 0,    V 1 = 1

    The results of [A] 5.1 are reproduced with ``separable=True`` only, although its text has
    uniform shares for every sample.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Sizes, at least 1.
    noise : float
        Standard deviation of the normal noise.
    zeros : float
        Share of zeros among the entries of the archetypes.
    spread : float, optional
        Parameter of the Dirichlet distribution of the shares.
    separable : bool
        Whether the first ``n_components`` samples are the archetypes; they count among
        ``n_samples``.
    random_state : int, Generator or None
        Seed or source of the random numbers.

    Returns
    -------
    Mixtures
        ``X``, ``clean``, ``components`` and ``codes``, in float64.

    Examples
    --------
    >>> from thalweg.synthetic import archetypal_mixtures
    >>> drawn = archetypal_mixtures(50, 30, 4, zeros=0.5, random_state=0)
    >>> float((drawn.components == 0).mean())
    0.5
    >>> drawn = archetypal_mixtures(50, 30, 4, separable=True, random_state=0)
    >>> bool((drawn.clean[:4] == drawn.components).all())
    True
    """
    require_sizes(n_samples=n_samples, n_features=n_features, n_components=n_components)
    require_noise(noise=noise)
    require_shares(zeros=zeros)
    if separable and n_samples < n_components:
        raise ParameterError(
            f"n_samples must be at least n_components = {n_components} if separable, "
            f"got {n_samples}. Draw more samples, or fewer archetypes."
        )
    rng = generator(random_state)
    components = rng.random((n_components, n_features))
    dropped = rng.permutation(components.size)[: round(zeros * components.size)]
    components.flat[dropped] = 0.0
    if spread is None:
        codes = rng.random((n_samples, n_components))
        codes /= codes.sum(axis=1, keepdims=True)
    else:
        codes = rng.dirichlet(np.full(n_components, spread), n_samples)
    if separable:
        codes[:n_components] = np.eye(n_components)
    clean = codes @ components
    X = np.maximum(clean + noise * rng.standard_normal(clean.shape), 0.0)
    return Mixtures(X, clean, components, codes)
