"""The plan of an import: the nodes of a ``GraphDef``, checked and converted.

The module is pure: it reads messages and the op registry, and touches no graph. It finds every error of the
graph itself: unknown types, names, inputs, attributes, versions and sizes. ``ordering`` finds cycles. Errors
that only building reveals, such as shapes that do not fit, are left to ``importer``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.config.limits import check_graph_size
from actorsession.errors import InvalidArgumentError, NotFoundError, RequestValueError
from actorsession.graph.function import function_fault
from actorsession.graph.names import OP_NAME, is_op_name
from actorsession.graph.node import GraphDef as PlainGraphDef
from actorsession.graph.op_signatures import REQUIRED, Signature, tensorflow_signature
from actorsession.graph.registry import is_registered, lookup
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.graph.validation import attribute_fault, class_fault
from actorsession.interop import protos
from actorsession.interop.attributes import attr_of, is_of_kind, same
from actorsession.interop.signatures import GRAPH_DEF_VERSION, OF_TENSORFLOW, PRIVATE
from actorsession.interop.tensors import MAX_REPEATED_BYTES, repeated_bytes
from actorsession.records import dataclass
from actorsession.whole_numbers import is_index

__all__ = [
    "ALIASES",
    "Planned",
    "check_versions",
    "functions_named",
    "functions_used",
    "missing_types",
    "plan_message",
    "plan_node",
    "plan_plain",
    "split_input",
]

# Operation types of TensorFlow that are imported as another type. The value is used if the key is not
# registered; ``node_builder`` adapts the inputs where they differ.
ALIASES: Mapping[str, str] = {
    "Case": "If",
    "StatelessCase": "StatelessIf",
    "_Arg": "Placeholder",
    "_Retval": "Identity",
    "EagerPyFunc": "AsyncPyFunc",
}

# TensorFlow's names of attributes, by their names here, for types that lack the name used here.
RENAMED: Mapping[str, str] = {"dtype": "T", "component_types": "Tcomponents"}

# Attributes that affect how TensorFlow runs a node, but not its result.
_HINTS = frozenset({
    "output_shapes",
    "use_locking", "parallel_iterations", "swap_memory", "validate_indices", "debug_name",
    "allowed_devices", "is_async", "grad_a", "grad_b", "grad_x", "grad_y", "use_cudnn_on_gpu",
    "config", "config_proto", "executor_type",  # of calls
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planned:
    """A node to build.

    Attributes:
        name: its name in the file.
        op: its type in the file.
        type: its registered type.
        inputs: producing node and output index of each data input.
        control: names of nodes that run first.
        device: the requested device.
        attrs: values of the attributes of the registered type, and of those that begin with ``_``.
        given: all attributes in the file, for type checks; empty for plain graphs.
        shapes: static shapes of the outputs in the file.
    """

    name: str
    op: str
    type: str
    inputs: tuple[tuple[str, int], ...]
    control: tuple[str, ...]
    device: str
    attrs: Mapping[str, Any]
    given: Mapping[str, Any]
    shapes: tuple[Any, ...] = ()

    @property
    def signature(self) -> Signature | None:
        """TensorFlow's signature of its type, if the node came from TensorFlow's form."""
        return tensorflow_signature(self.op) if self.given else None


def plan_plain(graph_def: PlainGraphDef) -> list[Planned]:
    """Return the nodes of a graph in the library's own form.

    Raises:
        NotFoundError: for types that are not registered.
        ValueError: if the graph is invalid for any other reason.
    """
    _check_types([node.op for node in graph_def.nodes])
    for node in graph_def.nodes:
        fault = attribute_fault(node) or function_fault(node, check=attribute_fault)
        if fault is not None:
            raise RequestValueError(f"node {node.name!r} {fault}")
    planned = [
        Planned(
            n.name,
            n.op,
            n.op,
            n.inputs,
            n.control_inputs,
            n.device,
            n.attrs,
            {},
            tuple([spec.shape for spec in n.outputs]),
        )
        for n in graph_def.nodes
    ]
    _check_names(planned)
    return planned


def plan_message(
    graph_def: protos.GraphDef, producer_ops: protos.OpList | None = None, mapped: Container[tuple[str, int]] = ()
) -> list[Planned]:
    """Return the nodes of a graph in TensorFlow's form; see ``plan_plain``.

    Args:
        graph_def: the graph.
        producer_ops: signatures of the operation types in the program that wrote the graph. Attributes that
            are unknown here and have their default there are dropped silently.
        mapped: outputs that are replaced by other tensors; their nodes may be missing.
    """
    check_versions(graph_def.versions)
    functions = {function.signature.name: function for function in graph_def.library.function}
    used = functions_used(graph_def.node, functions)
    inside = [node.op for name in used for node in functions[name].node_def]
    _check_types([*[node.op for node in graph_def.node], *inside])
    _check_size(graph_def)
    _check_expanded(graph_def.node, {name: functions[name] for name in used})
    defaults = _defaults_of(producer_ops)
    version = graph_def.versions.producer
    planned = [plan_node(node, defaults.get(node.op, {}), version) for node in graph_def.node]
    _check_names(planned, mapped)
    return planned


def functions_used(nodes: Iterable[protos.NodeDef], functions: Mapping[str, protos.FunctionDef]) -> list[str]:
    """Return the functions that attributes of nodes name, and the functions that those use in turn."""
    names: dict[str, None] = {}
    waiting = list(nodes)
    while waiting:
        for name in _used_by(waiting.pop(), functions):
            if name not in names:
                names[name] = None
                waiting.extend(functions[name].node_def)
    return list(names)


def _used_by(node: protos.NodeDef, functions: Mapping[str, protos.FunctionDef]) -> list[str]:
    """Return the functions that attributes of one node name."""
    if not functions:
        return []
    return [name for name in functions_named(node) if name in functions]


def functions_named(node: protos.NodeDef) -> list[str]:
    """Return the names of functions in the attributes of a node, one by one or in lists."""
    references: list[protos.NameAttrList] = []
    for key, value in node.attr.items():
        if not key.startswith("_"):
            value = same(value)
            kind = value.WhichOneof("value")
            references += [value.func] if kind == "func" else value.list.func if kind == "list" else []
    return [each.name for each in references]


def check_versions(versions: protos.VersionDef) -> None:
    """Check that a graph may be read by this version.

    Raises:
        ValueError: under the same conditions as TensorFlow's own check.
    """
    if versions.producer < 0:
        raise RequestValueError(f"the graph was written by version {versions.producer}; versions from 0 on can be read")
    if versions.min_consumer > GRAPH_DEF_VERSION:
        raise RequestValueError(
            f"the graph requires a reader of version {versions.min_consumer} or later; "
            f"this one has version {GRAPH_DEF_VERSION}"
        )
    if GRAPH_DEF_VERSION in versions.bad_consumers:
        raise RequestValueError(
            f"the graph forbids readers of version {GRAPH_DEF_VERSION}, which is the version of this one"
        )


# -- checks --------------------------------------------------------------------------------------


def _check_size(graph_def: protos.GraphDef) -> None:
    """Refuse a small file with large constants; each single constant is bounded where it is read."""
    attrs = [same(value) for node in graph_def.node for value in node.attr.values()]
    tensors = [value.tensor for value in attrs if value.WhichOneof("value") == "tensor"]
    total = sum(repeated_bytes(tensor) for tensor in tensors)
    if total > 2 * MAX_REPEATED_BYTES:
        raise InvalidArgumentError(
            f"the graph's constants in short form take {total} bytes; the limit is {2 * MAX_REPEATED_BYTES}"
        )


def _check_expanded(nodes: Iterable[protos.NodeDef], functions: Mapping[str, protos.FunctionDef]) -> None:
    """Refuse a small file of functions that call each other so often that it is a large graph.

    Args:
        nodes: the nodes of the graph.
        functions: the functions that they use, none of which calls itself.
    """
    sizes: dict[str, int] = {}

    def size(nodes: Iterable[protos.NodeDef]) -> int:
        return sum([1 + sum(sizes[name] for name in _used_by(node, functions)) for node in nodes])

    stack = list(functions)
    while stack:
        inside = functions[stack[-1]].node_def
        missing = [name for node in inside for name in _used_by(node, functions) if name not in sizes]
        if missing:
            stack += dict.fromkeys(missing)
        else:
            name = stack.pop()
            sizes[name] = size(inside)
            check_graph_size(sizes[name], f"function {name!r}")
    check_graph_size(size(nodes))


def missing_types(ops: Iterable[str]) -> Counter[str]:
    """Count the operation types that are not registered here.

    Args:
        ops: the type of each node.
    """
    return Counter(op for op in ops if not is_registered(_local_type(op)))


def _check_types(ops: Iterable[str]) -> None:
    unknown = missing_types(ops)
    if not unknown:
        return
    listed = ", ".join(f"{op!r} ({count} node{'s' * (count > 1)})" for op, count in sorted(unknown.items()))
    raise NotFoundError(f"operation types that are not registered here: {listed}")


def _local_type(op: str) -> str:
    return op if is_registered(op) else ALIASES.get(op, op)


def _check_names(planned: Sequence[Planned], mapped: Container[tuple[str, int]] = ()) -> None:
    counted = Counter(node.name for node in planned)
    twice = sorted(name for name, count in counted.items() if count > 1)
    if twice:
        raise RequestValueError(f"node {twice[0]!r} is not unique: {counted[twice[0]]} nodes have this name")
    for node in planned:
        if not is_op_name(node.name):
            raise RequestValueError(f"node {node.name!r}: a name must match {OP_NAME}")
        for producer, index in node.inputs:
            if producer not in counted and (producer, index) not in mapped:
                raise RequestValueError(f"node {node.name!r}: unknown input node {producer!r}")
        for before in node.control:
            if before not in counted and (before, -1) not in mapped:
                raise RequestValueError(f"node {node.name!r}: unknown control input {before!r}")
        fault = class_fault(node.attrs)
        if fault is not None:
            raise RequestValueError(f"node {node.name!r} {fault}")
        for group in node.attrs.get("_class", ()):
            if group.startswith("loc:@") and group[5:] not in counted:
                raise RequestValueError(f"node {node.name!r} is colocated with the unknown node {group[5:]!r}")


def split_input(text: str, where: str = "an input") -> tuple[str, int]:
    """Return the node and output index of ``node``, ``node:index`` or ``^node`` (-1).

    Raises:
        ValueError: for anything else.
    """
    name, colon, index = text.partition(":")
    if name.startswith("^") and not colon:
        return name[1:], -1
    if colon and not is_index(index):
        raise RequestValueError(f"{where} must be 'node', 'node:index' or '^node', got {text!r:.100}")
    return name, int(index or 0)


# -- one node ------------------------------------------------------------------------------------


def plan_node(
    node: protos.NodeDef, producer: Mapping[str, Any] | None = None, version: int = GRAPH_DEF_VERSION
) -> Planned:
    """Check a single node and return its plan; see ``plan_message``.

    Args:
        node: the node.
        producer: defaults of attributes in the program that wrote the graph.
        version: the version of the program that wrote the graph.
    """
    inputs, control = [], []
    for text in node.input:
        name, index = split_input(text, f"node {node.name!r}: an input")
        if index < 0:
            control.append(name)
        elif control:
            raise RequestValueError(f"node {node.name!r}: control inputs must come after all data inputs")
        else:
            inputs.append((name, index))
    local_type = _local_type(node.op)
    of_file = _given(node)
    for op, name, value, last, meant in _MEANT:
        if node.op == op and version <= last and of_file.get(name) == value:
            of_file[name] = meant
    attrs = _local_attrs(node, local_type, of_file, producer or {})
    return Planned(
        node.name,
        node.op,
        local_type,
        tuple(inputs),
        tuple(dict.fromkeys(control)),
        node.device,
        attrs,
        of_file,
        tuple(of_file.get("_output_shapes", ())),
    )


def _given(node: protos.NodeDef) -> dict[str, Any]:
    known = tensorflow_signature(node.op)
    declared = lookup(_local_type(node.op)).attrs
    of_file = {}
    for name, proto in node.attr.items():
        attr = known.attrs.get(name) if known is not None else None
        if attr is not None and attr.default is not REQUIRED and same(proto).WhichOneof("value") is None:
            continue  # an attribute without a value has its default
        if attr is not None and not is_of_kind(proto, attr.type):
            raise RequestValueError(
                f"node {node.name!r} ({node.op}): attribute {name!r} must be of type "
                f"{attr.type}, got {proto.WhichOneof('value')}"
            )
        try:
            of_file[name] = attr_of(proto)
        except ValueError as exc:
            needed = name in declared or (known is not None and name in known.attrs)
            if needed or name.startswith(PRIVATE):
                raise RequestValueError(f"node {node.name!r} ({node.op}), attribute {name!r}: {exc}") from exc
    if known is not None:
        missing = [attr.name for attr in known.attrs.values() if attr.default is REQUIRED and attr.name not in of_file]
        if missing:
            raise RequestValueError(f"node {node.name!r} ({node.op}) has no attribute {missing[0]!r}")
    return of_file


# What old writers meant by a value: operation type, attribute, value, the last version, and the meaning. A
# graph without versions is of version 0.
_MEANT: Sequence[tuple[str, str, Any, int, Any]] = (("Placeholder", "shape", scalar_shape, 21, TensorShape(None)),)


def _local_attrs(
    node: protos.NodeDef, local_type: str, of_file: Mapping[str, Any], producer: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the attributes of the node in the graph; those that follow from its inputs are not included."""
    declared = lookup(local_type).attrs
    known = tensorflow_signature(node.op)
    attrs: dict[str, Any] = dict(OF_TENSORFLOW.get(node.op, {}))
    for name, value in of_file.items():
        if name.startswith(PRIVATE):
            attrs[name[len(PRIVATE) :]] = value
        elif name in declared or (name.startswith("_") and name != "_output_shapes"):
            attrs[name] = value
        elif known is not None and name in known.attrs:
            _check_default(node, name, value, known.attrs[name], producer)
    if known is not None:
        for attr in known.attrs.values():
            if attr.name in declared and attr.name not in attrs and attr.default is not REQUIRED:
                attrs[attr.name] = attr.default
        for ours, theirs in RENAMED.items():
            if ours in declared and ours not in attrs and theirs in of_file and theirs in known.attrs:
                attrs[ours] = of_file[theirs]
    return attrs


def _check_default(node: protos.NodeDef, name: str, value: Any, attr: Any, producer: Mapping[str, Any]) -> None:
    """Refuse a setting that the operation here does not support, since its result would differ."""
    # Types and counts have no default, or follow from the inputs.
    if attr.default is REQUIRED or attr.type in ("type", "list(type)") or name in _HINTS:
        return
    if attr.type == "float":
        value = float(str(np.float32(value)))  # the number that was written, as the table has it
    if value != attr.default and not (name in producer and producer[name] == value):
        raise RequestValueError(
            f"node {node.name!r} ({node.op}): attribute {name!r} is {value!r:.60}; only {attr.default!r} is supported"
        )


def _defaults_of(ops: protos.OpList | None) -> dict[str, dict[str, Any]]:
    defaults: dict[str, dict[str, Any]] = {}
    for op in ops.op if ops is not None else ():
        defaults[op.name] = {
            attr.name: attr_of(attr.default_value) for attr in op.attr if attr.HasField("default_value")
        }
    return defaults
