"""Memory of partial_fit does not depend on the number of samples.

Claim
    Memory does not grow with the number of samples.
Data
    [O] VII-D1, F = 400, K = 49, drawn batch by batch and never stored; 1e3, 1e4 and 1e5 samples
    (to 1e4 with ``--quick``).
Settings
    ``RobustOnlineNMF(49, random_state=0).partial_fit`` on batches of 40. Measured twice: the
    resident memory of the process without tracing; then what Python and NumPy hold, and the
    most they held since the last mark, by tracemalloc. Also the pickled size of the estimator.
"""

import os
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks._findings import Finding
from benchmarks.cases.scale._contaminated_stream import contaminated_batches
from benchmarks.shared.tables import number, table
from thalweg import RobustOnlineNMF

BATCH = 40
MARKS = (1_000, 10_000, 100_000)
# Growth from the first mark to the last that is put down to the allocator, in MB.
RESIDENT, TRACED = 4.0, 0.1
MB = 1e6


def run(quick: bool) -> dict[str, Any]:
    """Learn from the stream twice, and note memory at each mark."""
    marks = MARKS[:-1] if quick else MARKS
    _learn((400,), lambda model: None)  # loads what is loaded once
    resident = _learn(marks, lambda model: {"resident": _resident() / MB})
    tracemalloc.start()
    traced = _learn(marks, _traced)
    tracemalloc.stop()
    rows = [
        {"samples": mark, **first, **second}
        for mark, first, second in zip(marks, resident, traced, strict=True)
    ]
    growth = {
        key: rows[-1][key] - rows[0][key] for key in ("resident", "traced", "peak", "pickled")
    }
    met = growth["resident"] <= RESIDENT and max(growth["traced"], growth["peak"]) <= TRACED
    return {"rows": rows, "growth": growth, "met": met}


def _learn(marks: tuple[int, ...], note: Callable[[Any], Any]) -> list[Any]:
    model, notes = RobustOnlineNMF(49, random_state=0), []
    if tracemalloc.is_tracing():
        tracemalloc.reset_peak()
    for X in contaminated_batches(marks[-1], BATCH):
        model.partial_fit(X)
        if model.n_samples_seen_ in marks:
            notes.append(note(model))
    return notes


def _traced(model: Any) -> dict[str, float]:
    held, peak = tracemalloc.get_traced_memory()
    size = len(pickle.dumps(model))
    tracemalloc.reset_peak()
    return {"traced": held / MB, "peak": peak / MB, "pickled": size / MB}


def _resident() -> int:
    """Return the bytes of this process that are in memory, on Linux."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def report(result: dict[str, Any]) -> str:
    """Return memory at each mark, and whether it grew."""
    keys = ("resident", "traced", "peak", "pickled")
    rows = [
        (f"{row['samples']:,} samples", *(number(row[key], ".3f") for key in keys))
        for row in result["rows"]
    ]
    rows.append(("growth", *(number(result["growth"][key], "+.3f") for key in keys)))
    heads = ("MB", "resident", "traced", "traced peak", "pickled")
    return f"{table(heads, rows)}\nconstant: {'met' if result['met'] else 'NOT MET'}"


def findings(result: dict[str, Any]) -> list[Finding]:
    """Return the growth of memory between the first mark and the last."""
    first, last = (f"{result['rows'][i]['samples']:,}" for i in (0, -1))
    growth = result["growth"]
    return [
        Finding(
            f"From {first} to {last} samples the resident memory grows by "
            f"{growth['resident']:.3f} MB, traced memory by {growth['traced']:.3f} MB, and the "
            f"pickled estimator by {growth['pickled']:.3f} MB.",
            result["met"] and growth["resident"] <= RESIDENT and growth["traced"] <= TRACED,
        )
    ]
