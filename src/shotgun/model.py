"""save and load: fitted estimators in files that hold no code."""

from __future__ import annotations

import json
import math
import re
import warnings
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np

from shotgun import tensors
from shotgun.compressed import most_bytes, too_large
from shotgun.inspection import joint, names_of
from shotgun.problem import Elsewhere, is_sparse
from shotgun.tensors import Array, ModelError, Record, Tensors

MODELS = {  # what a file may hold, and where it is
    "ElasticNet": "shotgun.linear",
    "Lasso": "shotgun.linear",
    "LinearSVC": "shotgun.logistic",
    "LogisticRegression": "shotgun.logistic",
    "SparseHuberRegressor": "shotgun.linear",
    "SparsePoissonRegressor": "shotgun.linear",
}
_CERTIFICATE: dict[str, Any] = {  # of one fit or several, and their types
    "objective_": (float, np.floating),
    "dual_gap_": (float, np.floating),
    "certificate_": str,
    "tolerance_": (float, np.floating),
    "status_": str,
    "n_iter_": (int, np.integer),
    "parallelism_": dict,
}
_PARALLELISM: dict[str, Any] = {  # and of what one fit's tells
    "rho": (float, type(None)),
    "ideal_p": (int, type(None)),
    "P": int,
    "engine": str,
}
_MOST_WEIGHTS = 2**31 - 1
_SAMPLE = 1 << 12


class Persistent:
    """What lets a fitted estimator be kept in a file."""

    _loss: ClassVar[str]

    def _kind(self) -> str:
        """The estimator that a file shall hold."""
        return type(self).__name__

    def save(self, path: Any) -> None:
        """Write the fitted model to a file, by custom with the suffix `.shotgun`.

        :func:`shotgun.load` reads it. A CV estimator is written as the plain model that it chose;
        parameters that are objects (a callback, a RandomState) are left out.

        Parameters
        ----------
        path : str or path
            "-" is the standard output. The file appears whole or not at all.
        """
        tensors.write(path, encode(self))

    def to_json(self, indent: int | None = 2) -> str:
        """The fitted model as JSON for people and other programs; `indent` as in json.dumps.

        Weights that are zero are left out.
        """
        return json.dumps(describe(self), indent=indent)


def load(path: Any, *, max_bytes: int | None = None) -> Any:
    """Read a model that an estimator's method `save` has written; "-" is the standard input.

    Parameters
    ----------
    path : str or path
    max_bytes : int, optional
        What the weights may take, zeros included; unless given, the more of 256 MB and 100 times
        the file's size. A few bytes can claim more features than any memory holds.

    Raises
    ------
    ModelError
        If the file is damaged, is none of ours, or was written by a newer version. It is a
        ValueError, and names the file. No file makes this run code.

    Examples
    --------
    >>> import shotgun, tempfile
    >>> from pathlib import Path
    >>> model = shotgun.Lasso(alpha=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.shotgun")
    ...     again = shotgun.load(Path(folder) / "model.shotgun")
    >>> again, bool(again.coef_ == model.coef_)
    (Lasso(alpha=0.1), True)
    """
    name = "<stdin>" if path == "-" else str(path)
    return decode(tensors.read(path), name, max_bytes)


def fingerprint(A: Any, *vectors: Any, most: int | None = _SAMPLE) -> Record:
    """What tells data from other data: the shape, the number of non-zeros and a hash.

    Parameters
    ----------
    A : array or sparse matrix
    *vectors : array or None
        What belongs to its rows.
    most : int or None
        The hash is of this many numbers of each array, evenly spaced; None: of all.
    """
    if isinstance(A, Elsewhere):
        parts = [A.checksums]
    else:
        parts = [A.indptr, A.indices, A.data] if is_sparse(A) else [A]
    digest = blake2b(digest_size=16)
    for part in [*parts, *vectors]:
        array = np.asarray(part)
        digest.update(f"{array.dtype.kind}{array.shape}".encode())
        if most is not None and array.size > most:
            spaced = np.linspace(0, array.size - 1, most).astype(np.int64)
            array = array[np.unravel_index(spaced, array.shape)]
        if array.dtype.kind == "O":
            digest.update(repr(array.tolist()).encode())
        else:
            digest.update(np.asfortranarray(array).T.data)
    nnz = int(A.nnz if hasattr(A, "nnz") else np.size(A))
    return {"shape": [int(k) for k in A.shape], "nnz": nnz, "hash": digest.hexdigest()}


# Writing


