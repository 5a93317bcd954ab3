"""Shape inference inside functionalized loops and conditionals.

In a graph with primitive control flow the shape of a loop variable is unknown, because the value that enters
is only its first. As one operation, a loop has variables whose shapes follow from the entering values and
from the results of an iteration. So shape inference is repeated over the functions until the shapes of the
variables do not change any more.

It is needed for another reason too: a kernel relies on its shape function having seen all static
data of its inputs, constants included, and an Enter or Switch had hidden that. If a shape function
refuses the inputs, the graph is left as it was, so that the error appears in the run. ``functionalize`` calls
this.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from actorsession.graph.function import ARGUMENT, CONSTRUCTS, CONTROL_FLOW, LOOPS, FunctionDef
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import Array, InferContext, is_registered, lookup

__all__ = ["types_given", "with_known_shapes"]

Ref = tuple[str, int]
Specs = Sequence[TensorSpec]
Constants = Sequence["Array | None"]

# Rounds after which a variable whose shape still changes counts as unknown, and the limit of inferred nodes
# for each node of the step: nested loops take rounds within rounds.
_ROUNDS = 4
_EFFORT = 50


def with_known_shapes(nodes: Mapping[str, NodeDef], added: Collection[str]) -> dict[str, NodeDef]:
    """Return the nodes of a step, with inferred shapes in functionalized loops and conditionals.

    Args:
        nodes: by name, producers first.
        added: the names of the functionalized loops and conditionals.

    Raises:
        ValueError: if shapes do not fit, or inference takes too long.
    """
    refiner = _Refiner(nodes)
    refined: dict[str, NodeDef] = {}
    known: dict[Ref, TensorSpec] = {}  # better types of values than their nodes have
    for node in nodes.values():
        if node.name in added:
            specs = [known.get(ref, nodes[ref[0]].outputs[ref[1]]) for ref in node.inputs]
            constants = [_constant(nodes[name]) for name, _ in node.inputs]
            node = refiner.construct(node, specs, constants)
            _note(known, node, node.outputs)
        elif any(ref in known for ref in node.inputs):
            _note(known, node, _follows(node, nodes, known))
        refined[node.name] = node
    return refined


def types_given(nodes: Mapping[str, NodeDef], given: Mapping[Ref, TensorSpec]) -> dict[Ref, TensorSpec]:
    """Return the types of values that become better known when the types of some are given.

    Args:
        nodes: of a step, producers first; they stay as they are.
        given: the types of some values.
    """
    refiner, known = _Refiner(nodes), dict(given)
    for node in nodes.values():
        if not any(ref in known for ref in node.inputs):
            continue
        if node.op in CONTROL_FLOW:
            specs = [known.get(ref, nodes[ref[0]].outputs[ref[1]]) for ref in node.inputs]
            constants = [_constant(nodes[name]) for name, _ in node.inputs]
            with contextlib.suppress(Exception):  # it fails when it runs
                _note(known, node, refiner.construct(node, specs, constants).outputs)
        else:
            _note(known, node, _follows(node, nodes, known))
    return known


def _note(known: dict[Ref, TensorSpec], node: NodeDef, specs: Specs) -> None:
    known.update({(node.name, k): spec for k, spec in enumerate(specs)})


def _follows(node: NodeDef, nodes: Mapping[str, NodeDef], known: Mapping[Ref, TensorSpec]) -> Specs:
    """Return the inferred types of a node outside, which itself stays as it was built."""
    if node.op in CONSTRUCTS or not is_registered(node.op):
        return ()
    specs = [known.get(ref, nodes[ref[0]].outputs[ref[1]]) for ref in node.inputs]
    constants = [_constant(nodes[name]) for name, _ in node.inputs]
    try:
        return _inferred(node, specs, constants)
    except Exception:
        return ()  # it fails when it runs


def _constant(node: NodeDef) -> Array | None:
    return node.attrs["value"] if node.op == "Const" else None


def _inferred(node: NodeDef, specs: Specs, constants: Constants) -> list[TensorSpec]:
    """Return the static types of a node's outputs, merged with those inferred from its inputs."""
    context = InferContext(node.op, tuple(specs), node.attrs, tuple(constants))
    inferred = lookup(node.op).infer(context)
    if [s.dtype for s in inferred] != [s.dtype for s in node.outputs]:
        raise ValueError(f"{node.name!r} would produce other dtypes")
    return [
        TensorSpec(old.dtype, old.shape.merge_with(new.shape)) for old, new in zip(node.outputs, inferred, strict=True)
    ]


