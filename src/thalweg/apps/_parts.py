"""Write codes, low-rank part and outliers: CSV for tables, .npy for other data."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from thalweg.apps._alarms import AlarmWriter
from thalweg.apps._folder import Folder
from thalweg.apps._learn import Subsample
from thalweg.apps._run import Run
from thalweg.apps._streams import length, read_batch_size
from thalweg.apps._tables import Array2D, Csv, array_file, csv_file
from thalweg.errors import ParameterError
from thalweg.streams import Stream

__all__ = ["PARTS", "check_parts", "codes_panel", "write_parts"]

_N_SHOWN = 200  # samples in the report, at least, of a long stream
PARTS = ("codes", "low_rank", "outliers")


def check_parts(parts: Sequence[str]) -> None:
    """Raise unless all names are parts of a decomposition."""
    for part in parts:
        if part not in PARTS:
            raise ParameterError(f"parts must be names among {', '.join(PARTS)}, got {part!r}.")


def write_parts(
    folder: Folder,
    model: Any,
    stream: Stream,
    parts: Sequence[str],
    columns: Sequence[str] | None,
    run: Run,
    alarms: AlarmWriter | None = None,
) -> tuple[dict[str, Any], Subsample]:
    """Decompose a stream and write the chosen parts; return statistics and a sample of codes."""
    samples = n_entries = n_outliers = 0
    n, shown = length(stream), Subsample(_N_SHOWN)
    with _files(folder, parts, columns, len(model.components_)) as files:
        for first, X in stream.batches(read_batch_size(stream.n_features)):
            decomposed = model.decompose(X)
            if alarms is not None:
                alarms.write(first, X, model)
            for part, file in files.items():
                file.write(getattr(decomposed, part))
            samples, n_entries = first + X.shape[0], n_entries + decomposed.outliers.size
            n_outliers += int(np.count_nonzero(decomposed.outliers))
            for i, row in enumerate(decomposed.codes):
                shown.add(first + i, np.array(row))
            run.notify("writing", samples, n)
    return {"samples": samples, "outlier share": n_outliers / max(n_entries, 1)}, shown


def codes_panel(shown: Subsample) -> Any:
    """Return a heat map of the codes of some samples."""
    from thalweg import report

    return report.HeatMap("Codes", {"codes": np.stack(shown.items)}, row_labels=shown.numbers)


@contextmanager
def _files(
    folder: Folder, parts: Sequence[str], columns: Sequence[str] | None, n_codes: int
) -> Iterator[dict[str, Csv | Array2D]]:
    with ExitStack() as stack:
        files: dict[str, Csv | Array2D] = {}
        for part in parts:
            header = [str(k) for k in range(n_codes)] if part == "codes" else columns
            if header is None:
                files[part] = stack.enter_context(array_file(folder.file(part, f"{part}.npy")))
            else:
                path = folder.file(part, f"{part}.csv")
                files[part] = stack.enter_context(csv_file(path, header))
        yield files
