"""One file per case; see :mod:`benchmarks`."""
