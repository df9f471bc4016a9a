"""Truncated, damaged and hostile files raise an error."""

import errno
import os
import resource
import sys
import tracemalloc
from hashlib import sha256

import numpy as np
import pytest

from thalweg import RobustOnlineNMF, checkpoint
from thalweg.errors import CheckpointError

READERS = (checkpoint.load, checkpoint.verify)

NOISE = "learning.noise.NoiseEstimate"


def assert_rejected(path, message=""):
    for read in READERS:
        with pytest.raises(CheckpointError, match=message) as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_the_file_follows_the_format_description(forger, model):
    assert forger.content["estimator"] == "RobustOnlineNMF"
    begin, found = 0, {}
    for name, dtype, shape, axes, digest in forger.arrays:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        raw = forger.data[begin : begin + size]
        assert sha256(raw).hexdigest() == digest
        flat = np.frombuffer(raw, dtype).reshape([shape[axis] for axis in axes])
        found[name] = flat.transpose(np.argsort(axes)) if axes else flat
        begin += size
    assert begin == len(forger.data)
    assert np.array_equal(found["components_"], model.components_)
    assert np.array_equal(found["statistics_.B"], model.statistics_.B)


def test_a_rewritten_file_can_be_loaded(forger, model):
    again = checkpoint.load(forger.write()).estimator
    assert np.array_equal(again.components_, model.components_)


def test_truncated_files_are_rejected(path):
    raw = path.read_bytes()
    path.write_bytes(raw + b"\0")
    assert_rejected(path, "must have .* bytes by its header, got")
    for length in reversed(range(len(raw))):
        os.truncate(path, length)
        with pytest.raises(CheckpointError, match=r"model\.thalweg"):
            checkpoint.load(path)


def test_any_flipped_bit_is_detected(path):
    raw = path.read_bytes()
    bits = np.random.default_rng(0).integers(8, size=len(raw))
    with path.open("r+b", buffering=0) as file:
        for place, bit in enumerate(bits):
            os.pwrite(file.fileno(), bytes([raw[place] ^ (1 << bit)]), place)
            with pytest.raises(CheckpointError, match=r"model\.thalweg"):
                checkpoint.load(path)
            os.pwrite(file.fileno(), raw[place : place + 1], place)
    checkpoint.load(path)


def test_damage_is_named(path):
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    assert_rejected(path, "digest of the array 'residual_counts_.first' does not match")
    raw[-1] ^= 1
    raw[60] ^= 1
    path.write_bytes(raw)
    assert_rejected(path, "digest of the header does not match")


@pytest.mark.parametrize("raw", [b"", b"thal", b"\x93NUMPY\x01\x00" + bytes(99), b"PK\x03\x04"])
def test_other_files_are_not_checkpoints(tmp_path, raw):
    path = tmp_path / "other.bin"
    path.write_bytes(raw)
    assert_rejected(path, "is not a checkpoint")


def test_a_newer_schema_is_rejected(forger):
    assert_rejected(forger.write(schema=2), "schema 2 and needs a later version of the library")


@pytest.mark.parametrize(
    ("column", "lie"),
    [
        (2, [2**40, 2**40]),
        (2, [2**70]),
        (2, [3, 13]),
        (2, [-3, -12]),
        (2, [3.0, 12.0]),
        (2, [True, 36]),
        (2, ["3", "12"]),
        (2, "ab"),
        (2, None),
        (2, [0, 2**61]),
        (2, [1] * 33 + [36]),
        (3, [0, 0]),
        (3, [0, 2]),
        (3, []),
        (1, "|O"),
        (1, "|O8"),
        (1, "<U1"),
        (1, "<c16"),
        (1, ">f8"),
        (1, "|V8"),
        (1, [["a", "<f8"]]),
        (1, "float64; import os"),
        (1, None),
        (4, "0" * 64),
        (4, None),
        (0, "statistics_.A"),
        (0, ["components_"]),
        (0, "elsewhere"),
    ],
)
def test_invalid_descriptions_of_an_array(forger, column, lie):
    forger.row("components_")[column] = lie
    path = forger.write()
    with pytest.raises(CheckpointError, match=r"model\.thalweg"):
        checkpoint.load(path)


