"""Nothing is sent or fetched: not on import, not while learning, not while reading or writing."""

import subprocess
import sys

CODE = """
import socket, sys

KNOCKS = []


def hear(event, arguments):
    # gethostname and the pair of sockets of an event loop stay on the machine
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname",
                 "urllib.Request", "ftplib.connect", "http.client.connect", "socket.bind"):
        KNOCKS.append(event)
        raise PermissionError(event)


sys.addaudithook(hear)
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
except PermissionError:
    pass
assert KNOCKS, "the guard does not hear"
KNOCKS.clear()

import importlib, inspect, pkgutil, warnings
from pathlib import Path
import numpy as np
import thalweg

for info in pkgutil.walk_packages(thalweg.__path__, "thalweg."):
    if not info.name.endswith("__main__"):  # which is a program
        importlib.import_module(info.name)
# of random numbers there are no few components to converge to
warnings.filterwarnings("ignore", ".* stopped after max_iter")
X = np.random.default_rng(0).random((40, 6))
for name in thalweg.__all__:
    thing = getattr(thalweg, name)
    if inspect.isclass(thing) and hasattr(thing, "fit"):
        model = thing(**({"n_components": 2} if name != "SignSplitter" else {}))
        model.fit_transform(X)
folder = Path(sys.argv[1])
np.savetxt(folder / "x.csv", X, delimiter=",")
stream = thalweg.streams.open(folder / "x.csv")
model = thalweg.RobustOnlineNMF(2).fit_stream(stream, checkpoint=folder / "run")
thalweg.checkpoint.load(thalweg.checkpoint.latest(folder / "run"))
assert KNOCKS == [], KNOCKS
"""


def test_nothing_knocks_at_the_network(tmp_path):
    command = [sys.executable, "-W", "error", "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
