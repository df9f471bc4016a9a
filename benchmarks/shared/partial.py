"""Results of single runs on disk, so that a long case that was interrupted can resume."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._machine import describe

__all__ = ["Partial"]

_FOLDER = Path(__file__).parents[2] / "build" / "benchmarks"


class Partial:
    """Runs of a case that have ended, each stored at once under its key.

    Runs of another version of the package are ignored. Values must be of JSON's types.
    """

    def __init__(self, name: str, folder: Path = _FOLDER) -> None:
        self.path = folder / f"{name}.json"
        self.source = describe()["revision"]["source"]
        stored = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.runs: dict[str, Any] = stored["runs"] if stored.get("source") == self.source else {}

    @property
    def seconds(self) -> float:
        """Wall time of the stored runs."""
        return float(sum(run["seconds"] for run in self.runs.values()))

    def run(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return the stored value, or compute, store and print it."""
        if key not in self.runs:
            begin = time.perf_counter()
            value = compute()
            self.runs[key] = {"value": value, "seconds": time.perf_counter() - begin}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps({"source": self.source, "runs": self.runs}))
            print(f"{key}: {self.runs[key]['seconds']:.0f} s", flush=True)
        return self.runs[key]["value"]

    def clear(self) -> None:
        """Remove the stored runs."""
        self.runs = {}
        self.path.unlink(missing_ok=True)
