"""Every operation type against numpy, and its gradient against finite differences: the table's rows, run.

Each case runs with static shapes known and hidden and with its integers as constants, because kernels are
specialised for what is known early. The evaluator is strict about dtypes, static shapes, shared memory and
inline expressions (``interpreter``).
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession
from actorsession import DType, Graph, Operation, Tensor, TensorShape, as_dtype, constant, gradients
from actorsession.errors import InvalidArgumentError
from actorsession.extend import NOT_DIFFERENTIABLE, InferContext, TensorSpec, registered_ops
from actorsession.graph.op_signatures import fixed_type, input_args, signature_of
from actorsession.graph.registry import lookup
from actorsession.ops.indexed_slices import to_dense
from tests.nodes import make
from tests.ops import table
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.ops.table.elsewhere import ELSEWHERE
from tests.ops.table.row import Row, rows_of
from tests.rows import for_each, refused

ROOT = Path(actorsession.__file__).parents[1]
FAMILIES = sorted(module.name for module in pkgutil.iter_modules(table.__path__) if module.name.startswith("of_"))
ROWS_OF = {family: rows_of(importlib.import_module(f"tests.ops.table.{family}")) for family in FAMILIES}
ROWS: list[Row] = [row for rows in ROWS_OF.values() for row in rows]


FAMILY_OF = {row.name: family for family, rows in ROWS_OF.items() for row in rows}


def each_row(rows: list[Row]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """One test for a family and not for a row: there are thousands, and a test costs more than a row."""
    return for_each("row", rows, ids=lambda row: row.name, by=lambda row: FAMILY_OF[row.name])


def stateless_types(of: Iterable[DType]) -> set[str]:
    """Types of the library that have no state, and an input or output of some element types."""
    dtypes, types = list(of), set()
    for name in registered_ops():
        signature, definition = signature_of(name), lookup(name)
        if signature is None or definition.once or definition.stateful:
            continue
        for arg in (*signature.inputs, *signature.outputs):
            attr = signature.attrs.get(arg.type)
            if as_dtype(arg.type) in dtypes if attr is None else any(map(attr.allows, dtypes)):
                types.add(name)
    return types


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
    assert [name for name, count in Counter(row.name for row in ROWS).items() if count > 1] == []


@for_each("op", sorted(ELSEWHERE))
def test_tests_elsewhere_exist(op: str) -> None:
    assert (ROOT / ELSEWHERE[op]).is_file()


@for_each("op", sorted({row.op for row in ROWS}))
def test_rows_say_where_an_op_is_smooth_if_it_has_a_gradient(op: str) -> None:
    assert any(row.smooth for row in ROWS if row.op == op) == _differentiable(op)


def _differentiable(op: str) -> bool:
    return lookup(op).gradient not in (None, NOT_DIFFERENTIABLE)


# -- values ----------------------------------------------------------------------------------------


HIDDEN, KNOWN, CONSTANT = "hidden shapes", "known shapes", "constant integers"


@EVERY
def test_an_op_computes_what_numpy_does(row: Row) -> None:
    skip_without(row)
    for inputs, early in itertools.product(row.inputs, (HIDDEN, KNOWN, CONSTANT)):
        if early != CONSTANT or whole_numbers(inputs):
            with noted(*inputs, early):
                _check_values(row, inputs, early)


def _check_values(row: Row, inputs: tuple[Any, ...], early: str) -> None:
    with np.errstate(all="ignore"):
        wanted = row.numpy(*inputs)
        made, found = _computed(row, inputs, early)
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
        if whole := whole_numbers(inputs):
            with noted(*inputs, CONSTANT):
                build = _with_constants(row.build, inputs)
                left = [i for i in range(len(inputs)) if i not in whole]
                wrt = None if row.wrt is None else [left.index(i) for i in row.wrt]
                rest = [inputs[i] for i in left]
                check_gradient(build, *rest, wrt=wrt, step=row.step, unknown_shapes=(False,))


# What computes their gradient has none, in TensorFlow either.
ONCE = """
    CTCLoss CropAndResize Dilation2D FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel
    FractionalAvgPool FractionalMaxPool Igamma Igammac LRN MaxPoolWithArgmax ResizeBicubic ResizeBilinear
    ResizeNearestNeighbor Softsign SparseAdd SparseFillEmptyRows SparseSegmentMean SparseSegmentMeanWithNumSegments
    SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments SparseSegmentSum SparseSegmentSumWithNumSegments SparseSlice
