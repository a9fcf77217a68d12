"""The files' layout: what is written is read, and nothing else is."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shotgun import tensors
from shotgun.tensors import ModelError, pack, unpack

TENSORS = {
    "small": np.array([1, -2, 3], dtype=np.int8),
    "weights": np.array([[0.5, -0.0], [np.pi, 1e-300]]),
    "yes": np.array([True, False]),
    "none": np.zeros(0),
    "single": np.float32(2.5).reshape(()),
}
RECORD = {"what": "a test", "größe": [1, None, {"deep": True}]}
CONTENT = pack(RECORD, TENSORS)


def rewritten(content: bytes, change) -> bytes:
    """The file with another header, and a checksum that is right."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    about = header["__metadata__"]
    about["checksum"] = tensors._UNSIGNED
    body = change(header, content[8 + size :])
    text = json.dumps(header).encode()
    whole = len(text).to_bytes(8, "little") + text + (content[8 + size :] if body is None else body)
    signed = tensors._quoted(tensors._checksum(whole))
    return whole.replace(tensors._quoted(tensors._UNSIGNED), signed, 1)


def test_a_file_gives_back_what_it_was_given():
    record, kept = unpack(CONTENT, "file")
    assert record == RECORD
    assert kept.keys() == TENSORS.keys()
    for name, array in TENSORS.items():
        assert kept[name].dtype == array.dtype
        assert kept[name].shape == array.shape
        assert kept[name].tobytes() == array.tobytes()
        assert kept[name].flags.writeable


def test_big_endian_numbers_are_written_as_little_endian_ones():
    _, kept = unpack(pack({}, {"x": np.array([1.0, 2.0], dtype=">f8")}), "file")
    assert kept["x"].tolist() == [1.0, 2.0]


def test_safetensors_reads_our_files():
    safetensors = pytest.importorskip("safetensors.numpy")
    read = safetensors.load(CONTENT)
    assert read.keys() == TENSORS.keys()
    for name, array in read.items():
        assert (array.dtype, array.shape) == (TENSORS[name].dtype, TENSORS[name].shape)
        assert array.tobytes() == TENSORS[name].tobytes()


@given(st.integers(0, len(CONTENT) - 1))
def test_a_truncated_file_is_refused(length):
    with pytest.raises(ModelError, match=r"^file: "):
        unpack(CONTENT[:length], "file")


@settings(max_examples=400)
@given(st.integers(0, 8 * len(CONTENT) - 1))
def test_a_flipped_bit_is_noticed(place):
    content = bytearray(CONTENT)
    content[place // 8] ^= 1 << place % 8
    with pytest.raises(ModelError, match=r"^file: "):
        unpack(bytes(content), "file")


@given(st.binary(max_size=200))
def test_other_files_are_refused(content):
    with pytest.raises(ModelError, match=r"^file: "):
        unpack(content, "file")
    with pytest.raises(ModelError, match=r"^file: "):
        unpack(len(content).to_bytes(8, "little") + content, "file")


def test_what_is_not_known_is_ignored():
    def newer(header, body):
        header["__metadata__"] |= {"version": "1.7", "colour": "blue"}
        header["weights"]["unit"] = "m"

    assert unpack(rewritten(CONTENT, newer), "file")[0] == RECORD


def _entry(**values):
    def change(header, body):
        header["weights"] |= values

    return change


def _about(**values):
    def change(header, body):
        header["__metadata__"] |= values

    return change


def _more_bytes(header, body):
    return body + b"\0"


def _two_is_true(header, body):
    return body[:-2] + b"\2\0" if header["yes"]["data_offsets"][1] == len(body) else body


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_about(version="2.0"), "written by a newer shotgun: its version is 2.0, ours 1.0"),
        (_about(version=[1]), "version must be like 1.0"),
        (_about(version="x.1"), "version must be like 1.0"),
        (_about(format="other"), "not a file of shotgun"),
        (_about(record=3), "has no record"),
        (_about(record="[1]"), "not a JSON object"),
        (_about(record='{"a": NaN}'), "NaN"),
        (_about(record='{"a": 1, "a": 2}'), "twice"),
        (_about(record='{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"), "."),
        (_entry(dtype="C64"), "tensor weights: dtype must be one of"),
        (_entry(dtype=[]), "tensor weights: dtype must be one of"),
        (_entry(shape=[2, 3]), "does not fit its place"),
        (_entry(shape=[-2, -2]), "shape"),
        (_entry(shape=[True, 4]), "shape"),
        (_entry(shape=4), "shape must be a list"),
        (_entry(shape=[2**40, 2**40]), "does not fit its place"),
        (_entry(shape=[1, 2, 2]), "not one of a vector or matrix"),
        (_entry(data_offsets=[0, 24]), "does not fit its place"),
        (_entry(data_offsets=[8, 40]), "is not behind the others"),
        (_entry(data_offsets=[0, 10**9]), "is not behind the others"),
        (_entry(data_offsets=[32, 0]), "is not a place"),
        (_entry(data_offsets=[0]), "is not a place"),
        (_entry(data_offsets=[0, 1e9]), "is not a place"),
        (lambda header, body: header["weights"].pop("shape") and None, "shape is missing"),
        (lambda header, body: header.update(weights=[]), "data_offsets is missing"),
        (lambda header, body: header.pop("weights") and None, "is not behind the others"),
        (_more_bytes, "1 bytes belong to no tensor"),
        (_two_is_true, "neither true nor false"),
    ],
)
def test_a_hostile_header_is_refused(change, message):
    with pytest.raises(ModelError, match=f"^file: .*{message}"):
        unpack(rewritten(CONTENT, change), "file")


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "a.shotgun"
    tensors.write(file, b"old")

    def full(path, content):
        with open(path, "wb") as file:
            file.write(content[:1])
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(tensors.Path, "write_bytes", full)
        with pytest.raises(OSError, match="no space"):
            tensors.write(file, b"new")
    assert tensors.read(file) == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.shotgun"]
