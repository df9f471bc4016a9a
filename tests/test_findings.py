"""Each page sums up its stored result in sentences that follow from the figures."""

from typing import Any

import numpy as np
import pytest
from benchmarks import _cases, _findings, _results
from benchmarks._findings import Finding

ATTEMPTS = 400
SHARES = (0.003, 0.03, 0.3, 1.0)  # of the values that are changed; fewer keep the structure

STORED = {name: _results.load(name, quick=False) for name in _cases.found()}
every_page = pytest.mark.parametrize("name", [name for name, own in STORED.items() if own])


@every_page
def test_a_page_has_findings_and_they_hold(name: str) -> None:
    found = _findings.of(name, STORED[name]["result"])
    assert found, "a page needs at least one sentence on its result"
    for finding in found:
        assert finding.holds, finding.sentence


@every_page
def test_sentences_follow_from_the_result(name: str) -> None:
    """Of other figures each sentence is another, or does not hold."""
    assert unmoved(_cases.load(name).findings, STORED[name]["result"]) == set()


def unmoved(findings: Any, result: Any) -> set[str]:
    """Return the sentences that no change of the result refutes."""
    rng = np.random.default_rng(0)
    left = {finding.sentence for finding in findings(result)}
    for attempt in range(ATTEMPTS):
        if not left:
            break
        other = changed(result, rng, SHARES[attempt % len(SHARES)])
        try:
            found = findings(other)
        except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError):
            continue  # a value that names a part of the result was changed
        left &= {finding.sentence for finding in found if finding.holds}
    return left


def changed(value: Any, rng: np.random.Generator, share: float) -> Any:
    """Return a result with a share of its numbers, truths and words replaced."""
    if isinstance(value, dict):
        return {key: changed(item, rng, share) for key, item in value.items()}
    if isinstance(value, list):
        return [changed(item, rng, share) for item in value]
    if value is None or rng.random() >= share:
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return int(value * np.exp(rng.normal())) + int(rng.integers(1, 4))
    return value * float(np.exp(rng.normal())) if isinstance(value, float) else f"{value}*"


def test_a_sentence_without_figures_is_noticed() -> None:
    def findings(result: dict[str, float]) -> list[Finding]:
        return [
            Finding("A is always fast.", True),
            Finding(f"A takes {result['seconds']:.2f} s.", True),
            Finding("A is fast.", result["seconds"] < 2.0),
        ]

    assert unmoved(findings, {"seconds": 1.0}) == {"A is always fast."}
