"""The native core: threads, signals, instruction sets, and arguments that are checked."""

import inspect
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Thread
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

import reference
from thalweg import _native

Array = Any
Place = tuple[int, ...]
# Names that are no kernels, and a kernel whose exact version, huber_codes, has a reference.
SETTINGS = {
    "approximate_huber_codes",
    "set_target_level",
    "set_thread_count",
    "set_thread_limit",
    "target_level",
    "thread_count",
    "thread_limit",
}
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
BINDINGS = [
    file
    for file in sorted((Path(_native.__file__).parent / "bindings").glob("*.cpp"))
    if file.stem != "module"
]
on_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")


class Call(NamedTuple):
    """A kernel with arguments, the places of those it writes to, and of those of free length."""

    kernel: Callable[..., Any]
    args: tuple[Any, ...]
    outputs: set[Place]
    any_length: frozenset[Place] = frozenset()

    def run(self) -> list[Array]:
        """Return what the kernel writes and returns, on copies."""
        args = copied(self.args)
        found = self.kernel(*args)
        returned = () if found is None else found if isinstance(found, tuple) else (found,)
        return [get(args, place) for place in sorted(self.outputs)] + list(returned)


def copied(args: Any) -> Any:
    if isinstance(args, tuple):
        return tuple(copied(a) for a in args)
    return args.copy() if isinstance(args, np.ndarray) else args


def get(args: Any, place: Place) -> Any:
    return args if not place else get(args[place[0]], place[1:])


def replaced(args: Any, place: Place, value: Any) -> Any:
    if not place:
        return value
    inner = replaced(args[place[0]], place[1:], value)
    return (*args[: place[0]], inner, *args[place[0] + 1 :])


def places(args: Any, at: Place = ()) -> Iterator[Place]:
    """Yield where the arrays are."""
    if isinstance(args, np.ndarray):
        yield at
    elif isinstance(args, tuple):
        for i, one in enumerate(args):
            yield from places(one, (*at, i))


