"""The first fit of a process is as fast as the others: nothing is compiled at run time."""

import subprocess
import sys

import pytest

import thalweg

ESTIMATORS = sorted(
    name
    for name in thalweg.__all__
    if isinstance(kind := getattr(thalweg, name), type)
    and hasattr(kind, "transform")
    and name != "SignSplitter"
)
# Processor time of import and fit in seconds: about 1 on a machine of 2024, most of it the imports
# of SciPy and scikit-learn.
LIMIT = 3.0
FIT = """
import time, numpy as np, thalweg
rng = np.random.default_rng(0)
X = rng.random((60, 2)) @ rng.random((2, 12)) + 0.01 * rng.random((60, 12))
model = thalweg.{name}(2, random_state=0).fit(X)
assert np.isfinite(model.transform(X)).all()
print(time.process_time())
"""


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_first_fit_takes_little_time(name: str) -> None:
    code = FIT.format(name=name)
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert float(ended.stdout) < LIMIT
