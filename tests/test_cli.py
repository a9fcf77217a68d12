"""The command line: what it prints where, its exit codes, and that it can be interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from typer.main import get_command

import shotgun
from shotgun import bars, disk, io, options
from shotgun.cli import app
from shotgun.tensors import read as read_bytes
from shotgun.verbs import resuming
from tool import run

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 15))
Y = X[:, 0] - 2 * X[:, 1] + 0.5 * rng.normal(size=120)
NAMES = [f"f{j}" for j in range(15)]
KIND = np.array(["bad", "fair", "good"])[np.digitize(Y, [-1, 1])]


def complaint(*args):
    """The one line that a mistake gets."""
    result = run(*args, code=2)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("shotgun: error: ")
    return result.stderr.removeprefix("shotgun: error: ").rstrip()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with data."""
    folder = tmp_path_factory.mktemp("data")
    io.write(folder / "train.csv", io.Data(X, Y, NAMES))
    io.write(folder / "train.npz", io.Data(X, Y))
    io.write(folder / "train.svm", io.Data(sp.csr_array(X), Y))
    io.write(folder / "two.npz", io.Data(X, (Y > 0).astype(float)))
    text = [",".join([*NAMES, "kind", "site"])]
    sites = ("north", "south")
    text += [
        ",".join([*map(repr, row.tolist()), kind, sites[i % 2]])
        for i, (row, kind) in enumerate(zip(X, KIND, strict=True))
    ]
    (folder / "kinds.csv").write_text("\n".join(text) + "\n")
    return folder


# Fitting


def test_fit_prints_and_writes_the_model_that_the_library_fits(files, tmp_path):
    file = tmp_path / "m.shotgun"
    printed = run("fit", files / "train.csv", "-y", "y", "--lam", 12, "-o", file)
    model = shotgun.Lasso(alpha=12 / 120, max_iter=None, random_state=0).fit(X, Y)
    loaded = shotgun.load(file)
    assert loaded.coef_.tobytes() == model.coef_.tobytes()
    assert loaded.feature_names_in_.tolist() == NAMES
    assert printed.stdout == loaded.summary() + "\n\nlam 12\n"
    assert printed.stderr == ""


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber", "poisson"])
def test_fit_knows_every_loss(loss, files):
    told = json.loads(run("fit", files / "two.npz", "--loss", loss, "--json").stdout)
    assert told["loss"] == loss
    assert told["certificate"]["status"] == "converged"
    assert told["n_nonzero"] > 0


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber", "poisson"])
def test_lam_ratio_one_is_the_least_lam_without_weights(loss, files):
    fit = ("fit", files / "two.npz", "--loss", loss, "--json", "--lam-ratio")
    assert json.loads(run(*fit, 1.0001).stdout)["n_nonzero"] == 0
    assert json.loads(run(*fit, 0.99).stdout)["n_nonzero"] == 1


def test_lam_is_that_of_solve_with_weights_and_offset(tmp_path):
    rng = np.random.default_rng(1)
    weights, offset = rng.uniform(0.5, 3, size=120), rng.normal(size=120)
    io.write(tmp_path / "w.npz", io.Data(X, Y, weights=weights, offset=offset))
    fit = run("fit", tmp_path / "w.npz", "--lam", 20, "--tol", 1e-12, "--json").stdout
    told = json.loads(fit)
    s = shotgun.solve(X, Y, 20, weights=weights, offset=offset, fit_intercept=True, tol=1e-12)
    assert told["lam"] == 20
    for weight in told["weights"]:
        assert weight["weight"] == pytest.approx(s.x[weight["index"]], abs=1e-6)
    half = run("fit", tmp_path / "w.npz", "--lam-ratio", 1.0001, "--json").stdout
    assert json.loads(half)["n_nonzero"] == 0


