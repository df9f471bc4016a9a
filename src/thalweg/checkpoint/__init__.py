"""Estimators on disk: arrays and a manifest in one file, written atomically, never pickled.

:func:`save` and :func:`load` are for single files; a :class:`Keeper` writes numbered ones into a
folder and keeps the last few, and :func:`latest` finds the newest that is whole. Nothing of a file
is executed: it can name only estimators and components of the library, and holds numbers, texts
and arrays besides. Every byte is covered by a digest, and sizes are checked before room is made.
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
from thalweg.checkpoint._keeper import Keeper, latest

__all__ = [
    "Checkpoint",
    "Keeper",
    "Manifest",
    "latest",
    "load",
    "read_manifest",
    "restore",
    "save",
    "verify",
]
