"""Codes, low-rank part and outliers on disk: CSV for tables, .npy for everything else."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from thalweg.apps._folder import Folder
from thalweg.apps._learn import Thinned
from thalweg.apps._run import Run
from thalweg.apps._streams import length, rows_at_once
from thalweg.apps._tables import Array2D, Csv, array_file, csv_file
from thalweg.errors import ParameterError
from thalweg.streams import Stream

__all__ = ["PARTS", "check_parts", "codes_panel", "write_parts"]

_SHOWN = 200  # samples of which the codes are in the report
PARTS = ("codes", "low_rank", "outliers")


def check_parts(parts: Sequence[str]) -> None:
    """Raise unless these are parts of a decomposition."""
    for part in parts:
        if part not in PARTS:
            raise ParameterError(
                f"parts should be some of {', '.join(PARTS)}, but {part!r} came. Use these names."
            )


def write_parts(
    folder: Folder,
    model: Any,
    stream: Stream,
    parts: Sequence[str],
    columns: Sequence[str] | None,
    run: Run,
) -> tuple[dict[str, Any], Thinned]:
    """Take a stream apart and write what was asked for; return counts, and some of the codes."""
    samples = entries = off = 0
    n, shown = length(stream), Thinned(_SHOWN)
    with _files(folder, parts, columns, len(model.components_)) as files:
        for first, X in stream.batches(rows_at_once(stream.n_features)):
            found = model.decompose(X)
            for part, file in files.items():
                file.write(getattr(found, part))
            samples, entries = first + X.shape[0], entries + found.outliers.size
            off += int(np.count_nonzero(found.outliers))
            for i, row in enumerate(found.codes):
                shown.add(first + i, np.array(row))
            run.tell("writing", samples, n)
    return {"samples": samples, "outlier share": off / max(entries, 1)}, shown


def codes_panel(shown: Thinned) -> Any:
    """Return the codes of some samples as a heat map."""
    from thalweg import report

    return report.HeatMap("Codes", {"codes": np.stack(shown.items)}, row_labels=shown.numbers)


@contextmanager
def _files(
    folder: Folder, parts: Sequence[str], columns: Sequence[str] | None, n_codes: int
) -> Iterator[dict[str, Csv | Array2D]]:
    with ExitStack() as stack:
        found: dict[str, Csv | Array2D] = {}
        for part in parts:
            heads = [str(k) for k in range(n_codes)] if part == "codes" else columns
            if heads is None:
                found[part] = stack.enter_context(array_file(folder.file(part, f"{part}.npy")))
            else:
                path = folder.file(part, f"{part}.csv")
                found[part] = stack.enter_context(csv_file(path, heads))
        yield found