"""


@pytest.mark.whole
@each_row([row for row in ROWS if row.smooth and row.op not in ONCE.split()])
def test_a_second_gradient_is_that_of_finite_differences(row: Row) -> None:
    """Of the first by what flows into it, too: the result itself does."""
    skip_without(row)
    with noted(*row.smooth[0]):
        check_gradient(
            partial(slopes, row.build, row.wrt),
            *row.smooth[0],
            wrt=row.wrt,
            step=row.step,
            rtol=1e-4,
            atol=1e-6,
            unknown_shapes=(False,),
        )


def slopes(build: Callable[..., Any], wrt: Sequence[int] | None, *xs: Tensor) -> list[Tensor]:
    """The gradients of what is built by its arguments, where what flows into it is the result itself."""
    made = build(*xs)
    ys = [y for y in (made if isinstance(made, (list, tuple)) else [made]) if y.dtype.is_floating]
    chosen = [x for i, x in enumerate(xs) if (x.dtype.is_floating if wrt is None else i in wrt)]
    return [to_dense(slope) for slope in gradients(ys, chosen, ys) if slope is not None]


@EVERY
def test_nothing_flows_back_through_an_op_without_a_gradient(row: Row) -> None:
    """Where TensorFlow marks the op so; where it has registered nothing, asking is a LookupError."""
    if _differentiable(row.op):
        return
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
            refused(lambda: gradients(outputs, floating), LookupError, row.op)
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
    found = _node(row, inputs)
    if found is None:
        return []
    op, specs, values = found

    def sizes(without: int | None) -> list[int | None]:
        return [shape.num_elements() for shape in _inferred(op, specs, values, without)]

    extents = [[max(extent, 1) for extent in v.shape] for v in values]
    given = prod(map(prod, extents)) if row.op in BY_ALL_SIZES else sum(map(prod, extents))
    larger = [(size or 0) > given for size in sizes(None)]
    return [
        k
        for k in range(len(values))
        if k not in op.op_def.sized_by and any(big and size is None for big, size in zip(larger, sizes(k), strict=True))
    ]


def _node(row: Row, inputs: tuple[Any, ...]) -> tuple[Operation, list[TensorSpec], list[Any]] | None:
    """The node that a case is about, with the types and values of its inputs; ``None`` if one is a handle."""
    arrays = [np.asarray(a) for a in inputs]
    with Graph().as_default() as graph, np.errstate(all="ignore"):
        tensors = [source(as_dtype(a.dtype), a.shape) for a in arrays]
        row.build(*tensors)
        op = next(op for op in graph.get_operations() if op.type == row.op)
        if any(t.dtype.kind in "rv" for t in op.inputs):
            return None
        found = evaluate(op.inputs, dict(zip(tensors, arrays, strict=True)))
    values = [np.asarray(v) for v in found]
    return (op, [TensorSpec(t.dtype, TensorShape(v.shape)) for t, v in zip(op.inputs, values, strict=True)], values)


def _inferred(op: Operation, specs: Sequence[TensorSpec], values: list[Any], without: int | None) -> list[TensorShape]:
    """The static shapes of the outputs where the values of all inputs but one are known early."""
    known = tuple([None if k == without else v for k, v in enumerate(values)])
    made = op.op_def.infer(InferContext(op.type, tuple(specs), op.attrs, known))
    return [spec.shape for spec in made]


# -- static shapes ---------------------------------------------------------------------------------

# Sizes of these follow from values that are no shape, in TensorFlow too.
FOUND_BY_THE_STEP = """
    BroadcastGradientArgs CTCBeamSearchDecoder CTCGreedyDecoder ComputeAccidentalHits DecodeAndCropJpeg DecodeBmp
    DecodeGif DecodeImage DecodeJpeg DecodePng DecodeRaw DenseToDenseSetOperation DenseToSparseSetOperation
    DeserializeManySparse DeserializeSparse DynamicPartition FractionalAvgPool FractionalMaxPool ListDiff
    NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps ParseExample
    ParseExampleV2 ParseSequenceExampleV2 ParseSingleExample ParseTensor Reshape SegmentMax SegmentMean SegmentMin
    SegmentProd SegmentSum SerializeManySparse SparseAdd SparseFillEmptyRows SparseReduceMaxSparse SparseReduceSumSparse
    SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum SparseSlice SparseSparseMaximum SparseSparseMinimum
    SparseSplit SparseToSparseSetOperation StringSplit StringSplitV2 Unique UniqueWithCounts Where
