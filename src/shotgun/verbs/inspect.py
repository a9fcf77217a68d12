"""`shotgun inspect`: data or a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import shotgun
from shotgun import tensors
from shotgun.checkpoint import unpack_path
from shotgun.model import decode, strength
from shotgun.options import Given
from shotgun.tensors import SUFFIX, Record
from shotgun.verbs.path import tell_path
from shotgun.verbs.problems import largest_lam, one_against_rest
from shotgun.verbs.reading import check_target, read
from shotgun.verbs.telling import CONVERGED, tell

if TYPE_CHECKING:  # what a quick fit does not need is loaded where it is used
    import shotgun.survey


def run(given: Given) -> int:
    """Data or a model."""
    if given.format is None and (given.data == "-" or given.data.endswith(SUFFIX)):
        return inspect_model(given)
    return inspect_data(given)


def inspect_model(given: Given) -> int:
    content = tensors.read(given.data)
    name = "<stdin>" if given.data == "-" else given.data
    record, kept = tensors.unpack(content, name)
    if record.get("kind") == "path":
        tell_path(unpack_path(record, kept, name), given)
        return CONVERGED
    model = decode(content, name, given.max_bytes)
    if given.json or not hasattr(model, "status_"):  # a mean of folds has no certificate
        tell(model.to_json())
    else:
        tell(f"{model.summary()}\n\n{origin(model, record)}")
    return CONVERGED


def origin(model: Any, record: Record) -> str:
    """How the model was trained."""
    n, d = model.data_["shape"]
    return (
        f"lam {strength(model)[0]:.6g}; trained on {n} samples of {d} features, "
        f"{model.data_['nnz']} entries, hash {model.data_['hash'][:8]}; "
        f"shotgun {record.get('shotgun')}"
    )


def inspect_data(given: Given) -> int:
    data = read(given)
    found = shotgun.survey.parallelism(data.A, data.weights, not given.no_intercept, given.threads)
    odd = shotgun.survey.odd_columns(data.A, data.feature_names)
    largest = None
    if data.y is not None:
        check_target(given, data)
        largest = largest_lam(given, data, one_against_rest(given, data.y))
    if given.json:
        told = {"lam_max": largest, "loss": str(given.loss), "warnings": odd}
        tell(json.dumps(vars(found) | told))
        return CONVERGED
    lines = [str(found)]
    if data.y is not None:
        lines.append(f"target           {shotgun.survey.target(data.y)}")
        lines.append(f"lam_max          {largest:.6g}   ({given.loss} loss)")
    tell("\n".join(lines + [f"warning          {what}" for what in odd]))
    return CONVERGED
