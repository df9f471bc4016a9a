"""Print progress, results and errors.

File names may contain any characters: they are never interpreted as markup, and non-printable
characters are escaped.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.apps import Result
    from thalweg.estimators import Progress

__all__ = ["as_json", "as_text", "print_error", "progress_bar", "safe"]


def safe(text: str) -> str:
    """Return a text in one line, with non-printable characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_error(message: object, kind: str = "Error") -> None:
    """Write one line to standard error."""
    sys.stderr.write(safe(f"{kind}: {message}") + "\n")


def as_json(result: "Result") -> str:
    """Return a result as one line of JSON."""
    return json.dumps(result.as_dict())


def as_text(result: "Result") -> str:
    """Return a result as lines of names and values."""
    lines = list(_lines(result.values))
    lines += [(key, _relative(path)) for key, path in result.files.items()]
    width = max((len(name) for name, _ in lines), default=0)
    return "\n".join(f"{safe(name):{width}}  {safe(value)}" for name, value in lines)


def _relative(path: Path) -> str:
    """Return a path relative to the current directory, if it is inside."""
    current = Path.cwd()
    return str(path.relative_to(current) if path.is_relative_to(current) else path)


def _lines(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{name} {key}", _format(item)) for key, item in value.items())
        elif isinstance(value, list) and value and isinstance(value[0], list):
            yield from ((f"{name} {i}", _format(item)) for i, item in enumerate(value))
        else:
            yield name, _format(value)


def _format(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_format(item) for item in value) or "none"
    return str(value)


@contextmanager
def progress_bar(shown: bool) -> Iterator[Callable[["Progress"], None] | None]:
    """Show a bar per stage of a job: samples per second, objective, outliers, remaining time."""
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress as RichProgress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:9}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[note]}", markup=False),
        TimeRemainingColumn(compact=True),
    )
    bar = RichProgress(*columns, console=Console(stderr=True))
    try:
        yield _Bars(bar)
    finally:
        if bar.live.is_started:
            bar.stop()


class _Bars:
    def __init__(self, bar: Any) -> None:
        self.bar, self.tasks = bar, {}  # type: ignore[var-annotated]

    def __call__(self, progress: "Progress") -> None:
        self.bar.start()  # at the first step
        if progress.stage not in self.tasks:
            self.tasks[progress.stage] = self.bar.add_task(
                progress.stage, total=progress.n_samples_total, note=""
            )
        task = self.tasks[progress.stage]
        speed = next((t.speed for t in self.bar.tasks if t.id == task), None)
        self.bar.update(
            task,
            completed=progress.n_samples_seen,
            total=progress.n_samples_total,
            note=_note(progress, speed),
        )


def _note(progress: "Progress", speed: float | None) -> str:
    done = (
        f"{progress.n_samples_seen}"
        if progress.n_samples_total is None
        else f"{progress.n_samples_seen}/{progress.n_samples_total}"
    )
    parts = [f"{done} samples"]
    if speed is not None:
        parts.append(f"{speed:.0f}/s")
    if not isnan(progress.objective):
        parts.append(f"objective {progress.objective:.4g}")
    if not isnan(progress.outlier_share):
        parts.append(f"outliers {progress.outlier_share:.1%}")
    return "  ".join(parts)