"""
# Of these less is known than could be where a dimension of an input is not known, in TensorFlow too.
LESS_IS_KNOWN = """
    AdjustHue AdjustSaturation BatchToSpaceND BroadcastArgs CTCLoss ClipByValue CombinedNonMaxSuppression Conv2D
    DepthToSpace Dilation2DBackpropFilter Dilation2DBackpropInput DrawBoundingBoxes DrawBoundingBoxesV2
    FakeQuantWithMinMaxVarsPerChannel FractionalAvgPool FractionalMaxPool GatherNd HSVToRGB LowerBound MatrixDiagPartV3
    MatrixDiagV3 MatrixSetDiagV3 MaxPool3DGrad MaxPoolGrad MaxPoolGradWithArgmax Qr RGBToHSV Reshape ScatterNd
    SpaceToBatchND SparseReduceMax SparseReduceSum SparseSplit Squeeze StridedSlice Substr Svd TensorScatterAdd
    TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate TridiagonalMatMul TridiagonalSolve UpperBound
"""


LESS_IS_KNOWN_OF_THE_RANK = """
    DrawBoundingBoxes DrawBoundingBoxesV2 CTCLoss MatrixSetDiagV3 ClipByValue ReducedShape ResizeBilinearGrad
    ResizeBicubicGrad UnsortedSegmentMin UnsortedSegmentMax UnsortedSegmentProd TensorScatterUpdate TensorScatterAdd
    TensorScatterSub TensorScatterMin TensorScatterMax DynamicPartition Substr TridiagonalMatMul TridiagonalSolve
"""
RANK_IS_A_VALUE = """
    All Any DecodeImage EuclideanNorm MatrixDiagPartV3 MatrixDiagV3 Max Mean Min Prod ParseTensor ReduceJoin
    SparseReduceMax SparseReduceSum Sum