class _Refiner:
    """Shape inference over functions, with a limit.

    Args:
        nodes: of the step, which set the limit.
    """

    def __init__(self, nodes: Mapping[str, NodeDef]) -> None:
        self._left = _EFFORT * sum(_size(node) for node in nodes.values())

    def construct(self, node: NodeDef, specs: Specs, constants: Constants) -> NodeDef:
        """Return a loop or conditional with types inferred from its inputs."""
        if node.op in LOOPS:
            return self._loop(node, specs, constants)
        branches = {}
        for key in ("then_branch", "else_branch"):
            branches[key] = self._function(node.attrs[key], (), specs[1:], constants[1:])
        outputs = [
            TensorSpec(old.dtype, old.shape.merge_with(a.shape.most_specific_compatible_shape(b.shape)))
            for old, a, b in zip(node.outputs, *[f.output_specs() for f in branches.values()], strict=True)
        ]
        return replace(node, attrs={**node.attrs, **branches}, outputs=tuple(outputs))

    def _loop(self, node: NodeDef, specs: Specs, constants: Constants) -> NodeDef:
        cond, body = node.attrs["cond"], node.attrs["body"]
        count = len(node.outputs)
        captures, captured = specs[count:], constants[count:]
        least = node.outputs
        variables = list(specs[:count])
        for turn in range(_ROUNDS):
            refined = self._function(body, variables, captures, captured)
            after = [
                TensorSpec(s.dtype, s.shape.most_specific_compatible_shape(result.shape))
                for s, result in zip(variables, refined.output_specs(), strict=True)
            ]
            if after == variables:
                break
            last = turn >= _ROUNDS - 2
            variables = [low if last and a != v else a for a, v, low in zip(after, variables, least, strict=True)]
        else:
            variables = list(least)
            refined = self._function(body, variables, captures, captured)
        test = self._function(cond, variables, captures, captured)
        attrs = {**node.attrs, "cond": test, "body": refined}
        return replace(node, attrs=attrs, outputs=tuple(variables))

    def _function(self, function: FunctionDef, inputs: Specs, captures: Specs, captured: Constants) -> FunctionDef:
        """Return a function with types inferred from its arguments."""
        arguments = (*inputs, *captures)
        specs: dict[Ref, TensorSpec] = {(ARGUMENT, k): spec for k, spec in enumerate(arguments)}
        values: dict[Ref, Array] = {(ARGUMENT, len(inputs) + k): v for k, v in enumerate(captured) if v is not None}
        nodes = []
        for node in function.nodes:
            self._left -= 1
            if self._left < 0:
                raise ValueError("the shapes of nested loops take too long to infer")
            read = [specs[ref] for ref in node.inputs]
            node = self._node(node, read, [values.get(ref) for ref in node.inputs])
            specs.update({(node.name, k): spec for k, spec in enumerate(node.outputs)})
            if node.op == "Const":
                values[node.name, 0] = node.attrs["value"]
            nodes.append(node)
        return FunctionDef(tuple(inputs), tuple(captures), tuple(nodes), function.outputs)

    def _node(self, node: NodeDef, specs: Specs, constants: Constants) -> NodeDef:
        if node.op in CONTROL_FLOW:
            return self.construct(node, specs, constants)
        if node.op in CONSTRUCTS:
            raise ValueError(f"{node.name!r} is a call, whose function was built for other types")
        return replace(node, outputs=tuple(_inferred(node, specs, constants)))


def _size(node: NodeDef) -> int:
    functions = [f for f in node.attrs.values() if isinstance(f, FunctionDef)]
    return 1 + sum(_size(inner) for function in functions for inner in function.nodes)
