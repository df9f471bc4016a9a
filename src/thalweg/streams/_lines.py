"""The lines of a text file, also of one that is still growing."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from thalweg.errors import InputError

__all__ = ["Tail", "lines"]


LONGEST = 2**26  # bytes of a line; a file without any line end shall not fill the memory


class Tail(NamedTuple):
    """How to wait for more lines: look every ``poll`` seconds, at most ``patience`` seconds."""

    poll: float
    patience: float | None


def lines(path: Path, encoding: str, tail: Tail | None = None) -> Iterator[str]:
    """Yield the lines of a file with their ends.

    With ``tail`` the end of the file is not the end, and a line counts once its end is there.
    """
    first = True
    with path.open("rb") as file:
        for raw in _raw(file, path) if tail is None else _growing(file, path, tail):
            try:
                line = raw.decode(encoding)
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path} should be text in {encoding}, but {error.object[error.start]:#04x} "
                    "is not. Name the encoding of the file, such as encoding='latin-1', or save "
                    "it as UTF-8."
                ) from error
            yield line.removeprefix("\ufeff") if first else line
            first = False


def _raw(file: IO[bytes], path: Path) -> Iterator[bytes]:
    while line := file.readline(LONGEST + 1):
        yield _bounded(line, path)


def _bounded(line: bytes, path: Path) -> bytes:
    if len(line) > LONGEST:
        raise InputError(
            f"{path} should have lines of at most {LONGEST} bytes, but one is longer. Check that "
            "it is text."
        )
    return line


def _growing(file: IO[bytes], path: Path, tail: Tail) -> Iterator[bytes]:
    kept, quiet = b"", time.monotonic()
    while True:
        piece = file.readline(LONGEST + 1)
        kept = _bounded(kept + piece, path)
        if kept.endswith(b"\n"):
            yield kept
            kept, quiet = b"", time.monotonic()
        elif not piece:
            if path.stat().st_size < file.tell():
                raise InputError(
                    f"{path} should only grow while it is followed, but it has become shorter. "
                    "Open the new file as a stream of its own."
                )
            if tail.patience is not None and time.monotonic() - quiet >= tail.patience:
                return
            time.sleep(tail.poll)
