"""A run that is killed again and again: ``python victim.py SEED KILLS FOLDER``.

For each of some estimators, a straight run is saved as ``NAME.thalweg``, and a run that is killed
writes its checkpoints into ``NAME``. It is made of forks, since a fork is warm: libraries are
loaded and loops compiled. Each goes on from the newest checkpoint, and is killed after a random
time; the last is left alone. A line for each says whether it was killed, and what it left behind.
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
    "PetrelsADMM": PetrelsADMM(3, start_samples=64, random_state=0),
}
SAMPLES, SIZE = 120, 10


def run(model, **options):
    """Return the model, fitted to two epochs of a stream of two epochs in random order."""
    X = synthetic.nmf_with_outliers(SAMPLES, 16, 3, random_state=0).X
    twice = streams.Repeated(streams.open(X), epochs=2)
    stream = streams.Shuffled(twice, buffer=128, seed=1)
    return model.fit_stream(stream, epochs=2, batch_size=SIZE, **options)


def child(model, folder):
    """Go on from the newest checkpoint, in a process of its own; return its number."""
    number = os.fork()
    if number:
        return number
    try:
        run(model, checkpoint=checkpoint.Keeper(folder, every=1), resume=True)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def kill_some(name, model, folder, kills, chance):
    """Run until the end, against the odds."""
    begin = time.perf_counter()
    run(clone(model), checkpoint=checkpoint.Keeper(folder.with_name(f"{name}-timed"), every=1))
    long = 2.0 * (time.perf_counter() - begin) / kills
    for _ in range(kills):
        victim = child(model, folder)
        time.sleep(chance.uniform(0.0, long))
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        parts = len(list(folder.glob(".*.part"))) if folder.exists() else 0
        found = checkpoint.latest(folder)
        place = checkpoint.read_manifest(found).position if found else None
        tell(name, "killed" if os.WIFSIGNALED(status) else "ended", parts, place)
    _, status = os.waitpid(child(model, folder), 0)
    tell(name, "failed" if status else "ended")


def tell(*words):
    """Print at once: a fork would take along what is left in the buffer."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(seed, kills, folder):
    chance = random.Random(seed)
    for name, model in MODELS.items():
        straight = run(clone(model))
        checkpoint.save(
            folder / f"{name}.thalweg", straight, position=(1, 2 * SAMPLES), batch_size=SIZE
        )
        kill_some(name, model, folder / name, kills, chance)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
