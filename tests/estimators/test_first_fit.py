"""The first fit of a process is as fast as the others: nothing is compiled at run time."""

import json
import subprocess
import sys

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
import json, time, numpy as np, thalweg
rng = np.random.default_rng(0)
X = rng.random((60, 2)) @ rng.random((2, 12)) + 0.01 * rng.random((60, 12))
thalweg.RobustNMF  # imports SciPy and scikit-learn
imported, times = time.process_time(), {}
for name in NAMES:
    begun = time.process_time()
    model = getattr(thalweg, name)(2, random_state=0).fit(X)
    assert np.isfinite(model.transform(X)).all()
    times[name] = imported + time.process_time() - begun
print(json.dumps(times))
"""


def first_fits() -> dict[str, float]:
    """Fit all estimators in a new process; return processor seconds of imports and fit."""
    code = FIT.replace("NAMES", repr(ESTIMATORS))
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    return json.loads(ended.stdout)


def test_a_first_fit_takes_little_time() -> None:
    times = first_fits()
    assert sorted(times) == ESTIMATORS
    assert all(seconds < LIMIT for seconds in times.values()), times