"""


@EVERY
def test_static_shapes_are_as_exact_as_what_is_known_of_the_inputs(row: Row) -> None:
    """A dimension that does not depend on an unknown one is known, and no shape contradicts the values."""
    skip_without(row)
    for inputs in row.inputs:
        with noted(*inputs):
            _check_static_shapes(row, inputs)


def _check_static_shapes(row: Row, inputs: tuple[Any, ...]) -> None:
    found = _node(row, inputs)
    if found is None:
        return
    op, specs, values = found
    full = _inferred(op, specs, values, None)
    assert row.op in FOUND_BY_THE_STEP.split() or all(shape.is_fully_defined() for shape in full)
    for k, spec in enumerate(specs):

        def shapes(shape: Any, k: int = k, spec: TensorSpec = spec) -> list[TensorShape]:
            changed = [*specs[:k], TensorSpec(spec.dtype, TensorShape(shape)), *specs[k + 1 :]]
            return _inferred(op, changed, values, k)

        dims = spec.shape.as_list()
        assert row.op in RANK_IS_A_VALUE.split() or all(s.rank is not None for s in shapes(dims))
        for exceptions, unknown, possible in _unknown_parts(dims, [s.shape.as_list() for s in specs]):
            have, want = shapes(unknown), _common(shapes, possible)
            assert all(a.is_compatible_with(b) for a, b in zip(have, full, strict=True))
            assert row.op in exceptions.split() or [shape.sizes for shape in have] == want


def _unknown_parts(dims: list[Any], others: list[list[Any]]) -> Iterator[tuple[str, Any, list[Any]]]:
    """The exceptions, the shape with something unknown, and shapes that it may stand for."""
    yield LESS_IS_KNOWN_OF_THE_RANK, None, [[None] * n for n in range(max(map(len, others)) + 3)]
    for axis, size in enumerate(dims):
        possible = [[*dims[:axis], n, *dims[axis + 1 :]] for n in (None, size, size + 1, size + 2)]
        yield LESS_IS_KNOWN, possible[0], possible[1:]


def _common(shapes: Callable[[Any], list[TensorShape]], possible: list[Any]) -> list[Any]:
    """The sizes that the outputs have for all possible shapes of an input that are not refused."""
    common: list[Any] = []
    for shape in possible:
        with contextlib.suppress(ValueError, TypeError, InvalidArgumentError):
            sizes = [shape.sizes for shape in shapes(shape)]
            common = [_equal_sizes(*pair) for pair in zip(common or sizes, sizes, strict=True)]
    return common


def _equal_sizes(one: Any, other: Any) -> Any:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple([a if a == b else None for a, b in zip(one, other, strict=True)])


# -- what is refused -------------------------------------------------------------------------------


@FAULTY
def test_values_that_do_not_fit_are_refused_by_the_kernel(row: Row) -> None:
    skip_without(row)
    for fault in row.faults:
        with noted(*fault.inputs), np.errstate(all="ignore"), pytest.raises(InvalidArgumentError, match=fault.match):
            _computed(row, fault.inputs, HIDDEN)


@FAULTY
def test_shapes_that_do_not_fit_are_refused_by_the_line_that_builds(row: Row) -> None:
    skip_without(row)
    for fault in row.faults:
        if fault.static is not None:
            with noted(*fault.inputs), pytest.raises(ValueError, match=fault.static):
                _made(row, fault.inputs, KNOWN)


@FAULTY
def test_integers_that_do_not_fit_are_refused_as_constants_too(row: Row) -> None:
    """By the line that builds if that can tell, else by the kernel."""
    skip_without(row)
    for fault in row.faults:
        early = fault.static if fault.early is None else fault.early or fault.match
        if early is None:
            with noted(*fault.inputs), np.errstate(all="ignore"):
                made = _made(row, fault.inputs, CONSTANT)
                with pytest.raises(InvalidArgumentError, match=fault.match):
                    evaluate(*made)
        else:
            with noted(*fault.inputs), pytest.raises(ValueError, match=early):
                _made(row, fault.inputs, CONSTANT)


# Nodes of these take other element types too where TensorFlow takes but one.
TAKES_MORE = """
    AvgPool3DGrad AvgPoolGrad Conv2DBackpropFilter Conv2DBackpropInput Conv3DBackpropFilterV2 CropAndResizeGradBoxes
    CropAndResizeGradImage DenseToSparseSetOperation DepthwiseConv2dNativeBackpropFilter
    DepthwiseConv2dNativeBackpropInput EmptyTensorList FractionalAvgPoolGrad FractionalMaxPoolGrad MatrixDiagV3
    NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps OneHot SerializeManySparse
    SerializeSparse SetSize SparseAdd SparseConcat SparseFillEmptyRows SparseFillEmptyRowsGrad SparseReduceMax
    SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse SparseReorder SparseSegmentMeanGrad
    SparseSegmentSqrtNGrad SparseSegmentSumGrad SparseSliceGrad SparseSoftmax SparseSparseMaximum SparseSparseMinimum
    SparseTensorDenseMatMul SparseToSparseSetOperation Split SplitV TensorListReserve TensorListScatterAdd
    TensorListScatterV2 TensorListSplit