def calls(dtype: Any = np.float64) -> dict[str, Call]:
    """Return a call of each kernel, large enough for several tasks of the pool."""
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> Array:
        return rng.random(shape).astype(dtype)

    root = numbers(300, 4, 9)
    grams = root @ root.transpose(0, 2, 1)
    free = np.array([True, True, False, True])
    wide = numbers(30, 6)
    gram = wide.T @ wide
    H = np.maximum(rng.normal(size=(6, 9000)), 0.0).astype(dtype)
    S = (gram @ H - rng.normal(9.0, 9.0, H.shape)).astype(dtype)
    V = sparse.csr_array(rng.poisson(0.8, (300, 150)).astype(dtype))
    W, mass, codes = numbers(150, 5), np.full((1, 5), 75.0, dtype), numbers(300, 5)
    rows = (V.data, V.indices, V.indptr)
    simplex = _native.ElasticNetSet(l1=1.0, l2=0.0, equality=True)
    steps = _native.ApproximationSettings(
        beta=1.0, l1=0.1, l2=0.1, step_length=0.5, frozen=1, tol=0.0, min_steps=2, max_steps=200
    )
    kl = _native.SparseKLSettings(offset=1e-12, tol=1e-6, max_steps=50)
    samples = (
        (numbers(20, 30), numbers(20, 6), numbers(20, 30)), numbers(6, 30),
        np.array([5], np.uint64), 0.0,
    )  # fmt: skip
    values = rng.choice([0.0, 1e-9, 1.0, np.nan], 1 << 20).astype(dtype)
    free6 = np.arange(6) > 0
    found = {
        "add_samples": Call(
            _native.add_samples, ((numbers(300, 150), numbers(300, 150), numbers(300, 9)), 0.1,
            (numbers(9, 9), numbers(9, 150)), (numbers(9, 9), numbers(9, 150))), {(3, 0), (3, 1)},
        ),
        "weighted_grams": Call(
            _native.weighted_grams, (numbers(300, 50), numbers(50, 8), 0.5, 1.0,
            numbers(300, 8, 8)), {(4,)},
        ),
        "sweep_rows": Call(
            _native.sweep_rows, (grams, numbers(300, 4), numbers(300, 4), np.zeros(4, dtype),
            free, 3), {(2,)},
        ),
        "sweep_supports": Call(
            _native.sweep_supports, (gram, np.abs(S), H, 2), {(2,)},
        ),
        "sparse_kl_codes": Call(
            _native.sparse_kl_codes, (rows, W, mass, codes, np.zeros(300, dtype), kl),
            {(3,), (4,)},
        ),
        "sampled_products": Call(
            _native.sampled_products, (V.indptr, V.indices, W, codes, np.zeros_like(V.data)),
            {(4,)},
        ),
        "count_missing_and_tiny": Call(
            _native.count_missing_and_tiny, (values, 1e-3), set(), frozenset({(0,)}),
        ),
        "huber_threshold": Call(
            _native.huber_threshold, (np.sort(numbers(999)), np.linspace(0.2, 0.8, 9), 0.1, 0.1),
            set(), frozenset({(0,), (1,)}),
        ),
        "project_elastic_net": Call(
            _native.project_elastic_net, (numbers(30), simplex), {(0,)}, frozenset({(0,)}),
        ),
        "sweep_elastic_net_atoms": Call(
            _native.sweep_elastic_net_atoms, (gram, numbers(6, 30), numbers(6, 30), simplex,
            free6), {(2,)},
        ),
        "robust_approximation": Call(
            _native.robust_approximation, (*samples, simplex, steps), {(1,), (2,)},
        ),
        "robust_approximation in a box": Call(
            _native.robust_approximation,
            (*samples, (np.full((6, 30), 0.1, dtype), np.ones((6, 30), dtype)), steps),
            {(1,), (2,)},
        ),
    }  # fmt: skip
    if dtype == np.float64:
        H, S = np.ascontiguousarray(H[:, :3000]), np.ascontiguousarray(S[:, :3000])
        C = 3.0 * numbers(500, 6)
        start = np.zeros((500, 6))
        start[:, 0] = 1.0
        proposals = (np.zeros(3000, np.intp), np.zeros(3000), np.zeros(3000, np.intp))
        found |= {
            "simplex_codes": Call(
                _native.simplex_codes, (gram[None], C, start, np.zeros(500),
                _native.SimplexSettings(max_steps=99, tol=1e-12)), {(2,), (3,)},
            ),
            "propose_swaps": Call(
                _native.propose_swaps, (np.diag(gram).copy(), S, H, (*proposals, np.zeros(3000))),
                {(3, 0), (3, 1), (3, 2), (3, 3)},
            ),
            "swap_best_pairs": Call(
                _native.swap_best_pairs, (gram, S, H, rng.random(3000) < 0.2, 0.1), {(2,)},
            ),
            "random_permutation": Call(
                _native.random_permutation, (np.zeros(9, np.intp), np.array([5], np.uint64)),
                {(0,), (1,)}, frozenset({(0,)}),
            ),
        }  # fmt: skip
    return found


