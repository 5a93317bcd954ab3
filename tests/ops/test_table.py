"""Every operation type against numpy, and its gradient against finite differences: the table's rows, run.

Each case runs with static shapes known and hidden, because kernels are specialised for what is known early.
The evaluator is strict about dtypes, static shapes, shared memory and inline expressions (``interpreter``).
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession
from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, lookup, registered_ops
from actorsession.graph.shape import TensorShape
from actorsession.ops.derivatives.gradients import gradients
from tests.ops import table
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.ops.table.elsewhere import ELSEWHERE
from tests.ops.table.row import Fault, Row
from tests.rows import for_each

ROOT = Path(actorsession.__file__).parents[1]
FAMILIES = sorted(
    module.name for module in pkgutil.iter_modules(table.__path__) if module.name.startswith("of_")
)
ROWS_OF: dict[str, list[Row]] = {
    family: importlib.import_module(f"tests.ops.table.{family}").ROWS for family in FAMILIES
}
ROWS: list[Row] = [row for rows in ROWS_OF.values() for row in rows]


FAMILY_OF = {row.id: family for family, rows in ROWS_OF.items() for row in rows}


def each_row(rows: list[Row]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """One test for a family and not for a row: there are thousands, and a test costs more than a row."""
    return for_each("row", rows, ids=lambda row: row.id, by=lambda row: FAMILY_OF[row.id])


EVERY = each_row(ROWS)
SMOOTH = each_row([row for row in ROWS if row.smooth])
FAULTY = each_row([row for row in ROWS if row.faults])


@contextlib.contextmanager
def noted(*what: object) -> Iterator[None]:
    """Says of a failure which case it is."""
    try:
        yield
    except BaseException as exc:
        exc.add_note(f"with {', '.join(map(repr, what))}")
        raise


def ours() -> list[str]:
    """The operation types of the library; tests register some of their own."""
    return sorted(name for name in registered_ops() if not name.startswith(("Test", "Kit", "_")))


# -- the table itself ------------------------------------------------------------------------------


def test_every_operation_type_has_a_row_or_tests_elsewhere() -> None:
    known = {row.op for row in ROWS} | set(ELSEWHERE)
    assert [name for name in ours() if name not in known] == []


def test_no_row_is_about_an_operation_type_that_is_gone() -> None:
    assert sorted({row.op for row in ROWS} - set(ours())) == []
    assert sorted(set(ELSEWHERE) - set(registered_ops())) == []


def test_rows_have_names_of_their_own() -> None:
    assert [name for name, count in Counter(row.id for row in ROWS).items() if count > 1] == []


@for_each("op", sorted(ELSEWHERE))
def test_tests_elsewhere_exist(op: str) -> None:
    assert (ROOT / ELSEWHERE[op]).is_file()


@for_each("op", sorted({row.op for row in ROWS}))
def test_a_row_says_where_the_op_is_smooth_or_why_it_has_no_gradient(op: str) -> None:
    """And it does not say the one of an op that has the other."""
    rows = [row for row in ROWS if row.op == op]
    gradient = lookup(op).gradient
    if gradient is None or gradient is NOT_DIFFERENTIABLE:
        assert all(row.no_gradient and not row.smooth for row in rows)
    else:
        assert any(row.smooth for row in rows)
        assert not any(row.no_gradient for row in rows)


# -- values ----------------------------------------------------------------------------------------


@EVERY
def test_an_op_computes_what_numpy_does(row: Row) -> None:
    skip_without(row)
    for inputs, known in itertools.product(row.inputs, (True, False)):
        with noted(*inputs, "known shapes" if known else "hidden shapes"):
            _check_values(row, inputs, known=known)


def _check_values(row: Row, inputs: tuple[Any, ...], *, known: bool) -> None:
    with np.errstate(all="ignore"):
        wanted = row.numpy(*inputs)
        made, found = _computed(row, inputs, known=known)
    wanted = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    for tensor, got, want in zip(made, found, map(np.asarray, wanted), strict=True):
        _compare(np.asarray(got), want, row)
        assert tensor.shape.is_compatible_with(want.shape)


@SMOOTH
def test_a_gradient_is_that_of_finite_differences(row: Row) -> None:
    skip_without(row)
    for inputs in row.smooth:
        with noted(*inputs):
            check_gradient(row.build, *inputs, wrt=row.wrt, step=row.step)


@each_row([row for row in ROWS if row.no_gradient])
def test_nothing_flows_back_through_an_op_without_a_gradient(row: Row) -> None:
    """Where TensorFlow marks the op so; where it has registered nothing, asking is a LookupError."""
    skip_without(row)
    arrays = [np.asarray(a) for a in row.inputs[0]]
    with Graph().as_default():
        tensors = [source(as_dtype(a.dtype), a.shape) for a in arrays]
        made = row.build(*tensors)
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        floating = [t for t in tensors if t.dtype.is_floating]
        outputs = [t for t in made if t.dtype.is_floating]
        if not floating or not outputs or not any(t.op.type == row.op for t in outputs):
            return
        if lookup(row.op).gradient is None:
            with pytest.raises(LookupError, match=row.op):
                gradients(outputs, floating)
        else:
            assert gradients(outputs, floating) == [None] * len(floating)


# -- sizes -----------------------------------------------------------------------------------------


# The axis says only which sizes of both are multiplied.
BY_ALL_SIZES = {"GatherV2"}


@EVERY
def test_an_op_whose_result_is_as_large_as_a_value_says_names_the_input(row: Row) -> None:
    """Or an event loop would be held for as long as a fed number says; see ``OpDef.sized_by``."""
    skip_without(row)
    for inputs in row.inputs:
        with noted(*inputs):
            assert _sizing_inputs(row, inputs) == []


def _sizing_inputs(row: Row, inputs: tuple[Any, ...]) -> list[int]:
    """The inputs by whose values results are larger than all inputs, and that the op does not name."""
    arrays = [np.asarray(a) for a in inputs]
    with Graph().as_default() as graph:
        tensors = [source(as_dtype(a.dtype), a.shape) for a in arrays]
        row.build(*tensors)
        op = next(op for op in graph.get_operations() if op.type == row.op)
        if any(t.dtype.kind in "rv" for t in op.inputs):
            return []
        values = [
            np.asarray(v) for v in evaluate(op.inputs, dict(zip(tensors, arrays, strict=True)))
        ]
    specs = tuple(
        [TensorSpec(t.dtype, TensorShape(v.shape)) for t, v in zip(op.inputs, values, strict=True)]
    )

    def sizes(without: int | None) -> list[int | None]:
        known = tuple([None if k == without else v for k, v in enumerate(values)])
        made = op.op_def.infer(InferContext(op.type, specs, op.attrs, known))
        return [spec.shape.num_elements() for spec in made]

    extents = [[max(extent, 1) for extent in v.shape] for v in values]
    given = prod(map(prod, extents)) if row.op in BY_ALL_SIZES else sum(map(prod, extents))
    larger = [(size or 0) > given for size in sizes(None)]
    return [
        k
        for k in range(len(values))
        if k not in op.op_def.sized_by
        and any(big and size is None for big, size in zip(larger, sizes(k), strict=True))
    ]


# -- what is refused -------------------------------------------------------------------------------


@FAULTY
def test_values_that_do_not_fit_are_refused_by_the_kernel(row: Row) -> None:
    skip_without(row)
    for fault in row.faults:
        with (
            noted(*fault.inputs),
            np.errstate(all="ignore"),
            pytest.raises(InvalidArgumentError, match=fault.match),
        ):
            _computed(row, fault.inputs, known=False)


@FAULTY
def test_shapes_that_do_not_fit_are_refused_by_the_line_that_builds(row: Row) -> None:
    skip_without(row)
    for fault in row.faults:
        if fault.static is not None:
            with noted(*fault.inputs):
                _check_static(row, fault)


def _check_static(row: Row, fault: Fault) -> None:
    arrays = [np.asarray(a) for a in fault.inputs]
    with Graph().as_default():
        tensors = [source(as_dtype(a.dtype), a.shape) for a in arrays]
        with pytest.raises(ValueError, match=fault.static):
            row.build(*tensors)


def _computed(row: Row, inputs: tuple[Any, ...], *, known: bool) -> tuple[list[Any], list[Any]]:
    arrays = [np.asarray(a) for a in inputs]
    with Graph().as_default() as graph:
        tensors = [source(as_dtype(a.dtype), a.shape if known else None) for a in arrays]
        made = row.build(*tensors)
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        assert row.op in {op.type for op in graph.get_operations()}
        return made, evaluate(made, dict(zip(tensors, arrays, strict=True)))


def _compare(got: Any, want: Any, row: Row) -> None:
    assert got.shape == want.shape
    if want.dtype.kind in "OSU":
        assert got.tolist() == want.tolist()
        return
    assert got.dtype == want.dtype
    if row.exact:
        np.testing.assert_array_equal(got, want)
    else:
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), row.rtol, row.rtol)


def skip_without(row: Row) -> None:
    if row.needs:
        pytest.importorskip(row.needs)
