"""scikit-learn's callbacks: iterations as tasks, progress bars, early stopping."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from thalweg import DivergenceNMF, OnlineNMF, RobustNMF, RobustOnlineNMF

callback = pytest.importorskip("sklearn.callback")

MODELS = [
    RobustOnlineNMF(2, batch_size=10, random_state=0),
    OnlineNMF(2, batch_size=10, epochs=2, random_state=0),
    RobustNMF(2, max_iter=30, tol=0.0, random_state=0),
    DivergenceNMF(2, max_iter=30, tol=0.0, random_state=0),
]


class Recorder:
    """A callback that follows the tasks, and stops after some."""

    def __init__(self, stop_after=np.inf):
        self.stop_after, self.tasks, self.errors = stop_after, [], []

    def setup(self, estimator, context):
        self.tasks.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.tasks.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.tasks.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.tasks.append(("end", context.task_name))
        self.errors.append(-fitted_estimator.score(X))
        return len(self.errors) >= self.stop_after


@pytest.fixture(name="X")
def data():
    rng = np.random.default_rng(0)
    return rng.random((60, 2)) @ rng.random((2, 8)) + 0.05 * rng.random((60, 8))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_iterations_are_tasks(model, X):
    recorder = Recorder()
    followed = clone(model).set_callbacks(recorder).fit(X)
    n_tasks = {"RobustOnlineNMF": 6, "OnlineNMF": 12}.get(type(model).__name__, 30)
    kinds = [kind for kind, _ in recorder.tasks]
    assert kinds[:2] == ["setup", "begin"]
    assert kinds[-2:] == ["end", "teardown"]
    assert kinds.count("begin") == kinds.count("end") == n_tasks + 1
    assert recorder.errors[-2] < recorder.errors[0]
    plain = clone(model).fit(X)
    np.testing.assert_allclose(followed.components_, plain.components_, rtol=1e-6)
    assert not hasattr(followed, "_callback_fit_ctx")


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_callback_stops_the_fit(model, X):
    recorder = Recorder(stop_after=3)
    stopped = clone(model).set_callbacks(recorder).fit(X)
    assert len(recorder.errors) == 4  # three iterations, and the fit
    assert recorder.tasks[-1] == ("teardown", "fit")
    assert getattr(stopped, "n_iter_", 3) == 3
    assert np.isfinite(stopped.transform(X)).all()


def test_a_progress_bar(X):
    pytest.importorskip("rich")
    model = clone(MODELS[0]).set_callbacks(callback.ProgressBar()).fit(X)
    assert model.n_samples_seen_ == 60


def test_without_callbacks_in_scikit_learn():
    """Releases before 1.9: fits are as they were, and there is no set_callbacks."""
    code = (
        "import sys; sys.modules['sklearn.callback'] = None\n"
        "import numpy as np; from thalweg import RobustNMF, RobustOnlineNMF\n"
        "X = np.random.default_rng(0).random((40, 5))\n"
        "print(RobustOnlineNMF(2).fit(X).n_samples_seen_, RobustNMF(2).fit(X).n_samples_seen_)\n"
        "print(hasattr(RobustNMF(2), 'set_callbacks'))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["40", "40", "False"]
