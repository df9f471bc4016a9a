"""Write files atomically."""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

__all__ = ["PART", "write_atomically"]

PART = ".part"  # suffix of incomplete files


def write_atomically(path: Path, blocks: Iterable[bytes | memoryview]) -> None:
    """Write blocks to a temporary file, flush it to disk, then rename it to ``path``.

    ``path`` always is either the previous file or the complete new one. A failed write removes
    the temporary file; a killed process leaves it, with the suffix ``PART``. Raises ``OSError``.
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
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Flush the directory entry of a renamed file to disk."""
    if os.name == "nt":  # Windows cannot open folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # not supported by the file system
            raise
    finally:
        os.close(handle)
