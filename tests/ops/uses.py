"""Rows of what public functions do: what no row of one operation type says, in a line each.

A table is a list of :class:`Use`, one of each kind below; ``each_use`` has a test go through it. The kinds are
written once, here: values with static shapes known and hidden, static shapes, values that are known early,
gradients against finite differences and as numbers, refusals by the step and by the line that builds, and
``equals`` for whatever else a function can be asked. A row is named by the line on which it stands.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import get_default_graph, gradients
from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import constant_value
from actorsession.graph.shape import ShapeLike
from actorsession.ops.indexed_slices import to_dense
from tests.ops.cases import computed, static_shape
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each, refused


@dataclass(frozen=True, slots=True)
class Use:
    """One thing that functions are used for, with what comes of it.

    Attributes:
        kind: of what is checked; there is a test for each kind of a table.
        place: file and line of the row.
        check: raises an AssertionError where it does not hold.
    """

    kind: str
    place: str
    check: Callable[[], None]


def each_use(table: Sequence[Any]) -> Callable[..., None]:
    """Return a test of the rows of a table: uses, and lines that are refused as ``refusing`` takes them."""
    uses = [row if isinstance(row, Use) else _refused(*row) for row in table]

    @for_each("use", [pytest.param(use, id=use.place) for use in uses], by=lambda use: use.kind)
    def test(use: Use) -> None:
        use.check()

    return test


def _refused(line: Callable[[], Any], error: type[BaseException], match: str) -> Use:
    code = getattr(line, "__code__", None)
    place = f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code else repr(line)
    return Use("refusals", place, partial(refused, line, error, match))


def _use(kind: str, check: Callable[[], None]) -> Use:
    row = sys._getframe(2)
    while not row.f_code.co_name.startswith("<") and row.f_back is not None:  # up to the table, or a part of it
        row = row.f_back
    return Use(kind, f"{Path(row.f_code.co_filename).name}:{row.f_lineno}", check)


def gives(build: Callable[..., Any], expected: Any, *inputs: Any, rtol: float = 0, atol: float = 0) -> Use:
    """A function gives these values, with the static shapes of its inputs known and hidden.

    Args:
        build: from a tensor for each input to a tensor, or to a list or tuple of them.
        expected: the value, or one for each tensor of a list; of an array the dtype counts as well.
        *inputs: the values that are fed.
        rtol: relative tolerance; without one values are equal.
        atol: absolute tolerance beside it.
    """

    def check() -> None:
        for known in (True, False) if inputs else (True,):
            found = computed(build, *inputs, known=known)
            several = isinstance(found, list)
            for got, want in zip(found, expected, strict=True) if several else [(found, expected)]:
                _compare(np.asarray(got), want, rtol, atol)

    return _use("values", check)


def _compare(got: Any, want: Any, rtol: float = 0, atol: float = 0) -> None:
    wanted = np.asarray(want)
    assert got.shape == wanted.shape, f"{got.shape}, not {wanted.shape}"
    if wanted.dtype.kind in "OSU":
        assert got.tolist() == np.asarray(want, object).tolist(), f"{got}, not {want}"
        return
    typed = isinstance(want, np.ndarray | np.generic)
    assert not typed or got.dtype == wanted.dtype, f"{got.dtype}, not {wanted.dtype}"
    if wanted.dtype.kind == "V":  # numpy sees no NaN in a bfloat16
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    if rtol or atol:
        np.testing.assert_allclose(got, wanted, rtol, atol)
    else:
        np.testing.assert_array_equal(got, wanted)


def static(build: Callable[..., Any], expected: Any, *shapes: Sequence[int | None] | None) -> Use:
    """What is made of float32 tensors of these shapes, known in part, has this static shape."""

    def check() -> None:
        found = static_shape(build, *shapes)
        assert found == expected, f"{found}, not {expected}"

    return _use("static shapes", check)


def knows(build: Callable[..., Any], expected: Any, *shapes: ShapeLike) -> Use:
    """What is made of float32 tensors of these shapes has a value that is known early, or none (``None``)."""

    def check() -> None:
        found = constant_value(build(*[source("float32", shape) for shape in shapes]))
        assert (found is None) == (expected is None), f"{found}, not {expected}"
        if expected is not None:
            _compare(np.asarray(found), expected)

    return _use("values known early", check)


def fails(build: Callable[..., Any], words: str, *inputs: Any, error: type[Exception] = InvalidArgumentError) -> Use:
    """What is built runs into this error, where the static shapes of the inputs are hidden."""

    def check() -> None:
        arrays = [np.asarray(value) for value in inputs]
        xs = [source(array.dtype) for array in arrays]
        made = build(*xs)
        fetches = list(made) if isinstance(made, (list, tuple)) else [made]
        with np.errstate(all="ignore"), pytest.raises(error, match=words):
            evaluate(fetches, dict(zip(xs, arrays, strict=True)))

    return _use("failures of the step", check)


def slopes(build: Callable[..., Any], *arrays: Any, **options: Any) -> Use:
    """The gradient of a function is that of finite differences; options are those of ``check_gradient``."""
    return _use("gradients", lambda: check_gradient(build, *arrays, **options))


def back(build: Callable[..., Any], expected: Any, *inputs: Any, rtol: float = 1e-6, atol: float = 0) -> Use:
    """These gradients come back by the inputs, each in the dtype of its input.

    Args:
        build: from a tensor for each input to the tensor or tensors that are differentiated.
        expected: the gradient, or a list of one for each of several inputs; ``None`` where nothing flows.
        *inputs: the values that are fed.
        rtol: relative tolerance.
        atol: absolute tolerance beside it.
    """

    def check() -> None:
        arrays = [np.asarray(value) for value in inputs]
        xs = [source(array.dtype, array.shape) for array in arrays]
        found = gradients(build(*xs), xs)
        wanted = expected if len(inputs) > 1 else [expected]
        assert [slope is None for slope in found] == [want is None for want in wanted], f"{found}, not {expected}"
        for x, slope, want in zip(xs, found, wanted, strict=True):
            if slope is not None:
                assert slope.dtype is x.dtype, f"{slope!r} of {x!r}"
                [value] = evaluate([to_dense(slope)], dict(zip(xs, arrays, strict=True)))
                np.testing.assert_allclose(value, want, rtol, atol)

    return _use("gradients", check)


def equals(ask: Callable[..., Any], expected: Any) -> Use:
    """What is asked, on a graph of its own, has this answer."""

    def check() -> None:
        found = ask()
        assert found == expected, f"{found}, not {expected}"

    return _use("answers", check)


# -- what rows ask ---------------------------------------------------------------------------------


def face(tensor: Any) -> tuple[str, str, str, Any]:
    """Name, type, dtype and static shape of a tensor."""
    return tensor.op.name, tensor.op.type, tensor.dtype.name, dims(tensor)


def dims(*tensors: Any) -> Any:
    """The static shape of a tensor, or a list of those of several; ``None`` without a rank."""
    found = [None if t.shape.rank is None else t.shape.as_list() for t in tensors]
    return found[0] if len(found) == 1 else found


def nodes(build: Callable[..., Any], *shapes: ShapeLike) -> dict[str, str]:
    """The types, by their names, of the nodes that are built on float32 tensors of these shapes, less constants."""
    xs = [source("float32", shape) for shape in shapes]
    before = get_default_graph().get_operations()
    build(*xs)
    made = get_default_graph().get_operations()[len(before) :]
    return {op.name: op.type for op in made if op.type != "Const"}


def ranked(tensor: Any, rank: int) -> Any:
    """The tensor, of which the rank is known from now on."""
    tensor.set_shape([None] * rank)
    return tensor