def test_options_reach_the_model(files):
    options = ("--tol", 1e-3, "--no-intercept", "--standardize", "--seed", 5, "--threads", 1)
    told = json.loads(run("fit", files / "train.npz", "--json", *options).stdout)["parameters"]
    assert (told["tol"], told["fit_intercept"], told["standardize"]) == (1e-3, False, True)
    assert (told["random_state"], told["n_jobs"]) == (5, 1)


def test_a_fit_that_does_not_converge_says_so(files):
    result = run("fit", files / "train.npz", "--tol", 1e-300, code=3)
    assert "precision" in result.stdout
    assert result.stderr.startswith("shotgun: warning: not converged: precision; gap ")
    assert result.stderr.count("\n") == 1
    run("fit", files / "train.npz", "--deadline", 0, code=3)


def test_classes_may_have_names(files, tmp_path):
    file = tmp_path / "kinds.shotgun"
    run("fit", files / "kinds.csv", "-y", "kind", "-l", "logistic", "-o", file)
    model = shotgun.load(file)
    assert model.classes_.tolist() == ["bad", "fair", "good"]
    assert model.feature_names_in_.tolist() == [*NAMES, "site=north", "site=south"]
    result = run("predict", file, files / "kinds.csv", "-y", "kind")
    predicted = result.stdout.split()
    assert set(predicted) <= {"bad", "fair", "good"}
    accuracy = np.mean(np.array(predicted) == KIND)
    assert result.stderr == f"accuracy {accuracy:.6g} of 120 samples\n"


@pytest.mark.parametrize("verb", ["fit", "path", "cv"])
def test_a_picture_is_drawn(verb, files, tmp_path):
    few = () if verb == "fit" else ("--n-lams", 5)
    run(verb, files / "train.npz", "--plot", tmp_path / "p.png", *few)
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


# Paths and cross-validation


def test_path_prints_what_the_library_finds(files):
    told = json.loads(run("path", files / "train.npz", "--n-lams", 8, "--json").stdout)
    p = shotgun.path(X, Y, n_lams=8, fit_intercept=True)
    np.testing.assert_allclose(told["lam"], p.lams)
    np.testing.assert_allclose(told["objective"], p.objectives, rtol=1e-5)
    assert told["status"] == ["converged"] * 8
    table = run("path", files / "train.npz", "--n-lams", 8).stdout.splitlines()
    assert table[0].split() == ["lam", "nonzero", "objective", "gap", "epochs", "status"]
    assert len(table) == 9


def test_cv_writes_the_plain_model_that_it_chose(files, tmp_path):
    file = tmp_path / "m.shotgun"
    few = ("--n-lams", 20, "--folds", 3, "--select", "1se", "--seed", 1)
    told = json.loads(run("cv", files / "train.npz", *few, "-o", file, "--json").stdout)
    model = shotgun.load(file)
    assert type(model) is shotgun.Lasso
    assert model.alpha == told["cv"]["grid"][told["cv"]["1se_index"]]
    assert told["cv"]["1se_index"] <= told["cv"]["min_index"]
    table = run("cv", files / "train.npz", *few).stdout
    assert table.endswith(model.summary() + "\n")


def test_cv_chooses_C_for_classes(files):
    told = run("cv", files / "kinds.csv", "-y", "kind", "-l", "logistic", "--n-lams", 5, "--json")
    assert json.loads(told.stdout)["estimator"] == "LogisticRegression"


def interrupt_at(monkeypatch, row, number=signal.SIGINT):
    """Send this process a signal when the fit tells of its n-th row."""
    told = []

    def call(bar, _):
        told.append(None)
        if len(told) == row:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(bars.CountBar, "__call__", call)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_path_keeps_what_is_certified(number, code, files, tmp_path, monkeypatch):
    file = tmp_path / "p.shotgun"
    path = ("path", files / "train.npz", "--n-lams", 20, "-o", file, "--json")
    whole = json.loads(run(*path).stdout)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 12, number)
        result = run(*path, code=code)
    part = json.loads(result.stdout)
    k = len(part["lam"])
    assert 0 < k < 20
    assert part["status"] == ["converged"] * k
    assert result.stderr == (
        f"shotgun: interrupted: {file} has {k} of 20 lams; --resume continues\n"
    )
    assert json.loads(run("inspect", file, "--json").stdout) == part
    resumed = json.loads(run(*path, "--resume").stdout)
    assert resumed["lam"] == whole["lam"]
    for name in part.keys() - {"tolerance"}:
        assert resumed[name][:k] == part[name] == whole[name][:k]
    assert resumed["status"] == ["converged"] * 20
    assert run(*path, "--resume").stdout == json.dumps(resumed) + "\n"


