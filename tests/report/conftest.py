from pathlib import Path

import numpy as np
import pytest

from thalweg import report


@pytest.fixture(scope="session")
def samples() -> dict[str, report.Panel]:
    """Return a panel of each kind by name, with gaps where they are allowed."""
    rng = np.random.default_rng(0)
    film = 0.2 + 0.6 * rng.random((6, 24, 32))
    film[:, 3:6, 4:9] = np.nan
    table = rng.random((30, 6))
    table[3, 2] = np.nan
    outliers = np.where(rng.random(table.shape) < 0.1, 2.0, 0.0)
    x = np.arange(50)
    panels = (
        report.Facts("Figures", {"F-measure": 0.98765, "method": "fast", "frames": 12345}),
        report.Frames("Film", {"input": film, "mask": film > 0.5}, numbers=range(10, 70, 10)),
        report.Pairs("Faces", {"original": film[:4], "clean": np.nan_to_num(film[:4])}),
        report.Mosaic("Parts", 50 * film[:5] - 9),
        report.Ranking("Topics", {"sport": [("goal", 2.0), ("match", 1.0)], "law": [("tax", 3)]}),
        report.HeatMap(
            "Wells", {"data": table, "outliers": outliers}, column_labels=list("abcdef")
        ),
        report.Curve("Loss", x, {"train": 1 / (1 + x), "test": 2 / (1 + x)}, xlabel="samples"),
        report.Picture("Map", rng.random((20, 30, 3)), caption="What grows where"),
    )
    return {panel.name: panel for panel in panels}


@pytest.fixture(scope="session")
def page(samples, tmp_path_factory) -> Path:
    """Return a report with all kinds of panels."""
    return report.write(
        tmp_path_factory.mktemp("report") / "report.html",
        "Street",
        list(samples.values()),
        command="thalweg separate street.mp4",
        parameters={"n_components": 3, "outlier_weight": "auto"},
        summary="Two objects move.",
    )
