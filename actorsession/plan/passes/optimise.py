"""Optimise: the same step with fewer nodes.

This is a pure pass over a pruned and placed step graph, called by sessions and masters before they partition.
One walk from producers to consumers does four things to a node, in this order: an unobserved Identity is
replaced by its input; a node whose inputs are all constants becomes a constant; a product with ones, such as
the gradient of a sum of products, is replaced by the other factor; a node that repeats an earlier one is
replaced by that. A second walk, backwards, drops the nodes that are no longer read. Products of which only
some columns are read lose the others (``partial_products``). All are linear in the nodes, so that large graphs
plan as fast as before.

Only nodes without state and side effects are changed, and never feeds or placeholders. Fetched nodes and
targets keep their names. Every node keeps its place in the order, its device, and the user's line.

A step that fails without the pass fails with it, with the same message. A kernel that raises while it is
tried here stays in the graph. If a shape function would refuse a value that folding computed, the value is
hidden from the node behind an Identity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from actorsession.config import OptimizerOptions, OptLevel
from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.dtypes import ALL_TYPES
from actorsession.graph.function import CONSTRUCTS
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import Array, InferContext, OpDef, is_registered, lookup
from actorsession.graph.shape import TensorShape
from actorsession.plan.passes.constant_folding import DEFAULT_FOLDED_BYTES, Constant, evaluated, held_bytes
from actorsession.plan.passes.partial_products import without_unread_columns
from actorsession.plan.prune import ARG, PLACEHOLDERS, StepGraph
from actorsession.records import dataclass

__all__ = ["OptimiserSettings", "optimise", "optimiser_settings"]

# Limit of all folded constants of a plan together, as a multiple of that of one: folded constants are kept
# for the lifetime of the plan, where the step would release the values.
_FOLDED_TOGETHER = 4

# Bytes up to which constants are compared by value. Above it only the same array is equal, because a pass
# over a graph must not read gigabytes of weights.
_COMPARED_BYTES = 1024
Ref = tuple[str, int]
_PASSING = frozenset({"Identity", "StopGradient"})
# Whose elements are those of their input, or of the one with that number.
_SPREADS = {"BroadcastTo": 0, "Fill": 1, "Reshape": 0, "Tile": 0}
# A complex product with 1 is another number where a factor is infinite.
_REAL = frozenset([dtype for dtype in ALL_TYPES if dtype.is_floating or dtype.is_integer])
# Types that can be fed. Pruning leaves only the one with a default in a graph. It keeps its node, because
# programs look for it by name.
_FED = PLACEHOLDERS | {"PlaceholderWithDefault"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimiserSettings:
    """Settings of the pass, under TensorFlow's names; the defaults are those of its default level L1.

    Attributes:
        do_common_subexpression_elimination: whether equal nodes become one.
        do_constant_folding: whether nodes that read only constants become constants.
        max_folded_constant_in_bytes: largest constant that folding makes; 0 for 10 MiB.
        do_functionalization: whether primitive loops and conditionals are compiled.
        do_control_edge_grouping: whether control edges between devices share messages.
    """

    do_common_subexpression_elimination: bool = True
    do_constant_folding: bool = True
    max_folded_constant_in_bytes: int = 0
    do_functionalization: bool = True
    do_control_edge_grouping: bool = True


def optimiser_settings(options: OptimizerOptions) -> OptimiserSettings:
    """Return the settings of the optimise pass for a session's options.

    Level ``L1`` switches everything on; under ``L0`` the single options decide.
    """
    everything = options.opt_level is OptLevel.L1
    return OptimiserSettings(
        do_common_subexpression_elimination=(everything or options.do_common_subexpression_elimination),
        do_constant_folding=everything or options.do_constant_folding,
        max_folded_constant_in_bytes=options.max_folded_constant_in_bytes,
        do_functionalization=everything,
        do_control_edge_grouping=everything,
    )


def optimise(
    graph: StepGraph,
    device_of: Mapping[str, str],
    options: OptimiserSettings,
    note: Callable[[str, str], None] | None = None,
) -> tuple[StepGraph, dict[str, str]]:
    """Return a smaller graph with the same values and effects.

    Args:
        graph: the nodes that the run needs, producers first.
        device_of: full device name of each node.
        options: the settings; with both options off the graph is returned as it is.
        note: takes the name of each node that is replaced, and what became of it.

    Returns:
        The new graph, and the device of each of its nodes. Feeds, fetches and targets are the same.
    """
    if not (options.do_common_subexpression_elimination or options.do_constant_folding):
        return graph, dict(device_of)
    if not PRIMITIVES.isdisjoint([node.op for node in graph.nodes.values()]):
        # The walk cannot handle nodes that may be dead or run repeatedly.
        return graph, dict(device_of)
    walk = _Walk(graph, device_of, options, note)
    with np.errstate(all="ignore"):  # as where kernels run
        for node in graph.nodes.values():
            walk.take(node)
    nodes = _reachable(walk.nodes, graph) if walk.changed else graph.nodes
    smaller = without_unread_columns(nodes, walk.kept, walk.made, note)
    if smaller is not nodes:
        nodes = _reachable(dict(smaller), graph)  # nothing reads any more how a product was divided
    if nodes is graph.nodes:
        return graph, dict(device_of)
    return replace(graph, nodes=nodes), {n: device_of[walk.made.get(n, n)] for n in nodes}


class _Walk:
    """The walk from producers to consumers.

    Attributes:
        nodes: the remaining nodes so far, rewired.
        made: new nodes, with the original node of each.
        kept: the names of the nodes that are fetched, or targets.
    """

    def __init__(
        self,
        graph: StepGraph,
        device_of: Mapping[str, str],
        options: OptimiserSettings,
        note: Callable[[str, str], None] | None,
    ) -> None:
        self.nodes: dict[str, NodeDef] = {}
        self.made: dict[str, str] = {}
        self._built = graph.nodes
        self._note = note
        self._device_of = device_of
        self._merges = options.do_common_subexpression_elimination
        self._folds = options.do_constant_folding
        self._most_bytes = options.max_folded_constant_in_bytes or DEFAULT_FOLDED_BYTES
        self._bytes_left = _FOLDED_TOGETHER * self._most_bytes
        self._targets = frozenset(graph.targets)
        self.kept = self._targets | {name for name, _ in graph.fetches}
        self._moved: dict[Ref, Ref] = {}  # values that are read from another node now
        self._replacement: dict[str, str] = {}  # replacements of nodes in control inputs
        self._constants: dict[str, Constant] = {}
        self._ones: set[str] = set()  # nodes without control inputs whose elements are all 1
        self._folded = 0
        self._seen: dict[tuple[Any, ...], NodeDef] = {}
        self._pure: dict[str, OpDef | None] = {ARG: None}  # by type; None for those not to be changed

    @property
    def changed(self) -> bool:
        """Whether the graph was changed."""
        return bool(self._moved or self._folded)

    def take(self, node: NodeDef) -> None:
        """Process one node, whose producers have been processed."""
        if self._moved or node.control_inputs:
            node = self._rewired(node)
        if self._folded:
            node = self._ignorant(node)
        op = node.op
        try:
            definition = self._pure[op]
        except KeyError:
            definition = self._pure[op] = _pure_definition(op)
        if definition is None or _OBJECT in node.attrs:
            self.nodes[node.name] = node
            return
        if op in _PASSING and self._forwards(node):
            return
        if not node.control_inputs:
            if op == "Const":
                self._note_constant(node)
            elif op in _SPREADS and node.inputs[_SPREADS[op]][0] in self._ones:
                self._ones.add(node.name)
            if self._folds and node.inputs and self._fold(node, definition):
                return
            if self._folds and op == "Mul" and self._is_by_ones(node):
                return
        if not (self._merges and self._merge(node)):
            self.nodes[node.name] = node

    def _rewired(self, node: NodeDef) -> NodeDef:
        """Return the node with inputs that refer to the remaining nodes."""
        moved = self._moved
        inputs, control = node.inputs, node.control_inputs
        for ref in inputs:
            if ref in moved:
                inputs = tuple([moved.get(ref, ref) for ref in inputs])
                break
        if control:
            stand_in = self._replacement
            after = [stand_in.get(name, name) for name in control]
            # A constant is available before the step begins.
            control = tuple(dict.fromkeys([n for n in after if n not in self._constants]))
        if inputs is node.inputs and control == node.control_inputs:
            return node
        return replace(node, inputs=inputs, control_inputs=control)

    def _ignorant(self, node: NodeDef) -> NodeDef:
        """Return the node, with folded inputs hidden if its shape function refuses their values.

        Kernels are made for the static knowledge of their inputs, and rely on its having been checked when
        the graph was built. Knowledge that is new since then is checked here.
        """
        constants = self._constants
        read = self._built[node.name].inputs
        late = [
            k for k, (name, _) in enumerate(node.inputs) if name in constants and self._built[read[k][0]].op != "Const"
        ]
        if not late or self._accepts(node, late):
            return node
        inputs = list(node.inputs)
        for k in late:
            name = f"_unknown/{node.name}/{k}"
            producer, index = read[k]
            announced = self._built[producer].outputs[index]
            self.nodes[name] = NodeDef(
                name=name, op="Identity", inputs=(inputs[k],), outputs=(announced,), source=node.source
            )
            self.made[name] = node.name
            inputs[k] = name, 0
        return replace(node, inputs=tuple(inputs))

    def _accepts(self, node: NodeDef, late: Sequence[int]) -> bool:
        read = self._built[node.name].inputs
        if node.op in CONSTRUCTS:  # their bodies were built for the static types
            return all(
                self._constants[node.inputs[k][0]].spec == self._built[read[k][0]].outputs[read[k][1]] for k in late
            )
        constants = [self._constants.get(name) for name, _ in node.inputs]
        specs = tuple(
            [
                self.nodes[name].outputs[i] if c is None else c.spec
                for c, (name, i) in zip(constants, node.inputs, strict=True)
            ]
        )
        arrays = tuple([None if c is None else c.array for c in constants])
        try:
            lookup(node.op).infer(InferContext(node.op, specs, node.attrs, arrays))
        except Exception:
            return False
        return True

    # -- nodes that only forward their input ---------------------------------------------------------

    def _forwards(self, node: NodeDef) -> bool:
        """Redirect the readers of an Identity to its input if unobservable; return whether it was done."""
        return not node.control_inputs and self._redirects(node, node.inputs[0], "only passes its input on")

    def _redirects(self, node: NodeDef, ref: Ref, why: str) -> bool:
        """Redirect the readers of a node to a value that is the same if unobservable; return whether it was done."""
        if node.name in self.kept:
            return False
        producer = self.nodes[ref[0]]
        # Its static shape may be more precise than its input's, and readers were built for that.
        same_type = producer.outputs[ref[1]] == node.outputs[0]
        if not same_type or self._where(ref[0]) != self._where(node.name):
            return False
        self._moved[node.name, 0] = ref
        self._replacement[node.name] = ref[0]
        if self._note is not None:
            self._note(node.name, f"{why}: its readers read '{ref[0]}:{ref[1]}'")
        return True

    def _where(self, name: str) -> str:
        return self._device_of[self.made.get(name, name)]

    # -- constants -----------------------------------------------------------------------------

    def _note_constant(self, node: NodeDef) -> None:
        array = node.attrs["value"]
        self._constants[node.name] = Constant.of(array, node.outputs[0])
        if array.size == 1 and node.outputs[0].dtype in _REAL and array.item() == 1:
            self._ones.add(node.name)

    def _fold(self, node: NodeDef, definition: OpDef) -> bool:
        """Replace a node that reads only constants by constants; return whether it was replaced."""
        constants = self._constants
        for name, _ in node.inputs:
            if name not in constants:
                return False
        several = len(node.outputs) != 1
        if node.name in self._targets or (several and node.name in self.kept):
            return False
        read = [constants[name] for name, _ in node.inputs]
        most = min(self._most_bytes, self._bytes_left)
        arrays = evaluated(node, definition, read, self._where(node.name), most)
        if not arrays:
            return False
        self._bytes_left = max(0, self._bytes_left - sum(map(held_bytes, arrays)))
        self._folded += 1
        if self._note is not None:
            self._note(node.name, f"reads constants alone: computed once, {sum(map(held_bytes, arrays)):,} bytes")
        for i, array in enumerate(arrays):
            self._put_constant(node, i, array, f"_folded/{node.name}/{i}" if several else node.name)
        return True

    def _is_by_ones(self, node: NodeDef) -> bool:
        """Redirect the readers of a product with ones to its other factor; return whether it was done."""
        one, other = node.inputs
        if one[0] not in self._ones:
            one, other = other, one
        if one[0] not in self._ones:
            return False
        # Ones without axes make no shape larger.
        ones, factor = self.nodes[one[0]].outputs[0], self.nodes[other[0]].outputs[other[1]]
        fits = ones.shape.rank == 0 or factor.shape.is_fully_defined()
        return fits and self._redirects(node, other, "multiplies by ones")

    def _put_constant(self, node: NodeDef, index: int, array: Array, name: str) -> None:
        """Add a constant of that name for an output of a node."""
        folded = NodeDef(
            name=name,
            op="Const",
            attrs={"value": array},
            device=node.device,
            source=node.source,
            outputs=(TensorSpec(node.outputs[index].dtype, TensorShape(array.shape)),),
        )
        if name != node.name:
            self.made[name] = node.name
        self._note_constant(folded)
        if not (self._merges and self._merge(folded)):
            self.nodes[name] = folded
        if name != node.name:
            self._moved[node.name, index] = self._moved.get((name, 0), (name, 0))
            # Any output will do for nodes that run after the node, because constants wait for nothing.
            self._replacement[node.name] = name

    # -- equal nodes ---------------------------------------------------------------------------

    def _merge(self, node: NodeDef) -> bool:
        """Redirect the readers of a node to an equal earlier one; return whether the node can be dropped."""
        if not node.outputs:
            return False
        attrs = _attrs_key(node.attrs)
        if attrs is None:
            return False
        # A constant without a requested device is copied to every partition that reads it.
        anywhere = node.op == "Const" and not (node.device or node.attrs.get("_class"))
        where = None if anywhere else self._where(node.name)
        key = (node.op, node.inputs, node.control_inputs, where, attrs)
        first = self._seen.setdefault(key, node)
        if first is node or first.outputs != node.outputs:
            return False
        for i in range(len(node.outputs)):
            self._moved[node.name, i] = first.name, i
        self._replacement[node.name] = first.name
        if self._note is not None and node.name in self._built:
            self._note(node.name, f"computes the same as {first.name!r}, which is read in its place")
        return node.name not in self.kept


# The mark of a node that makes an object: two of them are two. A list that records its reads is one.
_OBJECT = "_read_once"


def _pure_definition(op: str) -> OpDef | None:
    """Return the definition of a type whose nodes may be folded and merged; ``None`` for any other."""
    if op in _FED or not is_registered(op):
        return None
    definition = lookup(op)
    return None if definition.stateful or definition.blocks else definition


# -- keys ------------------------------------------------------------------------------------------


def _attrs_key(attrs: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return attributes as a key that equal ones share; ``None`` for values that have no such key.

    Colocation is left out: the devices are settled and are compared separately.
    """
    if not attrs:
        return ()
    try:
        key = tuple([(k, _value_key(v)) for k, v in sorted(attrs.items()) if k != "_class"])
        hash(key)
    except TypeError:
        return None
    return key


def _value_key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.nbytes > _COMPARED_BYTES:
            return id(value)
        content = tuple(value.flat) if value.dtype == object else value.tobytes()
        return value.dtype, value.shape, content
    if isinstance(value, (list, tuple)):
        return tuple([_value_key(v) for v in value])
    # 1, 1.0 and True compare equal but are different attributes; so are 0.0 and -0.0.
    return (type(value), repr(value)) if isinstance(value, (bool, int, float)) else value


def _reachable(nodes: dict[str, NodeDef], graph: StepGraph) -> dict[str, NodeDef]:
    """Return the nodes that fetches and targets still need, in order."""
    needed = {name for name, _ in graph.fetches}
    needed.update(graph.targets)
    for node in reversed(nodes.values()):
        if node.name in needed:
            needed.update([name for name, _ in node.inputs])
            needed.update(node.control_inputs)
    return {name: node for name, node in nodes.items() if name in needed}
