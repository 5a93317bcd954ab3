"""The table of ops on ``TORCH_CPU``: what numpy says of each type, within the tolerances of another library."""

from __future__ import annotations

import contextlib
import itertools
import re
from dataclasses import replace
from functools import partial
from importlib.metadata import entry_points
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import actorsession as acts
from actorsession import ConfigProto, Graph, Session, as_dtype, constant, gradients, placeholder
from actorsession.errors import InvalidArgumentError
from actorsession.extend import DeviceKernel, register_device_factory, registered_ops
from scripts.differentials.report import Outcome
from tests import default_device
from tests.nodes import make
from tests.ops.table.elsewhere import ELSEWHERE
from tests.ops.table.row import Row
from tests.ops.test_table import (
    CONSTANT,
    EVERY,
    FAMILIES,
    FAULTY,
    HIDDEN,
    KNOWN,
    ONCE,
    ROWS_OF,
    SMOOTH,
    noted,
    skip_without,
    slopes,
    stateless_types,
    whole_numbers,
)
from tests.rows import few_of, for_each
from tests.test_recorded import FAMILIES as RECORDED
from tests.test_recorded import outcomes_of

torch = pytest.importorskip("torch", reason="torch is not installed")

[TorchCpu] = [entry.load() for entry in entry_points(group="actorsession.device_factories", name="TORCH_CPU")]
OURS = TorchCpu().kernels
# Of whole numbers alone, which are the host's.
WHOLE = {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "Invert"}
KERNELS = {op: kernel for op in registered_ops() if op not in WHOLE and (kernel := OURS.kernel_of(op)) is not None}

TORCH = f"/device:{default_device.TORCH}:0"
CONFIG = ConfigProto(device_count={default_device.TORCH: 1})
# Of results of so many bytes an element: relative and absolute.
TOLERANCE = {2: 8e-2, 4: 8e-5, 8: 2e-13, 16: 2e-12}
# What differs on purpose: a maximum of torch is NaN where there is one, and TensorFlow's passes it over; the gradient
# of a rectifier goes through where its input is NaN, and TensorFlow's does not.
DIFFERS = {("MaxPool", "NaN"), ("ReluGrad", "NaN")}
# The CPU's kernel gets a number where the interpreter of the table gives it an array of rank 0.
OTHER_WORDS = {"StridedSlice-position_refused"}


def arrays_of(build: Any, inputs: Any, early: str, device: str = TORCH) -> list[Any]:
    """What is built of tensors for some arrays, as it is on a device."""
    known = whole_numbers(inputs) if early == CONSTANT else set()
    with Graph().as_default() as graph, graph.device(device):
        tensors, feeds = [], {}
        for k, array in enumerate(map(np.asarray, inputs)):
            if k in known:
                tensors.append(constant(array))
            else:
                tensors.append(placeholder(as_dtype(array.dtype), None if early == HIDDEN else array.shape))
                feeds[tensors[-1]] = array
        outputs = build(*tensors)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        with Session(graph=graph, config=CONFIG) as session:
            return session.run(outputs, feeds)


def named(device_type: str, **more: Any) -> Any:
    """The factory of torch's devices under another name, with other kernels if they are given."""

    class Named(TorchCpu):  # type: ignore[misc,valid-type]
        def list_physical_devices(self) -> tuple[str, ...]:
            return (f"/physical_device:{device_type}:0",)

    factory = Named()
    factory.kernels = replace(OURS, **more)
    return factory


def is_left_out(row: Row, inputs: tuple[Any, ...]) -> bool:
    floats = [a for a in map(np.asarray, inputs) if a.dtype.kind == "f"]
    return (row.op, "NaN") in DIFFERS and any(np.isnan(a.astype(float)).any() for a in floats)


def compare(got: Any, expected: Any, rtol: float, bound: float = 0.0) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    if got.dtype.kind in "SO":
        assert got.tolist() == expected.tolist()
        return
    assert got.dtype == expected.dtype
    wide = {"c": np.complex128, "i": np.int64, "u": np.uint64, "b": np.bool_}.get(got.dtype.kind, np.float64)
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected)
    else:
        bound = bound or TOLERANCE[4 if got.dtype == np.complex64 else got.dtype.itemsize]
        np.testing.assert_allclose(got.astype(wide), expected.astype(wide), rtol=max(10 * rtol, bound), atol=bound)