def test_no_memory_is_allocated_for_missing_arrays(forger):
    forger.row("components_")[2] = [2**20, 2**20]
    path = forger.write()
    checkpoint.load(checkpoint.save(path.with_name("warm"), RobustOnlineNMF(2)))
    tracemalloc.start()
    try:
        assert_rejected(path, "must have .* bytes by its header")
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_an_array_is_used_once_and_every_array_is_used(forger):
    state = forger.content["state"]
    state["more_"] = {"is": "array", "name": "components_"}
    path = forger.write()
    with pytest.raises(CheckpointError, match="missing array 'components_', or uses it twice"):
        checkpoint.load(path)
    del state["more_"], state["components_"]
    with pytest.raises(CheckpointError, match="unused array 'components_'"):
        checkpoint.load(forger.write())


@pytest.mark.parametrize(
    "name",
    ["Pipeline", "object", "sklearn.decomposition.NMF", "os.system", "Prox", None, 3, ["ORNMF"]],
)
def test_unknown_estimators_are_rejected(forger, name):
    forger.content["estimator"] = name
    with pytest.raises(CheckpointError, match="unknown estimator"):
        checkpoint.load(forger.write())


@pytest.mark.parametrize(
    "node",
    [
        {"is": "record", "class": "os.system", "fields": {"command": "true"}},
        {"is": "record", "class": "updates.surrogate.Surrogate", "fields": {}},
        {"is": "record", "class": "updates.surrogate.np", "fields": {}},
        {"is": "record", "class": "updates..surrogate.Statistics", "fields": {}},
        {"is": "record", "class": NOISE, "fields": {"scale_": 1.0}},
        {"is": "record", "class": NOISE, "fields": [1.0]},
        {"is": "record", "class": [NOISE], "fields": {}},
        {"is": "record", "class": NOISE},
        {"is": "component", "room": "os", "name": "system", "fields": {}},
        {"is": "component", "room": "prox", "name": "L1", "fields": {}},
        {"is": "component", "room": "prox", "name": ["l1"], "fields": {}},
        {"is": "component", "room": "prox", "name": "l1", "fields": {"weight": -1.0}},
        {"is": "component", "room": "prox", "name": "l1", "fields": {"weight": "one"}},
        {"is": "component", "room": "prox", "name": "l1", "fields": {"__class__": 1}},
        {"is": "records", "class": NOISE, "fields": {"scale": 1.0}},
        {"is": "records", "class": NOISE, "fields": {}},
        {
            "is": "records",
            "class": NOISE,
            "fields": {"scale": [], "far": [1]},
        },
        {"is": "records", "class": NOISE, "fields": {"scal": [1]}},
        {"is": "records", "class": "os.stat_result", "fields": {"st_mode": [1]}},
        {"is": "column", "name": "components_"},
        {"is": "dtype", "name": "object"},
        {"is": "float", "value": "1e9"},
        {"is": "tuple", "items": "ab"},
        {"is": "tuple", "items": {"is": "tuple", "items": []}},
        {"is": "dict", "items": []},
        {"is": "names", "items": [1]},
        {"is": "scalar", "name": "components_"},
        {"is": "array", "name": ["components_"]},
        {"is": "random", "state": {"is": "dict", "items": {}}},
        {"is": "random", "state": 1},
        {"is": "given", "class": "x"},
        {"is": "pickle", "value": "gASVAA=="},
        {"is": ["array"]},
        {"__reduce__": ["os.system", ["true"]]},
        {},
    ],
    ids=str,
)
def test_invalid_values(forger, node):
    forger.content["state"]["noise_"] = node
    path = forger.write()
    with pytest.raises(CheckpointError, match=r"model\.thalweg"):
        checkpoint.load(path)


@pytest.mark.parametrize(
    "name",
    ["fit", "transform", "__class__", "__dict__", "__reduce__", "signed", "a.b", "", "Ünknown"],
)
def test_state_that_would_hide_a_method_is_rejected(forger, name):
    forger.content["state"][name] = 1
    with pytest.raises(CheckpointError, match="invalid state attribute"):
        checkpoint.load(forger.write())


def test_unknown_parameters(forger):
    forger.content["parameters"]["speed"] = 1
    with pytest.raises(CheckpointError, match="parameters unknown to RobustOnlineNMF"):
        checkpoint.load(forger.write())


