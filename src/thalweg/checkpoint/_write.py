"""A file is there as a whole or not at all."""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from thalweg.errors import CheckpointError

__all__ = ["PART", "write_whole"]

PART = ".part"  # ends the name of a file that is being written


def write_whole(path: Path, blocks: Iterable[bytes | memoryview]) -> None:
    """Put blocks into a file that takes its name when all of it is on disk.

    Whatever happens, a file of this name is the former one or the new one. A write that fails
    leaves nothing else behind; one that is killed leaves a file that ends in ``PART``.
    """
    part = path.with_name(f".{path.name}.{token_hex(4)}{PART}")
    try:
        with part.open("xb") as file:
            for block in blocks:
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise CheckpointError(
            f"{path} should be written, but that failed ({error.strerror or error}). What was "
            "there before is unharmed; make room, or choose another folder."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Make a new name in a folder last."""
    if os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that does not know this
            raise
    finally:
        os.close(handle)
