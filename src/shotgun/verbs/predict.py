"""`shotgun predict`: a line for each row of the data."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import shotgun
from shotgun import io, tensors
from shotgun.io import Data
from shotgun.options import Given
from shotgun.problem import Elsewhere
from shotgun.tensors import Record
from shotgun.verbs.reading import read
from shotgun.verbs.telling import CONVERGED, check_outputs


def run(given: Given) -> int:
    """A line for each row of the data."""
    if given.model == given.data == "-":
        raise ValueError("MODEL and DATA cannot both be standard input")
    check_outputs(given)
    model = shotgun.load(given.model, max_bytes=given.max_bytes)
    if given.proba and not hasattr(model, "predict_proba"):
        raise ValueError(f"{given.model}: a {type(model).__name__} has no probabilities")
    data = read(given, **like_trained(model, given))
    A = in_order(model, data, given.data)
    if A.shape[1] != model.n_features_in_:
        d, known = A.shape[1], model.n_features_in_
        raise ValueError(f"{given.data}: {d} features, but {given.model} knows {known}")
    answers = (model.predict_proba if given.proba else model.predict)(A, offset=data.offset)
    if data.y is not None:
        score = model.score(A, data.y, offset=data.offset)
        name = "accuracy" if hasattr(model, "classes_") else "score"
        print(f"{name} {score:.6g} of {len(answers)} samples", file=sys.stderr)
    text = json.dumps(answers.tolist()) if given.json else "\n".join(map(line, answers.tolist()))
    tensors.write(given.output, f"{text}\n".encode())
    return CONVERGED


def like_trained(model: Any, given: Given) -> Record:
    """How an svmlight file that belongs to the model is read."""
    if io.format_of(given.data, given.format) != "svmlight":
        return {}
    return {"n_features": model.n_features_in_, "zero_based": model.data_.get("zero_based")}


def line(answer: Any) -> str:
    """Numbers, or a label, which stays on its line, in its cell, and which no spreadsheet shall
    compute."""
    if isinstance(answer, list):
        return "\t".join(map(repr, answer))
    if not isinstance(answer, str):
        return str(answer)
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in io.harmless(answer))
    if re.search('"|[,;|] *[=+@＝＋－＠-]', text) is None:  # no quote, no formula after a comma
        return text
    return '"{}"'.format(text.replace('"', '""'))


def in_order(model: Any, data: Data, file: str) -> Any:
    """The columns that the model knows, in its order; `column=value` that is not there is zero."""
    names = vars(model).pop("feature_names_in_", None)  # predict would ask for a data frame
    if names is None or data.feature_names is None:
        return data.A
    place = {name: j for j, name in enumerate(data.feature_names)}
    of_values = {name.rpartition("=")[0] for name in place if "=" in name}
    missing = [name for name in names if name not in place]
    for name in missing:
        if "=" not in name or name.rpartition("=")[0] not in of_values:
            raise ValueError(f"{file}: the model's feature {name!r} is not there")
    if data.feature_names == list(names):
        return data.A
    if isinstance(data.A, Elsewhere):
        raise ValueError(f"{file}: a matrix on disk must have the model's features, in its order")
    wanted = [place.get(name, len(place)) for name in names]
    if not missing:
        return data.A[:, wanted]
    import scipy.sparse as sp

    zero = sp.csc_array((data.A.shape[0], 1), dtype=data.A.dtype)
    return sp.hstack([sp.csc_array(data.A), zero], format="csc")[:, wanted]
