"""Read samples from a sound: the frames of its power spectrogram."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from thalweg._checks import require_whole
from thalweg._typing import Array
from thalweg.errors import InputError
from thalweg.streams._files import check_dtype, existing_file
from thalweg.streams._stream import Batch, Source, check_cut

__all__ = ["SoundStream"]


@dataclass(frozen=True, eq=False)
class SoundStream(Source):
    """Compute the power spectrogram of a WAV file, suited to the Itakura-Saito loss.

    Frame k is ``|DFT(w * x[k hop : k hop + window])|^2`` with a Hann window w of sum 1: a sine of
    amplitude 1 has power 1/4. Channels are averaged. The file is memory-mapped; 24-bit files are
    read into memory.

    Parameters
    ----------
    source : path
        A ``.wav`` file of integers or floating-point numbers.
    window : int, default=1024
        Length of a frame in audio samples.
    hop : int or None, default=None
        Audio samples between the starts of two frames; None is a quarter of the window.
    dtype : 'float64' or 'float32', default='float64'
        Type of the batches.

    Attributes
    ----------
    n_features, n_samples : int
        Number of frequencies and of frames.
    frequencies : array of shape (n_features,)
        Frequencies in Hertz.
    rate : int
        Sampling rate: audio samples per second.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from scipy.io import wavfile
    >>> from thalweg.streams.sound import SoundStream
    >>> with TemporaryDirectory() as folder:
    ...     sine = np.sin(2 * np.pi * 1000 * np.arange(8000) / 8000)
    ...     wavfile.write(Path(folder, "sine.wav"), 8000, sine)
    ...     stream = SoundStream(Path(folder, "sine.wav"), window=256)
    ...     power = next(stream.batches(1)).X[0]
    ...     float(stream.frequencies[power.argmax()]), float(power.max().round(6))
    (1000.0, 0.25)
    """

    source: str | PathLike[str]
    window: int = 1024
    hop: int | None = None
    dtype: str = "float64"
    name: ClassVar[str] = "wav"
    suffixes: ClassVar[tuple[str, ...]] = (".wav",)

    def __post_init__(self) -> None:
        existing_file(self.source)
        check_dtype(self.dtype)
        require_whole(2, window=self.window)
        require_whole(1, hop=self._hop)

    @property
    def n_features(self) -> int:
        """Number of frequencies."""
        return self.window // 2 + 1

    @property
    def n_samples(self) -> int:
        """Number of frames."""
        return 1 + (len(self._sound[1]) - self.window) // self._hop

    @property
    def frequencies(self) -> Array:
        """Frequencies in Hertz."""
        return np.fft.rfftfreq(self.window, 1 / self.rate)

    @property
    def rate(self) -> int:
        """Sampling rate: audio samples per second."""
        return self._sound[0]

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``size`` frames, the first at frame ``start``."""
        check_cut(size, start)
        hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(self.window) / self.window)
        hann /= hann.sum()
        for begin in range(start, self.n_samples, size):
            n = min(size, self.n_samples - begin)
            values = self._values(begin * self._hop, (n - 1) * self._hop + self.window)
            frames = np.lib.stride_tricks.sliding_window_view(values, self.window)[:: self._hop]
            power = np.abs(np.fft.rfft(frames * hann)) ** 2
            yield Batch(begin, power.astype(check_dtype(self.dtype)))

    @property
    def _hop(self) -> int:
        return max(1, self.window // 4) if self.hop is None else self.hop

    def _values(self, begin: int, n: int) -> Array:
        """Return ``n`` audio samples, scaled to [-1, 1] and averaged over channels."""
        raw = np.asarray(self._sound[1][begin : begin + n])
        values: Array = raw.astype(np.float64).reshape(n, -1).mean(axis=1)
        if raw.dtype.kind == "f":
            return values
        full_scale = 2.0 ** (8 * raw.dtype.itemsize - 1)
        offset = 1.0 if raw.dtype.kind == "u" else 0.0  # 8-bit samples are unsigned
        return values / full_scale - offset

    @cached_property
    def _sound(self) -> tuple[int, Any]:
        path = Path(self.source)
        try:
            rate, values = _load(path)
        except (EOFError, OSError, ValueError, Warning) as error:
            raise InputError(
                f"{path} must be a WAV file, got an unreadable file: {error}. It may be "
                "truncated or compressed: save it again as uncompressed WAV."
            ) from error
        if len(values) < self.window:
            raise InputError(
                f"{path} must have at least {self.window} audio samples, got {len(values)}. "
                "Use a smaller window."
            )
        return rate, values


def _load(path: Path) -> tuple[int, Any]:
    from scipy.io import wavfile

    with warnings.catch_warnings():
        warnings.simplefilter("error", wavfile.WavFileWarning)  # truncated files
        warnings.filterwarnings("ignore", "Chunk", wavfile.WavFileWarning)  # unused metadata
        try:
            rate, values = wavfile.read(path, mmap=True)
        except ValueError as error:
            if "mmap" not in str(error):
                raise
            rate, values = wavfile.read(path)
    return int(rate), values
