"""docs/papers.md has a line for every table and figure of the five papers."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "papers.md"
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII")
ROW = re.compile(r"^\| ((?:Fig\.|Tables?) [^|]*)\|", re.M)
LIST = re.compile(
    r"(Fig\.|Tables?) ((?:(?:S-)?\d+|[IVX]+)(?:(?:,| to| and) (?:(?:S-)?\d+|[IVX]+))*)"
)


def numbered(kind: str, numbers: range | tuple[str, ...]) -> set[str]:
    return {f"{kind} {number}" for number in numbers}


EXPERIMENTS = {
    "O": numbered("Fig.", range(1, 16)) | numbered("Table", ROMAN[:5]),
    "D": numbered("Fig.", ("2", "3", "S-1", "S-2", "S-3")) | numbered("Table", ROMAN[4:]),
    "T": numbered("Fig.", range(1, 17)) | {"Table I"},
    "R": numbered("Fig.", range(1, 13)) | numbered("Table", ROMAN[:3]),
    "A": numbered("Fig.", range(1, 17)) | numbered("Table", range(1, 7)),
}


def listed(section: str) -> set[str]:
    """Return the tables and figures in the first cells of a section's rows, ranges expanded."""
    found = set()
    for cell in ROW.findall(section):
        for kind, numbers in LIST.findall(cell):
            for part in re.split(r", | and ", numbers):
                first, _, last = part.partition(" to ")
                expanded = range(int(first), int(last) + 1) if last else (first,)
                found |= numbered(kind.rstrip("s"), expanded)
    return found


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_every_experiment_has_a_line(paper):
    page = PAGE.read_text("utf-8")
    section = re.search(rf"^## \[{paper}\] .*?(?=^## \[|\Z)", page, re.M | re.S)
    assert EXPERIMENTS[paper] - listed(section[0]) == set()


def test_lists_and_ranges_are_understood():
    rows = "| Tables I, IV and V, Fig. 7 | x | y |\n| Fig. 2 to 4, S-1 | z | |\n| 3 | Fig. 9 | |\n"
    assert listed(rows) == {
        *("Table I", "Table IV", "Table V"),
        *("Fig. 7", "Fig. 2", "Fig. 3", "Fig. 4", "Fig. S-1"),
    }
