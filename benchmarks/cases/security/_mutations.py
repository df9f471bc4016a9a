"""Files of checkpoints, changed at random: blindly, or with digests that are true again."""

import json
import random
import struct
from collections.abc import Callable
from copy import deepcopy
from hashlib import sha256
from math import prod
from typing import Any

__all__ = ["BLIND", "SIGNED", "sign", "split"]

_HEAD = struct.Struct("<8sII32s")
# What a reader may not expect where it finds it.
_ODD = (
    *(None, True, False, -1, 0, 1, 7, 2**31, 2**63, 2**200, 1e308, -0.0, 1.5, "", "x", "x" * 999),
    *("os.system", "__class__", "__reduce__", "prox", "l1", "components_", "float64", "|O", "nan"),
    *([], {}, [[]], [0, 0], [2**40, 2**40], [-1], ["<f8"], {"is": "array"}, {"is": "tuple"}),
    *({"is": "pickle", "value": "gASV"}, {"is": "array", "name": "components_"}),
    *({"is": "float", "value": "inf"}, {"is": "dtype", "name": "O"}, {"is": "given", "class": "x"}),
    *({"is": "component", "room": "prox", "name": "box", "fields": {}}, {"is": "record"}),
    *({"is": "record", "class": "os.system", "fields": {"command": "true"}}, {"is": "scalar"}),
    *({"is": "column", "name": "components_"}, {"is": "records", "class": "x", "fields": {}}),
)
_NAMES = ("is", "name", "class", "room", "fields", "items", "fit", "_x", "__dict__")
_WIDTHS = {"1": 1, "2": 2, "4": 4, "8": 8}


def split(raw: bytes) -> tuple[Any, bytes]:
    """Return the header of a file and the bytes of its arrays."""
    length = _HEAD.unpack_from(raw)[2]
    return json.loads(raw[_HEAD.size : _HEAD.size + length]), raw[_HEAD.size + length :]


def sign(header: bytes, data: bytes) -> bytes:
    """Return a file of this header, however wrong, with a true digest of it."""
    begin = struct.pack("<8sII", b"thalweg\0", 1, len(header))
    return begin + sha256(begin + header).digest() + header + data


def flip(raw: bytes, chance: random.Random) -> bytes:
    """Flip one to eight bits."""
    changed = bytearray(raw)
    for _ in range(chance.randint(1, 8)):
        changed[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(raw: bytes, chance: random.Random) -> bytes:
    """Leave out a part: most often the end."""
    begin = chance.randrange(len(raw))
    end = len(raw) if chance.random() < 0.7 else chance.randint(begin, len(raw))
    return raw[:begin] + raw[end:]


def paste(raw: bytes, chance: random.Random) -> bytes:
    """Write a part of the file, or noise, over another part or in between."""
    begin, size = chance.randrange(len(raw)), chance.randint(1, 200)
    source = chance.randrange(len(raw))
    part = raw[source : source + size] if chance.random() < 0.5 else chance.randbytes(size)
    return raw[:begin] + part + raw[begin + len(part) * chance.randint(0, 1) :]


def retouch(raw: bytes, chance: random.Random) -> bytes:
    """Change the text of the header, and sign it."""
    header, data = split(raw)
    text = json.dumps(header).encode()
    return sign(chance.choice((flip, cut, paste))(text, chance), data)


def rewrite(raw: bytes, chance: random.Random) -> bytes:
    """Change some values of the header, and sign it."""
    header, data = split(raw)
    for _ in range(chance.randint(1, 4)):
        _edit(header, chance)
    return sign(json.dumps(header).encode(), data)


def relabel(raw: bytes, chance: random.Random) -> bytes:
    """Change the table of the arrays, and sign it."""
    header, data = split(raw)
    table = header["arrays"]
    row = chance.choice(table)
    column = chance.randrange(5)
    other = chance.choice(table)[column] if chance.random() < 0.5 else _odd(chance)
    change = chance.randrange(4)
    if change == 0:
        table.remove(row)
    elif change == 1:
        table.append(list(row))
    elif change == 2:
        chance.shuffle(table)
    else:
        row[column] = other
    return sign(json.dumps(header).encode(), data)


def refill(raw: bytes, chance: random.Random) -> bytes:
    """Put other bytes into the arrays, with true digests."""
    header, data = split(raw)
    data = flip(data, chance) if data else data
    begin = 0
    for row in header["arrays"]:
        size = prod(row[2]) * _WIDTHS[row[1][-1]]
        row[4] = sha256(data[begin : begin + size]).hexdigest()
        begin += size
    return sign(json.dumps(header).encode(), data)


def swell(raw: bytes, chance: random.Random) -> bytes:
    """Make a header of many small things, which take more room than they have bytes."""
    header, data = split(raw)
    thing = chance.choice(([], {}, [[]], "", 10**18, {"a": 1}, {"is": "tuple", "items": []}))
    where = header["content"][chance.choice(("extra", "state"))]
    where["many_"] = [thing] * int(10 ** chance.uniform(0.0, 4.0))
    return sign(json.dumps(header, separators=(",", ":")).encode(), data)


def _odd(chance: random.Random) -> Any:
    return deepcopy(chance.choice(_ODD))


def _edit(header: Any, chance: random.Random) -> None:
    """Replace, drop, double or move one value of a tree."""
    places = list(_places(header))
    if not places:  # all of it was dropped
        return
    where, key = chance.choice(places)
    change = chance.randrange(4)
    if change == 0:
        where[key] = _odd(chance)
    elif change == 1:
        del where[key]
    elif change == 2:
        source, name = chance.choice(places)
        where[key] = deepcopy(source[name])
    elif isinstance(where, dict):
        where[chance.choice(("is", "name", "fields", "items", "fit", "_x", "__dict__"))] = where[
            key
        ]
    else:
        where.insert(key, _odd(chance))


def _places(tree: Any) -> Any:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    for key in keys:
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from _places(tree[key])


Mutation = Callable[[bytes, random.Random], bytes]
# A reader has to refuse whatever a blind change leaves, unless nothing was changed at all. With
# digests that are true, a change may lead to another file that is as good.
BLIND: tuple[Mutation, ...] = (flip, cut, paste)
SIGNED: tuple[Mutation, ...] = (retouch, rewrite, rewrite, relabel, refill, swell)
