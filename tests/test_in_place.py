"""Nothing is written to, and no copy of A is made that is not needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import shotgun
from conftest import LAYOUTS, SMALL, make_data

N, D = SMALL


def freeze(A: Any) -> None:
    for array in (A.data, A.indices, A.indptr) if sp.issparse(A) else (A,):
        array.flags.writeable = False


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("engine", ["shooting", "bundle", "block", "newton", "asynchronous"])
@pytest.mark.parametrize("options", [{}, {"standardize": True, "fit_intercept": True}])
def test_input_is_never_written_to(layout: Any, engine: str, options: Any) -> None:
    data = make_data(N, D)
    A, y, x0, w = layout(data.A.copy()), data.y.copy(), np.ones(D), np.full(N, 0.5)
    freeze(A)
    for vector in (y, x0, w):
        vector.flags.writeable = False
    fit = shotgun.solve(A, y, 1.0, engine=engine, x0=x0, weights=w, offset=w, **options)
    assert fit.status == "converged"
    np.testing.assert_array_equal(A.toarray() if sp.issparse(A) else A, data.A)
    np.testing.assert_array_equal(y, data.y)
    np.testing.assert_array_equal(x0, np.ones(D))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_read_only_memory_maps_are_read_in_place(tmp_path: Path, order: Any, dtype: Any) -> None:
    data = make_data(60, 12)
    A = data.A.astype(dtype)
    mapped = np.memmap(tmp_path / "A", dtype=dtype, mode="w+", shape=A.shape, order=order)
    mapped[...] = A
    mapped.flush()
    y_mapped = np.memmap(tmp_path / "y", dtype=np.float64, mode="w+", shape=data.y.shape)
    y_mapped[...] = data.y
    y_mapped.flush()
    mapped = np.memmap(tmp_path / "A", dtype=dtype, mode="r", shape=A.shape, order=order)
    y_mapped = np.memmap(tmp_path / "y", dtype=np.float64, mode="r", shape=data.y.shape)
    fit = shotgun.solve(mapped, y_mapped, 1.0)
    np.testing.assert_array_equal(fit.x, shotgun.solve(A, data.y, 1.0).x)


def test_a_sparse_matrix_of_memory_maps_is_read_in_place(tmp_path: Path) -> None:
    data = make_data(60, 12, density=0.4)
    M = sp.csc_matrix(data.A)
    parts = []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(M, name))
        parts.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = sp.csc_matrix(tuple(parts), shape=M.shape, copy=False)
    fit = shotgun.solve(mapped, data.y, 1.0)
    np.testing.assert_array_equal(fit.x, shotgun.solve(M, data.y, 1.0).x)


GROWTH = """
import resource, sys
import numpy as np, scipy.sparse as sp, shotgun
form, working_set = sys.argv[1], sys.argv[2] == "yes"
rng = np.random.default_rng(0)
if form == "dense":
    A = np.asfortranarray(rng.standard_normal((500, 40_000)))
    size = A.nbytes
else:
    nnz, d = 10_000_000, 100_000
    indices = np.tile(np.arange(0, 10_000, 100, dtype=np.int32), d)
    starts = np.arange(0, nnz + 1, 100, dtype=np.int32)
    A = sp.csc_matrix((rng.standard_normal(nnz), indices, starts), shape=(10_000, d))
    size = A.data.nbytes + A.indices.nbytes
y = rng.standard_normal(A.shape[0])
shotgun.solve(np.eye(100), np.arange(100.0), 1.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
lam = shotgun.lambda_max(A, y)
shotgun.spectral_radius(A, tol=0.1)
for engine in ("shooting", "bundle", "newton", "asynchronous"):
    shotgun.solve(A, y, 0.9 * lam, engine=engine, working_set=working_set, max_epochs=2, trace=True)
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(grown / size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in bytes elsewhere")
@pytest.mark.parametrize("working_set", ["yes", "no"])
@pytest.mark.parametrize("form", ["dense", "csc"])
def test_fortran_order_and_csc_are_read_without_a_copy(form: str, working_set: str) -> None:
    # 160 MB and 120 MB of A; the vectors of length d and the threads' stacks are allowed a quarter.
    out = subprocess.run(
        [sys.executable, "-c", GROWTH, form, working_set],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(out.stdout) < 0.25


def _status(field: str) -> int:
    """Bytes, from the kernel's account of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's account of memory")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["fortran", "csc int32", "csc int64"])
def test_a_plain_engine_reads_fortran_order_and_csc_in_place(form: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    A = np.asfortranarray(rng.normal(size=(20_000, 400)) * (rng.random((20_000, 400)) < 0.5), dtype)
    size = A.nbytes
    if form != "fortran":
        A = sp.csc_array(A)
        index = np.dtype(form.split()[1])
        A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
        size = A.data.nbytes + A.indices.nbytes
    y = rng.normal(size=20_000)
    options: dict[str, Any] = {
        "engine": "shooting",
        "working_set": False,
        "max_epochs": 1,
        "tol": 0.0,
    }
    shotgun.solve(A[:, :2], y, 1.0, **options)  # what is loaded once is not the fit's
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    before = _status("VmRSS")
    shotgun.solve(A, y, 1.0, **options)
    assert _status("VmHWM") - before < 0.1 * size