CALLS = {
    f"{name}-{np.dtype(dtype).name}": call
    for dtype in (np.float32, np.float64)
    for name, call in calls(dtype).items()
}
every_call = pytest.mark.parametrize("name", CALLS)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Leave threads and instruction set as they were."""
    threads, level = _native.thread_count(), _native.target_level()
    yield
    _native.set_thread_count(threads)
    _native.set_target_level(level)


def assert_same(found: list[Array], expected: list[Array]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_kernel_has_a_reference() -> None:
    kernels = {name for name in _native.__all__ if name.islower()} - SETTINGS
    assert len(kernels) > 10
    for name in kernels:
        assert inspect.isfunction(getattr(reference, name, None)), (
            f"{name} is not in tests/reference.py"
        )


# --- threads -------------------------------------------------------------------------------------


@every_call
def test_results_do_not_depend_on_the_number_of_threads(name: str) -> None:
    expected = CALLS[name].run()
    for threads in (2, 3):
        _native.set_thread_count(threads)
        for _ in range(3):
            assert_same(CALLS[name].run(), expected)


def test_the_number_of_threads_is_that_of_the_calling_thread() -> None:
    assert _native.thread_count() == 1
    assert _native.set_thread_count(3) == 1
    others: list[int] = []
    other = Thread(target=lambda: others.append(_native.thread_count()))
    other.start()
    other.join()
    assert others == [1]
    assert _native.thread_count() == 3
    for count in (0, -1):
        _native.set_thread_count(count)
        assert _native.thread_count() == 1


def test_calls_from_several_threads_share_the_pool() -> None:
    names = list(CALLS)
    expected = [CALLS[name].run() for name in names]
    together = Barrier(4)

    def work(shift: int) -> list[list[Array]]:
        _native.set_thread_count(2)
        together.wait(timeout=60)
        found = [CALLS[name].run() for name in names[shift:] + names[:shift]]
        return found[len(names) - shift :] + found[: len(names) - shift]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(work, range(4)):
            for mine, other in zip(found, expected, strict=True):
                assert_same(mine, other)


def script(code: str, **options: Any) -> subprocess.Popen[str]:
    """Start a script that knows a call for the pool, and one that takes minutes."""
    prelude = """
import os, signal, sys, threading, time
import numpy as np
from thalweg import _native

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore Ctrl-C
rng = np.random.default_rng(0)
weights, X = rng.random((400, 300)), rng.random((300, 20))

def grams():
    found = np.zeros((400, 20, 20))
    _native.weighted_grams(weights, X, 0.0, 1.0, found)
    return found

expected = grams()

def check(threads):
    _native.set_thread_count(threads)
    assert np.array_equal(grams(), expected)

def endless():
    A = np.broadcast_to(np.eye(2), (100_000, 2, 2)).copy()
    W, ones, free = np.ones((100_000, 2)), np.ones((100_000, 2)), np.ones(2, bool)
    print("ready", flush=True)
    _native.sweep_rows(A, 2.0 * ones, W, np.zeros(2), free, 1_000_000)

def interrupted(error=KeyboardInterrupt):
    try:
        endless()
    except error:
        print("interrupted", flush=True)
"""
    return subprocess.Popen(
        [sys.executable, "-c", prelude + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        **options,
    )


def finish(process: subprocess.Popen[str]) -> str:
    """Return what the script prints; it must succeed."""
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out


@on_posix
def test_a_forked_child_has_a_pool_of_its_own() -> None:
    code = """
check(3)
child = os.fork()
if child == 0:
    try:
        check(2)
        check(3)
    except BaseException:
        os._exit(1)
    os._exit(0)
check(3)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""
    assert finish(script(code)).split() == ["0"]


@pytest.mark.skipif(SANITIZED or sys.platform != "linux", reason="limits the memory")
def test_an_exception_in_a_task_reaches_the_caller() -> None:
    """Each task needs 240 MB, and the limit leaves 100; afterwards all is as before."""
    code = """
import resource
check(3)
large, many = np.ones((1_000_000, 30)), np.zeros((100, 1_000_000))
found = np.zeros((100, 30, 30))
used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + 100_000_000, resource.RLIM_INFINITY))
try:
    _native.weighted_grams(many, large, 0.0, 1.0, found)
except MemoryError:
    print("no memory")
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
check(3)
"""
    assert finish(script(code)) == "no memory\n"


@pytest.mark.parametrize("file", BINDINGS, ids=lambda file: file.stem)
def test_kernels_release_the_lock_of_python(file: Path) -> None:
    _, *definitions = file.read_text("utf-8").split("m.def(")
    assert definitions
    for definition in definitions:
        assert "Released()" in definition


