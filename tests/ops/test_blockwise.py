"""Runs of elementwise ops in blocks: the same bits as whole arrays, whatever the blocks and threads."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession.ops  # noqa: F401 - registers the ops
from actorsession import DType, NodeDef, TensorShape, as_dtype
from actorsession.extend import REQUIRED, InferContext, Kernel, KernelContext, TensorSpec, registered_ops
from actorsession.graph.op_signatures import check_types
from actorsession.graph.registry import lookup
from actorsession.ops.blockwise import Blockwise
from actorsession.plan.codegen.fusion import LEAST
from actorsession.plan.codegen.node_context import NodeContext
from tests.blocks import process_small_arrays
from tests.rows import for_each, refused

LARGE = LEAST + 1


def nothing() -> None:
    """A look for a cancellation that finds none."""


def doubled(x: Any, result: Any, buffer: Any) -> None:
    np.add(x, x, buffer)
    np.negative(buffer, result)


def run(part: Any = doubled, nodes: int = 2, **changes: Any) -> Blockwise:
    given = {"arrays": 1, "results": ["float32"], "buffers": ["float32"], **changes}
    return Blockwise(part, nodes=nodes, **given)


@pytest.fixture(params=[1, 3])
def threads(request: Any, monkeypatch: pytest.MonkeyPatch, product_threads: Callable[[int], None]) -> int:
    """How many threads share the work, however little it is."""
    product_threads(request.param)
    process_small_arrays(monkeypatch, shared=0)
    return int(request.param)


# -- what is taken ---------------------------------------------------------------------------------


def test_it_takes_large_arrays_of_one_shape() -> None:
    x = np.zeros((LARGE, 1), np.float32)
    assert run().takes(x)
    assert run().takes(x, x.astype(bool))


@for_each(
    "arrays",
    [
        pytest.param([np.zeros(LARGE - 1)], id="small"),
        pytest.param([np.zeros(0)], id="empty"),
        pytest.param([np.float32(1.0)], id="a-scalar"),
        pytest.param([np.zeros(LARGE), np.zeros(1)], id="one-is-broadcast"),
        pytest.param([np.zeros((LARGE, 2)), np.zeros(2)], id="a-row"),
        pytest.param([np.zeros((2, LARGE)).T], id="transposed"),
        pytest.param([np.zeros(2 * LARGE)[::2]], id="with-gaps"),
        pytest.param([np.zeros(LARGE), np.float32(1.0)], id="a-scalar-for-an-array"),
    ],
)
def test_it_leaves_anything_else_to_the_ops_one_by_one(arrays: list[Any]) -> None:
    assert not run().takes(*arrays)


# -- what it does ----------------------------------------------------------------------------------


@for_each("size", [1, 1023, 1024, 1025, 300_000])
def test_all_of_an_array_is_worked_through_once(size: int, threads: int) -> None:
    x = np.arange(size, dtype=np.float32).reshape(-1, 1)
    seen: list[int] = []

    def part(x: Any, result: Any, buffer: Any) -> None:
        seen.append(len(x))
        doubled(x, result, buffer)

    result = run(part)(nothing, x)
    np.testing.assert_array_equal(result, -2 * x)
    assert sum(seen) == size
    assert result.flags.writeable
    assert result.base is None


def test_threads_share_the_blocks_and_end_with_the_run(threads: int) -> None:
    before = threading.active_count()
    both = threading.Barrier(threads, timeout=30)
    names: set[str] = set()

    def part(x: Any, result: Any, buffer: Any) -> None:
        name = threading.current_thread().name
        if name not in names:
            names.add(name)
            both.wait()
        doubled(x, result, buffer)

    run(part)(nothing, np.zeros(1 << 20, np.float32))
    assert (len(names), threading.active_count()) == (threads, before)


def test_little_work_is_done_by_the_caller_alone(product_threads: Callable[[int], None]) -> None:
    product_threads(3)
    names: set[str] = set()

    def part(x: Any, result: Any, buffer: Any) -> None:
        names.add(threading.current_thread().name)
        doubled(x, result, buffer)

    run(part, nodes=1)(nothing, np.zeros(1 << 20, np.float32))
    assert names == {threading.current_thread().name}


def test_scalars_go_to_each_block_as_they_are_and_results_may_be_several(threads: int) -> None:
    def part(x: Any, y: Any, factor: Any, product: Any, less: Any) -> None:
        np.multiply(x, factor, product)
        np.less(product, y, less)

    x, y = (np.random.default_rng(i).normal(size=(500, 800)).astype("f4") for i in range(2))
    made = run(part, arrays=2, results=["float32", "bool"], buffers=[])
    product, less = made(nothing, x, y, np.float32(3))
    np.testing.assert_array_equal(product, x * np.float32(3))
    np.testing.assert_array_equal(less, product < y)
    assert less.dtype == bool


def test_floating_point_errors_are_nobodys_business_in_any_thread(threads: int) -> None:
    def part(x: Any, result: Any, buffer: Any) -> None:
        np.log(x, result)

    assert np.isnan(run(part)(nothing, np.full(1 << 20, -1, np.float32))).all()


def test_a_run_that_is_given_up_ends_before_the_next_block(threads: int) -> None:
    looks = 0
    done: list[int] = []

    def check() -> None:
        nonlocal looks
        looks += 1
        if looks > 2:
            raise RuntimeError("given up")

    def part(x: Any, result: Any, buffer: Any) -> None:
        done.append(len(x))

    before = threading.active_count()
    refused(lambda: run(part)(check, np.zeros(1 << 22, np.float32)), RuntimeError, "given up")
    assert (len(done), threading.active_count()) == (2, before)


# -- every op that can be part of a run ------------------------------------------------------------

SIZE = 20_013  # above what kernels take for few elements
SHAPE = TensorShape([SIZE])
DTYPES = [as_dtype(n) for n in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8")]
BOOL = as_dtype("bool")


def contexts(name: str) -> list[NodeContext]:
    """A node of each way to use an operation type on large arrays."""
    op = lookup(name)
    wanted: list[dict[str, Any]] = [{}]
    if any(default is REQUIRED for default in op.attrs.values()):
        wanted = [{"DstT": dtype} for dtype in (*DTYPES, BOOL)]  # Cast is the only one
    found = []
    for dtypes in [*[(d,) * n for d in (*DTYPES, BOOL) for n in (1, 2)], *[(BOOL, d, d) for d in (*DTYPES, BOOL)]]:
        for attrs in wanted:
            specs = tuple(TensorSpec(d, SHAPE) for d in dtypes)
            made = context(name, specs, {**op.attrs, **attrs})
            if made is not None:
                found.append(made)
    return found


def takes(into: Kernel) -> int:
    """How many arrays a function reads."""
    if isinstance(into, np.ufunc):
        return into.nin
    return len(inspect.signature(into).parameters) - 1


def context(name: str, specs: tuple[TensorSpec, ...], attrs: dict[str, Any]) -> NodeContext | None:
    op, nothing_known = lookup(name), (None,) * len(specs)
    try:
        check_types(name, tuple([spec.dtype for spec in specs]), {})
        outputs = op.infer(InferContext(name, specs, attrs, nothing_known))
    except (IndexError, TypeError, ValueError):
        return None  # no way to use it
    node = NodeDef(name="n", op=name, attrs=attrs, outputs=tuple(outputs))
    return NodeContext(node, specs, nothing_known, "/cpu:0")


def function(ctx: KernelContext) -> Kernel | None:
    into = lookup(ctx.op).into
    return None if into is None else into(ctx)


# Of these one takes rows, and so is in no run, and one complex numbers alone.
NEVER = {"BiasAdd", "Conj"}
WRITERS = sorted(n for n in set(registered_ops()) - NEVER if lookup(n).into is not None)


def values(dtype: DType, seed: int) -> np.ndarray[Any, Any]:
    """All sorts of numbers, the odd ones at all places of a block and at the end."""
    random = np.random.default_rng(seed)
    if dtype.is_bool:
        return random.random(SIZE) < 0.5
    if dtype.is_integer:
        low, high = (0 if dtype.kind == "u" else -100), 100
        return random.integers(low, high, SIZE).astype(dtype.np_dtype)
    odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1, -1, 1e-7, 6e4, -88, 89])
    some = random.normal(size=SIZE) * 10
    places = random.random(SIZE) < 0.3
    some[places] = random.choice(odd, int(places.sum()))
    some[-len(odd) :] = odd
    return some.astype(dtype.np_dtype)


@for_each("name", WRITERS)
def test_an_op_gives_the_same_bits_in_blocks_and_over_its_inputs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    process_small_arrays(monkeypatch)
    tried = 0
    for ctx in contexts(name):
        into = function(ctx)
        if into is None or takes(into) != len(ctx.inputs):
            continue
        tried += 1
        given = [values(spec.dtype, i) for i, spec in enumerate(ctx.inputs)]
        with np.errstate(all="ignore"):
            expected = lookup(name).kernel(ctx)(*given)
        result = ctx.outputs[0].dtype.np_dtype.name
        blocks = Blockwise(into, len(given), [result], [], 1)
        assert blocks(nothing, *given).tobytes() == expected.tobytes(), ctx.inputs
        if isinstance(into, np.ufunc):
            for k, array in enumerate(given):
                if array.dtype == expected.dtype:
                    with np.errstate(all="ignore"):
                        into(*given, array)
                    assert array.tobytes() == expected.tobytes(), (ctx.inputs, k)
                    break  # one of its values is another now
    assert tried
