"""Operation types that are built by their own names: what graphs hold and few programs build.

The numbers of this family do not depend on the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy import array, float32, float64, full, int32, int64, zeros

from scripts.differentials.program import Family, Plan, Step

__all__ = ["FAMILIES"]

op_types = Family("op-types")
FAMILIES = [op_types]

Make = Callable[[Any], Any]


def reals(*shape: int, low: float = -2.0, high: float = 2.0, dtype: str = "float32") -> Any:
    """Numbers with three decimals, different ones for different shapes."""
    count = int(np.prod(shape))
    drawn = np.random.default_rng(count + 7 * len(shape)).uniform(low, high, count)
    return np.round(drawn, 3).astype(dtype).reshape(shape)


def wholes(*shape: int, low: int = 0, high: int = 9, dtype: str = "int32") -> Any:
    """Integers from ``low`` up to ``high``, without it."""
    drawn = np.random.default_rng(int(np.prod(shape)) + 3).integers(low, high, shape)
    return drawn.astype(dtype)


def positive(*shape: int, dtype: str = "float32") -> Any:
    """Positive definite matrices."""
    x = reals(*shape, dtype=dtype)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1], dtype=dtype)


def case(name: str, *inputs: Any, tolerance: float | None = None, slopes: bool = True, **given: Any) -> None:
    """Add a node: arrays are its inputs, the rest its attributes; with gradients by the floating inputs.

    Args:
        name: the operation type, and after a dash what is special.
        inputs: the first inputs, in the order of the operation type.
        tolerance: see ``Plan``.
        slopes: whether the gradients are compared.
        given: the other inputs and the attributes, by their names.
    """
    op_types.add(name, lambda tf, _: _node(tf, name.partition("-")[0], inputs, given, tolerance, slopes))


def _node(
    tf: Any, op_type: str, inputs: Sequence[Any], given: dict[str, Any], tolerance: float | None, slopes: bool
) -> Plan:
    make = getattr(tf.raw_ops, op_type)
    made = {
        key: _operand(tf, value)
        for key, value in (*zip(signature(make).parameters, inputs, strict=False), *given.items())
    }
    operands = [each for value in made.values() for each in _flat(value)]
    tensors = [each for each in operands if isinstance(each, tf.Tensor)]
    return _plan(tf, op_type, tensors, make(**made), tolerance, slopes)


def _operand(tf: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tf.constant(value)
    is_arrays = isinstance(value, list) and value and isinstance(value[0], np.ndarray)
    return [tf.constant(each) for each in value] if is_arrays else value


def _flat(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _plan(tf: Any, op_type: str, tensors: Any, outputs: Any, tolerance: float | None, slopes: bool) -> Plan:
    found = [each for output in _flat(outputs) for each in _flat(output)]
    by = [tensor for tensor in tensors if tensor.dtype.is_floating or tensor.dtype.is_complex]
    out = [tensor for tensor in found if tensor.dtype.is_floating or tensor.dtype.is_complex]
    facts = None
    back: list[Any] = []
    if slopes and by and out:
        try:
            found_back = tf.gradients([each * each for each in out], by)
            back = [None if each is None else tf.convert_to_tensor(each) for each in found_back]
        except LookupError as error:
            facts = type(error).__name__
    return Plan(
        [*found, *[each for each in back if each is not None]],
        facts=[facts, [each is None for each in back]],
        tolerance=tolerance,
    )


def old(
    name: str, producer: int, inputs: Sequence[Any], tolerance: float | None = None, outputs: int = 1, **attrs: Any
) -> None:
    """Add a node that TensorFlow only reads from graphs that are older than its removal.

    Args:
        name: the operation type, and after a dash what is special.
        producer: the version of the graph.
        inputs: the inputs.
        tolerance: see ``Plan``.
        outputs: how many of its outputs are compared.
        attrs: values of the attributes.
    """
    op_types.add(name, lambda tf, _: _import(tf, name.partition("-")[0], producer, inputs, tolerance, outputs, attrs))


def _import(
    tf: Any, op_type: str, producer: int, inputs: Any, tolerance: Any, outputs: int, attrs: dict[str, Any]
) -> Plan:
    tensors = [tf.constant(each) for each in inputs]
    graph_def = tf.GraphDef()
    graph_def.versions.producer = producer
    node = graph_def.node.add()
    node.name, node.op = "old", op_type
    node.input.extend([f"given{at}" for at in range(len(tensors))])
    for key, value in attrs.items():
        _set_attr(tf, node.attr[key], key, value)
    mapped = {f"given{at}:0": tensor for at, tensor in enumerate(tensors)}
    (made,) = tf.import_graph_def(graph_def, mapped, ["old"], name="")
    # Of deprecated types TensorFlow does not know the shapes.
    return Plan(steps=[Step(list(made.outputs[:outputs]))], tolerance=tolerance)


def _set_attr(tf: Any, attr: Any, key: str, value: Any) -> None:
    """Set an attribute of a node; those whose names begin with T, and ``dtype``, are types."""
    if isinstance(value, list):
        kind = {int: "i", str: "s"}[type(value[0])] if value else "i"
        if key.startswith("T"):
            attr.list.type.extend([tf.as_dtype(item).as_datatype_enum for item in value])
        else:
            items = [item.encode() if kind == "s" else item for item in value]
            getattr(attr.list, kind).extend(items)
    elif isinstance(value, str) and (key[0] in "TS" or key in ("dtype", "out_type")):
        attr.type = tf.as_dtype(value).as_datatype_enum
    else:
        kind = {bool: "b", int: "i", float: "f", str: "s"}[type(value)]
        setattr(attr, kind, value.encode() if kind == "s" else value)


# -- older forms -----------------------------------------------------------------------------------

case("AccumulateNV2", [reals(2, 3), reals(2, 3), reals(2, 3)], shape=[2, 3])
case("BatchToSpace", reals(8, 2, 1, 1), array([[0, 1], [1, 0]]), block_size=2)
case("BiasAddV1", reals(2, 3, 4), reals(4))
case("Concat", int32(1), [reals(2, 3), reals(2, 1), reals(2, 0)])
case("Gather", reals(4, 3), array([[3, 0], [0, 1]]))
case("Gather-range", reals(4, 3), array([4]))
case("InTopK", reals(3, 5), array([0, 3, 7]), k=2)
case("Mod", wholes(9, low=-9), full(9, 4, int32))
case("Mod-floats", reals(9), full(9, 0.7, float32))
case("Mod-by-zero", wholes(2), zeros(2, int32))
old("RandomPoisson", 24, [array([2]), zeros(3, float32)], S="int64", dtype="float32")
case("Reverse", reals(2, 3, 2), array([True, False, True]))
case("Reverse-rank", reals(2, 3), array([True]))
case("ScatterNdNonAliasingAdd", reals(4, 2), array([[1], [3], [1]]), reals(3, 2))
case("Snapshot", reals(3))
case("SpaceToBatch", reals(1, 3, 2, 1), array([[1, 0], [0, 0]]), block_size=2)
case("PreventGradient", reals(3), message="because")
case("DeepCopy", reals(2, 2), slopes=False)
for _a, _b in ((False, False), (True, False), (False, True), (True, True)):
    _in = reals(*((3, 2) if _a else (2, 3))), reals(*((4, 3) if _b else (3, 4)))
    case(f"SparseMatMul-{_a:d}{_b:d}", *_in, transpose_a=_a, transpose_b=_b, a_is_sparse=True)
case("MatrixDiag", reals(2, 3))
case("MatrixDiagPart", reals(2, 3, 4))
case("MatrixSetDiag", reals(2, 3, 2), reals(2, 2))
case("MatrixSetDiag-shape", reals(2, 3, 2), reals(2, 3))
_BAND: dict[str, Any] = {"k": array([-1, 1]), "padding_value": float32(7)}
case("MatrixDiagV2", diagonal=reals(2, 3, 3), num_rows=int32(3), num_cols=int32(3), **_BAND)
case("MatrixDiagPartV2", reals(2, 3, 4), **_BAND)
case("MatrixSetDiagV2", reals(2, 3, 3), reals(2, 3, 3), array([-1, 1]))
case("NonMaxSuppression", np.sort(reals(6, 4)), reals(6), int32(4), iou_threshold=0.1)
case("NonMaxSuppressionV2", np.sort(reals(6, 4)), reals(6), int32(4), float32(0.3))
case("NonMaxSuppression-threshold", np.sort(reals(6, 4)), reals(6), int32(4), iou_threshold=1.5)
old("TileGrad", 2, [reals(4, 6), array([2, 3])], T="float32")
old("AdjustContrast", 1, [wholes(2, 2, 3, dtype="uint8"), *map(float32, (2.0, 1.5, 6.0))], T="uint8")
old("BatchCholesky", 12, [positive(2, 3, 3)], T="float32", tolerance=1e-4)
old("BatchMatrixDiag", 13, [reals(2, 3)], T="float32")
old("BatchMatrixDiagPart", 13, [reals(2, 3, 3)], T="float32")
old("BatchMatrixSetDiag", 13, [reals(2, 3, 3), reals(2, 3)], T="float32")
old("BatchMatrixBandPart", 13, [reals(2, 3, 3), int64(1), int64(0)], T="float32")
old("BatchMatrixInverse", 12, [positive(2, 3, 3)], T="float32", tolerance=1e-4)
old("BatchMatrixDeterminant", 12, [positive(2, 3, 3)], T="float32", tolerance=1e-4)
old("BatchMatrixSolve", 12, [positive(2, 3, 3), reals(2, 3, 1)], T="float32", tolerance=1e-4)
old("BatchMatrixTriangularSolve", 12, [positive(2, 3, 3), reals(2, 3, 1)], T="float32", tolerance=1e-4)
old("BatchMatrixSolveLs", 12, [positive(2, 3, 3), reals(2, 3, 1), float64(0)], T="float32", tolerance=1e-3)
old("BatchSvd", 12, [positive(2, 3, 3)], T="float32", tolerance=1e-4, compute_uv=False)
old("BatchSelfAdjointEigV2", 12, [positive(2, 3, 3)], T="float32", tolerance=1e-4, compute_v=False)


old("SelfAdjointEig", 10, [np.diag(array([3, 1, 2], float32))], T="float32")


# -- older handles ---------------------------------------------------------------------------------


@op_types("Stack")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    stack = raw.Stack(elem_type=tf.float32)
    with tf.control_dependencies([raw.StackPush(handle=stack, elem=1.5)]):
        second = raw.StackPush(handle=stack, elem=[2.0])
    with tf.control_dependencies([second]):
        last = raw.StackPop(handle=stack, elem_type=tf.float32)
    with tf.control_dependencies([last]):
        first = raw.StackPop(handle=stack, elem_type=tf.float32)
    with tf.control_dependencies([first]):
        return Plan(steps=[Step([first, last, raw.StackClose(handle=stack)])])


@op_types("Stack-empty")
def _(tf: Any, _: Any) -> Any:
    stack = tf.raw_ops.Stack(elem_type=tf.float32)
    return Plan(steps=[Step(tf.raw_ops.StackPop(handle=stack, elem_type=tf.float32))])


for _kind in ("FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue"):

    @op_types(_kind)
    def _(tf: Any, _: Any, kind: str = _kind) -> Any:
        raw = tf.raw_ops
        ranked = kind == "PriorityQueue"
        types = {} if ranked else {"component_types": [tf.float32]}
        queue = getattr(raw, kind)(**types, shapes=[[2]], **({"component_types": [tf.float32]} if ranked else {}))
        row: list[Any] = [array([1, 2], float32)]
        rows = [array([[1, 2]] * 3, float32)]
        if ranked:
            row, rows = [int64(1), *row], [array([3, 2, 5]), *rows]
        out = [tf.int64] * ranked + [tf.float32]
        return Plan(
            steps=[
                Step(raw.QueueEnqueue(handle=queue, components=row)),
                Step(raw.QueueEnqueueMany(handle=queue, components=rows)),
                Step(raw.QueueSize(handle=queue)),
                Step(list(raw.QueueDequeue(handle=queue, component_types=out))),
                Step(list(raw.QueueDequeueMany(handle=queue, n=2, component_types=out))),
                Step(raw.QueueClose(handle=queue)),
                # TensorFlow's priority queue does not hand out what is left.
                *[Step(list(raw.QueueDequeueUpTo(handle=queue, n=9, component_types=out)))][ranked:],
                *[Step(list(raw.QueueDequeue(handle=queue, component_types=out)))][ranked:],
            ]
        )


@op_types("MutableHashTable")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    table = raw.MutableHashTable(key_dtype=tf.string, value_dtype=tf.int64)
    keys, values = [b"a", b"b"], array([1, 2])
    return Plan(
        steps=[
            Step(raw.LookupTableInsert(table_handle=table, keys=keys, values=values)),
            Step(raw.LookupTableFind(table_handle=table, keys=[b"b", b"c"], default_value=int64(-1))),
            Step(raw.LookupTableSize(table_handle=table)),
            Step(raw.LookupTableImport(table_handle=table, keys=[b"z"], values=array([5]))),
            Step(list(raw.LookupTableExport(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64))),
        ]
    )


@op_types("HashTable")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64)
    find = raw.LookupTableFind(table_handle=table, keys=[b"b"], default_value=int64(-1))
    start = raw.InitializeTable(table_handle=table, keys=[b"a", b"b"], values=array([1, 2]))
    return Plan(steps=[Step(find), Step(start), Step(find)])


@op_types("ConditionalAccumulator")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    handle = raw.ConditionalAccumulator(dtype=tf.float32, shape=[2])
    give = raw.AccumulatorApplyGradient(handle=handle, local_step=int64(0), gradient=[1.0, 3.0])
    return Plan(
        steps=[
            Step(give),
            Step(give),
            Step(raw.AccumulatorNumAccumulated(handle=handle)),
            Step(raw.AccumulatorTakeGradient(handle=handle, num_required=2, dtype=tf.float32)),
        ]
    )


# -- cells -----------------------------------------------------------------------------------------


def _lstm(*shape: int, peepholes: bool) -> dict[str, Any]:
    """The inputs of an LSTM of two units for inputs of three."""
    units = 2
    return {
        "x": reals(*shape, 3),
        "cs_prev": reals(shape[-1], units),
        "h_prev": reals(shape[-1], units) / 2,
        "w": reals(3 + units, 4 * units),
        "wci": reals(units),
        "wcf": reals(units) + 1,
        "wco": reals(units) - 1,
        "b": reals(4 * units),
        "use_peephole": peepholes,
    }


@op_types("BlockLSTM-short")
def _(tf: Any, _: Any) -> Any:
    """After the last step the state and the outputs are zeros, and the rest is what memory held."""
    found = tf.raw_ops.BlockLSTM(seq_len_max=int64(2), **_lstm(3, 4, peepholes=False))
    return [found.cs, found.h]


for _peeps in (False, True):
    case(f"LSTMBlockCell-{_peeps:d}", slopes=False, cell_clip=0.4, **_lstm(4, peepholes=_peeps))
    for _clip in (-1.0, 0.4):
        case(f"BlockLSTM-{_peeps:d}-{_clip}", int64(3), cell_clip=_clip, **_lstm(3, 4, peepholes=_peeps))
    # TensorFlow's gradient of it is not that of finite differences; ours is.
    case(f"BlockLSTMV2-{_peeps:d}", int64(3), slopes=False, **_lstm(3, 4, peepholes=_peeps))
    _CELL = _lstm(4, peepholes=_peeps)
    _keys = "i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"
    _given = {key: reals(4, 2) * number / 9 for number, key in enumerate(_keys, 1)}
    case(f"LSTMBlockCellGrad-{_peeps:d}", slopes=False, **_CELL, **_given)
_GRU: dict[str, Any] = {
    "x": reals(4, 3),
    "h_prev": reals(4, 2),
    "w_ru": reals(5, 4),
    "w_c": reals(5, 2),
    "b_ru": reals(4),
    "b_c": reals(2),
}
case("GRUBlockCell", slopes=False, **_GRU)
case("GRUBlockCellGrad", slopes=False, r=reals(4, 2) / 3, u=reals(4, 2) / 5, c=reals(4, 2) / 4, d_h=reals(4, 2), **_GRU)


# -- arrays ----------------------------------------------------------------------------------------

case("Bincount", array([[1, 3], [3, 9]]).astype(int32), int32(5), reals(2, 2))
case("Bincount-unweighted", array([1, 3, 3], int32), int32(4), zeros(0, int32))
case("Bincount-negative", array([1, -3], int32), int32(4), zeros(0, float32))
case("NthElement", reals(3, 5), int32(1))
case("NthElement-reverse", array([[1, 3, 3, 2]], float32), int32(0), reverse=True)
case("NthElement-outside", reals(3, 5), int32(5))
old("NearestNeighbors", 2474, [reals(5, 3), reals(4, 3), int64(2)], outputs=2)
old("NearestNeighbors-all", 2474, [reals(2, 3), reals(4, 3), int64(9)], outputs=2)
_REPEATED = array([[1, 2, 1], [0, 5, 0], [1, 2, 1]], float32)
case("UniqueV2-rows", _REPEATED, array([0]), slopes=False)
case("UniqueV2-columns", _REPEATED, array([1]), slopes=False)
case("UniqueV2-vector", array([4, 1, 4]), zeros(0, int64))
case("UniqueWithCountsV2", _REPEATED, array([0]), slopes=False)
case("InplaceUpdate", reals(4, 2), array([2, 0], int32), reals(2, 2), slopes=False)
case("InplaceAdd", reals(4, 2), array([2, 0], int32), reals(2, 2), slopes=False)
case("InplaceSub", reals(4, 2), array([2, 3], int32), reals(2, 2), slopes=False)
case("Empty", array([2, 3], int32), dtype="float32", init=True)
case("DataFormatDimMap", array([0, 1, 2, 3, -1, -4], int32))
case("DataFormatDimMap-other", array([3, 0]), src_format="NCHW", dst_format="NHWC")
case("DataFormatVecPermute", array([7, 4, 9, 3], int32))
case("DataFormatVecPermute-pairs", np.arange(8, dtype=int32).reshape(4, 2))
case("DataFormatVecPermute-spatial", array([4, 9], int32))
case("DataFormatVecPermute-length", array([4, 9, 1], int32))
_IMAGE = [reals(2, 3, 3, 2), reals(2), reals(2) ** 2, reals(2)]
for _scales in (False, True):
    _given: dict[str, Any] = {"T": "float32", "variance_epsilon": 0.01, "scale_after_normalization": _scales}
    old(f"BatchNormWithGlobalNormalization-{_scales:d}", 8, [*_IMAGE, reals(2) + 1], **_given)
    old(f"BatchNormWithGlobalNormalizationGrad-{_scales:d}", 8, [*_IMAGE, _IMAGE[0]], outputs=5, **_given)


@op_types("ResourceGather")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    with tf.variable_scope("v", use_resource=True):
        v = tf.get_variable("v", initializer=reals(4, 2))
    rows = raw.ResourceGather(resource=v.handle, indices=[[3, 0]], dtype=tf.float32)
    parts = raw.ResourceGatherNd(resource=v.handle, indices=[[3, 1], [0, 0]], dtype=tf.float32)
    by_rows = tf.gradients(rows * rows, [v])[0]
    by_parts = tf.gradients(parts * parts, [v])[0]
    slopes = [by_rows.values, by_rows.indices, tf.convert_to_tensor(by_parts)]
    return [rows, parts, raw.VariableShape(input=v.handle), *slopes]


# -- ragged tensors --------------------------------------------------------------------------------

_ENDS, _INNER = array([0, 2, 2, 3]), array([0, 1, 4, 5])
case("RaggedRange", array([2, 5, 8]), array([3, 5, 12]), array([1, 1, 3]))
case("RaggedRange-floats", float32(0), float32(1), float32(0.3))
case("RaggedRange-zero", array([1, 1]), array([3, 3]), array([1, 0]))
case("RaggedRange-narrow", array([1, 1], int32), array([3, 0], int32), array([1, -1], int32), Tsplits="int32")
case("RaggedTensorToSparse", [_ENDS], reals(3))
case("RaggedTensorToSparse-deep", [_ENDS, _INNER], reals(5, 2))
case("RaggedTensorToSparse-wrong", [_ENDS], reals(4))
_TYPES: dict[str, Any] = {"row_partition_types": ["ROW_SPLITS"]}
case("RaggedTensorToTensor", array([-1, -1]), reals(3), float32(9), [_ENDS], **_TYPES)
case("RaggedTensorToTensor-cut", array([2, 1]), reals(3), float32(9), [_ENDS], **_TYPES)
_in = int64(-1), reals(5, 2), float32(0), [_ENDS, _INNER]
case("RaggedTensorToTensor-deep", *_in, row_partition_types=["ROW_SPLITS"] * 2)
_in = array([-1, 4]), reals(3), float32(1), [int64(4), array([0, 2, 2])]
case("RaggedTensorToTensor-ids", *_in, row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
case("RaggedGather", [_ENDS], reals(3), array([2, 0, 0]), OUTPUT_RAGGED_RANK=1, slopes=False)
case("RaggedGather-deep", [_ENDS, _INNER], reals(5, 2), array([[2, 0], [1, 0]]), OUTPUT_RAGGED_RANK=3, slopes=False)
case("RaggedGather-outside", [_ENDS], reals(3), array([3]), OUTPUT_RAGGED_RANK=1, slopes=False)


# -- sequences -------------------------------------------------------------------------------------


def _sequence(tf: Any) -> Any:
    def feature(values: Any) -> Any:
        kind = "float_list" if isinstance(values[0], float) else "int64_list"
        made = tf.train.Feature()
        getattr(made, kind).value.extend(values)
        return made

    made = tf.train.SequenceExample()
    made.context.feature["n"].CopyFrom(feature([7]))
    made.context.feature["s"].CopyFrom(feature([1, 2]))
    made.feature_lists.feature_list["x"].feature.extend([feature([1.0, 2.0]), feature([3.0, 4.0])])
    made.feature_lists.feature_list["y"].feature.extend([feature([5]), feature([6, 8])])
    return made.SerializeToString()


_PARTS: dict[str, Any] = {
    "feature_list_dense_missing_assumed_empty": ["gone"],
    "context_sparse_keys": ["s"],
    "context_dense_keys": ["n"],
    "feature_list_sparse_keys": ["y"],
    "feature_list_dense_keys": ["x", "gone"],
    "context_sparse_types": ["int64"],
    "feature_list_dense_types": ["float32", "int64"],
    "context_dense_shapes": [[1]],
    "feature_list_sparse_types": ["int64"],
    "feature_list_dense_shapes": [[2], []],
}
_COUNTS = {"Ncontext_sparse": 1, "Ncontext_dense": 1, "Nfeature_list_sparse": 1, "Nfeature_list_dense": 2}
for _name, _count in (("ParseSingleSequenceExample", 0), ("ParseSequenceExample", 2)):

    @op_types(_name)
    def _(tf: Any, _: Any, name: str = _name, count: int = _count) -> Any:
        texts, labels = [_sequence(tf)] * count or _sequence(tf), ["a", "b"][:count] or "a"
        given = {"serialized": texts, "debug_name": labels, "context_dense_defaults": [array([0])], **_PARTS}
        found = getattr(tf.raw_ops, name)(**given, **(_COUNTS if count else {}))
        return Plan(steps=[Step([list(part) for part in found])])


# -- fused nodes -----------------------------------------------------------------------------------

_PADS = array([[0, 0], [1, 2], [0, 1], [0, 0]], int32)
for _mode in ("REFLECT", "SYMMETRIC"):
    _given = {"mode": _mode, "slopes": False, "tolerance": 1e-5}
    _in = reals(1, 4, 5, 3), _PADS, reals(2, 2, 3, 4)
    case(f"FusedPadConv2D-{_mode}", *_in, strides=[1, 1, 2, 1], padding="VALID", **_given)
    _given |= {"strides": [1] * 4, "padding": "SAME", "resize_align_corners": _mode == "REFLECT"}
    case(f"FusedResizeAndPadConv2D-{_mode}", reals(1, 3, 4, 3), array([6, 5], int32), *_in[1:], **_given)
_in = reals(1, 2, 2, 1), _PADS * 3, reals(2, 2, 1, 1)
case("FusedPadConv2D-far", *_in, mode="REFLECT", strides=[1, 1, 1, 1], padding="VALID", slopes=False)
for _name, _args in (
    *((f"BiasAdd{more}", 1) for more in ("", " Relu", " Relu6", " Elu", " LeakyRelu")),
    *(("FusedBatchNorm", 4), ("FusedBatchNorm Relu", 4)),
):
    _vectors = [reals(4), reals(4) + 1, reals(4) / 3, reals(4) ** 2][:_args]
    _given = {"T": "float32", "num_args": _args, "fused_ops": _name.split(), "tolerance": 1e-5}
    _in = reals(2, 5, 6, 3), reals(3, 2, 3, 4), *_vectors
    _more: dict[str, Any] = {"strides": [1, 1, 2, 1], "padding": "SAME", "epsilon": 0.01, "TArgs": ["float32"] * _args}
    old(f"_FusedConv2D-{_name.replace(' ', '+')}", 1400, _in, **_given, **_more)
    if _args == 1 and "Leaky" not in _name:
        _in, _given["padding"] = (reals(2, 5, 6, 2), reals(3, 2, 2, 2), *_vectors), "VALID"
        old(f"_FusedDepthwiseConv2dNative-{_name.replace(' ', '+')}", 1400, _in, strides=[1, 2, 2, 1], **_given)
for _name in ("BiasAdd", "BiasAdd Relu", "BiasAdd Tanh", "BiasAdd Sigmoid"):
    _given = {"T": "float32", "num_args": 1, "fused_ops": _name.split(), "transpose_a": True, "tolerance": 1e-5}
    old(f"_FusedMatMul-{_name.replace(' ', '+')}", 1400, [reals(3, 2), reals(3, 4), reals(4)], **_given)
_SIZES: dict[str, Any] = {"ksize": array([1, 2, 3, 1], int32), "strides": array([1, 1, 2, 1], int32)}
case("MaxPoolV2", reals(2, 4, 6, 3), padding="SAME", **_SIZES)
case("MaxPoolV2-valid", reals(2, 4, 6, 3), padding="VALID", **_SIZES)
case("MaxPoolV2-integers", wholes(1, 3, 4, 2), padding="SAME", **_SIZES)
_in = reals(1, 3, 4, 2), reals(1, 3, 2, 2), reals(1, 3, 4, 2)
case("MaxPoolGradGradV2", *_in, padding="SAME", **_SIZES, slopes=False)

# -- images ----------------------------------------------------------------------------------------

for _padding in ("SAME", "VALID"):
    _given = {"ksizes": [1, 2, 2, 3, 1], "strides": [1, 1, 2, 2, 1], "padding": _padding}
    case(f"ExtractVolumePatches-{_padding}", reals(2, 4, 3, 5, 2), **_given)
_given = {"ksizes": [1, 2, 1, 2, 1], "strides": [1] * 5, "padding": "SAME"}
case("ExtractVolumePatches-integers", wholes(1, 2, 2, 2, 1), **_given)
_MOVED = {"scale": array([0.6, 1.7], float32), "translation": array([-0.4, 1.2], float32)}
for _curve in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
    for _anti in (False, True):
        _given = {"antialias": _anti, "kernel_type": _curve, "tolerance": 1e-4, **_MOVED}
        case(f"ScaleAndTranslate-{_curve}-{_anti:d}", reals(2, 6, 5, 2), array([4, 9], int32), **_given)
_in = wholes(1, 4, 4, 1, dtype="uint8"), array([3, 3], int32)
case("ScaleAndTranslate-bytes", *_in, slopes=False, tolerance=1e-4, **_MOVED)
case("ScaleAndTranslate-negative", reals(1, 4, 4, 1), array([3, 3], int32), array([-1, 1], float32), zeros(2, float32))
_in = reals(1, 4, 9, 2), reals(1, 6, 5, 2)
case("ScaleAndTranslateGrad", *_in, slopes=False, kernel_type="triangle", antialias=True, tolerance=1e-4, **_MOVED)
_TURN = array([[0.8, -0.6, 1.5, 0.6, 0.8, -2.0, 0.01, -0.02], [1.5, 0, -4, 0, 2.5, 7, 0, 0]], float32)
for _fill in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
    for _between in ("NEAREST", "BILINEAR"):
        _in = reals(2, 5, 4, 2), _TURN, array([6, 7], int32)
        _given = {"interpolation": _between, "fill_mode": _fill, "tolerance": 1e-4}
        case(f"ImageProjectiveTransformV2-{_fill}-{_between}", *_in, **_given)
        _in = wholes(2, 4, 5, 1, dtype="uint8"), _TURN[:1], array([4, 5], int32), float32(7)
        case(f"ImageProjectiveTransformV3-{_fill}-{_between}", *_in, interpolation=_between, fill_mode=_fill)
case("ImageProjectiveTransformV2-count", reals(3, 5, 4, 2), _TURN, array([6, 7], int32), interpolation="NEAREST")
for _centred in (False, True):
    for _normal in (False, True):
        _in = reals(2, 6, 7, 1), array([3, 4], int32), array([[0.25, 0.1], [-1.3, 2.2]], float32)
        _given = {"centered": _centred, "normalized": _normal, "noise": "zero", "uniform_noise": False}
        case(f"ExtractGlimpseV2-{_centred:d}{_normal:d}", *_in, **_given)

# -- quantised numbers -----------------------------------------------------------------------------


def quantised(kind: str, *shape: int) -> Any:
    """Integers of a quantised type, of which 32 bits are used wholly."""
    info = np.iinfo(kind.removeprefix("q"))
    drawn = np.random.default_rng(int(np.prod(shape)) + 5).integers(info.min, info.max, shape)
    return drawn.astype(info.dtype).view([(kind, info.dtype)])


def ends(*numbers: float) -> list[Any]:
    """Ends of ranges."""
    return [float32(number) for number in numbers]


def four(names: str) -> dict[str, Any]:
    """The ends of the ranges of two operands, by their names."""
    return dict(zip(names.split(), ends(-1, 3, -2, 1), strict=True))


_SPREAD = array([-9, -3.3, -1, -0.504, -0.01, 0, 0.004, 0.5, 1.25, 2.71, 5.999, 70], float32)
for _kind in ("quint8", "qint8", "quint16", "qint16", "qint32"):
    for _mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
        # Of an integer of 32 bits that is beyond the range TensorFlow's is undefined.
        if _mode == "MIN_COMBINED" or _kind in ("quint8", "qint8"):
            case(f"QuantizeV2-{_kind}-{_mode}", _SPREAD, float32(-3.3), float32(6), T=_kind, mode=_mode, slopes=False)
        if _kind != "qint32" or _mode == "MIN_FIRST":
            _in = quantised(_kind, 3, 4), float32(-3.3), float32(6)
            case(f"Dequantize-{_kind}-{_mode}", *_in, mode=_mode, tolerance=1e-6)
_in = _SPREAD, float32(-3), float32(2)
case("QuantizeV2-narrow", *_in, T="qint8", mode="SCALED", narrow_range=True, round_mode="HALF_TO_EVEN", slopes=False)
_in = reals(3, 2, 4), array([-1, 0], float32), array([1, 2], float32)
case("QuantizeV2-axis", *_in, axis=1, T="qint8", mode="SCALED", slopes=False)
case("QuantizeV2-wrong", _SPREAD, float32(2), float32(1), T="quint8", slopes=False)
_in = quantised("qint8", 3, 2, 4), array([-1, 0], float32), array([1, 2], float32)
case("Dequantize-axis", *_in, axis=1, mode="SCALED", narrow_range=True)
for _kind in ("quint8", "qint8"):
    _in = quantised("qint32", 4, 5), float32(-900), float32(1200), float32(-300), float32(800)
    case(f"Requantize-{_kind}", *_in, out_type=_kind)
case("RequantizationRange", quantised("qint32", 4, 5), float32(-900), float32(1200), slopes=False)
_in = quantised("qint32", 4, 5), float32(-900), float32(1200)
case("QuantizeDownAndShrinkRange", *_in, out_type="quint8", slopes=False)
_FOUR = four("min_input max_input min_filter max_filter")
for _padding in ("SAME", "VALID"):
    _in = quantised("quint8", 1, 4, 5, 2), quantised("quint8", 2, 3, 2, 3)
    case(f"QuantizedConv2D-{_padding}", *_in, padding=_padding, strides=[1, 2, 2, 1], slopes=False, **_FOUR)
for _turn in (False, True):
    _in = quantised("quint8", 2, 3), quantised("quint8", *((4, 3) if _turn else (3, 4))), *ends(-1, 3, 0, 5)
    case(f"QuantizedMatMul-{_turn:d}", *_in, transpose_b=_turn, slopes=False)
_in = quantised("quint8", 2, 3), quantised("quint8", 3)
case("QuantizedBiasAdd", *_in, out_type="qint32", slopes=False, **four("min_input max_input min_bias max_bias"))
_in = quantised("quint8", 2, 3), quantised("quint8", 2)
case("QuantizedBiasAdd-count", *_in, out_type="qint32", slopes=False, **four("min_input max_input min_bias max_bias"))
_EIGHT_NINE = {"slopes": False, "min_features": float32(-8), "max_features": float32(9)}
for _name in ("QuantizedRelu", "QuantizedRelu6"):
    for _kind in ("quint8", "qint32"):
        case(f"{_name}-{_kind}", features=quantised(_kind, 3, 4), out_type=_kind, **_EIGHT_NINE)
for _name in ("QuantizedMaxPool", "QuantizedAvgPool"):
    _in = quantised("quint8", 1, 4, 5, 2), float32(-8), float32(9)
    case(_name, *_in, ksize=[1, 2, 2, 1], strides=[1, 2, 1, 1], padding="SAME", slopes=False)
_in = int32(1), [quantised("quint8", 2, 3), quantised("quint8", 2, 2)], ends(-1, -2), ends(3, 2.5)
case("QuantizedConcat", *_in, slopes=False)
_in = int32(0), [quantised("qint32", 2, 3), quantised("qint32", 1, 3)], ends(-1, -2), ends(3, 2.5)
case("QuantizedConcat-integers", *_in, slopes=False)
case("QuantizedReshape", quantised("quint8", 2, 3), array([-1, 2], int32), float32(-1), float32(2), slopes=False)
for _name in ("QuantizedAdd", "QuantizedMul"):
    case(_name, x=quantised("quint8", 2, 3), y=quantised("quint8", 3), slopes=False, **four("min_x max_x min_y max_y"))
for _known in (False, True):
    for _signed in (False, True):
        _steps: dict[str, Any] = {"input": _SPREAD, "input_min": float32(-3.3), "input_max": float32(6)}
        _steps |= {"range_given": _known, "signed_input": _signed}
        case(f"QuantizeAndDequantizeV2-{_known:d}{_signed:d}", num_bits=6, tolerance=1e-6, **_steps)
        case(f"QuantizeAndDequantizeV3-{_known:d}{_signed:d}", num_bits=int32(8), tolerance=1e-6, **_steps)
        _more = {"narrow_range": True, "round_mode": "HALF_UP", "tolerance": 1e-6, **_steps}
        case(f"QuantizeAndDequantizeV4-{_known:d}{_signed:d}", **_more)
_in = reals(3, 2, 4), array([-1, 0], float32), array([1, 2], float32)
case("QuantizeAndDequantizeV2-axis", *_in, axis=1, tolerance=1e-6)
_in = reals(3, 2, 4), array([-1, 0], float32), array([1, 2], float32)
case("QuantizeAndDequantizeV4-axis", *_in, axis=1, tolerance=1e-6)
case("QuantizeAndDequantizeV2-wrong", _SPREAD, float32(3), float32(2), range_given=True)
_in = [_SPREAD]
old("QuantizeAndDequantize", 21, _in, T="float32", input_min=-3.0, input_max=2.0, range_given=True, tolerance=1e-6)


@op_types("QuantizedBatchNormWithGlobalNormalization")
def _(tf: Any, _: Any) -> Any:
    names = ("t", "m", "v", "beta", "gamma")
    spans = ends(-1, 2), ends(-1, 1), ends(0.5, 4), ends(-1, 1), ends(-1, 3)
    given = {}
    for name, span in zip(names, spans, strict=True):
        shape = (1, 2, 2, 3) if name == "t" else (3,)
        given |= {name: tf.constant(quantised("quint8", *shape))}
        given |= {f"{name}_min": span[0], f"{name}_max": span[1]}
    found = tf.raw_ops.QuantizedBatchNormWithGlobalNormalization(
        out_type=tf.qint32, variance_epsilon=0.01, scale_after_normalization=True, **given
    )
    return Plan(
        tf.raw_ops.Dequantize(input=found[0], min_range=found[1], max_range=found[2], mode="MIN_FIRST"), tolerance=5e-3
    )


@op_types("Cast-quantised")
def _(tf: Any, _: Any) -> Any:
    given = tf.constant(quantised("quint8", 5))
    back = tf.cast(array([1.5, 300.0, -2.0], float32), tf.qint32)
    return [given, tf.cast(given, tf.float32), tf.bitcast(given, tf.uint8), back, tf.concat([given, given], 0)]


# -- text ------------------------------------------------------------------------------------------


def texts(*values: bytes) -> Any:
    """A vector of strings."""
    return array(values, object)


_SAID = texts(b"a\xc3\xa9\xe2\x82\xac", b"", b"\xff\xf0\x9f\x98\x80z", b"\xe2\x82", b"\x01\t\xc3")
for _errors in ("replace", "ignore"):
    for _name in ("UnicodeDecode", "UnicodeDecodeWithOffsets"):
        _given = {"errors": _errors, "replacement_char": 63, "replace_control_characters": _errors == "replace"}
        case(f"{_name}-{_errors}", _SAID, input_encoding="UTF-8", **_given)
case("UnicodeDecode-wide", texts(b"\x00a\xd8=\xde\x00", b"\x00b"), input_encoding="UTF-16-BE")
case("UnicodeDecode-strict", _SAID, input_encoding="UTF-8", errors="strict")
for _encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
    _in = array([97, 233, 0x1F600, 0xD800, 98], int32), array([0, 2, 2, 5])
    case(f"UnicodeEncode-{_encoding}", *_in, output_encoding=_encoding)
case("UnicodeEncode-ignore", array([97, 0x110000, 98], int32), array([0, 3]), errors="ignore", output_encoding="UTF-8")
case("UnicodeEncode-strict", array([97, 0x110000, 98], int32), array([0, 3]), errors="strict", output_encoding="UTF-8")
case("UnicodeEncode-splits", array([97], int32), array([0, 2]), output_encoding="UTF-8")
_WORDS = {"data": texts(b"a", b"b", b"c", b"d"), "data_splits": array([0, 3, 3, 4])}
for _pad in (-1, 0, 1):
    for _short in (False, True):
        _given = {"ngram_widths": [3, 2], "pad_width": _pad, "preserve_short_sequences": _short, **_WORDS}
        case(f"StringNGrams-{_pad}{_short:d}", separator="|", left_pad="L", right_pad="R", **_given)
_given = {"ngram_widths": [2], "pad_width": 0, "preserve_short_sequences": False}
case("StringNGrams-splits", texts(b"a"), array([0, 2]), separator="|", left_pad="", right_pad="", **_given)
case("DecodePaddedRaw", texts(b"abcdef", b"\x01"), int32(4), out_type="int16")
case("DecodePaddedRaw-big", texts(b"abcdef", b"\x01"), int32(4), out_type="int16", little_endian=False)
case("DecodePaddedRaw-length", texts(b"abcdef"), int32(3), out_type="int16")

# -- rows ------------------------------------------------------------------------------------------

_COUNTED = array([1, 0, 3, 1, 1, 5])
_NONE = zeros(0, float32)
for _weights in (_NONE, reals(6)):
    for _binary in (False, True):
        _marks = {"weights": _weights, "binary_output": _binary, "slopes": False}
        _label = f"{len(_weights)}{_binary:d}"
        case(f"RaggedBincount-{_label}", array([0, 2, 2, 6]), _COUNTED, int64(5), **_marks)
        _places, _shape = array([[0, 0], [0, 2], [1, 1], [1, 2], [3, 0], [3, 1]]), array([4, 3])
        case(f"SparseBincount-{_label}", _places, _COUNTED, _shape, int64(5), **_marks)
        case(f"RaggedCountSparseOutput-{_label}", array([0, 2, 2, 6]), _COUNTED, **_marks)
        case(f"SparseCountSparseOutput-{_label}", _places, _COUNTED, _shape, **_marks)
        case(f"DenseCountSparseOutput-{_label}", _COUNTED, minlength=8, **_marks)
        _marks["weights"] = _weights.reshape(2, 3) if len(_weights) else _weights
        case(f"DenseCountSparseOutput-rows{_label}", _COUNTED.reshape(2, 3), maxlength=4, **_marks)
case("SparseBincount-vector", np.arange(6)[:, None], _COUNTED, array([9]), int64(3), _NONE, slopes=False)
case("RaggedBincount-negative", array([0, 1]), array([-1]), int64(2), _NONE, slopes=False)
case("DenseCountSparseOutput-negative", array([-1]), _NONE, binary_output=False, slopes=False)
case("RaggedCountSparseOutput-splits", array([0, 3]), array([1]), _NONE, binary_output=False, slopes=False)
case("RaggedFillEmptyRows", array([0, 2, 2]), reals(3), int64(4), float32(7))
case("RaggedFillEmptyRows-full", array([0, 1]), array([1, 2]), int64(2), int64(7))
case("RaggedFillEmptyRowsGrad", array([0, 3]), reals(4), slopes=False)
for _hashed in (False, True):
    _kind = "int64" if _hashed else "string"
    _in = (
        *([array([1, 2, 3]), texts(b"a", b"b", b"c")], [array([0, 2, 3]), array([0, 1, 3])]),
        *([array([[0, 0], [1, 1]])], [texts(b"x", b"y")], [array([2, 2])], [array([[7, 8], [9, 10]])]),
    )
    _given = {"input_order": "RSDR", "out_values_type": _kind, "out_row_splits_type": "int64", "slopes": False}
    _given |= {"hashed_output": _hashed, "num_buckets": 100 if _hashed else 0, "hash_key": 0xDECAFCAFFE}
    case(f"RaggedCross-{_hashed:d}", *_in, **_given)


@op_types("RaggedTensorToVariant")
def _(tf: Any, _: Any) -> Any:
    """Whole ragged tensors and their rows as variants, and back with more axes."""
    raw = tf.raw_ops
    values = tf.constant(reals(5, 2))
    splits = [tf.constant(_ENDS), tf.constant(_INNER)]
    whole = raw.RaggedTensorToVariant(rt_nested_splits=splits, rt_dense_values=values, batched_input=False)
    rows = raw.RaggedTensorToVariant(rt_nested_splits=splits, rt_dense_values=values, batched_input=True)
    back = raw.RaggedTensorFromVariant(
        encoded_ragged=whole, input_ragged_rank=2, output_ragged_rank=2, Tvalues=tf.float32
    )
    deep = raw.RaggedTensorFromVariant(
        encoded_ragged=tf.reshape(rows, [3, 1]), input_ragged_rank=1, output_ragged_rank=3, Tvalues=tf.float32
    )
    one = raw.RaggedTensorFromVariant(
        encoded_ragged=rows[0], input_ragged_rank=1, output_ragged_rank=1, Tvalues=tf.float32
    )
    again = raw.RaggedTensorFromVariant(
        encoded_ragged=rows, input_ragged_rank=-1, output_ragged_rank=2, Tvalues=tf.float32
    )
    flat = [*back[0], back[1], *deep[0], deep[1], *one[0], one[1], *again[0], again[1]]
    (slope,) = tf.gradients(tf.square(again[1]), values)
    return [*flat, tf.shape(rows), slope]


@op_types("RaggedTensorFromVariant-wrong")
def _(tf: Any, _: Any) -> Any:
    whole = tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=[tf.constant(_ENDS)], rt_dense_values=tf.constant(reals(3)), batched_input=False
    )
    found = tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=whole, input_ragged_rank=1, output_ragged_rank=1, Tvalues=tf.int32
    )
    return [*found[0], found[1]]


# -- lists and maps --------------------------------------------------------------------------------


@op_types("TensorListConcat")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    x = tf.constant(reals(5, 2))
    parts = raw.TensorListSplit(tensor=x, element_shape=[-1, 2], lengths=array([2, 0, 3]))
    whole = raw.TensorListConcat(input_handle=parts, element_dtype=tf.float32, element_shape=[None, 2])
    some = raw.TensorListScatter(tensor=x, indices=[3, 0, 1, 2, 4], element_shape=[2])
    stacked = raw.TensorListStack(input_handle=some, element_shape=[2], element_dtype=tf.float32)
    both = raw.TensorListConcatLists(input_a=some, input_b=some, element_dtype=tf.float32)
    count = raw.TensorListLength(input_handle=both)
    (slope,) = tf.gradients(tf.square(whole.tensor), x)
    return [whole.tensor, whole.lengths, stacked, count, slope]


@op_types("TensorListPushBackBatch")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    lists = tf.stack(
        [raw.EmptyTensorList(element_shape=[2], max_num_elements=-1, element_dtype=tf.float32) for _ in range(3)]
    )
    pushed = raw.TensorListPushBackBatch(input_handles=lists, tensor=reals(3, 2))
    return [
        raw.TensorListGetItem(input_handle=each, index=0, element_shape=[2], element_dtype=tf.float32)
        for each in tf.unstack(pushed)
    ]


@op_types("AddSparseToTensorsMap")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    kept = {"shared_name": "kept", "container": ""}
    one = raw.AddSparseToTensorsMap(
        sparse_indices=array([[1], [2]]), sparse_values=reals(2), sparse_shape=array([4]), **kept
    )
    with tf.control_dependencies([one]):
        many = raw.AddManySparseToTensorsMap(
            sparse_indices=array([[0, 0], [0, 3], [2, 1]]), sparse_values=reals(3), sparse_shape=array([3, 6]), **kept
        )
    taken = raw.TakeManySparseFromTensorsMap(sparse_handles=tf.concat([many, [one]], 0), dtype=tf.float32, **kept)
    again = raw.TakeManySparseFromTensorsMap(sparse_handles=[int64(77)], dtype=tf.float32, **kept)
    return Plan(steps=[Step(list(taken)), Step(list(again))])


@op_types("MutableDenseHashTableV2")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    table = raw.MutableDenseHashTableV2(
        empty_key=int64(-1), deleted_key=int64(-2), value_dtype=tf.float32, value_shape=[2], initial_num_buckets=8
    )
    keys = array([5, 3, 5])
    find = raw.LookupTableFindV2(table_handle=table, keys=keys, default_value=float32([7, 8]))
    insert = raw.LookupTableInsertV2(table_handle=table, keys=keys[:2], values=reals(2, 2))
    reserved = raw.LookupTableInsertV2(table_handle=table, keys=array([-1]), values=reals(1, 2))
    remove = raw.LookupTableRemoveV2(table_handle=table, keys=array([5]))
    return Plan(
        steps=[
            Step(find),
            Step(insert),
            Step(find),
            Step(reserved),
            Step(raw.LookupTableSizeV2(table_handle=table)),
            Step(remove),
            Step(find),
            Step(raw.LookupTableFindV2(table_handle=table, keys=array([-2]), default_value=float32([7, 8]))),
        ]
    )


# -- updates of variables --------------------------------------------------------------------------


def update(name: str, slots: int, sparse: bool = False, **given: Any) -> None:
    """Add two updates of a variable and its slots by a node.

    Args:
        name: the operation type, and after a dash what is special.
        slots: how many slots there are.
        sparse: whether the gradient has rows, of which two are the same.
        given: the further inputs and attributes, in order.
    """

    @op_types(name)
    def _(tf: Any, _: Any) -> Any:
        op_type = name.partition("-")[0]
        by_handle = op_type.startswith("Resource")
        with tf.variable_scope("v", use_resource=by_handle):
            made = [
                tf.get_variable(f"v{n}", initializer=reals(4, 2) ** (2 if n else 1) / (n + 1)) for n in range(slots + 1)
            ]
        names = ["var", "m", "v", "vhat"] if "accum" not in given.get("_slots", "") else ["var", "accum"]
        refs = [each.handle if by_handle else each._ref() for each in made]
        inputs = dict(zip(names, refs, strict=False))
        rest = {key: value for key, value in given.items() if key != "_slots"}
        slope = {"grad": reals(3, 2), "indices": array([2, 0, 1])} if sparse else {"grad": reals(4, 2)}
        node = getattr(tf.raw_ops, op_type)(**inputs, **slope, **rest)
        return Plan(steps=[Step(node.op if hasattr(node, "op") else node), Step(made)] * 2, tolerance=1e-5)


_RATE = {"lr": float32(0.1)}
_BETAS = {"beta1_power": float32(0.9), **_RATE, "beta1": float32(0.9), "beta2": float32(0.99), "epsilon": float32(0.01)}
_SIGN = {"sign_decay": float32(0.7), "beta": float32(0.8)}
for _prefix in ("Resource", ""):
    update(f"{_prefix}ApplyAdaMax", 2, **_BETAS)
    update(f"{_prefix}ApplyAdagradV2", 1, _slots="accum", epsilon=float32(0.1), **_RATE)
    update(f"{_prefix}SparseApplyAdagradV2", 1, True, _slots="accum", epsilon=float32(0.1), **_RATE)
    update(f"{_prefix}ApplyAddSign", 1, alpha=float32(1.2), **_RATE, **_SIGN)
    update(f"{_prefix}ApplyPowerSign", 1, logbase=float32(1.1), **_RATE, **_SIGN)
update("ResourceApplyAdamWithAmsgrad", 3, beta2_power=float32(0.99), **_BETAS)
for _nesterov in (False, True):
    _given = {"_slots": "accum", "momentum": float32(0.9), "use_nesterov": _nesterov, **_RATE}
    update(f"ResourceApplyKerasMomentum-{_nesterov:d}", 1, **_given)
    update(f"ResourceSparseApplyKerasMomentum-{_nesterov:d}", 1, True, **_given)


@op_types("RefIdentity")
def _(tf: Any, _: Any) -> Any:
    """A reference that is passed on is still one."""
    v = tf.get_variable("v", initializer=reals(3), use_resource=False)
    passed = tf.raw_ops.RefIdentity(input=v._ref())
    return Plan(steps=[Step(passed), Step(tf.raw_ops.AssignAdd(ref=passed, value=reals(3))), Step(v)])


for _what, _value in (
    ("zero", float32(0)),
    ("number", float32(0.5)),
    ("empty", zeros(0, int32)),
    ("vector", zeros(2, int32)),
    ("text", array(b"a", object)),
    ("no-text", array(b"", object)),
):
    case(f"ToBool-{_what}", _value, slopes=False)
case("CheckNumericsV2", reals(3), message="because")
case("CheckNumericsV2-wrong", array([1, np.nan, -np.inf], float32), message="because", slopes=False)
_in = array([0.3, 1, 2.5, 40], float64), array([0.2, 1.5, 3, 38], float64)
case("RandomGammaGrad", *_in, slopes=False, tolerance=1e-6)


# -- gradients as nodes, and centres of clusters ---------------------------------------------------

for _kind in ("float32", "float64"):
    _in = np.linalg.cholesky(positive(2, 3, 3, dtype=_kind)), reals(2, 3, 3, dtype=_kind)
    case(f"CholeskyGrad-{_kind}", *_in, slopes=False, tolerance=1e-4)
old("BatchCholeskyGrad", 12, [np.linalg.cholesky(positive(3, 3)), reals(3, 3)], T="float32", tolerance=1e-4)
for _kind in ("Sum", "Mean", "SqrtN"):
    _in = reals(3, 2), array([7, 1, 7, 4]), array([0, 0, 1, 2], int32), int32(9)
    case(f"SparseSegment{_kind}GradV2", *_in, slopes=False, tolerance=1e-6)
_CLOUD = array([[0, 0], [10, 10], [20, 20]], float32)


@op_types("KmeansPlusPlusInitialization")
def _(tf: Any, _: Any) -> Any:
    """As many centres as there are different points are all of them, whatever is drawn."""
    found = tf.raw_ops.KmeansPlusPlusInitialization(
        points=np.repeat(_CLOUD, 2, 0), num_to_sample=int64(3), seed=int64(5), num_retries_per_sample=int64(2)
    )
    return tf.sort(found[:, 0])


case("KmeansPlusPlusInitialization-many", _CLOUD, int64(4), int64(5), int64(0))
case("KMC2ChainInitialization", array([0, 0, 1, 0], float32), int64(3))
case("KMC2ChainInitialization-empty", zeros(0, float32), int64(3))


@op_types("TensorArrayGradWithShape")
def _(tf: Any, _: Any) -> Any:
    """The array of gradients has axes of its own before those of the elements."""
    raw = tf.raw_ops
    array = raw.TensorArrayV3(size=2, dtype=tf.float32, element_shape=[2])
    wrote = raw.TensorArrayWriteV3(handle=array.handle, index=0, value=reals(2), flow_in=array.flow)
    back = raw.TensorArrayGradWithShape(handle=array.handle, flow_in=wrote, shape_to_prepend=[3], source="gradients")
    flow = back.flow_out
    for _ in range(2):  # gradients are added up
        flow = raw.TensorArrayWriteV3(handle=back.grad_handle, index=0, value=reals(3, 2), flow_in=flow)
    found = raw.TensorArrayReadV3(handle=back.grad_handle, index=0, flow_in=flow, dtype=tf.float32)
    return tf.reshape(found, [3, 2])