# --- signals -------------------------------------------------------------------------------------


def seconds_until_end(process: subprocess.Popen[str], number: int = signal.SIGINT) -> float:
    """Send a signal to a script that is in a kernel; return how long it goes on."""
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    assert process.poll() is None
    begin = time.perf_counter()
    process.send_signal(number)
    assert finish(process) == "interrupted\n"
    return time.perf_counter() - begin


@on_posix
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_ctrl_c_ends_a_kernel(threads: int) -> None:
    """It takes about a tenth of a second; the limit is for busy machines."""
    code = f"_native.set_thread_count({threads})\ninterrupted()\ncheck(1)\ncheck(2)\n"
    assert seconds_until_end(script(code)) < 10.0


@on_posix
def test_the_exception_of_a_handler_is_raised() -> None:
    code = """
def handler(number, frame):
    raise ValueError("from the handler")
signal.signal(signal.SIGUSR1, handler)
check(2)
interrupted(ValueError)
"""
    assert seconds_until_end(script(code), signal.SIGUSR1) < 10.0


@on_posix
def test_a_handler_may_call_kernels() -> None:
    """The pool is in use by the call that the signal has stopped: the handler works alone."""
    code = """
def handler(number, frame):
    assert np.array_equal(grams(), expected)
    raise KeyboardInterrupt
signal.signal(signal.SIGUSR1, handler)
check(2)
interrupted()
check(2)
"""
    assert seconds_until_end(script(code), signal.SIGUSR1) < 10.0


@on_posix
def test_ctrl_c_ends_a_kernel_in_a_child_of_a_thread() -> None:
    """The thread that forks is the main thread of the child, and handles its signals."""
    code = """
def fork():
    child = os.fork()
    if child == 0:
        _native.set_thread_count(2)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        interrupted()
        os._exit(0)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
check(2)
threading.Thread(target=fork).start()
"""
    assert finish(script(code)) == "ready\ninterrupted\n"


@on_posix
def test_a_daemon_thread_in_a_kernel_lets_the_process_end() -> None:
    code = "threading.Thread(target=endless, daemon=True).start()\ntime.sleep(0.5)\n"
    assert finish(script(code)) == "ready\n"


# --- instruction sets ----------------------------------------------------------------------------


