"""The benchmarks' pages say what their results say, and nothing became ten times as slow."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import __main__ as runner, _cases, _findings, _pages, _results
from benchmarks.cases.archetypes import archetypes_robustness
from benchmarks.cases.speed import ratios
from benchmarks.shared import faces, quality, recorder, sweeps
from benchmarks.shared.partial import Partial
from benchmarks.shared.timing import Method

PAGES = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
SLOWDOWN = 10.0


def test_pages_are_made_of_the_stored_results():
    texts = _pages.pages()
    assert {path.name for path in PAGES.glob("*.md")} == set(texts), "run `make pages`"
    for name, text in texts.items():
        assert (PAGES / name).read_text("utf-8") == text, f"{name}: run `make pages`"


def test_blocks_of_findings_are_those_of_the_stored_results():
    for path, text in _pages.blocks().items():
        assert path.read_text("utf-8") == text, f"{path.name}: run `make pages`"


def test_a_block_takes_the_findings_of_its_case(monkeypatch):
    monkeypatch.setattr(_findings, "of", lambda name, result: [_findings.Finding(name, True)])
    page = "before\n<!-- findings: ratios -->\nold\n<!-- end -->\nafter\n"
    filled = "before\n<!-- findings: ratios -->\n\n- ratios\n\n<!-- end -->\nafter\n"
    assert _findings.filled(page) == filled
    assert _findings.filled(filled) == filled


def test_a_block_needs_a_case_with_findings(monkeypatch):
    with pytest.raises(ValueError, match="stored result, got 'nothing'"):
        _findings.filled("<!-- findings: nothing -->\n<!-- end -->\n")
    monkeypatch.setattr(_findings, "of", lambda name, result: [])
    with pytest.raises(ValueError, match="have findings, got 'ratios'"):
        _findings.filled("<!-- findings: ratios -->\n<!-- end -->\n")


class Falling:
    """A batch method whose objective is a given sequence, with a clock that counts its rounds."""

    def __init__(self, objectives):
        self.objectives, self.rounds = objectives, 0

    def set_params(self, callback):
        self.callback = callback

    def fit(self, X):
        self.components_ = np.zeros((1, 1))
        for objective in self.objectives:
            self.rounds, self.objective_ = self.rounds + 1, objective
            self.callback(SimpleNamespace(objective=self.objective_))


@pytest.mark.parametrize(
    ("objectives", "rounds", "ended"),
    [
        ([1.0 + 0.99**k for k in range(1000)], 300, "up"),  # 1 % less in each round
        ([1.0 + 0.5**k for k in range(1000)], 100, "converged"),
        ([1.0 + 2.0 / (k + 1) for k in range(1000)], 198, "converged"),
        ([2.0, 1.0], 2, "converged"),  # its own stop
    ],
)
def test_a_batch_method_has_converged_when_half_its_rounds_gain_little(objectives, rounds, ended):
    model = Falling(objectives)
    found = recorder.record(model, None, 299.5, clock=lambda: model.rounds, calm=0.01)
    assert found.ended == ended
    assert abs(model.rounds - rounds) <= 4


def test_an_interrupted_case_resumes_after_the_runs_that_are_stored(tmp_path, capsys):
    calls = []

    def compute():
        calls.append(1)
        return {"loss": 0.5}

    assert Partial("case", tmp_path).run("seed 0", compute) == {"loss": 0.5}
    again = Partial("case", tmp_path)
    assert again.run("seed 0", compute) == {"loss": 0.5}
    assert len(calls) == 1
    assert again.seconds > 0.0
    assert capsys.readouterr().out.startswith("seed 0: ")
    again.clear()
    assert Partial("case", tmp_path).seconds == 0.0


def test_stored_runs_of_another_version_are_ignored(tmp_path):
    (tmp_path / "case.json").write_text('{"source": "other", "runs": {"a": {"value": 1}}}')
    assert Partial("case", tmp_path).run("a", lambda: 2) == 2


def test_every_case_says_what_it_does():
    for name in _cases.found():
        assert _cases.headline(name).endswith("."), name


def test_every_case_is_in_one_folder_that_says_what_is_in_it():
    folders = _cases.folders()
    cases = Path(_cases.__file__).parent / "cases"
    assert not [*cases.glob("[!_]*.py")], "a case belongs into a folder"
    assert {path.parent.name for path in cases.glob("*/*.py")} == set(folders)
    for folder, names in folders.items():
        assert names, folder
        assert _cases.title(folder).endswith("."), folder
        assert all(_cases.load(name).__name__.split(".")[-2] == folder for name in names)
    names = [name for names in folders.values() for name in names]
    assert sorted(set(names)) == sorted(names) == _cases.found()
    with pytest.raises(ValueError, match="in one folder, got 'nothing' in 0"):
        _cases.load("nothing")


def test_the_list_has_every_case_below_its_folder(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--list"])
    assert runner.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("approximation: [R]")
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [
        name for names in _cases.folders().values() for name in names
    ]


def test_a_page_has_the_words_of_the_case_and_the_numbers_of_its_result():
    page = _pages.pages()["archetypes_speed.md"]
    stored = _results.load("archetypes_speed", quick=False)
    assert "**Claim.** A sweep takes less than twice the time of the products." in page
    assert f"ratio {stored['result']['ratio']:.2f}" in page
    assert stored["date"] in page
    assert "not installed" not in page


@pytest.mark.parametrize(
    ("report", "count"),
    [
        ("a: met\nb: NOT met", (1, 2)),
        ("at least 3: NOT MET (2.7)", (0, 1)),
        ("a  met\nb  NOT MET\nrows: 5 of 7 met", (5, 7)),  # the sum has counted the cells
        ("row  1.00  met\nrow  2.00  NOT MET", (1, 2)),
        ("x: 3 of 4 met\ny: met", (4, 5)),
        ("a table that judges nothing, with metal in it", None),
    ],
)
def test_claims_are_counted_from_reports(report, count):
    assert _pages.verdict(report) == count


def test_a_page_shows_the_pictures_that_its_case_names():
    pages = _pages.pages()
    assert "(../images/or_nmf.png)" in pages["or_nmf.md"]
    assert "../images/" not in pages["ratios.md"]
    for name in _cases.found():
        named = re.findall(r"docs/images/(\w+\.png)", _cases.docstring(name))
        for picture in named if f"{name}.md" in pages else []:
            assert (PAGES.parent / "images" / picture).exists(), name
            assert f"(../images/{picture})" in pages[f"{name}.md"]


def test_claims_on_robustness_are_judged_from_figures():
    def row(key, value, ours, best):
        baselines = dict.fromkeys(("AA", "PP", "KP", "Hoyer"), (best, best))
        return {key: value, "methods": {"SAA": ours, **baselines}}

    figures = {
        "noise": [row("noise", 0.1, [1.0, 3.0], 2.0), row("noise", 0.5, [2.0, 2.5], 3.0)],
        "sparsity": [row("share", 0.5, [9.0, 4.0], 5.0), row("share", 0.8, [1.0, 5.0], 5.0)],
        "rank": [  # L itself grows like k^1.7 and k^2.1, divided by |H0|^2 one power less
            {**row("k", k, [k**0.7, k**1.1], 2.0), "distance": [3.0 * k**1.7, 5.0 * k**2.1]}
            for k in (5, 10, 20)
        ],
        "weight": [{"weight": w, "values": [abs(w - 1.5), w, -w]} for w in (0.5, 1.5, 4.0)],
    }
    assert archetypes_robustness._claims(figures) == {
        "Fig. 5, SAA below sparse baselines": [True, False, True, True],
        "Fig. 5, SAA below AA": [True, False, True, True],
        "Fig. 5, SAA worse with more noise": [True, False],
        "Fig. 6, SAA below sparse baselines": [False, True, True, False],
        "Fig. 6, SAA below AA from 0.75 on": [True, False],
        "Fig. 6, SAA worse with fewer nonzeros": [True, False],
        "Fig. 6, SAA best at the true share": [True, False],
        "Fig. 7, SAA worse with more archetypes": [True, True, True, True],
        "Fig. 7, exponent of L between 1.5 and 2": [True, False],
        "Fig. 8, least between 1 and 2": [True, False, False],
    }


def too_slow(found, stored):
    """Return the steps whose ratio has grown beyond what a noisy machine explains."""
    return [name for name in found if found[name]["ratio"] > SLOWDOWN * stored[name]["ratio"]]


def test_no_step_became_ten_times_as_slow():
    stored = _results.load("ratios", quick=False)["result"]
    found = ratios.run(quick=True)
    assert set(found) == set(stored), "run `python -m benchmarks --case ratios`"
    assert not too_slow(found, stored), found


def test_a_slowdown_is_seen():
    stored = {"a": {"ratio": 0.2}, "b": {"ratio": 3.0}}
    assert too_slow({"a": {"ratio": 2.1}, "b": {"ratio": 6.0}}, stored) == ["a"]


# What cases share


def test_salt_falls_on_the_shares_that_are_asked_for():
    clean = np.full((200, 50), 0.5)
    noisy = faces.salted(clean, 0.7, 0.1, np.random.default_rng(0))
    hits = (noisy != clean).sum(axis=1)
    assert sorted(set(hits)) == [0, 5]
    assert np.count_nonzero(hits) == 140
    assert noisy.min() == 0.0
    assert noisy.max() == 1.0
    assert (clean == 0.5).all()


def learned(transform=None, family="a library", **more):
    return Method("it", family, "float64", {}, None, lambda W: W, transform, **more)


def test_a_library_is_rated_by_the_better_codes():
    rng = np.random.default_rng(0)
    components, codes = rng.random((3, 20)), rng.random((40, 3))
    clean = codes @ components
    poor = learned(lambda model, X: np.zeros((len(X), 3)), n_transform=10)
    decibels, low_rank = quality.own_quality(poor, components, clean, clean)
    assert decibels > 200.0  # by least squares
    np.testing.assert_allclose(low_rank, clean)
    ours = learned(lambda model, X: np.zeros((len(X), 3)), "thalweg fast", n_transform=10)
    decibels, low_rank = quality.own_quality(ours, components, clean, clean)
    assert low_rank.shape == (10, 20)  # by its own codes, however poor
    assert decibels == pytest.approx(-10.0 * np.log10(np.mean(clean[:10] ** 2)))


def test_robust_codes_leave_outliers_alone():
    rng = np.random.default_rng(0)
    components = rng.random((3, 40))
    clean = rng.random((50, 3)) @ components
    X = np.where(rng.random(clean.shape) < 0.05, clean + 1.0, clean)
    robust = quality.robust_quality(components, X, clean)
    plain, _ = quality.own_quality(learned(), components, X, clean)
    assert robust > plain + 10.0


def test_shades_go_from_dark_over_the_colour_to_pale():
    pytest.importorskip("matplotlib")
    dark, *_, pale = sweeps.shades("#808080", 4)
    assert max(dark) < 0.5 < min(pale) <= 1.0
    assert sweeps.shades("#808080", 1) == [pytest.approx((128 / 255,) * 3)]
    assert sweeps.spread([2.0, 3.0, 4.0]) == 2.0