def test_an_interrupted_cv_keeps_what_is_certified(files, tmp_path, monkeypatch):
    file, other = tmp_path / "m.shotgun", tmp_path / "other.shotgun"
    cv = ("cv", files / "train.npz", "--n-lams", 10, "--threads", 1, "--json", "-o")
    whole = json.loads(run(*cv, other).stdout)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 40)
        result = run(*cv, file, code=130)
    assert result.stdout == ""
    assert f"{file} has " in result.stderr
    assert complaint("inspect", file).endswith("holds no fitted model but 'folds'")
    kept = read_bytes(file)
    assert "tol is another there" in complaint(*cv, file, "--resume", "--tol", 1e-3)
    assert read_bytes(file) == kept
    fits = []
    with monkeypatch.context() as patch:
        patch.setattr(bars.CountBar, "__call__", lambda bar, row: fits.append(row["fold"]))
        resumed = json.loads(run(*cv, file, "--resume").stdout)
    assert 0 not in fits  # that fold was complete
    assert resumed["cv"]["grid"] == whole["cv"]["grid"]
    np.testing.assert_allclose(resumed["cv"]["mean"], whole["cv"]["mean"], rtol=1e-4)
    assert shotgun.load(file).alpha == shotgun.load(other).alpha
    assert "cannot be resumed: it holds 'model'" in complaint(*cv, file, "--resume")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_cv_that_is_interrupted_in_its_last_fit_keeps_all_folds(
    number, code, files, tmp_path, monkeypatch
):
    file, other = tmp_path / "m.shotgun", tmp_path / "other.shotgun"
    cv = ("cv", files / "train.npz", "--n-lams", 10, "-o")

    def interrupt(bar, row):
        if row["fold"] is None:
            os.kill(os.getpid(), number)

    with monkeypatch.context() as patch:
        patch.setattr(bars.CountBar, "__call__", interrupt)
        result = run(*cv, file, code=code)
    assert result.stdout == ""
    assert f"{file} has 50 of 50 fits; --resume continues" in result.stderr
    assert run(*cv, file, "--resume").stdout == run(*cv, other).stdout


