"""Any files as a matrix on disk: refused by an error that names one, or what the core can read.

    python tests/fuzz/matrix.py -max_total_time=600 FOLDER tests/fuzz/corpus/matrix

An input is a JSON object of file names and contents. Checksums are made to fit most of the time:
else all would end there. First come all the changes of one value in a good one, then the fuzzer's
own.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from inspect import isfunction
from pathlib import Path

import atheris
import numpy as np
from model import all_changes, changed, tried

import shotgun
from shotgun import disk
from shotgun.problem import sound

MANY = 10_000  # cells; more cost memory, not thought
FOLDER = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
NUMBERS = [-1, 0, 1, 2, 7, 2**31 - 1, -(2**31)]
Files = dict[str, str]


def look(content: bytes) -> None:
    """What is made of the files."""
    try:
        files = json.loads(content)
        place(files)
    except (ValueError, TypeError, AttributeError, OSError, RecursionError):
        return
    try:
        matrix = disk.open(FOLDER / "m")
        n, d = matrix.shape
        if n * d > MANY:
            return
        matrix.verify()
        A = sound(matrix.to_memory())
        y = np.ones(n) if matrix.y is None else matrix.y
        fit = shotgun.solve(matrix, y, 0.1, max_epochs=20, n_threads=1)
    except (ValueError, FileNotFoundError) as error:
        if "m/" in str(error) or str(error).startswith(("A ", "y ", "y, offset")):
            return
        raise
    np.testing.assert_array_equal(matrix @ np.ones(d), A @ np.ones(d))
    assert fit.gap >= 0


def place(files: Files) -> None:
    """The files in their folder; names lead nowhere else."""
    shutil.rmtree(FOLDER / "m", ignore_errors=True)
    for name, text in files.items():
        path = (FOLDER / "m" / name).resolve()
        if FOLDER / "m" not in path.parents or len(name) > 60:
            raise ValueError(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))


def signed(files: Files) -> bytes:
    """With the checksums that belong to them, as far as they can be told."""
    try:
        meta = json.loads(files["meta.json"])
        sums = {"": meta["checksums"]}
        sums |= {f"tiles/{k:05d}/": tile["checksums"] for k, tile in enumerate(meta["tiles"])}
        for folder, there in sums.items():
            for name in there.keys() - {"names"}:
                there[name] = checksum(files[f"{folder}{name}.npy"])
        if "names" in sums[""]:
            sums[""]["names"] = disk.checksum(disk.codes(json.loads(files["names.json"])))
        files = files | {"meta.json": json.dumps(meta)}
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    return json.dumps(files).encode()


def checksum(text: str) -> int:
    """Of an array's numbers, behind the header."""
    content = text.encode("latin-1")
    header = 10 + int.from_bytes(content[8:10], "little")
    kinds = {"<f8": np.float64, "<f4": np.float32, "<i4": np.int32, "<i8": np.int64}
    kind = next((k for name, k in kinds.items() if name.encode() in content[:header]), np.int32)
    size = np.dtype(kind).itemsize
    numbers = content[header : header + (len(content) - header) // size * size]
    return disk.checksum(np.frombuffer(numbers, kind))


def neighbours(content: bytes) -> Iterator[bytes]:
    """Those that differ from these in one value of the description, or one number."""
    files = json.loads(content)
    for name, text in files.items():
        yield signed({k: v for k, v in files.items() if k != name})
        if name.endswith(".json"):
            for other in all_changes(json.loads(text)):
                yield json.dumps(files | {name: json.dumps(other)}).encode()
                yield signed(files | {name: json.dumps(other)})
            continue
        raw = text.encode("latin-1")
        for at in range(128, len(raw), 4):
            for number in NUMBERS:
                other = raw[:at] + number.to_bytes(4, "little", signed=True) + raw[at + 4 :]
                yield signed(files | {name: other.decode("latin-1")})


def mutate(content: bytes, most: int, seed: int) -> bytes:
    """One of the files is another."""
    rng = random.Random(seed)
    try:
        files = json.loads(content)
        name = rng.choice(list(files))
        if name.endswith(".json") and rng.random() < 0.7:
            files[name] = json.dumps(changed(json.loads(files[name]), rng))
        else:
            raw = files[name].encode("latin-1")
            files[name] = atheris.Mutate(raw, len(raw) + 16).decode("latin-1")
        return signed(files)[:most] if rng.random() < 0.9 else json.dumps(files).encode()[:most]
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError):
        return bytes(atheris.Mutate(content, most))


if __name__ == "__main__":
    for function in filter(isfunction, list(vars(disk).values())):
        if function.__module__ == disk.__name__:
            atheris.instrument_func(function)
    tried(look, neighbours, Path(__file__).parent / "corpus/matrix")
    atheris.Setup(sys.argv, look, custom_mutator=lambda *args: mutate(bytes(args[0]), *args[1:]))
    atheris.Fuzz()
