"""The generalised t law: normal, Laplace and Student laws in one family."""

from typing import NamedTuple

import numpy as np
from scipy.special import betainc, gammaincc

from thalweg._typing import Array

__all__ = ["GeneralisedT"]

# Below this 1 / q the tail is that of the exponential power law: the survival function has the
# same first four digits up to 20 scales. Safety margin: any value in 1e-6..1e-4.
_EXPONENTIAL = 1e-5


class GeneralisedT(NamedTuple):
    """The generalised t law of McDonald and Newey (1988), symmetric about 0.

    Its density is proportional to ``(1 + |x|^p / (q s^p)) ** -(q + 1/p)``. It is normal for p = 2
    and Laplace's for p = 1 as q grows, and Student's with 2q degrees of freedom for p = 2.

    Attributes
    ----------
    scale : float
        Scale s.
    power : float
        Exponent p of the body.
    heaviness : float
        ``1 / q``; 0 for an exponential tail, otherwise ``P(|x| > t)`` falls as ``t ** -(p q)``.

    Examples
    --------
    >>> from thalweg.noise.generalised_t import GeneralisedT
    >>> law = GeneralisedT(scale=2**0.5, power=2.0, heaviness=0.0)  # standard normal
    >>> round(float(law.survival(1.959964)), 6)
    0.05
    """

    scale: float
    power: float
    heaviness: float

    def survival(self, sizes: Array | float) -> Array:
        """Return P(|x| >= size)."""
        scaled = np.abs(sizes) / self.scale
        with np.errstate(over="ignore"):
            u = np.power(scaled, self.power)
        if self.heaviness < _EXPONENTIAL:
            tail: Array = gammaincc(1.0 / self.power, u)
            return tail
        q = 1.0 / self.heaviness
        heavy: Array = betainc(q, 1.0 / self.power, 1.0 / (1.0 + u / q))
        return heavy
