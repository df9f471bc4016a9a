import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np  # noqa: F401  threadpoolctl limits the libraries that are loaded by then
import pytest
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_limits

import profiles  # noqa: F401  registers the long profile of Hypothesis
from quick import is_quick

ROOT = Path(__file__).resolve().parents[1]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``-m quick`` collect no other files: importing them takes longer than the tests."""
    if config.option.markexpr == "quick" and collection_path.suffix == ".py":
        return True if not is_quick(collection_path) else None
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the quick tests."""
    for item in items:
        if is_quick(item.path, getattr(item, "originalname", item.name)):
            item.add_marker("quick")


def pytest_collection_finish() -> None:
    """Keep the collected tests out of later garbage collections, each of which would visit them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread() -> Iterator[None]:
    """Keep results and timings the same on any number of cores."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Return a function from the name of a file of real data to its path, or skip."""
    folder = Path(os.environ.get("THALWEG_DATA", ROOT.parent / "shared" / "data"))

    def find(name: str) -> Path:
        path = folder / name
        if not path.exists():
            pytest.skip(f"no {name} in {folder}: set THALWEG_DATA to the folder of real data")
        return path

    return find
