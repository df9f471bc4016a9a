"""Kill and resume runs: ``python victim.py SEED KILLS FOLDER``.

For each estimator, an uninterrupted run is saved as ``NAME.thalweg``, and a run that is killed
repeatedly writes its checkpoints to ``NAME``. Runs are forks, which need no imports and no
compilation. Each resumes from the newest checkpoint and is killed after a random time; the last
runs to its end. One line per run says whether it was killed, and what it left behind.
"""

import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

from sklearn.base import clone

from thalweg import ORNMF, OnlineNMF, PetrelsADMM, RobustOnlineNMF, checkpoint, streams, synthetic

MODELS = {
    "RobustOnlineNMF": RobustOnlineNMF(3, random_state=0),
    "OnlineNMF": OnlineNMF(3, loss="kl", random_state=0),
    "ORNMF": ORNMF(3, buffer_size=30, random_state=0),
    "PetrelsADMM": PetrelsADMM(3, init_samples=64, random_state=0),
}
SAMPLES, SIZE = 120, 10


def run(model, **options):
    """Return the model, fitted for two epochs to a shuffled stream of two epochs."""
    X = synthetic.nmf_with_outliers(SAMPLES, 16, 3, random_state=0).X
    twice = streams.Repeated(streams.open(X), epochs=2)
    stream = streams.Shuffled(twice, buffer=128, seed=1)
    return model.fit_stream(stream, epochs=2, batch_size=SIZE, **options)


def child(model, folder):
    """Resume from the newest checkpoint in a new process; return its process number."""
    number = os.fork()
    if number:
        return number
    try:
        run(model, checkpoint=checkpoint.Keeper(folder, every=1), resume=True)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def kill_and_resume(name, model, folder, kills, rng):
    """Kill a run ``kills`` times, then let it finish."""
    begin = time.perf_counter()
    run(clone(model), checkpoint=checkpoint.Keeper(folder.with_name(f"{name}-timed"), every=1))
    longest = 2.0 * (time.perf_counter() - begin) / kills
    for _ in range(kills):
        victim = child(model, folder)
        time.sleep(rng.uniform(0.0, longest))
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        parts = len(list(folder.glob(".*.part"))) if folder.exists() else 0
        newest = checkpoint.latest(folder)
        position = checkpoint.read_manifest(newest).position if newest else None
        log(name, "killed" if os.WIFSIGNALED(status) else "ended", parts, position)
    _, status = os.waitpid(child(model, folder), 0)
    log(name, "failed" if status else "ended")


def log(*words):
    """Print without buffering, because a fork would copy the buffer."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(seed, kills, folder):
    rng = random.Random(seed)
    for name, model in MODELS.items():
        uninterrupted = run(clone(model))
        checkpoint.save(
            folder / f"{name}.thalweg", uninterrupted, position=(1, 2 * SAMPLES), batch_size=SIZE
        )
        kill_and_resume(name, model, folder / name, kills, rng)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
