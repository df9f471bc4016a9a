"""Array types for signatures."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
# Which entries are observed: a mask, or weights that are 0 at missing entries.
Observed = NDArray[Any]