@EVERY
def test_an_op_computes_what_numpy_does(row: Row) -> None:
    skip_without(row)
    for inputs, early in itertools.product(row.inputs, (HIDDEN, KNOWN, CONSTANT)):
        if is_left_out(row, inputs) or (early == CONSTANT and not whole_numbers(inputs)):
            continue
        with noted(*inputs, early):
            with np.errstate(all="ignore"):
                expected = row.numpy(*inputs)
            try:
                got = arrays_of(row.build, inputs, early)
            except (TypeError, ValueError):
                assert early == HIDDEN  # it is not built where shapes are not known
                continue
            expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
            for pair in zip(got, expected, strict=True):
                compare(*pair, row.rtol)


@FAULTY
def test_values_that_do_not_fit_are_refused_in_the_words_of_the_cpu(row: Row) -> None:
    skip_without(row)
    if row.name in OTHER_WORDS:
        return
    for fault in row.faults:
        with noted(*fault.inputs), np.errstate(all="ignore"):
            with pytest.raises((InvalidArgumentError, TypeError, ValueError)) as refused:
                arrays_of(row.build, fault.inputs, HIDDEN)
            # Others come from the line that builds.
            if isinstance(refused.value, InvalidArgumentError):
                assert re.search(fault.match, str(refused.value))


@SMOOTH
def test_gradients_of_both_orders_are_those_of_the_cpu(row: Row, whole: bool) -> None:
    """Which are compared with finite differences, in double precision."""
    skip_without(row)
    first = partial(slopes, row.build, row.wrt)
    orders = [first] if row.op in ONCE.split() else [first, partial(slopes, first, row.wrt)]
    for given, build in itertools.product(row.smooth, orders) if whole else [(row.smooth[0], orders[-1])]:
        inputs = [a.astype(float) if a.dtype.kind == "f" else a for a in map(np.asarray, given)]
        with noted(*inputs), np.errstate(all="ignore"):
            devices = [arrays_of(build, inputs, KNOWN, device) for device in (TORCH, "/cpu:0")]
            for pair in zip(*devices, strict=True):
                compare(pair[0], pair[1], max(1e-10, row.rtol))


@for_each("family", RECORDED, by=str)
def test_programs_give_what_tensorflow_gave(family: str, whole: bool) -> None:
    """Those whose results are written down, with the device for all that asks for none."""
    register_device_factory("PREFERRED", named("PREFERRED"), priority=1000)
    outcomes = outcomes_of(family, 1 if whole else 5)
    assert [each.told() for each in outcomes if each.verdict == Outcome.DIFFERS] == []


# Inputs of three steps, state, output, weights, peepholes and bias.
LSTM = [(3, 2, 3), (2, 2), (2, 2), (5, 8), (2,), (2,), (2,), (8,)]
X: Any = np.array([[1, -2, 3], [4, 5, -6]], "f4")
# Types that neither of the tables has: what is built of some arrays.
REST: dict[str, tuple[Any, list[Any]]] = {
    "AccumulateNV2": (lambda *xs: _node("AccumulateNV2", xs, shape=[2, 3]), [X, X, X]),
    "BiasAddV1": (lambda *xs: _node("BiasAddV1", xs), [X, X[0]]),
    "Concat": (lambda *xs: _node("Concat", xs), [np.int32(1), X, X]),
    "Gather": (lambda *xs: _node("Gather", xs), [X, np.array([1, 0, 1], "i4")]),
    "Mod": (lambda *xs: _node("Mod", xs), [X, X[0]]),
    "_FusedBatchNormEx": (
        lambda x, *vectors: _node("_FusedBatchNormEx", [x, *vectors, x], activation_mode="Relu", num_side_inputs=1)[:5],
        [np.sin(np.arange(24, dtype="f4")).reshape(2, 2, 2, 3), X[0], X[1], X[0], np.abs(X[1])],
    ),
    "BlockLSTMGradV2": (
        lambda x, *xs: gradients(_node("BlockLSTMV2", [constant(np.int64(3)), x, *xs], use_peephole=True)[6], [x, *xs]),
        [np.sin(np.arange(np.prod(size)) * 0.7).reshape(size).astype("f4") for size in LSTM],
    ),
}


def _node(op: str, inputs: Any, **attrs: Any) -> Any:
    outputs = make(op, inputs, attrs, name=op.strip("_")).outputs
    return outputs[0] if len(outputs) == 1 else outputs


@for_each("op", list(REST))
def test_other_types_give_what_the_cpu_gives(op: str) -> None:
    build, inputs = REST[op]
    for pair in zip(*[arrays_of(build, inputs, KNOWN, device) for device in (TORCH, "/cpu:0")], strict=True):
        compare(pair[0], pair[1], 1e-5)


# -- which kernels ran -----------------------------------------------------------------------------


