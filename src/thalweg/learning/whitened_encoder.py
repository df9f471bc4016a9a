"""Codes of samples whose features have different noise scales."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from thalweg._typing import Array, Mask
from thalweg.encoders import Codes
from thalweg.prox import Prox

__all__ = ["WhitenedEncoder"]


@dataclass(frozen=True, eq=False)
class WhitenedEncoder:
    """Encode samples in units of the noise of each feature.

    With relative noise scales s the encoder solves its problem for ``v / s`` and ``W / s``:

        argmin_{h, r} 1/2 |(v - W h - r) / s|^2 + g(r / s) + omega(h)

    The weights are shared by all samples, and so is the Gram matrix. Losses are those of this
    problem; outliers are in data units.

    Parameters
    ----------
    encoder : Encoder
        Solves the problem with equal scales.
    relative_scales : array of shape (F,)
        Noise scales of the features, relative to the one that the encoder's weights refer to.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg.encoders.fast import LEAST_SQUARES
    >>> from thalweg.learning.whitened_encoder import WhitenedEncoder
    >>> V, W = np.array([[1.0], [4.0]]), np.ones((2, 1))
    >>> WhitenedEncoder(LEAST_SQUARES, np.array([1.0, 2.0])).encode(V, W).H
    array([[1.6]])
    """

    encoder: Any
    relative_scales: Array
    name: ClassVar[str] = "whitened"

    @property
    def penalty(self) -> Prox:
        """Penalty of the codes."""
        penalty: Prox = self.encoder.penalty
        return penalty

    @property
    def exit(self) -> str:
        """Stopping rule of the encoder."""
        return getattr(self.encoder, "exit", "")

    def with_penalty(self, penalty: Prox) -> "WhitenedEncoder":
        """Return the encoder with another penalty of the codes."""
        return replace(self, encoder=replace(self.encoder, penalty=penalty))

    def encode(
        self, V: Array, W: Array, H0: Array | None = None, observed: Mask | None = None
    ) -> Codes:
        """Encode the columns of V; see :class:`thalweg.encoders.Encoder`."""
        scales = self.relative_scales.astype(V.dtype, copy=False)[:, None]
        codes = self.encoder.encode(V / scales, W / scales, H0=H0, observed=observed)
        whitened: Codes = codes._replace(R=np.multiply(codes.R, scales, out=codes.R))
        return whitened