@pytest.mark.parametrize("verb", ["path", "cv"])
def test_the_data_are_identified_only_where_a_file_keeps_them(verb, files, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(resuming, "identity", lambda *_, **options: asked.append(options) or {})
    few = (verb, files / "train.npz", "--n-lams", 4)
    run(*few)
    assert asked == []
    run(*few, "-o", tmp_path / "m.shotgun")
    assert len(asked) == 1


def test_an_interrupted_fit_ends_with_130(files, monkeypatch):
    def interrupt(bar, row):
        raise KeyboardInterrupt

    monkeypatch.setattr(bars.GapBar, "__call__", interrupt)
    assert run("fit", files / "train.npz", code=130).stdout == ""


def test_resume_refuses_other_data_and_options(files, tmp_path):
    file = tmp_path / "p.shotgun"
    few = ("--n-lams", 4, "-o", file)
    run("path", files / "train.npz", *few)
    refused = f"{file}: cannot be resumed: "
    again = ("--resume", *few)
    assert complaint("path", files / "two.npz", *again) == refused + "it is of other data"
    for option, name in (
        (("--tol", 1e-4), "tol"),
        (("--loss", "huber"), "loss"),
        (("--standardize",), "standardize"),
        (("--eps", 0.1), "eps"),
    ):
        said = complaint("path", files / "train.npz", *again, *option)
        assert said == f"{refused}{name} is another there"
    assert "--resume needs --output" in complaint("path", files / "train.npz", "--resume")


# Predicting


@pytest.mark.parametrize("name", ["train.csv", "train.npz", "train.svm"])
def test_predictions_are_the_models(name, files, tmp_path):
    target = ("-y", "y") if name.endswith("csv") else ()
    run("fit", files / name, *target, "-o", tmp_path / "m.shotgun")
    model = shotgun.load(tmp_path / "m.shotgun")
    vars(model).pop("feature_names_in_", None)
    result = run("predict", tmp_path / "m.shotgun", files / name, *target)
    np.testing.assert_allclose([float(v) for v in result.stdout.split()], model.predict(X))
    assert result.stderr == f"score {model.score(X, Y):.6g} of 120 samples\n"
    told = run("predict", tmp_path / "m.shotgun", files / name, "--json").stdout
    np.testing.assert_allclose(json.loads(told), model.predict(X))


def test_svmlight_is_read_as_the_model_was_trained(tmp_path):
    (tmp_path / "train.svm").write_text("1 0:1 2:1\n-1 1:1\n2 0:2 1:-1\n0 2:3\n")
    (tmp_path / "test.svm").write_text("0 1:1\n0 2:1\n")
    file = tmp_path / "m.shotgun"
    run("fit", tmp_path / "train.svm", "--lam-ratio", 0.01, "-o", file)
    expected = shotgun.load(file).predict(np.eye(3)[1:])
    told = json.loads(run("predict", file, tmp_path / "test.svm", "--json").stdout)
    np.testing.assert_allclose(told, expected)


def test_features_are_found_by_name(files, tmp_path):
    run("fit", files / "kinds.csv", "-y", "kind", "-l", "logistic", "-o", tmp_path / "m.shotgun")
    lines = [line.split(",") for line in (files / "kinds.csv").read_text().split()]
    order = np.random.default_rng(1).permutation(len(lines[0]))
    mixed = "\n".join(",".join(line[j] for j in order) for line in lines if line[-1] != "south")
    (tmp_path / "mixed.csv").write_text(mixed + "\n")
    model, options = tmp_path / "m.shotgun", ("--proba", "--json")
    here = json.loads(run("predict", model, files / "kinds.csv", *options).stdout)
    there = json.loads(run("predict", model, tmp_path / "mixed.csv", *options).stdout)
    np.testing.assert_allclose(there, here[::2])
    said = complaint("predict", model, files / "train.csv")
    assert said.endswith("the model's feature 'site=north' is not there")


@pytest.mark.parametrize("verb", ["fit", "path", "cv"])
def test_a_reader_who_leaves_costs_no_file(verb, files, tmp_path):
    model, page = tmp_path / "m.shotgun", tmp_path / "page.html"
    tool = [sys.executable, "-m", "shotgun"]
    command = [*tool, verb, files / "train.csv", "-y", "y", "-o", model, "--report", page]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
    assert page.read_text().startswith("<!doctype html>")
    assert model.stat().st_size > 100


def test_models_and_data_go_through_pipes(files):
    fit = [sys.executable, "-m", "shotgun", "fit", "-", "--format", "csv", "-y", "y", "-o", "-"]
    with open(files / "train.csv", "rb") as data:
        model = subprocess.run(fit, stdin=data, capture_output=True, check=True).stdout
    predict = [sys.executable, "-m", "shotgun", "predict", "-", str(files / "train.csv")]
    told = subprocess.run(predict, input=model, capture_output=True, check=True).stdout
    assert len(told.split()) == 120


# Looking


def test_inspect_tells_of_data(files, tmp_path):
    told = json.loads(run("inspect", files / "train.npz", "--json").stdout)
    assert (told["n"], told["d"], told["density"]) == (120, 15, 1.0)
    assert told["ideal_p"] == shotgun.ideal_p(X, centre=True)
    assert told["lam_max"] == pytest.approx(shotgun.lambda_max(X, Y, fit_intercept=True))
    assert told["warnings"] == []
    odd = np.column_stack([X, X[:, 2], np.zeros(120), np.ones(120)])
    io.write(tmp_path / "odd.csv", io.Data(odd, Y, [*NAMES, "again", "nil", "one"]))
    printed = run("inspect", tmp_path / "odd.csv", "-y", "y").stdout
    for what in ("P*  ", "lam_max  ", "all zero: nil", "constant: one", "the same: f2 = again"):
        assert what in printed


def test_inspect_tells_which_gaps_of_a_path_are_no_bounds(tmp_path):
    A = np.random.default_rng(0).normal(size=(20, 3))
    for lams, expected in (([1.0, 0.5], ["gap", "gap"]), ([1.0, 0.0], ["gap", "gradient"])):
        file = tmp_path / f"{lams[-1]}.shotgun"
        path = shotgun.path(A, A[:, 0], lams=lams, checkpoint=file)
        assert path.certificates == expected
        told = json.loads(run("inspect", file, "--json").stdout)
        assert told.get("certificate") == (expected if "gradient" in expected else None)


def test_inspect_tells_of_a_model(files, tmp_path):
    file = tmp_path / "m.shotgun"
    run("fit", files / "train.npz", "-o", file)
    model = shotgun.load(file)
    printed = run("inspect", file).stdout
    assert printed.startswith(model.summary())
    assert "trained on 120 samples of 15 features" in printed
    assert run("inspect", file, "--json").stdout == model.to_json() + "\n"


def test_convert_keeps_the_data(files, tmp_path):
    run("convert", files / "train.csv", tmp_path / "train.parquet", "-y", "y")
    data = io.read(tmp_path / "train.parquet", target="y")
    assert data.A.tobytes() == np.asfortranarray(X).tobytes()
    assert data.feature_names == NAMES
    to_stdout = run("convert", files / "train.npz", "-", "--to", "csv").stdout
    assert len(to_stdout.splitlines()) == 121


# Mistakes


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("fit", "{}/nothing.csv", "-y", "y"), "nothing.csv: No such file or directory"),
        (("fit", "{}/train.csv"), "train.csv: give --target"),
        (("fit", "{}/train.csv", "-y", "z"), "train.csv: no column 'z' for target"),
        (
            ("fit", "{}/missing.csv", "--plot", "a.xyz"),
            "--plot a.xyz: give a name that ends in .png",
        ),
        (("path", "{}/missing.csv", "--plot", "{}/no/a.png"), "/no: No such file or directory"),
        (("cv", "{}/missing.csv", "-o", "{}/no/a.shotgun"), "/no: No such file or directory"),
        (("fit", "{}/kinds.csv", "-y", "kind"), "kinds.csv: the target holds text"),
        (("fit", "{}/train.npz", "--lam", "1", "--lam-ratio", "1"), "--lam or --lam-ratio"),
        (("fit", "-"), "give format"),
        (("fit", "{}/train.npz", "-o", "{}/no/m.shotgun"), "No such file or directory"),
        (("fit", "{}/train.npz", "--lam", "0", "-l", "logistic"), "classes"),
        (("path", "{}/kinds.csv", "-y", "kind", "-l", "logistic"), "needs two classes, not 3"),
        (("path", "{}/train.npz", "--eps", "2"), "--eps must lie strictly between 0 and 1"),
        (("cv", "{}/train.npz", "-l", "huber"), "cv knows the losses squared and logistic"),
        (("predict", "{}/train.npz", "{}/train.npz"), "train.npz: not a file of shotgun"),
        (("predict", "-", "-"), "cannot both be standard input"),
        (("inspect", "{}/none.shotgun"), "none.shotgun: No such file or directory"),
        (("convert", "{}/train.npz", "{}/train.pkl"), "train.pkl: pickles are not read"),
    ],
)
def test_a_mistake_gets_one_clear_line(args, said, files):
    assert said in complaint(*(arg.replace("{}", str(files)) for arg in args))


