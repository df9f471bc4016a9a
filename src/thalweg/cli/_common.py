"""Common options and error handling of the commands."""

import inspect
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg.cli._parse import pairs
from thalweg.cli._show import as_json, as_text, print_error, progress_bar, safe

__all__ = ["job"]

_PANEL = "Common options"


def _flag(help: str, *names: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_PANEL)


def _common(
    *,
    components: Annotated[int | None, _flag("Number of components.", "--components")] = None,
    batch_size: Annotated[int | None, _flag("Number of samples per batch.", "--batch-size")] = None,
    epochs: Annotated[int | None, _flag("Number of passes over the data.", "--epochs")] = None,
    checkpoint: Annotated[
        str | None, _flag("Folder for checkpoints while fitting.", "--checkpoint")
    ] = None,
    resume: Annotated[bool, _flag("Resume from the latest checkpoint.", "--resume")] = False,
    seed: Annotated[int, _flag("Random seed.", "--seed")] = 0,
    out: Annotated[str | None, _flag("Output folder.", "--out")] = None,
    overwrite: Annotated[
        bool, _flag("Write to a folder that is not empty.", "--overwrite")
    ] = False,
    read: Annotated[
        list[str] | None, _flag("NAME=VALUE: option of the source, such as key=frames.", "--read")
    ] = None,
    set_: Annotated[
        list[str] | None, _flag("NAME=VALUE: parameter of the estimator.", "--set")
    ] = None,
    quiet: Annotated[bool, _flag("Print nothing.", "--quiet", "-q")] = False,
    json: Annotated[bool, _flag("Print one JSON object.", "--json")] = False,
    debug: Annotated[bool, _flag("Show the traceback of an error.", "--debug")] = False,
) -> None: ...


_SHARED = inspect.signature(_common).parameters


def job(*without: str) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Add the common options except ``without``, print the result, and set the exit code."""

    def decorate(function: Callable[..., Any]) -> Callable[..., None]:
        own = list(inspect.signature(function).parameters.values())[:-1]  # without **rest
        shared = [p for name, p in _SHARED.items() if name not in without]
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in [*own, *shared]]

        @wraps(function)
        def command(**given: Any) -> None:
            given = {**{name: p.default for name, p in _SHARED.items()}, **given}
            quiet, as_object, debug = (given.pop(name) for name in ("quiet", "json", "debug"))
            with (
                _exit_codes(debug, quiet, given["checkpoint"]),
                progress_bar(not (quiet or as_object)) as progress,
            ):
                given["settings"] = pairs("--set", given.pop("set_") or ())
                given["read"] = pairs("--read", given["read"] or ())
                result = function(progress=progress, command=_command_line(), **given)
            if as_object:
                typer.echo(as_json(result))
            elif not quiet:
                typer.echo(as_text(result))

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


@contextmanager
def _exit_codes(debug: bool, quiet: bool, checkpoint: str | None) -> Iterator[None]:
    """Convert errors and interrupts to one line and an exit code, and warnings to notes."""
    from thalweg.errors import ThalwegError

    def note(message: Any, *_: Any, **__: Any) -> None:
        if not quiet:
            print_error(message, "Note")

    try:
        with warnings.catch_warnings():
            warnings.showwarning = note
            yield
    except KeyboardInterrupt:
        if debug:
            raise
        state = "the state is not saved, because --checkpoint was not given"
        if checkpoint is not None:
            state = f"the state is saved in {checkpoint}, use --resume to continue"
        print_error(state, "Stopped")
        raise typer.Exit(130) from None
    except (ThalwegError, OSError, MemoryError) as error:
        if debug:
            raise
        print_error(str(error) or "There is not enough memory. Use smaller batches or data.")
        raise typer.Exit(1) from None


def _command_line() -> str | None:
    """Return the command line, or None if the job was called in another way."""
    called = Path(sys.argv[0]).stem in ("thalweg", "__main__")
    return safe(shlex.join(["thalweg", *sys.argv[1:]])) if called else None
