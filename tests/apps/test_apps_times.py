"""Columns of times: recognised, kept in front of every output, and used for the steps of rows."""

import csv
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thalweg import apps
from thalweg.apps._header import open_table
from thalweg.apps._run import Run
from thalweg.apps._time_formats import TimeFormat, find_format
from thalweg.errors import InputError, ParameterError

START = datetime(2024, 3, 9)


def moments(n: int, hours: Any = None) -> list[datetime]:
    return [START + timedelta(hours=float(h)) for h in (range(n) if hours is None else hours)]


def table(N: int = 400, F: int = 5, seed: int = 0) -> Any:
    """Return a rank-1 random walk with a deviation of each column, and with gaps."""
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(size=(N, 1)), axis=0) @ rng.normal(size=(1, F))
    X += np.cumsum(0.3 * rng.normal(size=(N, F)), axis=0)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def write(path: Path, X: Any, times: list[str], name: str = "when") -> Path:
    lines = [",".join([f"c{j}" for j in range(X.shape[1])])]
    lines += [",".join("" if np.isnan(x) else repr(float(x)) for x in row) for row in X]
    path.write_text("\n".join(f"{a},{b}" for a, b in zip([name, *times], lines, strict=True)))
    return path


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M:%SZ",
        "%d/%m/%Y %H.%M.%S",
        "%m/%d/%Y %H:%M",
        "%d.%m.%Y %H:%M",
        "%Y/%m/%d %H:%M:%S",
        "%m/%d/%Y %I:%M %p",
    ],
)
def test_formats_are_found_and_written_again(form: str) -> None:
    days = [START + timedelta(days=i) for i in range(40)]
    cells = [day.strftime(form) for day in days]
    found = find_format(cells, named=False)
    assert found is not None
    seconds = found.seconds([*cells, ""])
    np.testing.assert_allclose(np.diff(seconds[:-1]), 86400.0)
    assert np.isnan(seconds[-1])
    later = (days[-1] + timedelta(hours=13)).strftime(form)
    assert found.text(seconds[-2] + 13 * 3600.0, cells[-1]) == later


def test_numbers_are_times_only_in_columns_with_their_name() -> None:
    cells = ["1710000000", "1710003600"]
    assert find_format(cells, named=False) is None
    assert find_format(cells, named=True) == TimeFormat("epoch")
    assert find_format([f"{cell}000" for cell in cells], named=True) == TimeFormat("epoch", 1e-3)
    assert find_format(["1.5", "2.5"], named=True) is None
    assert find_format(["20240131", "20240201"], named=True) == TimeFormat("iso")
    assert find_format(["north", "south"], named=True) is None


@pytest.mark.parametrize("job", ["complete", "track", "forecast"])
def test_times_are_the_first_column_of_every_output(job: str, tmp_path: Path) -> None:
    X = table()
    times = [moment.strftime("%d/%m/%Y %H:%M") for moment in moments(len(X))]
    source = write(tmp_path / "table.csv", X, times)
    options = {"steps": 3} if job == "forecast" else {}
    result = getattr(apps, job)(source, tmp_path / "out", components=1, **options)
    files = [Path(path) for path in result.files.values() if str(path).endswith(".csv")]
    for path in files:
        header, rows = read(path)
        if path.name == "drift.csv":
            continue
        assert header[0] == "when"
        if job == "forecast":
            expected = [START + timedelta(hours=len(X) + i) for i in range(3)]
            assert [row[0] for row in rows] == [m.strftime("%d/%m/%Y %H:%M") for m in expected]
        elif path.name != "outliers.csv":
            assert [row[0] for row in rows] == times
    assert result.values["columns"] == 5


@pytest.mark.filterwarnings("ignore:.*stopped after max_iter")
def test_rows_that_were_left_out_are_gaps(tmp_path: Path) -> None:
    """Hours without a row and rows of empty cells give the same fills."""
    X = table(500)
    kept = np.random.default_rng(1).random(len(X)) < 0.8
    kept[[0, 1, -1]] = True
    texts = [moment.isoformat(" ") for moment in moments(len(X))]
    short = write(
        tmp_path / "short.csv", X[kept], [t for t, k in zip(texts, kept, strict=True) if k]
    )
    settings = {"dynamics": "autoregressive-factors"}
    apps.complete(short, tmp_path / "short", components=1, settings=settings)
    whole = write(tmp_path / "whole.csv", np.where(kept[:, None], X, np.nan), texts)
    apps.complete(whole, tmp_path / "whole", components=1, settings=settings)
    one, two = (read(tmp_path / name / "completed.csv")[1] for name in ("short", "whole"))
    values = {row[0]: np.array(row[1:], float) for row in two}
    same = np.array([np.array(row[1:], float) for row in one])
    other = np.array([values[row[0]] for row in one])
    gaps = np.isnan(X[kept])
    assert np.std((same - other)[gaps]) < 0.05 * np.nanstd(np.diff(X, axis=0))


def test_a_named_column_and_chosen_columns(tmp_path: Path) -> None:
    X = table(50)
    source = write(tmp_path / "t.csv", X, [str(1710000000 + 60 * i) for i in range(50)], "stamp")
    assert open_table(Run("complete", source)).time is None
    named = open_table(Run("complete", source), time="stamp")
    assert named.time is not None
    assert named.names == [f"c{j}" for j in range(5)]
    assert open_table(Run("complete", source), ["c1", "c2"], "stamp").names == ["c1", "c2"]
    with pytest.raises(ParameterError, match="time must be one of stamp, c0"):
        open_table(Run("complete", source), time="hour")
    with pytest.raises(InputError, match="must have times"):
        open_table(Run("complete", source), time="c1")


def test_times_that_do_not_increase_only_name_rows(tmp_path: Path) -> None:
    X = table(60)
    source = write(tmp_path / "t.csv", X, ["2024-01-01"] * 60)
    opened = open_table(Run("complete", source))
    assert opened.time is not None
    assert opened.seconds(["2024-01-01"] * 60) is None


def test_times_in_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    X = table(60, 3)
    columns = {"at": pa.array(moments(60), pa.timestamp("ms"))}
    columns |= {f"c{j}": pa.array(X[:, j]) for j in range(3)}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    opened = open_table(Run("complete", tmp_path / "t.parquet"))
    assert opened.time is not None
    assert opened.time.name == "at"
    seconds = opened.seconds(list(opened.labels() or ()))
    np.testing.assert_allclose(np.diff(seconds), 3600.0)
