"""Commands in this process: examples of the help, output, exit codes."""

import json
import re
import shlex

import numpy as np
import pytest

from thalweg import apps
from thalweg.cli._show import as_text, progress_bar, safe
from thalweg.errors import ParameterError
from thalweg.estimators import Progress

COMMANDS = [
    "separate",
    "denoise",
    "topics",
    "track",
    "complete",
    "forecast",
    "unmix",
    "factor",
    "apply",
    "info",
    "demo",
]
COMMON = {
    *("--components", "--batch-size", "--epochs", "--checkpoint", "--resume", "--seed"),
    *("--out", "--quiet", "--json", "--debug", "--set", "--read", "--overwrite"),
}
WITHOUT = {
    "apply": {"--components", "--batch-size", "--epochs", "--checkpoint", "--resume"}
    | {"--seed", "--set"},
    "forecast": {"--batch-size", "--epochs", "--checkpoint", "--resume"},
    "info": COMMON - {"--quiet", "--json", "--debug", "--read"},
    "demo": {"--read"},
}


def test_help_lists_the_commands(run):
    done = run("--help")
    assert done.exit_code == 0
    assert re.findall(r"^  ([a-z]+)  ", done.stdout, re.M) == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_common_options(run, name):
    options = set(re.findall(r"--[a-z-]+", run(name, "--help").stdout))
    assert options >= COMMON - WITHOUT.get(name, set())
    assert not options & WITHOUT.get(name, set())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_example_runs(run, place, name):
    text = " ".join(run(name, "--help").stdout.split())
    example = re.search(r"Example: (thalweg .*)$", text)[1]
    words = shlex.split(example)
    assert words[:2] == ["thalweg", name]
    if name == "apply":
        model = apps.track(place / "wells.csv", place / "first", components=2).files["model"]
        model.rename(place / "model.thalweg")
    short = ["--frames", "40", "--size", "24x32"] if name == "demo" else []
    done = run(*words[1:], *short)
    assert done.exit_code == 0, done.stderr
    assert done.stdout
    if name != "info":
        out = place / words[words.index("--out") + 1]
        assert (out / "report.html").exists()
        command = "thalweg"
        assert command in (out / "report.html").read_text("utf-8")


def test_json_is_one_object(run, place):
    done = run("track", "wells.csv", "--components", 2, "--out", "o", "--json")
    assert done.exit_code == 0
    assert done.stderr == ""
    printed = json.loads(done.stdout)
    assert set(printed) == {"job", "out", "values", "files"}
    assert printed["job"] == "track"
    assert printed["values"]["rows"] == 120
    tables = {"completed", "errors", "outliers", "drift", "scores", "p_values"}
    assert set(printed["files"]) == tables | {"model", "report"}
    assert all((place / path).exists() for path in printed["files"].values())


def test_quiet_prints_nothing(run, place):
    done = run("factor", "wells.csv", "-q", "--components", 2)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert (place / "wells-factor" / "report.html").exists()


def test_the_demo_prints_scores(run, place):
    done = run("demo", "--frames", 150, "--size", "36x48", "--out", "d")
    lines = dict(re.split(r" {2,}", line, maxsplit=1) for line in done.stdout.splitlines())
    assert float(lines["F-measure"]) > 0.8
    assert float(lines["background PSNR"]) > 30
    assert lines["report"] == "d/report.html"
    assert "learning" in done.stderr


def test_settings_reach_the_estimator(run, place):
    done = run("factor", "wells.csv", "--set", "n_components=3", "--set", "tol=1e-2", "-q")
    assert done.exit_code == 0
    done = run("info", "wells-factor/model.thalweg", "--json")
    parameters = json.loads(done.stdout)["values"]["parameters"]
    assert (parameters["n_components"], parameters["tol"]) == (3, 0.01)