def encode(model: Any) -> bytes:
    """The bytes of a model's file."""
    coef = model._rows()
    kept: Tensors = {}
    plain = chosen(model)
    parameters, dropped = _parameters(plain, kept)
    flat = coef.ravel()
    kept["coef.indices"] = np.flatnonzero(flat).astype(np.int64)
    kept["coef.values"] = flat[kept["coef.indices"]]
    kept["intercept"] = np.asarray(model.intercept_)
    record = {
        "kind": "model",
        "shotgun": _version(),
        "estimator": plain._kind(),
        "loss": model._loss,
        "parameters": parameters,
        "dropped": dropped,
        "coef": {"shape": list(np.shape(model.coef_)), "sparse": is_sparse(model.coef_)},
        "certificate": {
            name: _plain(f"certificate.{name}", getattr(model, name), kept)
            for name in _CERTIFICATE
            if hasattr(model, name) and np.ndim(getattr(model, name)) < 2
        },
        "data": model.data_,
    }
    for name in ("classes", "feature_names_in"):
        if hasattr(model, f"{name}_"):
            record[name] = _labels(name, getattr(model, f"{name}_"), kept)
    return tensors.pack(record, kept)


def chosen(model: Any) -> Any:
    """The plain model, not fitted: what cross-validation chose, or the model's own parameters."""
    if not hasattr(model, "cv_scores_"):
        return model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # they came with the fit
        plain = model._models()[0]
    if "l1_ratio" in plain.get_params():
        plain.set_params(l1_ratio=float(np.max(model.l1_ratio_)))
    value = model.alpha_ if hasattr(model, "alpha_") else model.C_
    return model._at(plain, float(np.max(value)))


