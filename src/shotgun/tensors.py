"""Files of numbers: the layout of safetensors, written whole and read with suspicion.

Eight bytes give the length of a JSON header, little-endian; the header says of each tensor its
dtype, shape and place; their bytes follow. The header's `__metadata__` holds what is not a number,
as text, and a checksum of the file.
"""

from __future__ import annotations

import json
import math
import os
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Record = dict[str, Any]
Tensors = dict[str, Array]

VERSION = (1, 0)  # a file of a larger first number is refused
SUFFIX = ".shotgun"

DTYPES = {
    "BOOL": "?",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "I8": "|i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "U8": "|u1",
    "U16": "<u2",
    "U32": "<u4",
    "U64": "<u8",
}
_NAMES = {np.dtype(code): name for name, code in DTYPES.items()}
_HEADER_BYTES = 100_000_000  # as in safetensors
_UNSIGNED = "0" * 32  # stands for the checksum while that is computed


class ModelError(ValueError):
    """A file that is not what it should be: its name, and what is wrong.

    Examples
    --------
    >>> import shotgun, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.shotgun"
    ...     _ = file.write_bytes(b"not a model")
    ...     try:
    ...         shotgun.load(file)
    ...     except shotgun.ModelError as error:
    ...         str(file) in str(error)
    True
    """


def pack(record: Record, tensors: Tensors) -> bytes:
    """The bytes of a file."""
    entries: Record = {
        "__metadata__": {
            "format": "shotgun",
            "version": ".".join(map(str, VERSION)),
            "checksum": _UNSIGNED,
            "record": json.dumps(record, allow_nan=False),
        }
    }
    content = bytearray()
    for name in sorted(tensors, key=lambda name: -tensors[name].itemsize):  # all aligned
        array = tensors[name].astype(tensors[name].dtype.newbyteorder("<"), copy=False)
        begin = len(content)
        content += array.tobytes()
        entries[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, len(content)],
        }
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    whole = len(header).to_bytes(8, "little") + header + content
    return whole.replace(_quoted(_UNSIGNED), _quoted(_checksum(whole)), 1)


def unpack(content: bytes, name: str) -> tuple[Record, Tensors]:
    """What :func:`pack` was given; `name` is the file's, for errors."""
    try:
        return _unpack(content)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{name}: {error}") from error


def _unpack(content: bytes) -> tuple[Record, Tensors]:
    size = int.from_bytes(content[:8], "little")
    if len(content) < 10 or size > min(len(content) - 8, _HEADER_BYTES):
        raise ValueError("not a file of shotgun, or cut off")
    header = content[8 : 8 + size]
    entries = _object(header)
    about = entries.pop("__metadata__", None)
    if not isinstance(about, dict) or about.get("format") != "shotgun":
        raise ValueError("not a file of shotgun")
    _check_version(about.get("version"))
    checksum = about.get("checksum")
    if not isinstance(checksum, str) or len(checksum) != len(_UNSIGNED):
        raise ValueError("has no checksum")
    unsigned = header.replace(_quoted(checksum), _quoted(_UNSIGNED), 1)
    if _checksum(content[:8] + unsigned + content[8 + size :]) != checksum:
        raise ValueError("damaged: its checksum is not that of its content")
    if not isinstance(about.get("record"), str):
        raise ValueError("has no record")
    return _object(about["record"]), _tensors(entries, memoryview(content)[8 + size :])


def _check_version(version: Any) -> None:
    known = ".".join(map(str, VERSION))
    major = version.split(".")[0] if isinstance(version, str) else ""
    if not (major.isascii() and major.isdigit() and len(major) < 10):
        raise ValueError(f"version must be like {known}, not {version!r:.40}")
    if int(major) > VERSION[0]:
        raise ValueError(f"written by a newer shotgun: its version is {version:.40}, ours {known}")


def _object(text: str | bytes) -> Record:
    """A JSON object without surprises."""
    value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    if not isinstance(value, dict):
        raise ValueError("the header is not a JSON object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("the header says something twice")
    return record


def _no_constant(name: str) -> None:
    raise ValueError(f"the header holds {name}, which is not JSON")


def _tensors(entries: Record, content: memoryview) -> Tensors:
    """Views of the bytes: every one belongs to exactly one tensor."""
    end = 0
    tensors = {}
    for name, entry in sorted(entries.items(), key=_begin):
        dtype, shape, offsets = (_part(name, entry, k) for k in ("dtype", "shape", "data_offsets"))
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise ValueError(f"tensor {name}: dtype must be one of {', '.join(DTYPES)}")
        if len(shape) > 2 or not all(map(_is_size, shape)):
            raise ValueError(f"tensor {name}: shape {shape!r:.40} is not one of a vector or matrix")
        if offsets[0] != end or offsets[1] > len(content):
            raise ValueError(f"tensor {name}: its place {offsets!r:.60} is not behind the others")
        end = offsets[1]
        if math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize != end - offsets[0]:
            raise ValueError(f"tensor {name}: {shape!r:.40} of {dtype} does not fit its place")
        if dtype == "BOOL" and not set(content[offsets[0] : end]) <= {0, 1}:
            raise ValueError(f"tensor {name}: neither true nor false")
        array = np.frombuffer(content[offsets[0] : end], dtype=DTYPES[dtype]).reshape(shape)
        tensors[name] = array.astype(array.dtype.newbyteorder("="))  # writable and aligned
    if end != len(content):
        raise ValueError(f"{len(content) - end} bytes belong to no tensor")
    return tensors


def _part(name: str, entry: Any, key: str) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise ValueError(f"tensor {name:.40}: {key} is missing")
    if key != "dtype" and not isinstance(entry[key], list):
        raise ValueError(f"tensor {name:.40}: {key} must be a list")
    return entry[key]


def _begin(item: tuple[str, Any]) -> tuple[int, int]:
    """Where a tensor begins and ends, to sort by."""
    offsets = _part(*item, "data_offsets")
    if len(offsets) != 2 or not all(map(_is_size, offsets)) or offsets[0] > offsets[1]:
        raise ValueError(f"tensor {item[0]:.40}: {offsets!r:.60} is not a place")
    return offsets[0], offsets[1]


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _quoted(checksum: str) -> bytes:
    return f'"checksum": {json.dumps(checksum)}'.encode()


def _checksum(content: bytes) -> str:
    return blake2b(content, digest_size=len(_UNSIGNED) // 2).hexdigest()


def write(path: Any, content: bytes) -> None:
    """Write a file, which appears whole or not at all; "-" is the standard output."""
    if path == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def read(path: Any) -> bytes:
    """All bytes of a file; "-" is the standard input."""
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
