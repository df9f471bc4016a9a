"""Save estimators to disk: a manifest and arrays in one file, written atomically, never pickled.

:func:`save` and :func:`load` handle single files. A :class:`Keeper` writes numbered files to a
folder and keeps the last few; :func:`latest` finds the newest intact one. Loading executes no code
from a file: it contains numbers, strings, arrays, and names of estimators and components of the
library. A digest covers every byte, and sizes are checked before memory is allocated.
"""

from thalweg.checkpoint._files import (
    Checkpoint,
    Manifest,
    load,
    read_manifest,
    restore,
    save,
    verify,
)
from thalweg.checkpoint._keeper import Keeper, keeper_for, latest

__all__ = [
    "Checkpoint",
    "Keeper",
    "Manifest",
    "keeper_for",
    "latest",
    "load",
    "read_manifest",
    "restore",
    "save",
    "verify",
]