def recorded(ran: set[str], sharing: set[str]) -> Any:
    """The device with kernels that note which of them have given any numbers, and which their inputs' memory."""

    def note(op: str, row: DeviceKernel) -> DeviceKernel:
        def make(context: Any) -> Any:
            function = row.kernel(context)

            def kernel(*values: Any) -> Any:
                result = function(*values)
                parts = result if isinstance(result, (list, tuple)) else [result]
                if any(0 not in np.shape(part) for part in parts):
                    ran.add(op)
                if not row.aliases and memory_of(parts) & memory_of(values):
                    sharing.add(op)
                return result

            return kernel

        return replace(row, kernel=make, emit=None)

    return named("RECORDED", rows={op: note(op, row) for op, row in KERNELS.items()})


def memory_of(values: Any) -> set[int]:
    """Where the tensors among some values have their elements."""
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    return {tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()}


@for_each("family", FAMILIES, by=str)
def test_no_kernel_leaves_all_cases_to_the_cpu_or_gives_the_memory_of_an_input(family: str, whole: bool) -> None:
    ran: set[str] = set()
    sharing: set[str] = set()
    register_device_factory("RECORDED", recorded(ran, sharing))
    ops = {row.op for row in ROWS_OF[family] if row.op in KERNELS}
    rows = [row for row in itertools.chain(*ROWS_OF.values()) if row.op in ops]
    for row, early in itertools.product(rows, (KNOWN, CONSTANT, HIDDEN)):
        for inputs in row.inputs:
            if whole or row.op not in ran:
                with np.errstate(all="ignore"), contextlib.suppress(TypeError, ValueError):
                    arrays_of(row.build, inputs, early, "/device:RECORDED:0")
    assert (sorted(ops - ran), sharing) == ([], set())


KINDS = (torch.Tensor, np.ndarray, np.generic)


def traced(failed: set[tuple[str, str]]) -> Any:
    """The device with kernels that go through its compiler, each alone; and those that did not give the same so."""
    compiler = type(OURS.compiler)(lambda graph, examples: graph.forward, is_judged=False)

    def trace(op: str, row: DeviceKernel) -> DeviceKernel:
        def make(context: Any) -> Any:
            function = row.kernel(context)

            def several(*values: Any) -> Any:
                result = function(*values)
                return tuple(result) if isinstance(result, (list, tuple)) else (result,)

            def kernel(*values: Any) -> Any:
                if not values or not all(isinstance(value, KINDS) for value in values):
                    return function(*values)  # of a variable or a list
                plain = several(*values)
                if not all(map(torch.is_tensor, plain)):
                    return function(*values)
                places = [k for k, value in enumerate(values) if isinstance(value, torch.Tensor)]

                def of_tensors(*tensors: Any) -> Any:
                    given = dict(zip(places, tensors, strict=True))
                    return several(*[given.get(k, value) for k, value in enumerate(values)])

                try:
                    tensors = [values[k] for k in places]
                    results = compiler(of_tensors, tensors)(*tensors)
                    for got in (results, several(*values)):  # it has kept nothing of what it was traced with
                        assert all(type(value) is torch.Tensor for value in got)
                        torch.testing.assert_close(tuple(got), plain, rtol=1e-6, atol=1e-6, equal_nan=True)
                except Exception as exc:
                    failed.add((op, repr(exc)))
                return plain if len(plain) > 1 else plain[0]

            return kernel if OURS.compiles(context) else function

        return replace(row, kernel=make, emit=None)

    return named("TRACED", rows={op: trace(op, row) for op, row in KERNELS.items()}, compiler=compiler)


@pytest.mark.parametrize("family", few_of(FAMILIES, 8))
def test_a_kernel_that_can_be_compiled_gives_the_same_so(family: str, whole: bool) -> None:
    failed: set[tuple[str, str]] = set()
    register_device_factory("TRACED", traced(failed))
    seen: set[str] = set()
    for row, early in itertools.product(ROWS_OF[family], (KNOWN, CONSTANT)):
        for inputs in row.inputs if whole else row.inputs[: row.op not in seen]:
            seen.add(row.op)
            with np.errstate(all="ignore"), contextlib.suppress(TypeError, ValueError):
                arrays_of(row.build, inputs, early, "/device:TRACED:0")
    assert sorted(failed) == []


def test_every_kernel_has_cases() -> None:
    assert sorted(set(KERNELS) - {row.op for rows in ROWS_OF.values() for row in rows} - {*ELSEWHERE, *REST}) == []
    without = OURS.hosted | OURS.transparent
    assert sorted(without - (set(registered_ops()) - set(KERNELS))) == []