def test_no_output_takes_the_place_of_what_is_read_or_of_another(files, tmp_path):
    data, model = tmp_path / "train.svm", tmp_path / "m.shotgun"
    data.write_bytes((files / "train.svm").read_bytes())
    run("fit", data, "--lam", "5", "-o", model)
    before = data.read_bytes(), model.read_bytes()

    def told(file, what):
        return f"{file}: that is {what}, which would be overwritten"

    (tmp_path / "link.svm").symlink_to(data)
    assert complaint("path", data, "-o", data) == told(data, "DATA")
    link = tmp_path / "link.svm"
    assert complaint("predict", model, data, "-o", link) == told(link, "DATA")
    assert complaint("predict", model, data, "-o", model) == told(model, "MODEL")
    assert complaint("convert", data, data) == told(data, "DATA")
    new = tmp_path / "new"
    said = complaint("fit", data, "--lam", "5", "-o", new, "--report", new)
    assert said == told(new, "--output")
    assert (data.read_bytes(), model.read_bytes()) == before
    assert not new.exists()


def test_what_cannot_be_written_is_told_before_the_fit_by_its_own_name(files, tmp_path):
    told = complaint("fit", files / "train.svm", "--lam", "5", "--report", tmp_path)
    assert told == f"{tmp_path}: Is a directory"
    if os.geteuid() != 0:  # root may write anywhere
        tmp_path.chmod(0o500)
        told = complaint("fit", files / "train.svm", "--lam", "5", "-o", tmp_path / "m")
        assert told == f"{tmp_path / 'm'}: Permission denied"


