"""Any bytes: the loaders of models and of what was interrupted refuse them by a ModelError, or give
what can be used.

    python tests/fuzz/model.py -max_total_time=600 FOLDER tests/fuzz/corpus/model

What is tried are changes of good files, most with a good checksum: else all would end there. First
come all the changes of one value in a record; then the fuzzer's own, as many as there is time for.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from inspect import isfunction
from pathlib import Path

import atheris
import numpy as np

from shotgun import checkpoint, folds, model, tensors

MANY = 10_000  # weights; to use more costs memory, not thought
ODD = [None, True, -1, 0, 1, 2, 1.5, 1e308, 2**31, 2**63, "", "x", "F16", [], [1], [[]], {}]
ODD += [{"tensor": name} for name in ("coef.values", "coef.indices", "intercept", "classes")]
ODD += [{"float": "nan"}, {"float": "1"}, {"tuple": [1]}, {"dict": [["a", 1]]}, {"dict": [[[], 1]]}]


def look(content: bytes) -> None:
    """What the loader makes of it."""
    try:
        record, kept = tensors.unpack(content, "file")
        if record.get("kind") == "path":
            checkpoint.unpack_path(record, kept, "file")
            return
        if record.get("kind") == "folds":
            folds.unpack(record, kept, "file")
            return
        loaded = model.decode(content, "file")
    except tensors.ModelError:
        return
    if loaded.n_features_in_ * np.size(loaded.intercept_) > MANY:
        return
    again = model.decode(model.encode(loaded), "file")
    assert (again._rows() == loaded._rows()).all()
    json.loads(again.to_json())
    assert again.summary()
    vars(loaded).pop("feature_names_in_", None)
    loaded.predict(np.zeros((1, loaded.n_features_in_)))


def mutate(content: bytes, most: int, seed: int) -> bytes:
    """Another file, not far from this one."""
    rng = random.Random(seed)
    try:
        size = int.from_bytes(content[:8], "little")
        header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
        about = header["__metadata__"]
        match rng.randrange(6):
            case 0 | 1:
                about["record"] = json.dumps(changed(json.loads(about["record"]), rng))
            case 2:
                about["record"] = atheris.Mutate(about["record"].encode(), most).decode("latin-1")
            case 3:
                header = changed(header, rng)
            case 4:
                body = atheris.Mutate(body, max(len(body), 8))
            case _:
                return atheris.Mutate(content, most)
        return signed(json.dumps(header).encode(), body)[:most]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return atheris.Mutate(content, most)


def changed(value: object, rng: random.Random) -> object:
    """One value somewhere inside becomes an odd one, or vanishes."""
    if isinstance(value, (dict, list)) and value and rng.random() < 0.9:
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        if rng.random() < 0.1:
            del value[key]
        else:
            value[key] = changed(value[key], rng)
        return value
    if isinstance(value, (int, float)) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 8))
    return rng.choice(ODD)


def neighbours(content: bytes) -> Iterator[bytes]:
    """The files whose record differs from this one's in one value, or lacks it."""
    size = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    record = json.loads(header["__metadata__"]["record"])
    for other in all_changes(record):
        header["__metadata__"]["record"] = json.dumps(other)
        yield signed(json.dumps(header).encode(), body)


def all_changes(value: object) -> Iterator[object]:
    """The value with one value inside it another, or gone."""
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            yield from ({**value, key: other} for other in all_changes(value[key]))
    elif isinstance(value, list):
        for k in range(len(value)):
            yield value[:k] + value[k + 1 :]
            yield from ([*value[:k], other, *value[k + 1 :]] for other in all_changes(value[k]))
    elif isinstance(value, (int, float)):
        yield from (value + step for step in (-1, 1, 8))
    yield from ODD


def signed(header: bytes, body: bytes) -> bytes:
    """The file, with the checksum that belongs to it."""
    about = json.loads(header)["__metadata__"]["checksum"]
    unsigned = header.replace(tensors._quoted(about), tensors._quoted(tensors._UNSIGNED), 1)
    whole = len(unsigned).to_bytes(8, "little") + unsigned + body
    mine, none = tensors._quoted(tensors._checksum(whole)), tensors._quoted(tensors._UNSIGNED)
    return whole.replace(none, mine, 1)


def tried(
    look: Callable[[bytes], None], neighbours: Callable[[bytes], Iterator[bytes]], corpus: Path
) -> None:
    """All neighbours of the good files: those of a corpus that a name was given to."""
    count = 0
    for good in sorted(corpus.iterdir()):
        if re.fullmatch("[0-9a-f]{40}", good.name) is None:
            for content in neighbours(good.read_bytes()):
                look(content)
                count += 1
    print(f"stat::number_of_neighbours: {count}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    for module in (checkpoint, folds, model, tensors):
        for function in filter(isfunction, list(vars(module).values())):
            if function.__module__ == module.__name__:
                atheris.instrument_func(function)
    tried(look, neighbours, Path(__file__).parent / "corpus/model")
    atheris.Setup(sys.argv, look, custom_mutator=lambda *args: mutate(bytes(args[0]), *args[1:]))
    atheris.Fuzz()
