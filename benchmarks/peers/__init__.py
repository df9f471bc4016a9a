"""Other libraries, and thalweg itself, as methods that can be timed side by side.

Each file has ``methods(n_components, batch_size)``, and imports its library in there, so that
one that is not installed is left out with a word.
"""

import importlib
import sys
from collections.abc import Sequence

from benchmarks.shared.timing import Method

__all__ = ["gather"]


def gather(names: Sequence[str], n_components: int, batch_size: int) -> list[Method]:
    """Return the methods of these libraries, of those that are installed."""
    methods: list[Method] = []
    for name in names:
        try:
            module = importlib.import_module(f"benchmarks.peers.{name}")
            methods += module.methods(n_components, batch_size)
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return methods