def test_data_that_a_model_does_not_fit_are_named(files, tmp_path):
    model, data = tmp_path / "m.shotgun", tmp_path / "narrow.npz"
    run("fit", files / "train.npz", "-o", model)
    io.write(data, io.Data(X[:, :4], Y))
    assert complaint("predict", model, data) == f"{data}: 4 features, but {model} knows 15"


@pytest.mark.parametrize("args", [("fit",), ("fly",), ("fit", "x.csv", "--lam", "-1")])
def test_bad_usage_ends_with_2(args):
    assert run(*args, code=2).stdout == ""


# The tool itself


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_reads_no_numbers():
    result = python(
        "import sys; from shotgun.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print({'numpy', 'scipy', 'sklearn', 'matplotlib', 'pyarrow'} & set(sys.modules))"
    )
    assert "demo" in result.stdout
    assert result.stdout.splitlines()[-1] == "set()"


def test_a_quick_fit_loads_only_what_it_needs(files):
    given = ["fit", str(files / "train.svm"), "--lam", "5"]
    result = python(
        "import sys; from shotgun.cli import app\n"
        f"try: app({given!r})\n"
        "except SystemExit: pass\n"
        "print({'scipy', 'sklearn', 'rich', 'numpy.ma', 'numpy.random'} & set(sys.modules))"
    )
    assert "converged" in result.stdout
    assert result.stdout.splitlines()[-1] == "set()"


def test_many_classes_are_fitted_from_svmlight(tmp_path):
    io.write(tmp_path / "kinds.svm", io.Data(sp.csr_array(X), np.digitize(Y, [-1, 1])))
    told = json.loads(run("fit", tmp_path / "kinds.svm", "-l", "logistic", "--json").stdout)
    assert told["classes"] == [0, 1, 2]
    assert told["certificate"]["status"] == "converged"


@pytest.mark.parametrize("verb", get_command(app).commands)
def test_every_verb_has_help(verb):
    assert "Usage: shotgun" in run(verb, "--help").stdout.replace("root", "shotgun")


def test_the_version_is_told():
    assert run("--version").stdout == f"{shotgun.__version__}\n"


