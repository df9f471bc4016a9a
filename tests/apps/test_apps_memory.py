"""Memory does not grow with the length of a video."""

import subprocess
import sys

import pytest

CHILD = """
import resource, sys
from tempfile import TemporaryDirectory
import numpy as np
from thalweg import apps
from thalweg.streams import Batch


class Endless:
    shape, n_features = (48, 64), 3072

    def __init__(self, n):
        self.n_samples = n
        self.light = np.random.default_rng(0).random((2, 3072)).astype(np.float32)

    def batches(self, size, start=0):
        for first in range(start, self.n_samples, size):
            t = np.arange(first, min(first + size, self.n_samples))[:, None]
            X = 0.4 + 0.2 * np.sin(0.01 * t) * self.light[:1] + 0.2 * self.light[1:]
            X[np.arange(3072) // 64 == t // 3 % 48] = 1.0
            yield Batch(first, X.astype(np.float32))


with TemporaryDirectory() as folder:
    apps.separate(Endless(int(sys.argv[1])), folder + "/out", epochs=1, batch_size=50)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(n_frames: int) -> int:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(n_frames)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_more_frames_need_no_more_memory():
    """Half of the frames more are not kept, nor anything of their size."""
    pytest.importorskip("resource")
    more = 1600 * 3072 * 4 / 1024  # kB
    assert peak(2_400) - peak(800) < more / 2
