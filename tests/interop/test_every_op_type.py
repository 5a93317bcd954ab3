"""Every operation type in TensorFlow's form, at the top of a graph and inside functions.

The first half goes through the table of signatures: a node with lists of several lengths is written
into a function and read again. The second goes through the rows with values, and runs what was read.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

import actorsession as acts
from actorsession import DType, NodeDef, TensorShape, as_dtype, import_graph_def
from actorsession.extend import REQUIRED, TensorSpec
from actorsession.graph.dtypes import resource
from actorsession.graph.function import ARGUMENT, CONSTRUCTS, FunctionDef
from actorsession.graph.op_signatures import Arg, Attr, Signature, opsets, signature_of, tensorflow_signature
from actorsession.interop import GraphDef, graph_def_of
from actorsession.interop.exporter import node_of
from actorsession.interop.functions import function_proto, plan_function
from tests.ops.table.row import Row
from tests.ops.test_table import ROWS, each_row, skip_without
from tests.rows import for_each

ONE_OF_EACH = list({row.op: row for row in reversed(ROWS) if row.inputs}.values())
# Without those that the debugger puts into partitions, which are in no file.
TYPES = sorted({name for names in opsets().values() for name in names if not name.startswith("_Debug")} - CONSTRUCTS)
DTYPES = [
    as_dtype(n) for n in ("float32", "int32", "string", "bool", "uint8", "resource", "complex64", "quint8", "qint32")
]
VALUES: dict[str, Any] = {
    "bool": True,
    "float": 1.0,
    "func": FunctionDef((), (), (), ()),
    "int": 1,
    "shape": TensorShape(None),
    "string": "a",
    "tensor": np.float32(1),
}


def _value(kind: str, length: int | None, allows: Callable[[DType], bool]) -> Any:
    """A value of a type of attribute: a list of some length, or a single value."""
    kind = kind.removeprefix("list(").removesuffix(")")
    value = next(filter(allows, DTYPES)) if kind == "type" else VALUES[kind]
    return value if length is None else (value,) * length


def _attrs(signature: Signature, lengths: Mapping[str, int]) -> dict[str, Any]:
    """A value for each attribute that a node needs, with lists of the lengths that are wanted."""
    made: dict[str, Any] = {}
    for name, kind in signature.kinds.items():
        attr = signature.attrs.get(name, Attr(name, kind))
        if name in lengths and kind == "int":
            made[name] = lengths[name]
        elif kind.startswith("list(") and (attr.default is REQUIRED or name in lengths):
            made[name] = _value(kind, lengths.get(name, 0), attr.allows)
        elif attr.default is REQUIRED:
            made[name] = _value(kind, None, attr.allows)
        elif kind == "type":
            made[name] = attr.default
    return made


def _specs(args: Iterable[Arg], attrs: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
    found: list[TensorSpec] = []
    for arg in args:
        dtypes = attrs[arg.type] if arg.is_list else [attrs.get(arg.type, arg.type)]
        count = attrs[arg.number] if arg.number else 1
        found += [
            TensorSpec(resource if arg.is_ref else as_dtype(each), TensorShape(None)) for each in [*dtypes] * count
        ]
    return tuple(found)


@for_each("op", TYPES)
def test_outputs_of_a_node_in_a_function_are_counted_whichever_of_its_lists_are_empty(op: str) -> None:
    signature = signature_of(op)
    assert signature is not None
    args = (*signature.inputs, *signature.outputs)
    lists = {arg.number or arg.type for arg in args if arg.number or arg.is_list}
    lists -= {"Nordering_token"}  # collectives take no tokens here
    for common, special, name in itertools.product((0, 1, 2), (0, 2), sorted(lists) or [""]):
        lengths = {**dict.fromkeys(lists, common), name: special, "Nordering_token": 0}
        attrs = _attrs(signature, lengths)
        inputs, outputs = _specs(signature.inputs, attrs), _specs(signature.outputs, attrs)
        read = tuple([(ARGUMENT, k) for k in range(len(inputs))])
        node = NodeDef(name="node", op=op, inputs=read, attrs=attrs, outputs=outputs)
        results = tuple([("node", k) for k in range(len(outputs))])
        function = FunctionDef(inputs, (), (node,), results)
        found = plan_function(function_proto("f", function, node_of))
        assert found.results == results
        assert [(each.op, len(each.inputs)) for each in found.nodes] == [(op, len(inputs))]


def strange(message: GraphDef) -> list[tuple[str, str]]:
    """Types and attributes in a graph that TensorFlow does not have."""
    inside = [node for function in message.library.function for node in function.node_def]
    found = []
    for node in (*message.node, *inside):
        signature = tensorflow_signature(node.op)
        if signature is None:
            found.append((node.op, ""))
        known = {"_output_shapes", "_class", *(signature.attrs if signature else ())}
        found += [(node.op, key) for key in node.attr if key not in known and (signature or key[0] == "_")]
    return found


@each_row(ONE_OF_EACH)
def test_an_op_gives_the_same_at_the_top_and_in_functions_after_it_was_read_again(row: Row) -> None:
    skip_without(row)
    arrays = [np.asarray(array) for array in row.inputs[0]]
    with acts.Graph().as_default() as graph, np.errstate(all="ignore"):
        fed = [acts.placeholder(as_dtype(a.dtype), a.shape, f"fed_{k}") for k, a in enumerate(arrays)]

        @acts.flow.Defun(*[tensor.dtype for tensor in fed])
        def called(*tensors: Any) -> Any:
            for tensor, array in zip(tensors, arrays, strict=True):
                tensor.set_shape(array.shape)
            return row.build(*tensors)

        plain, inside = (
            made if isinstance(made, (list, tuple)) else [made] for made in (row.build(*fed), called(*fed))
        )
        feeds = {tensor.name: array for tensor, array in zip(fed, arrays, strict=True)}
        fetches = [tensor.name for tensor in plain]
        wanted = acts.Session(graph=graph).run(fetches, feeds)
        floats = [tensor for tensor in fed if tensor.dtype.is_floating]
        if floats:
            with contextlib.suppress(LookupError, TypeError, ValueError):  # there is no gradient
                acts.gradients(plain, floats)
        written = graph_def_of(graph, add_shapes=True)
        assert strange(written) == []
    with acts.Graph().as_default() as other:
        import_graph_def(GraphDef.FromString(written.SerializeToString()), name="")
        found = acts.Session(graph=other).run([fetches, [t.name for t in inside]], feeds)
    for values in found:
        for got, want in zip(values, wanted, strict=True):
            np.testing.assert_array_equal(got, want)