def test_columns_and_options_of_sources(run, place):
    (place / "semi.csv").write_text("x;y;z\n" + "1;a;3\n2;b;4\n3;c;1\n" * 9)
    done = run("info", "semi.csv", "--read", "columns=['x','z']", "--read", "delimiter=;", "--json")
    assert json.loads(done.stdout)["values"]["features"] == 2
    done = run("complete", "semi.csv", "--columns", "x, z", "--components", 1, "-q")
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["separate", "none.mp4"], "none.mp4 must be a file"),
        (["separate", "street.mp4", "--method", "magic"], "got 'magic'"),
        (["separate", "street.mp4", "--size", "12"], "--size 120x160"),
        (["factor", "wells.csv", "--set", "tol"], "--set must be NAME=VALUE, got 'tol'"),
        (["factor", "wells.csv", "--set", "a b=1"], "--set must be NAME=VALUE"),
        (["factor", "wells.csv", "--set", "rank=3"], "got 'rank'"),
        (["factor", "wells.csv", "--resume"], "resume must be False without a checkpoint folder"),
        (["topics", "news.txt", "--stop-words", "none.txt"], "none.txt must be a file of words"),
        (["apply", "none.thalweg", "wells.csv"], "a path that does not exist"),
        (["track", "wells.csv", "--out", "wells.csv"], "must be a folder, got the file"),
        (["track", "wells.csv", "--out", "faces"], "which is not empty"),
    ],
)
def test_user_errors_are_one_line(run, place, arguments, words):
    done = run(*arguments, "-q")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("Error: ")
    assert words in done.stderr


def test_debug_raises_the_error(run, place):
    done = run("factor", "wells.csv", "--set", "rank=3", "--debug")
    assert isinstance(done.exception, ParameterError)


def test_usage_errors_have_exit_code_2(run):
    assert run("separate").exit_code == 2
    assert run("factor", "x", "--no-such-option").exit_code == 2
    assert run("factor", "x", "--components", "many").exit_code == 2


def test_names_are_not_markup(run, place):
    name = "[bold]a\nb[/bold"
    done = run("info", f"{place}/{name}.csv")
    assert done.exit_code == 1
    assert r"[bold]a\nb[/bold.csv must be a file" in done.stderr
    (place / "[red]x.csv").write_text("[blue]a,b\n" + "1,2\n3,5\n" * 20)
    done = run("track", place / "[red]x.csv", "--components", 1, "--out", "[i]o")
    assert done.exit_code == 0
    assert "[i]o/report.html" in done.stdout
    done = run("info", "--", "-dash.csv")
    assert "-dash.csv must be a file" in done.stderr


def test_non_printable_characters_are_escaped():
    assert safe("a\tb\x1b[31m\udc80") == r"a\tb\x1b[31m\udc80"
    result = apps.Result("x", None, {"a": {"k": [1.23456, 2]}, "b": [["x"], ["y"]], "c": []})
    assert as_text(result).splitlines() == ["a k  1.235, 2", "b 0  x", "b 1  y", "c    none"]


def test_the_bar_shows_speed_objective_and_outliers(capsys):
    with progress_bar(True) as progress:
        for done in (10, 20, 40):
            progress(Progress(done, 40, 1.23456, 0.25))
        progress(Progress(40, stage="writing"))
    shown = capsys.readouterr().err
    assert "40/40 samples" in shown
    assert "objective 1.235" in shown
    assert "outliers 25.0%" in shown
    with progress_bar(False) as progress:
        assert progress is None


def test_warnings_are_printed_as_notes(run, place, monkeypatch):
    import warnings

    def job(*_, **__):
        warnings.warn("mind the gap", RuntimeWarning, stacklevel=1)
        return apps.Result("factor", None, {"a": 1})

    monkeypatch.setattr(apps, "factor", job)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run("factor", "x").stderr == "Note: mind the gap\n"
        assert run("factor", "x", "-q").stderr == ""


def test_memory_and_disk_errors_are_printed(run, monkeypatch):
    for error, words in [
        (MemoryError(), "not enough memory"),
        (OSError(28, "No space"), "No space"),
    ]:

        def job(*_, error=error, **__):
            raise error

        monkeypatch.setattr(apps, "info", job)
        done = run("info", "x")
        assert done.exit_code == 1
        assert words in done.stderr


def test_settings_are_parsed_as_python_literals():
    from thalweg.cli._parse import pairs

    given = ["a=1", "b=1e-3", "c=None", "d=(1, 2)", "e=l1-ball", "f=", "g=x=y"]
    assert pairs("--set", given) == {
        "a": 1,
        "b": 1e-3,
        "c": None,
        "d": (1, 2),
        "e": "l1-ball",
        "f": "",
        "g": "x=y",
    }


def test_results_depend_on_the_seed(run, place):
    found = []
    for seed in (0, 0, 1):
        run("factor", "wells.csv", "--seed", seed, "--components", 2, "--overwrite", "-q")
        found.append(np.load("wells-factor/components.npy"))
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