def test_without_the_extra_one_line_says_what_to_install():
    result = python("import sys; sys.modules['typer'] = None; import shotgun.cli")
    assert result.returncode == 2
    assert result.stderr == "shotgun: the command line needs: pip install 'shotgun-l1[cli]'\n"


def test_the_shell_completes_verbs():
    result = subprocess.run(
        [sys.executable, "-m", "shotgun"],
        env=os.environ
        | {"_SHOTGUN_COMPLETE": "complete_bash", "COMP_WORDS": "shotgun pr", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.split() == ["predict"]


def test_a_matrix_on_disk_is_as_good_as_a_file(files, tmp_path):
    folder = tmp_path / "train"
    run("convert", files / "train.svm", folder, "--to", "disk", "--memory", "0.1")
    for verb in ("fit", "path", "cv", "inspect"):
        on_disk, in_file = (run(verb, data) for data in (folder, files / "train.svm"))
        if verb != "inspect":  # which says how it keeps what is dense
            assert on_disk.stdout == in_file.stdout
    run("fit", folder, "-o", tmp_path / "m.shotgun")
    predicted = run("predict", tmp_path / "m.shotgun", folder).stdout
    assert predicted == run("predict", tmp_path / "m.shotgun", files / "train.svm").stdout
    run("convert", folder, tmp_path / "back.npz")
    np.testing.assert_array_equal(io.read(tmp_path / "back.npz").A.toarray(), X)
    assert "exists already" in complaint("convert", files / "train.svm", folder, "--to", "disk")
    assert "--weights" in complaint(
        "convert", files / "train.csv", tmp_path / "x", "--to", "disk", "--weights", "f1"
    )


def test_parts_become_one_matrix_on_disk(tmp_path):
    for k in range(3):
        (tmp_path / f"part-{k}.csv").write_text(f"price,size\n{k},{k + 10}\n{k + 5},{k + 20}\n")
    folder = tmp_path / "all"
    how = ("--to", "disk", "--target", "0", "--memory", "500MB")
    run("convert", tmp_path / "part-*.csv", folder, *how)
    data = io.read(folder)
    assert data.feature_names == ["size"]
    assert data.y.tolist() == [0, 5, 1, 6, 2, 7]
    assert data.A.to_memory().toarray().ravel().tolist() == [10, 20, 11, 21, 12, 22]


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 << 30), ("500MB", 500 << 20), ("1.5 gb", 3 << 29), ("4", 4 << 30)],
)
def test_sizes_of_memory_have_units(text, size):
    assert options.size(text) == size


@pytest.mark.parametrize("text", ["2 apples", "-1", "1MB", "", "GB", "9" * 400, "1e9"])
def test_what_is_no_size_of_memory_is_said(text, tmp_path):
    how = ("--to", "disk", f"--memory={text}")
    assert "--memory" in run("convert", "none.svm", tmp_path / "m", *how, code=2).stderr


def test_names_on_disk_must_be_those_of_the_model(files, tmp_path):
    run("convert", files / "train.csv", tmp_path / "train", "--to", "disk", "--target", "y")
    run("fit", tmp_path / "train", "-o", tmp_path / "m.shotgun")
    predicted = run("predict", tmp_path / "m.shotgun", tmp_path / "train").stdout
    in_file = run("predict", tmp_path / "m.shotgun", files / "train.csv", "--target", "y").stdout
    np.testing.assert_allclose(*(np.fromstring(k, sep="\n") for k in (predicted, in_file)))
    A = disk.open(tmp_path / "train")
    disk.write(A.to_memory(), tmp_path / "other", A.y, feature_names=A.feature_names[::-1])
    told = complaint("predict", tmp_path / "m.shotgun", tmp_path / "other")
    assert "the model's features, in its order" in told
    assert "makes a folder" in complaint(
        "convert", files / "train.csv", "-", "--to", "disk", "--target", "y"
    )
