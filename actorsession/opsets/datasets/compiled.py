"""Functions of datasets, compiled for the device of their node.

A function is traced once, when the graph is built, and travels with the node as plain data. Where the node's
kernel is made, it is compiled like the body of a call, so everything that a graph can do runs in it: loops,
random numbers, variables, tables, Python functions, queues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, OpError, from_exception
from actorsession.graph.function import CONSTRUCTS, LOOPS, STATEFUL_CALL, FunctionDef, function_fault, nodes_inside
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import KernelContext, lookup
from actorsession.opsets.datasets.runs import Run
from actorsession.plan.codegen.bind import BoundPartition
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.partition import Partition
from actorsession.plan.prune import ARG

__all__ = ["Arrived", "Compiled", "Kept"]


class Kept(dict[str, Any]):
    """What a node with functions keeps for a session: states of the nodes inside of it, and its own."""

    def session_ended(self) -> None:
        """Tell all of them; see ``KernelContext.state``."""
        for state in list(self.values()):
            if hasattr(state, "session_ended"):
                state.session_ended()


# A function of more nodes than this is not called on an event loop.
_FEW = 100


class Arrived:
    """What stands for the kernel context of a function that came from another task.

    Args:
        name: the name of its node.
        run: the run that calls it first.
    """

    def __init__(self, name: str, run: Run) -> None:
        self.name = name
        self.device = run.device
        self.resources = run.host
        self._kept = Kept()

    def state(self, make: Callable[[], Any]) -> Any:
        """Return the states of the nodes inside of it."""
        return self._kept


class Compiled:
    """A function that can be called with values.

    Args:
        function: the function.
        ctx: the kernel context of the node that has it.
        number: tells the functions of a node apart.

    Attributes:
        definition: the function as plain data.
        label: the name of the node.
        is_prompt: whether it neither waits nor repeats anything, so that it may run on an event loop.

    Raises:
        InvalidArgumentError: if the function is no valid one; a peer may have sent it.
    """

    def __init__(self, function: FunctionDef, ctx: KernelContext | Arrived, number: int = 0) -> None:
        self.definition = function
        name = f"{ctx.name}/f{number}"
        arguments = function.arguments
        arg_nodes = [
            NodeDef(name=f"_arg/{k}", op=ARG, attrs={"index": k}, outputs=(spec,)) for k, spec in enumerate(arguments)
        ]
        call = NodeDef(
            name=name,
            op=STATEFUL_CALL,
            attrs={"f": function},
            inputs=tuple([(node.name, 0) for node in arg_nodes]),
            outputs=function.output_specs(),
        )
        fault = function_fault(call)
        if fault is not None:
            raise InvalidArgumentError(f"{ctx.name!r} {fault}")
        fetches = tuple([(k, name, k) for k in range(len(function.outputs))])
        part = Partition(ctx.device, (*arg_nodes, call), fetches)
        states: Kept = ctx.state(Kept)
        compiled = compile_partition(part, own_fetches=False)
        self._bound = BoundPartition(compiled, ctx.resources, states.setdefault(name, Kept()))
        (self._segment,) = self._bound.segments
        place_of = dict(compiled.feeds)
        self._places = [place_of[slot] for slot in self._segment.segment.arguments]
        slots = list(self._segment.segment.results)
        self._order = [slots.index(slot) for _, slot in compiled.fetches]
        self.label = ctx.name
        self.is_prompt = _is_prompt(call)

    def __call__(self, run: Run, *values: Any) -> tuple[Any, ...]:
        """Return the results for the values of all inputs and captures.

        Raises:
            OpError: the error, with the node and the user's line in its message.
        """
        try:
            with np.errstate(all="ignore"):
                results = self._segment.function(run, *[values[place] for place in self._places])
        except Exception as exc:
            raise self._located(exc) from exc
        return tuple([results[k] for k in self._order])

    def _located(self, exc: Exception) -> OpError:
        if getattr(exc, "_in_dataset", False):
            assert isinstance(exc, OpError)
            return exc
        error = from_exception(exc)
        frame = exc.__traceback__
        while frame is not None:
            if frame.tb_frame.f_code.co_filename == self._segment.filename:
                number = self._segment.node_at(self._segment.filename, frame.tb_lineno)
                if number is not None:
                    node = self._bound.compiled.nodes[number]
                    where = f" built at {node.source}" if node.source else ""
                    located = type(error)(
                        f"{error.message}\n\t [[{{{{node {node.name}}}}}]] in the function of {self.label!r}{where}"
                    )
                    located._in_dataset = True  # type: ignore[attr-defined]
                    return located
            frame = frame.tb_next
        return error


def _is_prompt(call: NodeDef) -> bool:
    inside = [node for node, _ in nodes_inside(call)]
    return len(inside) <= _FEW and not any(_may_wait(node) for node in inside)


def _may_wait(node: NodeDef) -> bool:
    if node.op in CONSTRUCTS:
        return node.op in LOOPS
    definition = lookup(node.op)
    return definition.blocks or definition.suspends or definition.opens_files