def test_what_could_have_a_kernel_has_one_or_is_left_to_the_cpu_on_purpose() -> None:
    """No warning tells of a type of the library."""
    names = "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool"
    could = stateless_types(map(as_dtype, names))
    assert sorted(could - set(KERNELS) - OURS.hosted - OURS.transparent - {"Placeholder", "PlaceholderV2"}) == []


# What is computed as other types are, and one of these.
PARTS: dict[str, tuple[Any, str]] = {
    "TopK": (lambda x: _node("TopK", [x], k=2), "TopKV2"),
    "MatrixDiag": (lambda x: _node("MatrixDiag", [x]), "MatrixDiagV3"),
    "MaxPoolV2": (
        lambda x: _node("MaxPoolV2", [_image(x), *map(constant, ([1, 1, 2, 1], [1] * 4))], padding="SAME"),
        "MaxPool",
    ),
    "_FusedMatMul": (lambda x: _node("_FusedMatMul", [x, x, x[0]], transpose_a=True, fused_ops=["BiasAdd"]), "MatMul"),
    "FusedPadConv2D": (
        lambda x: _node(
            "FusedPadConv2D",
            [_image(x), constant([[0, 0], [1, 1], [0, 0], [0, 0]]), acts.reshape(x, [2, 3, 1, 1])],
            mode="REFLECT",
            strides=[1] * 4,
            padding="SAME",
        ),
        "Conv2D",
    ),
}


def _image(x: Any) -> Any:
    return acts.reshape(x, [2, 3, 1, 1])


def test_what_is_computed_as_others_are_has_their_kernels() -> None:
    ran: set[str] = set()
    register_device_factory("RECORDED", recorded(ran, set()))
    for (op, (build, part)), early in itertools.product(PARTS.items(), (KNOWN, HIDDEN)):
        ran.clear()
        arrays_of(build, [X], early, "/device:RECORDED:0")
        assert (op, {op, part} - ran) == (op, set())


# -- what another library computes -----------------------------------------------------------------

LARGE = np.linspace(0.01, 9, 6000, dtype="f4").reshape(60, 100)
LARGE[3, :3] = np.nan, np.inf, 0
FUNCTIONS: dict[str, Any] = {
    "tanh": (acts.tanh, np.tanh),
    "log": (acts.math.log, np.log),
    "exp": (acts.exp, np.exp),
    **{f"to {n}": (lambda x, n=n: acts.pow(x, n), lambda x, n=n: x**n) for n in (2.0, 3.0, -1.0, 0.5, 4.0)},
}


@for_each("name", list(FUNCTIONS))
def test_functions_of_many_numbers_are_those_of_numpy(name: str) -> None:
    ours, numpys = FUNCTIONS[name]
    for early, build in itertools.product((KNOWN, HIDDEN), (ours, lambda x: ours(acts.transpose(x)))):
        [got] = arrays_of(build, [LARGE], early)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(got, numpys(LARGE if build is ours else LARGE.T), rtol=1e-6)


# Some multiplications less, and more, than other libraries and one thread are for; and narrow matrices.
SIZES = [(60, 70, 80), (128, 128, 128), (200, 300, 500), (4, 4000, 250), (700, 3, 700)]


@for_each("sizes", SIZES)
@for_each("turns", list(itertools.product((False, True), repeat=2)))
def test_products_of_any_size_are_those_of_numpy(sizes: Any, turns: Any) -> None:
    random, (rows, inner, columns) = np.random.default_rng(1), sizes
    a, b = (random.random(size, np.float32) for size in ((rows, inner), (inner, columns)))
    given = [np.ascontiguousarray(x.T) if turned else x for x, turned in zip((a, b), turns, strict=True)]
    for early in (KNOWN, HIDDEN):
        [got] = arrays_of(lambda *x: acts.matmul(*x, *turns), given, early)
        np.testing.assert_allclose(got, a @ b, rtol=1e-5)


# -- sums of 16-bit floats -------------------------------------------------------------------------

# With the tolerance of results, relative and absolute.
HALVES = [(np.dtype(np.float16), 4e-3), (np.dtype(ml_dtypes.bfloat16), 3e-2)]
# So many numbers near 1 that their sum is far from what it would be in 16 bits: bfloat16 cannot count beyond 256.
MANY = 3000
SPAN = np.arange(MANY) % 7 / 8 + 0.25
ZEROS = np.zeros(MANY, "i4")


def _patches(x: Any) -> Any:
    return acts.reshape(x, [1, 50, 60, 1])


