"""Sentences about a stored result, each with whether its figures support it.

A case may have ``findings(result)``. Its page lists the sentences, blocks of other pages repeat
them, and a test asserts that each holds, so no page can say what its result does not.
"""

import re
from typing import Any, NamedTuple

from benchmarks import _cases, _results

__all__ = ["Finding", "filled", "of"]

_BLOCK = re.compile(r"(<!-- findings: (\w+) -->\n).*?(<!-- end -->)", re.S)


class Finding(NamedTuple):
    """A sentence with its numbers taken from a result, and whether its words are true of them."""

    sentence: str
    holds: bool


def of(name: str, result: dict[str, Any]) -> list[Finding]:
    """Return the findings of a case; none if it has no such function."""
    case = _cases.load(name)
    found: list[Finding] = case.findings(result) if hasattr(case, "findings") else []
    return found


def filled(text: str) -> str:
    """Return a page whose blocks have the findings of the cases they name.

    A block begins with the line ``<!-- findings: CASE -->`` and ends with ``<!-- end -->``.
    """
    return _BLOCK.sub(lambda block: f"{block[1]}{_listed(block[2])}{block[3]}", text)


def _listed(name: str) -> str:
    stored = _results.load(name, quick=False)
    if stored is None:
        raise ValueError(f"The case of a findings block must have a stored result, got {name!r}.")
    found = of(name, stored["result"])
    if not found:
        raise ValueError(f"The case of a findings block must have findings, got {name!r}.")
    return "\n" + "".join(f"- {finding.sentence}\n" for finding in found) + "\n"
