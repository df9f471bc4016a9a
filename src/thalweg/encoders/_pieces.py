"""Encoding a few samples at a time, so that work arrays do not grow with the batch."""

from collections.abc import Callable

import numpy as np

from thalweg._typing import Array
from thalweg.encoders import Codes
from thalweg.encoders._problem import chunks
from thalweg.encoders._run import join
from thalweg.encoders.fidelity import Fidelity

__all__ = ["encode_pieces"]


def encode_pieces(
    fidelity: Fidelity,
    H0: Array | None,
    run: Callable[[Fidelity, Array], Codes],
    width: int = 1,
) -> Codes:
    """Encode chunks of columns, from H0 or from codes of the right size.

    ``width`` is how many numbers the method keeps for each sample, beyond its features.
    """
    parts = []
    for part in chunks(fidelity.V, max(fidelity.W.shape[1], width)) or [slice(0)]:
        piece = fidelity.take(part)
        H = piece.start() if H0 is None else H0[:, part].astype(piece.V.dtype)
        parts.append(run(piece, np.asfortranarray(H)))
    return parts[0] if len(parts) == 1 else join(parts)