"""
OTHERS = [as_dtype(name) for name in ["bool", "int32", "int64", "float32", "complex64", "string", "resource"]]


@each_row(list({row.op: row for row in ROWS if row.inputs}.values()))
def test_element_types_that_the_signature_does_not_name_are_refused(row: Row) -> None:
    skip_without(row)
    if (found := _node(row, row.inputs[0])) is not None:
        op, specs, _ = found
        for k, dtype in itertools.product(range(len(specs)), OTHERS):
            _check_dtype(op, specs, k, dtype)


def _check_dtype(op: Operation, specs: list[TensorSpec], k: int, dtype: DType) -> None:
    signature = signature_of(op.type)
    assert signature is not None
    arg = input_args(op.type, len(specs), op.attrs)[k]
    fixed = fixed_type(arg, signature.attrs)
    if fixed is None:
        allowed = signature.attrs[arg.type].allows(dtype)
        said = f"{op.type} takes .*; got {dtype.name}"
    else:
        allowed, said = dtype is fixed or op.type in TAKES_MORE.split(), rf"{op.type}\b.*\bgot "
    if not allowed:
        with Graph().as_default(), noted(arg.name, dtype.name):
            given = [source(spec.dtype, spec.shape) for spec in specs]
            given[k] = source(dtype, specs[k].shape)
            refused(lambda: make(op.type, given, op.attrs), (TypeError, ValueError), said)


def whole_numbers(inputs: Sequence[Any]) -> set[int]:
    """Which inputs are integers, as axes, shapes and indices are."""
    return {i for i, a in enumerate(inputs) if np.asarray(a).dtype.kind in "iu"}


def _with_constants(build: Callable[..., Any], inputs: Sequence[Any]) -> Callable[..., Any]:
    """``build`` of the other inputs alone, with its integers as constants."""
    whole = whole_numbers(inputs)

    def of_others(*others: Any) -> Any:
        given = iter(others)
        return build(*(constant(np.asarray(a)) if i in whole else next(given) for i, a in enumerate(inputs)))

    return of_others


def _made(row: Row, inputs: Sequence[Any], early: str) -> tuple[list[Any], dict[Any, Any]]:
    """The tensors that a row makes on a graph of its own, and what to feed."""
    build, arrays = row.build, [np.asarray(a) for a in inputs]
    if early == CONSTANT:
        build = _with_constants(build, arrays)
        arrays = [a for i, a in enumerate(arrays) if i not in whole_numbers(inputs)]
    with Graph().as_default() as graph:
        tensors = [source(as_dtype(a.dtype), None if early == HIDDEN else a.shape) for a in arrays]
        made = build(*tensors)
        assert row.op in {op.type for op in graph.get_operations()}
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    return made, dict(zip(tensors, arrays, strict=True))


def _computed(row: Row, inputs: Sequence[Any], early: str) -> tuple[list[Any], list[Any]]:
    made, feeds = _made(row, inputs, early)
    return made, evaluate(made, feeds)


def _compare(got: Any, want: Any, row: Row) -> None:
    assert got.shape == want.shape
    if want.dtype.kind in "OSU":
        assert got.tolist() == want.tolist()
        return
    assert got.dtype == want.dtype
    if not row.rtol:
        np.testing.assert_array_equal(got, want)
    else:
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), row.rtol, row.rtol)


def skip_without(row: Row) -> None:
    if row.needs:
        pytest.importorskip(row.needs)
