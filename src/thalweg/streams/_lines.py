"""Read the lines of a text file, which may still be growing."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from thalweg.errors import InputError

__all__ = ["Tail", "lines"]


MAX_LINE_BYTES = 2**26  # safety limit: a file without line ends must not fill the memory


class Tail(NamedTuple):
    """Settings for a growing file: check every ``poll`` seconds, for at most ``patience``."""

    poll: float
    patience: float | None


def lines(path: Path, encoding: str, tail: Tail | None = None) -> Iterator[str]:
    """Yield the lines of a file, line ends included.

    With ``tail``, wait for more lines at the end of the file; incomplete lines are held back.
    """
    first = True
    with path.open("rb") as file:
        for raw in _raw(file, path) if tail is None else _growing(file, path, tail):
            try:
                line = raw.decode(encoding)
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path} must be text in {encoding}, got the byte "
                    f"{error.object[error.start]:#04x}. Pass the encoding of the file, such as "
                    "encoding='latin-1', or save it as UTF-8."
                ) from error
            yield line.removeprefix("\ufeff") if first else line
            first = False


def _raw(file: IO[bytes], path: Path) -> Iterator[bytes]:
    while line := file.readline(MAX_LINE_BYTES + 1):
        yield _bounded(line, path)


def _bounded(line: bytes, path: Path) -> bytes:
    if len(line) > MAX_LINE_BYTES:
        raise InputError(
            f"{path} must have lines of at most {MAX_LINE_BYTES} bytes, got a longer one. Check "
            "that the file is text."
        )
    return line


def _growing(file: IO[bytes], path: Path, tail: Tail) -> Iterator[bytes]:
    line, last_line_time = b"", time.monotonic()
    while True:
        piece = file.readline(MAX_LINE_BYTES + 1)
        line = _bounded(line + piece, path)
        if line.endswith(b"\n"):
            yield line
            line, last_line_time = b"", time.monotonic()
        elif not piece:
            if path.stat().st_size < file.tell():
                raise InputError(
                    f"{path} must only grow while it is followed, got a shorter file. "
                    "Open the new file as a new stream."
                )
            waited = time.monotonic() - last_line_time
            if tail.patience is not None and waited >= tail.patience:
                return
            time.sleep(tail.poll)
