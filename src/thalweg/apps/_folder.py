"""Output folders that are written atomically."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thalweg.apps._run import Result, Run, json_types
from thalweg.errors import InputError

__all__ = ["Folder", "open_folder"]

# Written last: a folder with this file is complete.
_MARK = "result.json"


class Folder:
    """Collect files in a draft folder; they are moved to the output folder when complete."""

    def __init__(self, run: Run, out: Path, draft: Path) -> None:
        self.run, self.out, self.draft = run, out, draft
        self.names: dict[str, str] = {}
        self.result: Result | None = None

    def file(self, key: str, name: str) -> Path:
        """Return the path at which to create a file or folder ``name``."""
        self.names[key] = name
        return self.draft / name

    def finish(self, values: dict[str, Any], model: Any = None) -> Result:
        """Return the result; the files are moved when the folder is closed."""
        content = {"job": self.run.job, "values": json_types(values), "files": self.names}
        (self.draft / _MARK).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        files = {key: self.out / name for key, name in self.names.items()}
        self.result = Result(self.run.job, self.out, values, files, model)
        return self.result

    def publish(self) -> None:
        """Move the files: in one step to a new folder, otherwise one by one, the mark last."""
        if not self.out.exists():
            self.draft.rename(self.out)
            return
        _clear(self.out)
        for name in self.names.values():
            self.draft.joinpath(name).replace(_free(self.out / name))
        self.draft.joinpath(_MARK).replace(self.out / _MARK)


@contextmanager
def open_folder(run: Run, out: str | os.PathLike[str] | None) -> Iterator[Folder]:
    """Open an output folder; an error or interrupt leaves it unchanged."""
    place = Path(os.path.abspath(run.folder(out)))
    _check_free(place, run.overwrite)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".thalweg-", dir=place.parent))
        draft.chmod(0o755)
    except OSError as error:
        raise _unwritable(place, error) from error
    folder = Folder(run, place, draft)
    try:
        yield folder
        try:
            folder.publish()
        except OSError as error:
            raise _unwritable(place, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _check_free(place: Path, overwrite: bool) -> None:
    try:
        if place.exists() and not place.is_dir():
            raise InputError(f"The output folder must be a folder, got the file {place}.")
        taken = place.is_dir() and any(place.iterdir())
    except OSError as error:
        raise _unwritable(place, error) from error
    if taken and not overwrite:
        raise InputError(
            f"The output folder must be new or empty, got {place}, which is not empty. Choose "
            "another folder, or set overwrite."
        )
    if place.is_dir() and not os.access(place, os.W_OK | os.X_OK):
        raise _unwritable(place, PermissionError("Permission denied"))


def _clear(place: Path) -> None:
    """Remove an earlier result, the mark first; other files are kept."""
    mark = place / _MARK
    try:
        names = json.loads(mark.read_text("utf-8"))["files"].values()
        inside = [name for name in names if Path(name).name == name]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        inside = []  # not a folder of results
    mark.unlink(missing_ok=True)
    for name in inside:
        _free(place / name)


def _free(path: Path) -> Path:
    """Remove a file or folder, and return its path."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return path


def _unwritable(place: Path, error: OSError) -> InputError:
    return InputError(
        f"The output folder must be writable, got an error for {place}: "
        f"{error.strerror or error}. Choose another folder."
    )