SUMS: dict[str, tuple[Any, Any]] = {
    "Sum": (acts.reduce_sum, np.sum),
    "Mean": (acts.reduce_mean, np.mean),
    "Cumsum": (acts.math.cumsum, np.cumsum),
    "EuclideanNorm": (acts.math.reduce_euclidean_norm, np.linalg.norm),
    "L2Loss": (acts.nn.l2_loss, lambda x: (x * x).sum() / 2),
    "MatMul": (lambda x: acts.matmul(x[None], x[:, None]), lambda x: [[x @ x]]),
    "BatchMatMulV2": (lambda x: acts.matmul(x[None, None], x[None, :, None]), lambda x: [[[x @ x]]]),
    "Einsum": (lambda x: acts.einsum("i,i->", x, x), lambda x: x @ x),
    "BiasAddGrad": (lambda x: _node("BiasAddGrad", [x[:, None]]), lambda x: [x.sum()]),
    "SegmentSum": (lambda x: acts.math.segment_sum(x, ZEROS), lambda x: [x.sum()]),
    "UnsortedSegmentSum": (lambda x: acts.math.unsorted_segment_sum(x, ZEROS, 1), lambda x: [x.sum()]),
    "SparseSegmentSum": (lambda x: acts.sparse.segment_sum(x, np.arange(MANY), ZEROS), lambda x: [x.sum()]),
    "ScatterNd": (lambda x: acts.arrays.scatter_nd(ZEROS[:, None], x, [1]), lambda x: [x.sum()]),
    "SparseTensorDenseMatMul": (
        lambda x: acts.sparse.sparse_dense_matmul(
            acts.SparseTensor(np.stack([ZEROS, np.arange(MANY)], 1).astype("i8"), x, [1, MANY]), x[:, None]
        ),
        lambda x: [[x @ x]],
    ),
    "Conv2D": (
        lambda x: acts.nn.conv2d(_patches(x), acts.reshape(x, [50, 60, 1, 1]), 1, "VALID"),
        lambda x: [[[[x @ x]]]],
    ),
    "DepthwiseConv2dNative": (
        lambda x: acts.nn.depthwise_conv2d(_patches(x), acts.reshape(x, [50, 60, 1, 1]), [1] * 4, "VALID"),
        lambda x: [[[[x @ x]]]],
    ),
    "Conv2DBackpropFilter": (
        lambda x: _node(
            "Conv2DBackpropFilter", [_patches(x), constant([1] * 4), _patches(x)], strides=[1] * 4, padding="VALID"
        ),
        lambda x: [[[[x @ x]]]],
    ),
    "FusedBatchNormV3": (
        lambda x: acts.nn.fused_batch_norm(_patches(x), [1.0], [3.0], epsilon=0.5)[0],
        lambda x: np.reshape((x - x.mean()) / np.sqrt(x.var() + 0.5) + 3, [1, 50, 60, 1]),
    ),
    "AvgPool": (lambda x: acts.nn.avg_pool(_patches(x), [1, 50, 60, 1], 1, "VALID"), lambda x: [[[[x.mean()]]]]),
}


@EVERY
def test_an_op_computes_of_16_bit_floats_what_it_does_on_the_cpu(row: Row, whole: bool) -> None:
    skip_without(row)
    if row.op not in KERNELS or row.op.startswith("FusedBatchNorm"):  # whose statistics have 32 bits
        return
    for given, (dtype, bound) in itertools.product(row.inputs, HALVES if whole else HALVES[1:]):
        with np.errstate(all="ignore"):
            inputs = [a.astype(dtype) if a.dtype == np.float32 else a for a in map(np.asarray, given)]
        if is_left_out(row, given) or not any(a.dtype == dtype for a in inputs):
            continue
        with noted(*inputs), np.errstate(all="ignore"):
            try:
                expected = arrays_of(row.build, inputs, KNOWN, "/cpu:0")
            except (TypeError, ValueError, InvalidArgumentError):
                continue  # it does not take these
            for pair in zip(arrays_of(row.build, inputs, KNOWN), expected, strict=True):
                compare(*pair, row.rtol, bound)


@for_each("op", list(SUMS))
def test_sums_of_16_bit_floats_are_made_in_32(op: str) -> None:
    build, numpy = SUMS[op]
    for dtype, bound in HALVES:
        x = SPAN.astype(dtype)
        [got] = arrays_of(build, [x], KNOWN)
        with noted(dtype):
            assert got.dtype == dtype
            np.testing.assert_allclose(got.astype(float), numpy(x.astype(float)), rtol=bound / 2)
