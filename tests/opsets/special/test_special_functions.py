from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops, opsets
from actorsession.extras import is_installed
from tests.ops.interpreter import evaluate
from tests.ops.table import of_special_functions
from tests.ops.table.row import Row, rows_of
from tests.rows import for_each


@pytest.fixture
def no_scipy(uninstall: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """As if scipy were not installed, which the library looks up once; rows of the table compare with it."""
    uninstall("scipy")
    assert not is_installed("scipy")
    monkeypatch.undo()


@pytest.mark.usefixtures("no_scipy")
@for_each("row", rows_of(of_special_functions), ids=lambda row: row.name)
def test_without_scipy_the_values_are_the_same(row: Row) -> None:
    pytest.importorskip("scipy")  # what the rows of the table compare with
    for inputs in row.inputs:
        with np.errstate(all="ignore"):
            (found,) = evaluate([row.build(*map(ops.constant, inputs))])
            wanted = np.asarray(row.numpy(*inputs))
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), row.rtol, row.rtol)


@pytest.mark.usefixtures("no_scipy")
def test_three_functions_need_no_scipy() -> None:
    x = np.array([-np.inf, -2.5, -1.0, 0.0, 0.5, 3.0, 1e306, np.inf, np.nan])
    given = ops.constant(x)
    found = evaluate([ops.erf(given), ops.erfc(given), opsets.lgamma(given)])
    inside = x[1:-2]
    for value, function in zip(found[:2], (math.erf, math.erfc), strict=True):
        np.testing.assert_allclose(value[1:-2], [function(v) for v in inside])
    np.testing.assert_allclose(found[0][[0, -2, -1]], [-1, 1, np.nan])
    poles = [np.inf, math.lgamma(-2.5), np.inf, np.inf, math.lgamma(0.5), math.lgamma(3)]
    np.testing.assert_allclose(found[2], [*poles, np.inf, np.inf, np.nan])
    narrow = evaluate([ops.erf(ops.constant(np.array(0.5, np.float16)))])[0]
    assert narrow.dtype == np.float16


@pytest.mark.usefixtures("no_scipy")
def test_without_scipy_nothing_is_left_empty() -> None:
    assert evaluate([ops.erf(ops.zeros([0, 2]))])[0].shape == (0, 2)


@pytest.mark.process
def test_scipy_is_not_imported_with_the_package() -> None:
    program = "import sys, actorsession; assert 'scipy' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=50).returncode == 0


def test_the_slope_of_a_bessel_function_at_0_is_its_limit() -> None:
    x = ops.constant([0.0, 1e-6])
    [found] = evaluate(ops.gradients(acts.math.bessel_i1e(x), [x]))
    np.testing.assert_allclose(found, [0.5, 0.5], rtol=1e-5)
