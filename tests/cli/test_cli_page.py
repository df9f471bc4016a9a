"""The commands of the documentation page run and print the documented output."""

import contextlib
import doctest
import io
import re
import shlex
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
FENCE = re.compile(r"^```(?P<language>console|python)\n(?P<body>.*?)^```$", re.M | re.S)
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(body):
    """Yield the commands of a console block with their expected output."""
    for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def outcome(run, command):
    """Run a command in this process, and return its output."""
    name, *arguments = shlex.split(command)
    if name == "thalweg":
        done = run(*arguments)
        return done.stdout if done.exit_code == 0 else done.stderr
    if name == "head":
        lines = Path(arguments[2]).read_text("utf-8").splitlines(keepends=True)
        return "".join(lines[: int(arguments[1])])
    assert name == "cmp"
    same = Path(arguments[0]).read_bytes() == Path(arguments[1]).read_bytes()
    return "" if same else "differ"


def faults(page, run):
    """Return the commands with unexpected output, as texts."""
    found, namespace = [], {"__name__": "__main__"}
    for block in FENCE.finditer(page):
        if block["language"] == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block["body"], str(PAGE), "exec"), namespace)
            continue
        for command, expected in steps(block["body"]):
            printed = outcome(run, command)
            if not doctest.OutputChecker().check_output(expected, printed, LOOSE):
                found.append(f"$ {command}\nprints\n{printed}")
    return found


def test_commands_print_the_documented_output(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "\n".join(faults(PAGE.read_text("utf-8"), run)) == ""


def test_unexpected_output_is_detected(run):
    page = "```console\n$ thalweg --version\nthalweg 9.9.9\n```\n"
    assert len(faults(page, run)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="other quotes")
def test_every_command_is_on_the_page(run):
    names = re.findall(r"^  ([a-z]+)  ", run("--help").stdout, re.M)
    table = re.findall(r"^\| `thalweg ([a-z]+)", PAGE.read_text("utf-8"), re.M)
    assert table == names
