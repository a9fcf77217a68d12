"""What an update costs: counted exactly, timed positively, and fit for JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from shotgun.study import memory_wall


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_variant_counts_its_bytes_and_operations(sparse: bool, dtype: type) -> None:
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((60, 20)).astype(dtype)
    A = sp.csc_array(dense) if sparse else np.asfortranarray(dense)
    entry = np.dtype(dtype).itemsize + 4 * sparse
    result = json.loads(json.dumps(memory_wall.measure(A, rng.standard_normal(60), repeats=2)))
    assert (result["rows"], result["columns"], result["entries"]) == (60, 20, 1200)
    assert len(result["runs"]) == 2 * len(memory_wall.VARIANTS)
    for run in result["runs"]:
        assert run["seconds_per_update"] > 0
        assert run["bytes_of_A_per_update"] == pytest.approx(60 * entry)
        if "no writes" in run["variant"]:
            assert run["operations_per_update"] == pytest.approx(120)
            assert run["bytes_of_Ax_per_update"] == pytest.approx(480)
        elif "sequential" in run["variant"]:  # at random the same column may come twice in a row
            assert run["operations_per_update"] == pytest.approx(240)
            assert run["bytes_of_Ax_per_update"] == pytest.approx(960)
        if run["threads"] == 1:
            assert run["speed_up"] == 1


def test_the_roofs_are_positive_and_fit_for_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_wall, "MEMORY", 2**22)
    roofs = json.loads(json.dumps(memory_wall.machine()))
    assert set(roofs["bytes_per_second"]) == set(roofs["operations_per_second"]) == {"1", "2"}
    assert min(roofs["bytes_per_second"].values()) > 1e8
    assert min(roofs["operations_per_second"].values()) > 1e8
    assert 1e-9 < roofs["latency"] < 1e-5
