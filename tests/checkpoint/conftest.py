"""A checkpoint, and a writer of manipulated checkpoints that does not use the library."""

import json
import struct
from hashlib import sha256

import numpy as np
import pytest

from thalweg import RobustOnlineNMF, checkpoint, synthetic


@pytest.fixture(scope="session")
def data():
    return synthetic.nmf_with_outliers(120, 12, 3, random_state=0).X


@pytest.fixture(scope="session")
def model(data):
    return RobustOnlineNMF(3, random_state=np.random.default_rng(0)).fit(data)


@pytest.fixture
def path(tmp_path, model):
    return checkpoint.save(tmp_path / "model.thalweg", model, position=(0, 40), batch_size=8)


class Forger:
    """Parse a file by the format description, and write it with a new header and valid digests."""

    def __init__(self, path):
        raw = path.read_bytes()
        mark, schema, length, digest = struct.unpack_from("<8sII32s", raw)
        header = raw[48 : 48 + length]
        assert (mark, schema) == (b"thalweg\0", 1)
        assert digest == sha256(raw[:16] + header).digest()
        self.header, self.data, self.path = json.loads(header), raw[48 + length :], path

    @property
    def content(self):
        return self.header["content"]

    @property
    def arrays(self):
        return self.header["arrays"]

    def row(self, name):
        return next(row for row in self.arrays if row[0] == name)

    def write(self, header=None, *, schema=1, mark=b"thalweg\0"):
        text = json.dumps(self.header).encode() if header is None else header
        begin = struct.pack("<8sII", mark, schema, len(text))
        self.path.write_bytes(begin + sha256(begin + text).digest() + text + self.data)
        return self.path


@pytest.fixture
def forger(path):
    return Forger(path)


@pytest.fixture
def forger_of():
    return Forger
