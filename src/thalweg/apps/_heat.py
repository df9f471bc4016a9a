"""Panel with a table, its completion and its outliers."""

from typing import Any

import numpy as np

from thalweg.apps._learn import Subsample

__all__ = ["TableSample"]

_ROWS = 400  # kept for the panel, which shows 160 x 120 blocks
_COLUMNS = 400


class TableSample:
    """A sample of rows of a table: data, completed data and outliers."""

    def __init__(self) -> None:
        self._rows = Subsample(_ROWS)
        self._count = 0

    def add(self, X: Any, completed: Any, outliers: Any) -> None:
        """Add rows."""
        for i in range(len(X)):
            if self._rows.keeps(self._count):
                parts = np.stack([part[i, :_COLUMNS] for part in (X, completed, outliers)])
                self._rows.add(self._count, parts)
            self._count += 1

    def panel(self, columns: list[str]) -> Any:
        """Return the heat map."""
        from thalweg import report

        parts = np.stack(self._rows.items, axis=1)
        names = ("data", "completed", "outliers")
        return report.HeatMap(
            "Table",
            dict(zip(names, parts, strict=True)),
            row_labels=self._rows.numbers,
            column_labels=columns[:_COLUMNS],
            by_column=True,
        )