@pytest.mark.thread_unsafe(reason="the instruction set is that of the process")
@pytest.mark.skipif(_native.target_level() == 0, reason="one instruction set")
@every_call
def test_instruction_sets_agree(name: str) -> None:
    expected = CALLS[name].run()
    tolerance = 1e-3 if name.endswith("float32") else 1e-9
    for level in (2, 3, 4):
        _native.set_target_level(level)
        assert _native.target_level() <= level
        for one, other in zip(CALLS[name].run(), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


# --- arguments -----------------------------------------------------------------------------------


@every_call
def test_lengths_that_do_not_fit_are_refused(name: str) -> None:
    call = CALLS[name]
    for place in set(places(call.args)) - call.any_length:
        whole = get(call.args, place)
        for axis in range(whole.ndim):
            short = np.ascontiguousarray(np.delete(whole, -1, axis))
            with pytest.raises(ValueError, match=r"must fit|must have|must not"):
                call.kernel(*replaced(copied(call.args), place, short))


@every_call
def test_types_and_orders_that_do_not_fit_are_refused(name: str) -> None:
    call = CALLS[name]
    for place in places(call.args):
        whole = get(call.args, place)
        wrong = [whole[None], whole.tolist()]
        if whole.shape[-1] > 1:
            wrong.append(np.repeat(whole, 2, axis=-1)[..., ::2])
        if place not in call.any_length:
            other = {"float64": np.float32, "int32": np.int16}.get(whole.dtype.name, np.float64)
            wrong.append(whole.astype(other))
        for bad in wrong:
            with pytest.raises(TypeError, match="incompatible function arguments"):
                call.kernel(*replaced(copied(call.args), place, bad))


@every_call
def test_arrays_that_may_not_be_written_to_are_read_only(name: str) -> None:
    call = CALLS[name]
    expected, args = call.run(), copied(call.args)
    for place in set(places(args)) - call.outputs:
        get(args, place).flags.writeable = False
    assert_same(call._replace(args=args).run(), expected)
    frozen = copied(args)
    for place in set(places(args)) - call.outputs:
        get(frozen, place).flags.writeable = False
    call.kernel(*frozen)
    for place in call.outputs:
        target = get(args, place).copy()
        target.flags.writeable = False
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call.kernel(*replaced(copied(args), place, target))


@pytest.mark.parametrize("kernel", ["sampled_products", "sparse_kl_codes"])
@pytest.mark.parametrize(
    ("array", "entry", "value"),
    [("indices", 7, 150), ("indices", 0, -1), ("indptr", 0, -1), ("indptr", -1, 10**6),
     ("indptr", 5, 10**6)],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_places_outside_of_the_matrix_are_refused(
    kernel: str, array: str, entry: int, value: int, dtype: Any
) -> None:
    call = calls()[kernel]
    where: dict[str, Place] = {"indptr": (0,), "indices": (1,)}
    if kernel == "sparse_kl_codes":
        where = {"indptr": (0, 2), "indices": (0, 1)}
    args = copied(call.args)
    for place in where.values():
        args = replaced(args, place, get(args, place).astype(dtype))
    call.kernel(*copied(args))
    get(args, where[array])[entry] = value
    with pytest.raises(ValueError, match="indptr must not decrease"):
        call.kernel(*args)


def test_nothing_is_done_with_nothing() -> None:
    """Arrays without rows or columns are neither read nor written."""
    none = np.zeros((0, 3))
    grams = np.ones((2, 3, 3))
    _native.weighted_grams(np.ones((2, 0)), none, 0.5, 1.0, grams)
    assert np.all(grams == 0.5)
    _native.weighted_grams(np.ones((2, 4)), np.ones((4, 0)), 0.5, 1.0, np.ones((2, 0, 0)))
    _native.sweep_rows(np.ones((0, 3, 3)), none, none.copy(), np.zeros(3), np.ones(3, bool), 1)
    _native.sweep_supports(np.ones((0, 0)), np.ones((0, 4)), np.ones((0, 4)), 1)
    _native.sweep_supports(np.ones((3, 3)), np.ones((3, 0)), np.ones((3, 0)), 1)
    settings = _native.SimplexSettings(max_steps=9, tol=1e-9)
    _native.simplex_codes(np.ones((1, 3, 3)), none, none.copy(), np.zeros(0), settings)
    with pytest.raises(ValueError, match="K >= 1"):
        _native.simplex_codes(
            np.ones((1, 0, 0)), np.ones((2, 0)), np.ones((2, 0)), np.zeros(2), settings
        )
    ends = np.zeros(1, np.int32)
    kl = _native.SparseKLSettings(offset=0.0, tol=1e-3, max_steps=9)
    counts = (np.zeros(0), np.zeros(0, np.int32), ends)
    _native.sparse_kl_codes(counts, np.ones((5, 3)), np.ones((1, 3)), none, np.zeros(0), kl)
    counts = (np.ones(1), np.zeros(1, np.int32), np.array([0, 1], np.int32))
    empty = np.ones((1, 0))
    _native.sparse_kl_codes(counts, np.ones((5, 0)), empty, empty.copy(), np.zeros(1), kl)
    simplex = _native.ElasticNetSet(l1=1.0, l2=0.0, equality=True)
    _native.project_elastic_net(np.zeros(0), simplex)
    _native.random_permutation(np.zeros(0, np.intp), np.zeros(1, np.uint64))
    assert _native.count_missing_and_tiny(np.zeros(0), 1.0) == (0, 0)
