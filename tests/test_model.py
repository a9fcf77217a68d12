"""Models in files: what is loaded predicts and tells the same, and nothing hostile is loaded."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import shotgun
from shotgun import ModelError
from shotgun.model import decode, encode, fingerprint
from test_tensors import rewritten

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 12))
Y = X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=60)
CLASSES = np.array(["no", "perhaps", "yes"])[np.digitize(Y, [-1, 1])]

FITTED = {
    "Lasso": lambda: shotgun.Lasso(alpha=0.1).fit(X, Y),
    "ElasticNet": lambda: shotgun.ElasticNet(alpha=0.1, positive=True).fit(X, Y),
    "targets": lambda: shotgun.Lasso(alpha=0.1).fit(X, np.column_stack([Y, -Y, X[:, 3]])),
    "no intercept": lambda: shotgun.Lasso(alpha=0.1, fit_intercept=False).fit(X, Y),
    "no weights": lambda: shotgun.Lasso(alpha=1e3).fit(X, Y),
    "float32": lambda: shotgun.Lasso(alpha=0.1).fit(X.astype(np.float32), Y),
    "sparse X": lambda: shotgun.Lasso(alpha=0.1).fit(sp.csr_array(X), Y),
    "Huber": lambda: shotgun.SparseHuberRegressor(alpha=0.1, epsilon=2.0).fit(X, Y),
    "Poisson": lambda: shotgun.SparsePoissonRegressor(alpha=0.1).fit(X, np.floor(Y**2)),
    "logistic": lambda: shotgun.LogisticRegression().fit(X, Y > 0),
    "multinomial": lambda: shotgun.LogisticRegression(C=0.5).fit(X, CLASSES),
    "SVC": lambda: shotgun.LinearSVC(C=0.5).fit(X, CLASSES),
    "sparsified": lambda: shotgun.LinearSVC(C=0.5).fit(X, CLASSES).sparsify(),
}


def again(model):
    return decode(encode(model), "file")


@pytest.mark.parametrize("name", FITTED)
def test_a_model_predicts_and_tells_the_same_after_a_file(name, tmp_path):
    model = FITTED[name]()
    model.save(tmp_path / "m.shotgun")
    loaded = shotgun.load(tmp_path / "m.shotgun")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    assert loaded.summary() == model.summary()
    assert loaded.to_json() == model.to_json()
    assert encode(loaded) == encode(model)
    np.testing.assert_array_equal(loaded.support_, model.support_)
    assert np.asarray(loaded.intercept_).dtype == np.asarray(model.intercept_).dtype


CROSS_VALIDATED = {
    "Lasso": lambda: shotgun.LassoCV(cv=3, alphas=10),
    "ElasticNet": lambda: shotgun.ElasticNetCV(cv=3, alphas=10, l1_ratio=[0.5, 0.9]),
    "LogisticRegression": lambda: shotgun.LogisticRegressionCV(
        cv=3, Cs=[0.1, 1.0], scoring="neg_log_loss", use_legacy_attributes=True
    ),
}


@pytest.mark.parametrize("name", CROSS_VALIDATED)
def test_a_cv_estimator_is_saved_as_what_it_chose(name):
    model = CROSS_VALIDATED[name]().fit(X, Y > 0 if "Logistic" in name else Y)
    loaded = again(model)
    assert type(loaded) is getattr(shotgun, name)
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    assert loaded.status_ == model.status_ == "converged"
    assert loaded.dual_gap_ == model.dual_gap_
    if name == "LogisticRegression":
        assert model.C_.tolist() == [loaded.C]
    else:
        assert loaded.alpha == model.alpha_
    if name == "ElasticNet":
        assert loaded.l1_ratio == model.l1_ratio_


def test_a_mean_of_folds_is_saved_without_a_certificate():
    options = {"scoring": "neg_log_loss", "use_legacy_attributes": False, "refit": False}
    model = shotgun.LogisticRegressionCV(Cs=[0.1, 1.0], cv=3, **options).fit(X, Y > 0)
    loaded = again(model)
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert not hasattr(loaded, "dual_gap_")


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b"]),
        np.array(["Ä\n", "\0b"], dtype=object),
        np.array([-3, 7]),
        np.array([3, 7], dtype=np.uint8),
        np.array([0.0, 1.0]),
        np.array([False, True]),
    ],
)
def test_classes_keep_their_values_and_their_type(labels):
    loaded = again(shotgun.LogisticRegression().fit(X, labels[(Y > 0).astype(int)]))
    assert loaded.classes_.tolist() == sorted(labels.tolist())
    assert loaded.classes_.dtype == labels.dtype


def test_feature_names_are_kept():
    frame = pd.DataFrame(X, columns=[f"größe {j}\n" for j in range(X.shape[1])])
    model = shotgun.Lasso(alpha=0.1).fit(frame, Y)
    loaded = again(model)
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    assert loaded.feature_names_in_.dtype == object
    assert loaded.predict(frame).tobytes() == model.predict(frame).tobytes()


def test_parameters_that_are_arrays_tuples_dicts_or_infinite_are_kept():
    factor = np.ones(12)
    factor[3] = np.inf
    model = shotgun.Lasso(alpha=0.1, penalty_factor=factor, bounds=(-1.0, None)).fit(X, Y)
    loaded = again(model)
    assert loaded.penalty_factor.tolist() == factor.tolist()
    assert loaded.bounds == (-1.0, None)
    weights = {False: 1.0, True: np.inf}
    assert again(shotgun.LogisticRegression(class_weight={0: 2.0, 1: 1.0}).fit(X, Y > 0))
    model = shotgun.LogisticRegression(C=1.0).fit(X, Y > 0)
    model.C, model.class_weight = np.inf, weights
    loaded = again(model)
    assert np.isinf(loaded.C)
    assert loaded.class_weight == weights


def test_parameters_that_are_objects_are_left_out():
    model = shotgun.Lasso(random_state=np.random.RandomState(0), callback=lambda row: False)
    loaded = again(model.fit(X, Y))
    assert loaded.random_state is None
    assert loaded.callback is None
    assert json.loads(model.to_json())["dropped"] == ["callback", "random_state"]


def test_json_is_for_people():
    told = json.loads(FITTED["Lasso"]().to_json())
    assert told["estimator"] == "Lasso"
    assert told["lam"] == pytest.approx(60 * 0.1)
    assert told["certificate"]["status"] == "converged"
    assert [weight["feature"] for weight in told["weights"][:2]] == ["x1", "x0"]
    assert told["n_nonzero"] == len(told["weights"])
    assert told["data"]["shape"] == [60, 12]


def test_what_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        shotgun.Lasso().save(tmp_path / "m.shotgun")
    assert not any(tmp_path.iterdir())


# Damage

CORPUS = Path(__file__).parent / "fuzz" / "corpus" / "model"
CONTENT = encode(FITTED["multinomial"]())


@given(st.integers(0, len(CONTENT) - 1))
def test_a_truncated_model_is_refused(length):
    with pytest.raises(ModelError, match=r"^file: "):
        decode(CONTENT[:length], "file")


@settings(max_examples=500)
@given(st.lists(st.integers(0, 8 * len(CONTENT) - 1), min_size=1, max_size=4, unique=True))
def test_flipped_bits_are_noticed(places):
    content = bytearray(CONTENT)
    for place in places:
        content[place // 8] ^= 1 << place % 8
    with pytest.raises(ModelError, match=r"^file: "):
        decode(bytes(content), "file")


@settings(max_examples=300)
@given(st.data())
def test_any_change_of_the_header_loads_equal_or_is_refused(data):
    """With a right checksum, as someone hostile would have it."""
    junk = st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just([]), st.just({})
    )

    def change(header, body):
        record = json.loads(header["__metadata__"]["record"])
        inside = data.draw(st.booleans())
        owner = record if inside else header
        *steps, key = data.draw(st.sampled_from(_places(owner)))
        for step in steps:
            owner = owner[step]
        owner[key] = data.draw(junk)
        if inside:
            header["__metadata__"]["record"] = json.dumps(record)

    content = rewritten(CONTENT, change)
    with suppress(ModelError):
        loaded = decode(content, "file")
        assert loaded.predict(X).shape == (60,)
        assert json.loads(loaded.to_json())["n_features"] == 12


def _places(record, steps=()):
    """The way to every key of nested dicts."""
    if not isinstance(record, dict):
        return []
    deeper = (_places(value, (*steps, key)) for key, value in record.items())
    return [(*steps, key) for key in record] + list(chain.from_iterable(deeper))


def hostile(change):
    def apply(header, body):
        record = json.loads(header["__metadata__"]["record"])
        change(record)
        header["__metadata__"]["record"] = json.dumps(record)

    return rewritten(CONTENT, apply)


ENGINE = [["rho", None], ["ideal_p", None], ["P", 1], ["engine", 2]]  # which is no name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(kind="path"), "holds no fitted model but 'path'"),
        (lambda r: r.update(estimator="os.system"), "estimator must be one of ElasticNet"),
        (lambda r: r["parameters"].update(C="many"), "'C' parameter"),
        (lambda r: r["parameters"].update(C={"tensor": "nowhere"}), "'nowhere' is missing"),
        (lambda r: r["parameters"].update(C={"call": "os"}), "is no value"),
        (lambda r: r["parameters"].update(C={"dict": [[[], 1]]}), "unhashable"),
        (lambda r: r["coef"].update(shape=[3, 2**40]), "too many weights"),
        (lambda r: r["coef"].update(shape=[3, 2]), "ascend within its shape"),
        (lambda r: r["coef"].update(shape=[36]), "coef of a classifier must be a matrix"),
        (lambda r: r["coef"].update(shape=[2, 18]), "intercept must be a finite number"),
        (lambda r: r["classes"].update(tensor="coef.values"), "list of strings"),
        (lambda r: r.pop("classes"), "classes is missing"),
        (lambda r: r.update(feature_names_in={"tensor": "classes", "strings": "O"}), "3 names for"),
        (lambda r: r["certificate"].update(status_=1), "status_ has the wrong type"),
        (lambda r: r["certificate"].update(n_iter_=[1, []]), "n_iter_ has the wrong type"),
        (lambda r: r["certificate"].update(parallelism_={"dict": []}), "must tell rho"),
        (lambda r: r["certificate"].update(parallelism_={"dict": ENGINE}), "must tell rho"),
        (lambda r: r["certificate"].update(status_=["converged"] * 3), "certificate is incomplete"),
        (lambda r: r["certificate"].pop("dual_gap_"), "certificate is incomplete"),
        (lambda r: r.update(certificate={"certificate_": "gap"}), "certificate is incomplete"),
        (lambda r: r["certificate"].update(certificate_=1), "certificate_ has the wrong type"),
        (lambda r: r["certificate"].update(certificate_="oath"), "must be gap or gradient"),
        (lambda r: r["certificate"].update(certificate_=["gap"] * 3), "certificate is incomplete"),
        (lambda r: r["data"].update(shape=[1]), "data must tell the shape"),
        (lambda r: r["data"].update(hash="x"), "data must have a hash"),
    ],
)
def test_a_hostile_record_is_refused(change, message):
    with pytest.raises(ModelError, match=f"^file: .*{message}"):
        decode(hostile(change), "file")


@pytest.mark.parametrize("file", sorted(CORPUS.iterdir()), ids=lambda file: file.name)
def test_what_fuzzing_found_is_read_or_refused(file):
    with suppress(ModelError):
        json.loads(shotgun.load(file).to_json())


def test_what_is_not_known_is_ignored():
    def newer(record):
        record["mood"] = "good"
        record["parameters"]["speed"] = 11
        record["certificate"]["stars_"] = 5

    assert encode(decode(hostile(newer), "file")) == CONTENT


@pytest.mark.filterwarnings("ignore:With alpha=0")
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("y", [Y, np.column_stack([Y, -Y])], ids=["one", "two"])
def test_what_certifies_a_fit_is_kept(y, alpha):
    model = shotgun.Lasso(alpha=alpha).fit(X, y)
    expected = "gap" if alpha else "gradient"
    assert model.certificate_ == (expected if y.ndim == 1 else [expected] * 2)
    loaded = again(model)
    assert loaded.certificate_ == model.certificate_
    assert json.loads(loaded.to_json())["certificate"]["certificate"] == model.certificate_


def test_a_file_of_before_there_was_a_certificate_is_read():
    older = decode(hostile(lambda record: record["certificate"].pop("certificate_")), "file")
    assert not hasattr(older, "certificate_")
    assert older.status_ == "converged"
    assert older.summary() == decode(CONTENT, "file").summary()


def test_indices_must_ascend():
    model = FITTED["Lasso"]()
    content = encode(model)

    def swap(header, body):
        begin, end = header["coef.indices"]["data_offsets"]
        indices = np.frombuffer(body[begin:end], dtype="<i8")[::-1]
        return body[:begin] + indices.tobytes() + body[end:]

    with pytest.raises(ModelError, match="file: the indices of coef must ascend"):
        decode(rewritten(content, swap), "file")


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        shotgun.load(tmp_path / "nothing.shotgun")


# Fingerprints


def test_a_fingerprint_tells_data_apart():
    same = fingerprint(X, Y)
    assert fingerprint(np.asfortranarray(X), Y.copy()) == same
    assert fingerprint(X, -Y) != same
    assert fingerprint(X, None) != fingerprint(X, Y)
    other = X.copy()
    other[3, 4] += 1e-12
    assert fingerprint(other, Y) != same
    assert fingerprint(X, CLASSES) != fingerprint(X, CLASSES[::-1])
    assert fingerprint(sp.csc_array(X), Y)["nnz"] == X.size


def test_a_fingerprint_of_much_data_is_of_a_sample_unless_all_is_asked_for():
    A = np.zeros((300, 300))
    B = A.copy()
    B[1, 1] = 1.0
    assert fingerprint(A, most=100) == fingerprint(B, most=100)
    assert fingerprint(A, most=None) != fingerprint(B, most=None)
    assert fingerprint(A, most=100) != fingerprint(A + 1, most=100)


def test_a_model_remembers_its_data():
    assert FITTED["Lasso"]().data_ == fingerprint(X, Y, None)


# ONNX


@pytest.mark.parametrize("name", ["Lasso", "logistic", "multinomial", "SVC"])
def test_onnx_predicts_the_same_through_to_sklearn(name):
    convert = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = FITTED[name]()
    graph = convert.to_onnx(model.to_sklearn(), X[:1].astype(np.float32))
    session = runtime.InferenceSession(graph.SerializeToString())
    predicted = session.run(None, {"X": X.astype(np.float32)})[0].ravel()
    if name == "Lasso":
        np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-4, atol=1e-5)
    else:
        assert predicted.tolist() == model.predict(X).tolist()
