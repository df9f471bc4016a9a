"""What is printed: progress while a job works, its results, and what went wrong.

Names of files may have anything in them. They are never taken for markup, and what is not
printable is escaped.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.apps import Result, Step

__all__ = ["as_json", "as_text", "complain", "progress_bar", "safe"]


def safe(text: str) -> str:
    """Return a text in one line, with what is not printable escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def complain(message: object, kind: str = "Error") -> None:
    """Write one line to the standard error."""
    sys.stderr.write(safe(f"{kind}: {message}") + "\n")


def as_json(result: "Result") -> str:
    """Return a result as one line of JSON."""
    from thalweg.apps._folder import plain

    return json.dumps(
        {
            "job": result.job,
            "out": None if result.out is None else str(result.out),
            "values": plain(result.values),
            "files": {what: str(path) for what, path in result.files.items()},
        }
    )


def as_text(result: "Result") -> str:
    """Return a result as lines of names and values."""
    lines = list(_lines(result.values))
    lines += [(what, _nearby(path)) for what, path in result.files.items()]
    width = max((len(name) for name, _ in lines), default=0)
    return "\n".join(f"{safe(name):{width}}  {safe(value)}" for name, value in lines)


def _nearby(path: Path) -> str:
    """Return a path as seen from here, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _lines(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{name} {key}", _figure(item)) for key, item in value.items())
        elif isinstance(value, list) and value and isinstance(value[0], list):
            yield from ((f"{name} {i}", _figure(item)) for i, item in enumerate(value))
        else:
            yield name, _figure(value)


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(_figure(item) for item in value) or "none"
    return str(value)


@contextmanager
def progress_bar(shown: bool) -> Iterator[Callable[["Step"], None] | None]:
    """Show a bar for each stage of a job: samples a second, objective, outliers, time left."""
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:9}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[note]}", markup=False),
        TimeRemainingColumn(compact=True),
    )
    bar = Progress(*columns, console=Console(stderr=True))
    try:
        yield _Bars(bar)
    finally:
        if bar.live.is_started:
            bar.stop()


class _Bars:
    def __init__(self, bar: Any) -> None:
        self.bar, self.tasks = bar, {}  # type: ignore[var-annotated]

    def __call__(self, step: "Step") -> None:
        self.bar.start()  # not before there is anything to show
        if step.stage not in self.tasks:
            self.tasks[step.stage] = self.bar.add_task(step.stage, total=step.total, note="")
        task = self.tasks[step.stage]
        speed = next((t.speed for t in self.bar.tasks if t.id == task), None)
        self.bar.update(task, completed=step.done, total=step.total, note=_note(step, speed))


def _note(step: "Step", speed: float | None) -> str:
    done = f"{step.done}" if step.total is None else f"{step.done}/{step.total}"
    parts = [f"{done} samples"]
    if speed is not None:
        parts.append(f"{speed:.0f}/s")
    if step.objective is not None:
        parts.append(f"objective {step.objective:.4g}")
    if step.outlier_share is not None:
        parts.append(f"outliers {step.outlier_share:.1%}")
    return "  ".join(parts)
