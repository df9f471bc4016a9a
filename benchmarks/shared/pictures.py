"""Where pictures of cases go."""

from pathlib import Path

__all__ = ["picture"]

_ROOT = Path(__file__).parents[2]


def picture(name: str, quick: bool) -> Path:
    """Return the path of a picture: in the documentation, or beside the quick results."""
    folder = _ROOT / ("benchmarks/results/quick" if quick else "docs/images")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.png"
