"""A batch in several blocks moves the dictionary as it does in one: found in the room."""

from typing import Any

import numpy as np
import pytest

from closeness import relative
from thalweg._rooms import members
from thalweg.encoders import Codes
from thalweg.encoders.fast import Fast
from thalweg.encoders.newton import Newton
from thalweg.updates import BlockMethod, BlockUpdate

ROOM = members("thalweg.updates")
UPDATES = [name for name, cls in ROOM.items() if hasattr(cls, "take_in")]
METHODS = [name for name, cls in ROOM.items() if hasattr(cls, "visit")]
CUTS = [slice(0, 7), slice(7, 8), slice(8, 30), slice(30, 41)]


def problem(gaps: bool) -> tuple[Any, Any, Any]:
    """Return samples, a dictionary, and where entries were observed."""
    rng = np.random.default_rng(0)
    W = rng.dirichlet(np.ones(6), 3).T
    V = 5.0 * W @ rng.gamma(1.0, 1.0, (3, 41)) + 0.1 * rng.random((6, 41)) + 0.01
    observed = rng.random(V.shape) < 0.8 if gaps else None
    return V if observed is None else np.where(observed, V, 0.0), W, observed


def part(codes: Codes, cut: slice) -> Codes:
    return Codes(*(field[..., cut] for field in codes))


def masked(observed: Any, cut: slice) -> Any:
    return None if observed is None else observed[:, cut]


def test_the_room_has_both_kinds():
    assert {"surrogate", "second-order", "multiplicative", "subgradient"} <= set(UPDATES)
    assert METHODS == ["batch-admm", "batch-fast", "batch-pgd"]


@pytest.mark.parametrize("forgetting", [1.0, 0.97])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", UPDATES)
def test_blocks_of_a_batch_are_a_batch(name, gaps, forgetting):
    V, W, observed = problem(gaps)
    cls = ROOM[name]
    fading = {"forgetting": forgetting, "fade": 2.0} if hasattr(cls, "forgetting") else {}
    if name == "robust-approximation":
        fading = {"buffer_size": 4 * len(V[0])}  # all of them are remembered
    update = cls(**fading)
    assert isinstance(update, BlockUpdate)
    encoder = Newton(loss=update.loss) if hasattr(update, "loss") else Fast()
    state = update.init(W)
    whole, blocks = (W, state), (W, state)
    for _ in range(3):
        codes = encoder.encode(V, whole[0], observed=observed)
        whole = update.step(*whole, V, codes, observed)
        codes = encoder.encode(V, blocks[0], observed=observed)
        cuts = CUTS if name != "subgradient" else [slice(None)]  # its curvature is no sum
        parts = [
            update.summarise(blocks[0], V[:, cut], part(codes, cut), masked(observed, cut))
            for cut in cuts
        ]
        blocks = update.take_in(*blocks, update.merge(parts))
    assert relative(blocks[0], whole[0]) < 1e-11
    for one, other in zip(blocks[1], whole[1], strict=True):
        same = relative(np.nan_to_num(one), np.nan_to_num(other))
        assert same < 1e-11


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_blocks_of_the_samples_are_all_samples(name, gaps):
    V, W, observed = problem(gaps)
    method = ROOM[name]()
    assert isinstance(method, BlockMethod)
    whole, centre = (
        method.start(V, W, observed),
        method.start(V[:, :0], W, masked(observed, slice(0))),
    )
    states = [method.start(V[:, cut], W, masked(observed, cut)) for cut in CUTS]
    for _ in range(6):
        whole = method.advance(V, whole, observed)
        shared = {field: getattr(centre, field) for field in method.shared}
        visited = [
            method.visit(V[:, cut], state._replace(**shared), masked(observed, cut))
            for cut, state in zip(CUTS, states, strict=True)
        ]
        states = [state for state, _ in visited]
        centre = method.move(centre, method.merge([sums for _, sums in visited]))
    expected = method.factors(whole)
    assert relative(method.factors(centre).W, expected.W) < 1e-10
    H = np.hstack([method.factors(state).H for state in states])
    assert relative(H, expected.H) < 1e-10
