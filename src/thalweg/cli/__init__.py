"""The command ``thalweg``: parse arguments, call a job of :mod:`thalweg.apps`, print the result."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command and exit: 0 success, 1 error, 2 invalid usage, 130 interrupted.

    Examples
    --------
    >>> import sys
    >>> from thalweg.cli import main
    >>> sys.argv = ["thalweg", "--version"]
    >>> try:
    ...     main()
    ... except SystemExit as end:
    ...     end.code
    thalweg 0.1.0
    0
    """
    try:
        from thalweg.cli._app import app
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in ("typer", "rich", "click"):
            raise
        sys.exit(
            f"The command thalweg needs {error.name}, which is not installed. "
            "Install it with: pip install 'thalweg[app]'"
        )
    app(prog_name="thalweg")
