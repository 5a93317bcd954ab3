"""Operation types that are built by their own names: what graphs hold and few programs build.

What TensorFlow gives is written down (``scripts/differential --only op-types --record``), and our tests compare
with it; so the numbers of this family do not depend on the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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


def case(name: str, *, tolerance: float | None = None, slopes: bool = True, **given: Any) -> None:
    """Add a node: arrays are its inputs, the rest its attributes; with gradients by the floating inputs.

    Args:
        name: the operation type, and after a dash what is special.
        tolerance: see ``Plan``.
        slopes: whether the gradients are compared.
        given: inputs and attributes, by their names.
    """
    op_types.add(name, lambda tf, _: _node(tf, name.partition("-")[0], given, tolerance, slopes))


def _node(
    tf: Any, op_type: str, given: dict[str, Any], tolerance: float | None, slopes: bool
) -> Plan:
    made = {key: _operand(tf, value) for key, value in given.items()}
    outputs = getattr(tf.raw_ops, op_type)(**made)
    operands = [each for value in made.values() for each in _flat(value)]
    tensors = [each for each in operands if isinstance(each, tf.Tensor)]
    return _plan(tf, op_type, tensors, outputs, tolerance, slopes)


def _operand(tf: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tf.constant(value)
    is_arrays = isinstance(value, list) and value and isinstance(value[0], np.ndarray)
    return [tf.constant(each) for each in value] if is_arrays else value


def _flat(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _plan(
    tf: Any, op_type: str, tensors: Any, outputs: Any, tolerance: float | None, slopes: bool
) -> Plan:
    found = [each for output in _flat(outputs) for each in _flat(output)]
    by = [tensor for tensor in tensors if tensor.dtype.is_floating or tensor.dtype.is_complex]
    out = [tensor for tensor in found if tensor.dtype.is_floating or tensor.dtype.is_complex]
    facts = None
    back: list[Any] = []
    if slopes and by and out:
        try:
            back = tf.gradients([each * each for each in out], by)
        except LookupError as error:
            facts = type(error).__name__
    return Plan([*found, *[each for each in back if each is not None]], facts=[
        facts, [each is None for each in back]
    ], tolerance=tolerance)  # fmt: skip


def old(
    name: str, producer: int, inputs: Sequence[Any], tolerance: float | None = None, **attrs: Any
) -> None:
    """Add a node that TensorFlow only reads from graphs that are older than its removal.

    Args:
        name: the operation type, and after a dash what is special.
        producer: the version of the graph.
        inputs: the inputs.
        tolerance: see ``Plan``.
        attrs: values of the attributes; ``T`` follows from the last input.
    """
    op_types.add(name, lambda tf, _: _import(tf, name.partition("-")[0], producer, inputs, tolerance, attrs))


def _import(
    tf: Any, op_type: str, producer: int, inputs: Any, tolerance: Any, attrs: dict[str, Any]
) -> Plan:
    tensors = [tf.constant(each) for each in inputs]
    graph_def = tf.GraphDef()
    graph_def.versions.producer = producer
    node = graph_def.node.add()
    node.name, node.op = "old", op_type
    node.input.extend([f"given{at}" for at in range(len(tensors))])
    for key, value in attrs.items():
        kind = {bool: "b", int: "i", float: "f"}.get(type(value))
        if kind is None:
            node.attr[key].type = tf.as_dtype(value).as_datatype_enum
        else:
            setattr(node.attr[key], kind, value)
    mapped = {f"given{at}:0": tensor for at, tensor in enumerate(tensors)}
    (made,) = tf.import_graph_def(graph_def, mapped, ["old"], name="")
    return _plan(tf, op_type, tensors, list(made.outputs), tolerance, slopes=False)


# -- older forms -----------------------------------------------------------------------------------

case("AccumulateNV2", inputs=[reals(2, 3), reals(2, 3), reals(2, 3)], shape=[2, 3])
case("BatchToSpace", input=reals(8, 2, 1, 1), crops=np.array([[0, 1], [1, 0]]), block_size=2)
case("BiasAddV1", value=reals(2, 3, 4), bias=reals(4))
case("Concat", concat_dim=np.int32(1), values=[reals(2, 3), reals(2, 1), reals(2, 0)])
case("Gather", params=reals(4, 3), indices=np.array([[3, 0], [0, 1]]))
case("Gather-range", params=reals(4, 3), indices=np.array([4]))
case("InTopK", predictions=reals(3, 5), targets=np.array([0, 3, 7]), k=2)
case("Mod", x=wholes(9, low=-9), y=np.full(9, 4, np.int32))
case("Mod-floats", x=reals(9), y=np.full(9, 0.7, np.float32))
case("Mod-by-zero", x=wholes(2), y=np.zeros(2, np.int32))
old("RandomPoisson", 24, [np.array([2]), np.zeros(3, np.float32)], S="int64", dtype="float32")
case("Reverse", tensor=reals(2, 3, 2), dims=np.array([True, False, True]))
case("Reverse-rank", tensor=reals(2, 3), dims=np.array([True]))
case(
    "ScatterNdNonAliasingAdd", input=reals(4, 2), indices=np.array([[1], [3], [1]]), updates=reals(3, 2),
)  # fmt: skip
case("Snapshot", input=reals(3))
case("SpaceToBatch", input=reals(1, 3, 2, 1), paddings=np.array([[1, 0], [0, 0]]), block_size=2)
old("TopK", 6, [reals(3, 6)], k=2, T="float32")
case("PreventGradient", input=reals(3), message="because")
case("DeepCopy", x=reals(2, 2), slopes=False)
for _a, _b in ((False, False), (True, False), (False, True), (True, True)):
    case(
        f"SparseMatMul-{_a:d}{_b:d}", a=reals(*((3, 2) if _a else (2, 3))), transpose_a=_a,
        b=reals(*((4, 3) if _b else (3, 4))), transpose_b=_b, a_is_sparse=True,
    )  # fmt: skip
case("MatrixDiag", diagonal=reals(2, 3))
case("MatrixDiagPart", input=reals(2, 3, 4))
case("MatrixSetDiag", input=reals(2, 3, 2), diagonal=reals(2, 2))
case("MatrixSetDiag-shape", input=reals(2, 3, 2), diagonal=reals(2, 3))
_BAND: dict[str, Any] = {"k": np.array([-1, 1]), "padding_value": np.float32(7)}
case(
    "MatrixDiagV2", diagonal=reals(2, 3, 3), num_rows=np.int32(3), num_cols=np.int32(3), **_BAND
)
case("MatrixDiagPartV2", input=reals(2, 3, 4), **_BAND)
case("MatrixSetDiagV2", input=reals(2, 3, 3), diagonal=reals(2, 3, 3), k=np.array([-1, 1]))
case("NonMaxSuppression", boxes=np.sort(reals(6, 4)), scores=reals(6), max_output_size=np.int32(4),
     iou_threshold=0.1)  # fmt: skip
case("NonMaxSuppressionV2", boxes=np.sort(reals(6, 4)), scores=reals(6),
     max_output_size=np.int32(4), iou_threshold=np.float32(0.3))  # fmt: skip
case("NonMaxSuppression-threshold", boxes=np.sort(reals(6, 4)), scores=reals(6),
     max_output_size=np.int32(4), iou_threshold=1.5)  # fmt: skip
old("TileGrad", 2, [reals(4, 6), np.array([2, 3])], T="float32")
old("AdjustContrast", 1, [wholes(2, 2, 3, dtype="uint8"), *map(np.float32, (2.0, 1.5, 6.0))], T="uint8")
old("BatchCholesky", 12, [positive(2, 3, 3)], T="float32", tolerance=1e-4)
old("BatchMatrixDiag", 13, [reals(2, 3)], T="float32")
old("BatchMatrixDiagPart", 13, [reals(2, 3, 3)], T="float32")
old("BatchMatrixSetDiag", 13, [reals(2, 3, 3), reals(2, 3)], T="float32")
old("BatchMatrixBandPart", 13, [reals(2, 3, 3), np.int64(1), np.int64(0)], T="float32")
old("BatchMatrixInverse", 12, [positive(2, 3, 3)], T="float32", tolerance=1e-4)
old("BatchMatrixDeterminant", 12, [positive(2, 3, 3)], T="float32", tolerance=1e-4)
old("BatchMatrixSolve", 12, [positive(2, 3, 3), reals(2, 3, 1)], T="float32", tolerance=1e-4)
old("BatchMatrixTriangularSolve", 12, [positive(2, 3, 3), reals(2, 3, 1)], T="float32", tolerance=1e-4)
old("BatchMatrixSolveLs", 12, [positive(2, 3, 3), reals(2, 3, 1), np.float64(0)], T="float32",
    tolerance=1e-3)  # fmt: skip
old("BatchSvd", 12, [positive(2, 3, 3)], T="float32", tolerance=1e-4, compute_uv=False)
old("BatchSelfAdjointEigV2", 12, [positive(2, 3, 3)], T="float32", tolerance=1e-4, compute_v=False)


old("SelfAdjointEig", 10, [np.diag(np.float32([3, 1, 2]))], T="float32")


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
        queue = getattr(raw, kind)(
            **types, shapes=[[2]], **({"component_types": [tf.float32]} if ranked else {})
        )
        row = [np.float32([1, 2])]
        rows = [np.float32([[1, 2]] * 3)]
        if ranked:
            row, rows = [np.int64(1), *row], [np.array([3, 2, 5]), *rows]
        out = [tf.int64] * ranked + [tf.float32]
        return Plan(
            steps=[
                Step(raw.QueueEnqueue(handle=queue, components=row)),
                Step(raw.QueueEnqueueMany(handle=queue, components=rows)),
                Step(raw.QueueSize(handle=queue)),
                Step(list(raw.QueueDequeue(handle=queue, component_types=out))),
                Step(list(raw.QueueDequeueMany(handle=queue, n=2, component_types=out))),
                Step(raw.QueueClose(handle=queue)),
                Step(raw.QueueIsClosed(handle=queue)) if False else Step(raw.QueueSize(handle=queue)),
                Step(list(raw.QueueDequeueUpTo(handle=queue, n=9, component_types=out))),
                Step(list(raw.QueueDequeue(handle=queue, component_types=out))),
            ]
        )


@op_types("MutableHashTable")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    table = raw.MutableHashTable(key_dtype=tf.string, value_dtype=tf.int64)
    keys, values = [b"a", b"b"], np.array([1, 2])
    return Plan(
        steps=[
            Step(raw.LookupTableInsert(table_handle=table, keys=keys, values=values)),
            Step(raw.LookupTableFind(table_handle=table, keys=[b"b", b"c"], default_value=np.int64(-1))),
            Step(raw.LookupTableSize(table_handle=table)),
            Step(raw.LookupTableImport(table_handle=table, keys=[b"z"], values=np.array([5]))),
            Step(list(raw.LookupTableExport(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64))),
        ]
    )  # fmt: skip


@op_types("HashTable")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64)
    find = raw.LookupTableFind(table_handle=table, keys=[b"b"], default_value=np.int64(-1))
    start = raw.InitializeTable(table_handle=table, keys=[b"a", b"b"], values=np.array([1, 2]))
    return Plan(steps=[Step(find), Step(start), Step(find)])


@op_types("ConditionalAccumulator")
def _(tf: Any, _: Any) -> Any:
    raw = tf.raw_ops
    handle = raw.ConditionalAccumulator(dtype=tf.float32, shape=[2])
    give = raw.AccumulatorApplyGradient(handle=handle, local_step=np.int64(0), gradient=[1.0, 3.0])
    return Plan(
        steps=[
            Step(give),
            Step(give),
            Step(raw.AccumulatorNumAccumulated(handle=handle)),
            Step(raw.AccumulatorTakeGradient(handle=handle, num_required=2, dtype=tf.float32)),
        ]
    )
