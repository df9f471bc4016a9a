"""Kill and resume runs: ``python victim.py SEED KILLS FOLDER``.

For each estimator, an uninterrupted run is saved as ``NAME.thalweg``, and a run that is killed
repeatedly writes its checkpoints to ``NAME``. Runs are forks, which need no imports and no
compilation. Each resumes from the newest checkpoint and is killed at a random time after a random
number of new checkpoints, so that all make progress on a slow machine, too; the last runs to its
end. One line per run says whether it was killed, and what it left behind.
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
MOST_NEW = 4  # a run is killed after 0 to 3 new checkpoints


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


def number_of(path):
    """Return the number of a checkpoint; 0 if there is none."""
    return int(path.stem.rpartition("-")[2]) if path else 0


def wait_for(victim, folder, number):
    """Wait until a run has written this checkpoint, or has ended."""
    while number_of(checkpoint.latest(folder)) < number:
        if os.waitid(os.P_PID, victim, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.001)


def kill_and_resume(name, model, folder, kills, rng):
    """Kill a run ``kills`` times, then let it finish."""
    begin = time.perf_counter()
    run(clone(model), checkpoint=checkpoint.Keeper(folder.with_name(f"{name}-timed"), every=1))
    longest = (time.perf_counter() - begin) / kills
    for _ in range(kills):
        before = number_of(checkpoint.latest(folder))
        victim = child(model, folder)
        wait_for(victim, folder, before + rng.randrange(MOST_NEW))
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
