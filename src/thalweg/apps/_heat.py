"""The panel of a table beside what was made of it."""

from typing import Any

import numpy as np

from thalweg.apps._learn import Thinned

__all__ = ["Shown"]

_ROWS = 400
_COLUMNS = 400


class Shown:
    """Some rows of a table, as they were, completed, and their outliers."""

    def __init__(self) -> None:
        self._rows = Thinned(_ROWS)
        self._count = 0

    def add(self, X: Any, completed: Any, outliers: Any) -> None:
        """Take in rows."""
        for i in range(len(X)):
            if self._rows.wants(self._count):
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