@pytest.mark.parametrize("bits", [("MT19937", "pos", 624), ("Philox", "buffer_pos", 4)])
@pytest.mark.parametrize("place", [-1, "last", 2**31, 1.5])
def test_indices_in_random_states_are_checked(path, forger_of, bits, place):
    name, key, last = bits
    state = np.random.Generator(getattr(np.random, name)(0))
    model = RobustOnlineNMF(random_state=state)
    forger = forger_of(checkpoint.save(path, model))
    items = forger.content["parameters"]["random_state"]["state"]["items"]["state"]["items"]
    inner = items if key in items else items["state"]["items"]
    inner[key] = last + 1 if place == "last" else place
    with pytest.raises(CheckpointError, match="invalid random state"):
        checkpoint.load(forger.write())
    inner[key] = last
    checkpoint.load(forger.write())


@pytest.mark.parametrize("key", ["position", "batch_size", "extra", "version", "state"])
@pytest.mark.parametrize("value", [-1, [0, -1], [0], [0, 1, 2], "x", [True, 0], 1.5, [[], []]])
def test_the_rest_of_the_manifest_is_checked(forger, key, value):
    forger.content[key] = value
    if key == "version" and isinstance(value, str):
        value = forger.content[key] = 1
    with pytest.raises(CheckpointError, match="invalid header"):
        checkpoint.load(forger.write())


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"null",
        b"[]",
        b'{"content": {}}',
        b'{"content": {}, "arrays": []}',
        b'{"content": [], "arrays": []}',
        b'{"content": {}, "arrays": 1}',
        b'{"content": {}, "arrays": [1]}',
        b'{"content": {}, "arrays": [[]]}',
        b'{"content": NaN, "arrays": []}',
        b'{"content": {"a": ' + b"9" * 10_000 + b'}, "arrays": []}',
        b"\xff\xfe",
        '{"content": {}, "arrays": []}'.encode("utf-16"),
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'"' + b'\\"' * 100_000,
        b'"\\' + b'"' * 100_000,
        b'{"content": ' + b"[" * 33 + b"]" * 33 + b', "arrays": []}',
    ],
    ids=lambda header: header[:30].decode("latin-1"),
)
def test_invalid_headers(forger, header):
    assert_rejected(forger.write(header), "header")


def test_brackets_in_strings_do_not_count_as_nesting(path, model):
    extra = {"text": "[" * 100 + '"]\\', "\\": '"[[[['}
    checkpoint.save(path, model, extra=extra)
    assert checkpoint.load(path).extra == extra


def test_a_failed_write_keeps_the_previous_file_only(path, model, monkeypatch):
    former = path.read_bytes()
    full = OSError(errno.ENOSPC, "No space left on device")
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, lambda *_, **__: (_ for _ in ()).throw(full))
            with pytest.raises(CheckpointError, match=r"model\.thalweg.*No space left on device"):
                checkpoint.save(path, model, position=(1, 1))
        assert list(path.parent.iterdir()) == [path]
        assert path.read_bytes() == former


def test_a_full_disk(path, model, data):
    former = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    big = RobustOnlineNMF(3).fit(np.tile(data, 100))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**14, limits[1]))
    try:
        with pytest.raises(CheckpointError, match="An existing file is unchanged"):
            checkpoint.save(path, big)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == former


def test_an_interrupted_write_leaves_no_files(path, model, monkeypatch):
    former = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(path, model, position=(1, 1))
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == former


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_an_unwritable_folder(model):
    with pytest.raises(CheckpointError, match=r"/proc/self/model\.thalweg must be writable"):
        checkpoint.save("/proc/self/model.thalweg", model)
    with pytest.raises(CheckpointError, match="/proc/self/run must be a writable folder"):
        checkpoint.Keeper("/proc/self/run").write(model)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_read_only_folder(tmp_path, model):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(CheckpointError, match="Permission denied"):
            checkpoint.save(tmp_path / "a.thalweg", model)
    finally:
        tmp_path.chmod(0o700)


def test_headers_beyond_the_limits_are_not_written(path, model):
    former = path.read_bytes()
    with pytest.raises(CheckpointError, match="cannot be written: it has a header of"):
        checkpoint.save(path, model, extra={"text": "x" * 2**24})
    deep = {"a": 1}
    for _ in range(40):
        deep = {"a": deep}
    with pytest.raises(CheckpointError, match="nested brackets"):
        checkpoint.save(path, model, extra=deep)
    assert path.read_bytes() == former
    assert list(path.parent.iterdir()) == [path]