def strength(model: Any) -> tuple[float, float]:
    """lam and l2 of :func:`shotgun.solve`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # they came with the fit
        lam, l2 = chosen(model)._penalty(model.data_["shape"][0])
    return float(lam), float(l2)


def _version() -> str:
    import shotgun

    return str(shotgun.__version__)


def _parameters(model: Any, kept: Tensors) -> tuple[Record, list[str]]:
    """The parameters that a file can hold, and the names of the others."""
    parameters, dropped = {}, []
    for name, value in model.get_params(deep=False).items():
        try:
            parameters[name] = _plain(f"parameters.{name}", value, kept)
        except TypeError:
            dropped.append(name)
    return parameters, dropped


def _plain(name: str, value: Any, kept: Tensors) -> Any:
    """A value as JSON; arrays become tensors."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.ndim <= 2:
        kept[name] = value
        return {"tensor": name}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        items = [_plain(f"{name}.{k}", item, kept) for k, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        pairs = enumerate(value.items())
        return {"dict": [_plain(f"{name}.{k}", list(pair), kept) for k, pair in pairs]}
    raise TypeError(f"{name} cannot be written to a file: it is {type(value).__name__}")


def _labels(name: str, labels: Array, kept: Tensors) -> Record:
    """Names of classes or features: numbers as they are, strings as JSON."""
    if labels.dtype.kind in "OUT":
        if not all(isinstance(label, str) for label in labels):
            raise TypeError(f"{name}_ must hold numbers or strings to be written to a file")
        text = json.dumps([str(label) for label in labels])
        kept[name] = np.frombuffer(text.encode(), dtype=np.uint8)
        return {"tensor": name, "strings": labels.dtype.kind}
    kept[name] = labels
    return {"tensor": name}


# Reading


def decode(content: bytes, name: str, max_bytes: int | None = None) -> Any:
    """The model of a file's bytes; `name` is the file's, for errors; `max_bytes` as of `load`."""
    record, kept = tensors.unpack(content, name)
    if record.get("kind") != "model":
        what = record.get("kind")
        raise ModelError(f"{name}: holds no fitted model but {what!r:.40}")
    try:
        return _model(record, kept, most_bytes(len(content), max_bytes))
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ModelError(f"{name}: {error}") from error


def _model(record: Record, kept: Tensors, most: int) -> Any:
    import importlib

    kind = _field(record, "estimator", str)
    if kind not in MODELS:
        raise ValueError(f"estimator must be one of {', '.join(MODELS)}, not {kind!r:.40}")
    estimator = getattr(importlib.import_module(MODELS[kind]), kind)
    given = _field(record, "parameters", dict)
    known = estimator._get_param_names()
    model = estimator(**{name: _value(given[name], kept) for name in known if name in given})
    model._validate_params()
    _place(model, record, kept, most)
    _certify(model, _field(record, "certificate", dict), kept)
    model.data_ = _data(record)
    return model


def _place(model: Any, record: Record, kept: Tensors, most: int) -> None:
    """The weights, and what has to fit them."""
    from sklearn.base import is_classifier

    about = _field(record, "coef", dict)
    shape = _field(about, "shape", list)
    if len(shape) not in (1, 2) or not all(type(k) is int and k > 0 for k in shape):
        raise ValueError(f"coef must be a vector or matrix, not of shape {shape!r:.40}")
    size = math.prod(shape)
    if size > _MOST_WEIGHTS:
        raise ValueError(f"coef of shape {shape!r:.40} has too many weights")
    if 8 * size > most:  # sparse ones too: whoever looks at them makes them dense
        raise too_large(8 * size, most)
    indices, values = _tensor(kept, "coef.indices", "i"), _tensor(kept, "coef.values", "f")
    if indices.ndim != 1 or indices.shape != values.shape or not np.isfinite(values).all():
        raise ValueError("coef must have one finite weight for each index")
    ascend = (indices[:-1] < indices[1:]).all()  # differences might overflow
    if len(indices) and (indices[0] < 0 or indices[-1] >= size or not ascend):
        raise ValueError("the indices of coef must ascend within its shape")
    intercept = _tensor(kept, "intercept", "f")
    d, fits = shape[-1], shape[0] if len(shape) == 2 else 1
    if is_classifier(model) and len(shape) != 2:
        raise ValueError("coef of a classifier must be a matrix")
    of_one = fits == 1 and intercept.shape == ()
    if not (of_one or intercept.shape == (fits,)) or not np.isfinite(intercept).all():
        raise ValueError(f"intercept must be a finite number for each of {fits} fits")
    _place_labels(model, record, kept, most, d, fits)
    if about.get("sparse") is True:
        from scipy.sparse import csr_matrix

        model.coef_ = csr_matrix((values, divmod(indices, d)), shape=(fits, d))
    else:
        model.coef_ = np.zeros(shape, dtype=values.dtype)
        model.coef_.flat[indices] = values
    model.intercept_ = intercept[()]
    model.n_features_in_ = d
    model.support_ = np.unique(indices % d)


def _place_labels(model: Any, record: Record, kept: Tensors, most: int, d: int, fits: int) -> None:
    from sklearn.base import is_classifier

    if is_classifier(model):
        model.classes_ = _named(record, "classes", kept, most)
        k = len(model.classes_)
        if k < 2 or fits != (1 if k == 2 else k):
            raise ValueError(f"classes: there are {k}, for {fits} rows of weights")
    if "feature_names_in" in record:
        model.feature_names_in_ = _named(record, "feature_names_in", kept, most)
        if len(model.feature_names_in_) != d:
            names = len(model.feature_names_in_)
            raise ValueError(f"feature_names_in: {names} names for {d} features")


def _named(record: Record, name: str, kept: Tensors, most: int) -> Array:
    """Names of classes or features."""
    about = _field(record, name, dict)
    array = _tensor(kept, about.get("tensor"), "biuf")
    if array.ndim != 1:
        raise ValueError(f"{name} must be a list")
    if "strings" not in about:
        return array
    labels = json.loads(array.tobytes()) if array.dtype == np.uint8 else None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise ValueError(f"{name} must be a list of strings")
    if about["strings"] == "O":
        return np.array(labels, dtype=object)
    size = 4 * len(labels) * max(map(len, labels), default=0)  # each takes as much as the longest
    if size > most:
        raise too_large(size, most)
    return np.array(labels, dtype=str)


def _certify(model: Any, given: Record, kept: Tensors) -> None:
    """What certifies the fit or the fits; nothing, where the folds' mean was taken for a fit."""
    found = {name: _value(given[name], kept) for name in _CERTIFICATE if name in given}
    counts = {name: _check_certificate(name, value) for name, value in found.items()}
    sizes = {count for name, count in counts.items() if name != "n_iter_"}
    rows = model.coef_.shape[0] if model.coef_.ndim == 2 else 1
    fits = 1 if joint(model, rows) else rows
    told = found.keys() - {"n_iter_"}
    needed = _CERTIFICATE.keys() - {"n_iter_", "certificate_"}  # which older files do not tell
    if not sizes <= {fits} or (told and not needed <= told):
        raise ValueError("the certificate is incomplete")
    for name, value in found.items():
        setattr(model, name, value)


def _check_certificate(name: str, value: Any) -> int:
    """How many fits a part of the certificate tells of."""
    each = list(value) if isinstance(value, (list, np.ndarray)) else [value]
    if not each or not all(isinstance(v, _CERTIFICATE[name]) for v in each):
        raise ValueError(f"{name} has the wrong type")
    if name == "certificate_" and not set(each) <= {"gap", "gradient"}:
        raise ValueError(f"{name} must be gap or gradient")
    if name == "parallelism_" and not all(
        key in v and isinstance(v[key], kinds) for v in each for key, kinds in _PARALLELISM.items()
    ):
        raise ValueError(f"{name} must tell {', '.join(_PARALLELISM)}")
    return len(each)


def _data(record: Record) -> Record:
    data: Record = _field(record, "data", dict)
    shape, nnz, digest = (data.get(k) for k in ("shape", "nnz", "hash"))
    sizes = [*shape, nnz] if isinstance(shape, list) and len(shape) == 2 else [None]
    if not all(type(k) is int and 0 <= k < 2**63 for k in sizes):
        raise ValueError("data must tell the shape and the number of non-zeros")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{32}", digest):
        raise ValueError("data must have a hash")
    if not isinstance(data.get("zero_based", False), bool):
        raise ValueError("zero_based must be true or false")
    return data


def _field(record: Record, name: str, kind: type) -> Any:
    if not isinstance(record.get(name), kind):
        raise ValueError(f"{name} is missing or not a {kind.__name__}")
    return record[name]


def _tensor(kept: Tensors, name: Any, kinds: str) -> Array:
    if not isinstance(name, str) or name not in kept:
        raise ValueError(f"tensor {name!r:.40} is missing")
    if kept[name].dtype.kind not in kinds:
        raise ValueError(f"tensor {name:.40} must not be of type {kept[name].dtype}")
    return kept[name]


def _value(plain: Any, kept: Tensors) -> Any:
    """What :func:`_plain` was given."""
    if isinstance(plain, list):
        return [_value(item, kept) for item in plain]
    if not isinstance(plain, dict):
        return plain
    match plain:
        case {"tensor": name}:
            return _tensor(kept, name, "biuf")
        case {"float": "inf" | "-inf" | "nan" as number}:
            return float(number)
        case {"tuple": list(items)}:
            return tuple(_value(items, kept))
        case {"dict": list(items)}:
            return {k: v for k, v in _value(items, kept)}  # noqa: C416
    raise ValueError(f"{plain!r:.60} is no value")


# For people


def describe(model: Any) -> Record:
    """A fitted model as what JSON can hold."""
    coef = model._rows()
    plain = chosen(model)
    kept: Tensors = {}
    parameters, dropped = _parameters(plain, kept)
    lam, l2 = strength(model)
    names = getattr(model, "feature_names_in_", None)
    return {
        "estimator": plain._kind(),
        "loss": model._loss,
        "lam": lam,
        "l2": l2,
        "parameters": _listed(
            {k: v for k, v in parameters.items() if v not in (None, "deprecated")}, kept
        ),
        "dropped": dropped,
        "certificate": {
            name.removesuffix("_"): _listed(_plain(name, getattr(model, name), kept), kept)
            for name in _CERTIFICATE
            if hasattr(model, name) and np.ndim(getattr(model, name)) < 2
        },
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "n_features": coef.shape[1],
        "n_nonzero": int(np.count_nonzero(coef.any(axis=0))),
        "intercept": np.asarray(model.intercept_).tolist(),
        "weights": [
            {"feature": name, "index": int(j), "weight": coef[:, j].squeeze().tolist()}
            for j, name in _largest_first(coef, names)
        ],
        "data": model.data_,
        "shotgun": _version(),
    }


def _largest_first(coef: Array, names: Any) -> list[tuple[int, str]]:
    """The features that have a weight, and their names."""
    size = np.abs(coef).max(axis=0)
    order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
    return list(zip(order.tolist(), names_of(order, names), strict=True))


def _listed(plain: Any, kept: Tensors) -> Any:
    """What :func:`_plain` returned, as a reader of JSON would like it: lists for tensors."""
    if isinstance(plain, list):
        return [_listed(item, kept) for item in plain]
    if not isinstance(plain, dict):
        return plain
    match plain:
        case {"tensor": str(name)}:
            return _listed([_plain("", v, {}) for v in kept[name].ravel().tolist()], kept)
        case {"float": number}:
            return number
        case {"tuple": items}:
            return _listed(items, kept)
        case {"dict": pairs}:
            return {str(key): _listed(value, kept) for key, value in pairs}
    return {name: _listed(value, kept) for name, value in plain.items()}
