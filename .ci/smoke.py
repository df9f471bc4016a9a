"""Check an installed wheel: ``python .ci/smoke.py`` fits a model, and prints the seconds."""

import time

start = time.perf_counter()

import numpy as np  # noqa: E402

from thalweg import RobustOnlineNMF, _native, synthetic  # noqa: E402

scene = synthetic.moving_scene(60, shape=(20, 30), random_state=0)
model = RobustOnlineNMF(n_components=3, random_state=0).fit(scene.frames)
assert np.isfinite(model.components_).all()
seconds = time.perf_counter() - start
print(f"first fit: {seconds:.1f} s, instruction set {_native.target_level()}, {_native.__file__}")
