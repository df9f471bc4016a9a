"""What a sample should cost, and the fastest that this machine can go.

A cost model counts the leading products of a sample, or the numbers that are kept, up to a factor:
its slope in a log-log plot is compared with that of a measured curve. The limits are measured:
products of matrices at the peak of BLAS, and arrays that come from memory and go back.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["COSTS", "NUMBERS", "gemm_peak", "memory_bandwidth", "products_flops", "state_bytes"]


def _batches(F: float, K: float, B: float) -> float:
    """Codes by products with the dictionary, which takes one sweep over its atoms a batch."""
    return F * K + K**2 + F * K**2 / B


def _curved(F: float, K: float, B: float) -> float:
    """Newton's steps on the codes and the curvature of each feature: K^2 numbers in each row."""
    return F * K**2


def _buffered(F: float, K: float, B: float) -> float:
    """Gradient and projection for each sample of the buffer, which is 20 or 2 K."""
    return F * K * max(20.0, 2.0 * K)


def _rows(F: float, K: float, B: float) -> float:
    """Recursive least squares: a matrix of K^2 numbers in each row."""
    return F * K**2


COSTS: dict[str, Callable[[float, float, float], float]] = {
    "RobustOnlineNMF": _batches,
    "OnlineNMF": _curved,
    "ORNMF": _buffered,
    "PetrelsADMM": _rows,
    "PetrelsCFAR": _rows,
    "Petrels": _rows,
    "OnlineRobustPCA": _rows,
    "Grasta": _rows,
    "Roseta": _rows,
    "Grouse": _rows,
    "ReProCS": _rows,
    "Norst": _rows,
}


def _two_moments(F: float, K: float, B: float) -> float:
    """Count dictionary and start, and the moments A and B."""
    return 3 * F * K + K**2


def _samples(F: float, K: float, B: float) -> float:
    """Count the samples of the buffer beside dictionary and start."""
    return F * (2 * K + max(20.0, 2.0 * K))


def _basis(F: float, K: float, B: float) -> float:
    """Count the basis as it is, as it was, and as it began."""
    return F * K


def _window(F: float, K: float, B: float) -> float:
    """Count a window of 256 samples beside the bases."""
    return F * (4 * K + 256)


NUMBERS: dict[str, Callable[[float, float, float], float]] = {
    "RobustOnlineNMF": _two_moments,
    "OnlineNMF": _curved,
    "ORNMF": _samples,
    "PetrelsADMM": _rows,
    "PetrelsCFAR": _rows,
    "Petrels": _rows,
    "OnlineRobustPCA": _two_moments,
    "Grasta": _basis,
    "Roseta": _basis,
    "Grouse": _basis,
    "ReProCS": _window,
    "Norst": _window,
}


def products_flops(F: int, K: int, B: int) -> float:
    """Return the operations of the least products of a batch: W'V, WH, A, B and WA."""
    return 2.0 * (3 * F * K * B + K * K * B + F * K * K)


def state_bytes(F: int, K: int, size: int) -> float:
    """Return what one step of recursive least squares reads and writes: rows of U and of P."""
    return 2.0 * size * F * (K * (K + 1) / 2 + K)


def gemm_peak(dtype: str = "float64", n: int = 768, turns: int = 5) -> float:
    """Return operations a second of a square product."""
    A = np.random.default_rng(0).random((n, n)).astype(dtype)
    return 2.0 * n**3 / _least(lambda: A @ A, turns)


def memory_bandwidth(megabytes: int = 128, turns: int = 5) -> float:
    """Return bytes a second, read and written, of an array that no cache holds."""
    x = np.ones(megabytes * 2**17)

    def scale() -> None:
        np.multiply(x, 0.9999, out=x)

    return 2.0 * x.nbytes / _least(scale, turns)


def _least(job: Callable[[], Any], turns: int) -> float:
    job()
    times = []
    for _ in range(turns):
        begin = time.process_time()
        job()
        times.append(time.process_time() - begin)
    return min(times)
