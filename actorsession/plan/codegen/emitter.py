"""The emitter: writes nodes as straight-line Python, with one line or more for each node.

An ``Emitter`` writes the code of one segment of a partition, a ``FunctionEmitter`` that of one function of a
loop or branch. Values are local variables. Each array is dropped after its last use, so that its buffer can
be reused and a variable that was read can be changed in place. ``segment_writer`` makes a function of the
lines; ``control_flow`` and ``call`` write nodes that have functions of their own.

A function never owns a value that is passed into it: an op that keeps such a value keeps a copy, as with a
feed.

Invariant: no part of the text that is executed is chosen by the sender of the graph. Names are numbers,
expressions come from registered ops, and the comment at the end of a line, which holds the node's name and
source, cannot end before the line does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial

from actorsession.graph.node import NodeDef
from actorsession.graph.registry import Kernel, OpDef
from actorsession.plan.abandonment import check_wanted
from actorsession.plan.codegen.beside import BesideWriter
from actorsession.plan.codegen.fusion import Run, fused, write_run
from actorsession.plan.codegen.in_place import over_arrays, overwritten, writes_new
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.codegen.segment import Line
from actorsession.plan.codegen.subgraphs import parted, write_subgraph
from actorsession.plan.codegen.sums import Sum, SumWriter
from actorsession.plan.codegen.use_def import Ref, UseDef
from actorsession.plan.cost import node_cost
from actorsession.plan.partition import SEND
from actorsession.records import dataclass

__all__ = ["CHECK_EVERY", "Emitter", "FunctionEmitter", "Text"]

# Microseconds. A node more expensive than this checks for cancellation before it starts; below it the check
# would cost more than it can save.
_CHECK_ABOVE = 100.0
# Microseconds of cheaper nodes that may run without a check: a step ends soon after it is cancelled, and the
# checks cost nothing that can be measured.
CHECK_EVERY = 1000.0


@dataclass(slots=True)
class Text:
    """The code of one function while it is written.

    Attributes:
        device: full name of the device.
        nodes: all nodes of the partition, to which those of functions are added; their positions are their
            numbers.
        contexts: contexts of the nodes that the code binds.
        sends: keys sent so far.
        code: the lines.
        bindings: global names in them.
        cost: estimated microseconds.
        cost_known: whether everything behind the estimate is known.
        steady: whether the two functions of every branch cost about the same, so that a measured run predicts
            the next.
        unchecked: microseconds of cheap nodes since the code last checked for cancellation.
        suspensions: numbers in the code of the partition's nodes that suspend.
        functions: lines of the functions that the code calls, before its own.
        runs: see ``Segment.runs``.
        subgraphs: see ``Segment.subgraphs``.
        call_writers: by operation type, the writers of the nodes that have functions.
    """

    device: str
    nodes: list[NodeDef]
    contexts: dict[int, NodeContext]
    sends: list[str]
    code: list[Line] = field(default_factory=list)
    bindings: dict[str, int] = field(default_factory=dict)
    cost: float = 0.0
    cost_known: bool = True
    steady: bool = True
    unchecked: float = 0.0
    suspensions: Mapping[int, int] = field(default_factory=dict)
    functions: list[Line] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    subgraphs: list[tuple[int, ...]] = field(default_factory=list)
    call_writers: Mapping[str, Callable[[Emitter, int], None]] = field(default_factory=dict)


class Emitter:
    """The code of some nodes of one use-def analysis.

    Args:
        flow: the use-def analysis.
        text: the code to which the lines are added.
        indent: the indentation of the lines.

    Attributes:
        flow: as given, and so are the others.
        beside: writes the nodes that run beside others.
    """

    def __init__(self, flow: UseDef, text: Text, indent: str) -> None:
        self.flow = flow
        self.text = text
        self.indent = indent
        self._base = flow.base
        self._left: dict[Ref, int] = {}  # remaining uses of each value in this code
        self._over: dict[Ref, str] = {}  # the locals of values that were written over others
        self._gone: set[Ref] = set()  # the values that were overwritten
        self._sums = SumWriter(self, ())
        self.beside = BesideWriter(self)

    def nodes(self, nodes: Sequence[int]) -> None:
        """Write nodes, producers first."""
        # What is compiled has no sums that begin before all of their terms are there.
        self._sums = SumWriter(self, () if self.flow.compiles else nodes)
        self.beside = self._beside_writer(nodes, self._sums.sums)
        for part, is_subgraph in parted(self.flow, nodes) if self.flow.compiles else ((nodes, False),):
            if is_subgraph:
                write_subgraph(self, part, partial(_write_one_by_one, self, part))
            else:
                _write_one_by_one(self, part)

    def _write(self, i: int) -> None:
        check_wanted()
        self.beside.finish(self.flow.inputs[i])
        write = self.text.call_writers.get(self.flow.nodes[i].op)
        if write is not None:
            write(self, i)
        elif i in self._sums.written:
            self._check(i)
        else:
            self._node(i)
            self.release(self.flow.inputs[i], None if self._goes_on_without(i) else i)

    def _run(self, run: Run) -> None:
        def one_by_one() -> None:
            for i in run:
                self._write(i)

        for i in run:
            self.beside.finish(self.flow.inputs[i])
        write_run(self, run, one_by_one)
        for i in run:
            self._sums.add(i)

    def count_uses(self, nodes: Iterable[int], results: Iterable[Ref]) -> None:
        """Count the reads of each value; a value that leaves the code has one read that never ends."""
        left = self._left
        for i in nodes:
            for ref in self.flow.inputs[i]:
                left[ref] = left.get(ref, 0) + 1
        for ref in results:
            left[ref] = left.get(ref, 0) + 1

    def is_read(self, ref: Ref) -> bool:
        """Return whether a value is read, as counted by ``count_uses``."""
        return ref in self._left

    # -- nodes ---------------------------------------------------------------------------------

    def _node(self, i: int) -> None:
        flow, text = self.flow, self.text
        node, op = flow.nodes[i], flow.ops[i]
        number = self._base + i
        comment = self.comment(i)
        arguments = [self.value(ref) for ref in flow.inputs[i]]
        if op is None:
            assert node.op == SEND, f"{node.op} cannot be a node of a segment"
            sent = len(text.sends)
            if flow.goes_without_host(i):
                value = f"on_peer[{sent}]({arguments[0]})"
            elif flow.is_staged(i):
                value = f"staged({arguments[0]})"
            else:
                value = self.on_host(flow.inputs[i][0], arguments[0]) if arguments else "TOKEN"
            self.line(f"C.send({sent}, {value}){comment}", number, "None")
            text.sends.append(node.attrs["key"])
            return
        context = self._check(i)
        if writes_new(flow, i, context) is not None:
            self._write_new(i, arguments)
            return
        over = overwritten(flow, i, context, self.is_free)
        if over is not None:
            self._write_over(i, arguments, over)
            return
        statement = over_arrays(flow, i, context, self.is_free)
        if statement is not None:
            self.take_over((i, 0), flow.inputs[i][statement[0]])
            self.line(statement[1].format(*arguments) + comment, number, arguments[statement[0]])
            return
        for k in (*op.keeps, *op.borrows):
            if k < len(arguments) and not self._may_pass(op, k, flow.inputs[i][k]):
                own = "own_on_device" if flow.is_of_device(flow.inputs[i][k]) else "own"
                arguments[k] = f"{own}({arguments[k]})"
        if i in self.beside.begun:
            self.beside.begin(i, arguments)
            return
        expression = flow.expression(i, context, arguments)
        if expression is None:
            expression = f"{self.bind('k', i, context)}({', '.join(arguments)})"
        if self._goes_on_without(i):
            self.line(f"C.begin({text.suspensions[i]}, {expression}){comment}", number)
            return
        if op.suspends:
            expression = f"C.wait_for({expression})"
            if any(flow.is_of_device((i, output)) for output in range(len(node.outputs))):
                expression = f"{self.bind('a', i, context)}({expression})"
        target = self._made(i)
        value = f"({target})" if len(node.outputs) > 1 else target or "None"
        self.line(f"{value} = {expression}{comment}" if target else expression + comment, number, value)

    def _check(self, i: int) -> NodeContext:
        """Count a node's cost, and write a check for cancellation before it if one is due."""
        flow, text, op = self.flow, self.text, self.flow.ops[i]
        context = flow.context(i)
        cost, known = node_cost(flow.nodes[i], context.inputs)
        text.cost += cost
        text.cost_known &= known
        dear = cost > _CHECK_ABOVE or (op is not None and op.cost is not None and not known)
        if dear or text.unchecked > CHECK_EVERY:
            self.line(f"C.check(){self.comment(i)}", self.number(i))
            text.unchecked = 0.0
        text.unchecked += 0.0 if dear else cost
        return context

    def bind(self, letter: str, i: int, context: NodeContext | None = None) -> str:
        """Return the global name of an object that belongs to a node; see ``Segment.bindings``."""
        number = self._base + i
        name = f"{letter}{number}"
        if name not in self.text.bindings:
            self.text.bindings[name] = number
            self.text.contexts[number] = context or self.flow.context(i)
        return name

    # -- existing arrays ---------------------------------------------------------------------------

    def is_free(self, ref: Ref) -> bool:
        """Return whether one read of an array is left and nothing else can hold the array."""
        return self._left[ref] == 1 and self._gives_away(ref)

    def take_over(self, result: Ref, ref: Ref) -> None:
        """Give a value the local variable of one that it is written over."""
        self._over[result] = self.local(ref)
        self._gone.add(ref)

    def drop(self, ref: Ref) -> None:
        """Count a value as one without a local variable."""
        self._gone.add(ref)

    def _write_over(self, i: int, arguments: Sequence[str], over: int) -> None:
        """Write a node whose result overwrites one of its inputs."""
        self.take_over((i, 0), self.flow.inputs[i][over])
        target = arguments[over]
        call = f"{self.bind_into(i)[0]}({', '.join(arguments)}, {target})"
        self.line(call + self.comment(i), self.number(i), target)

    def _write_new(self, i: int, arguments: Sequence[str]) -> None:
        """Write a node whose result goes to a new array that other processes can read."""
        target, spec = self.local((i, 0)), self.flow.nodes[i].outputs[0]
        array = f"empty({spec.shape.sizes!r}, {spec.dtype.np_dtype.name!r})"
        self.line(f"{target} = {array}{self.comment(i)}", self.number(i))
        call = f"{self.bind('n', i)}({', '.join(arguments)}, {target})"
        self.line(call + self.comment(i), self.number(i), target)

    # -- values ----------------------------------------------------------------------------------

    def bind_into(self, i: int) -> tuple[str, Kernel]:
        """Return the global name of a node's function that writes to an array, and the function."""
        function = self.flow.into(i)
        assert function is not None, f"node {i} does not write into an existing array"
        return self.bind("o", i), function

    def number(self, i: int) -> int:
        """Return the number of a node in the code."""
        return self._base + i

    def uses_left(self, ref: Ref) -> int:
        """Return how many reads of a value are left in this code; a value that leaves it has one for ever."""
        return self._left.get(ref, 0)

    def has_ended(self, ref: Ref) -> bool:
        """Return whether a value was read for the last time, and its local variable was deleted."""
        return not self._left[ref] and self._may_drop(ref)

    def _beside_writer(self, nodes: Sequence[int], sums: Sequence[Sum]) -> BesideWriter:
        """Return the writer of the nodes that run beside others: none do in the functions of loops and branches."""
        return BesideWriter(self)

    def _goes_on_without(self, i: int) -> bool:
        """Return whether the code after a node continues without its values, which the step delivers."""
        return False

    def _made(self, i: int) -> str:
        """Return the local variables of a node's values."""
        return ", ".join([self.local((i, o)) for o in range(len(self.flow.nodes[i].outputs))])

    def _gives_away(self, ref: Ref) -> bool:
        """Return whether an op can keep an input without a copy."""
        op = self.flow.ops[ref[0]]
        if op is not None and op.takes:
            return False  # the value may be put back
        return self.flow.owned(ref) and self.flow.has_one_use(ref)

    def _may_pass(self, op: OpDef, k: int, ref: Ref) -> bool:
        """Return whether an op can hold on to an input without a copy: keep it, or borrow it for the step."""
        return self._gives_away(ref) if k in op.keeps else self.flow.stays(ref)

    def value(self, ref: Ref) -> str:
        """Return the expression by which a value is read."""
        i = ref[0]
        return self.bind("c", i) if self.flow.once[i] else self.local(ref)

    def on_host(self, ref: Ref, expression: str) -> str:
        """Return the expression of a value as numpy has it."""
        return f"on_host({expression})" if self.flow.is_of_device(ref) else expression

    def local(self, ref: Ref) -> str:
        """Return the local variable of a value that is made here or passed in."""
        i, output = ref
        number = self._base + i
        return self._over.get(ref) or (f"v{number}_{output}" if output else f"v{number}")

    # -- lines ---------------------------------------------------------------------------------

    def line(self, text: str, number: int | None = None, value: str | None = None, traced: str | None = None) -> None:
        """Add a line; see ``Line``."""
        traced = None if traced is None else self.indent + traced
        self.text.code.append(Line(self.indent + text, number, value, traced))

    def comment(self, i: int) -> str:
        """Return the comment behind a node's line: its name, its type and where it was built."""
        node = self.flow.nodes[i]
        return _comment(f"  # {node.name} ({node.op}) {node.source}")

    # -- releases ------------------------------------------------------------------------------

    def release(self, refs: Iterable[Ref], made_by: int | None = None) -> None:
        """Delete the arrays that were read for the last time, or made by a node and never read."""
        flow, left = self.flow, self._left
        dead = []
        for ref in refs:
            left[ref] -= 1
            if not left[ref] and self._may_drop(ref) and ref not in self._gone:
                dead.append(self.local(ref))
        if made_by is not None:
            results = [(made_by, o) for o in range(len(flow.nodes[made_by].outputs))]
            dead.extend(self.local(ref) for ref in results if ref not in left and not flow.is_scalar(ref))
        if dead:
            self.line(f"del {', '.join(dead)}")

    def _may_drop(self, ref: Ref) -> bool:
        return not self.flow.once[ref[0]] and not self.flow.is_scalar(ref)


def _write_one_by_one(block: Emitter, nodes: Sequence[int]) -> None:
    for unit in fused(block.flow, nodes):
        if isinstance(unit, int):
            block._write(unit)
            block._sums.add(unit)
        else:
            block._run(unit)


class FunctionEmitter(Emitter):
    """The code of one function of a loop, branch or call.

    Args:
        flow: its use-def analysis; arguments first.
        text: the code to which the lines are added.
        indent: the indentation of the lines.
        names: the expressions of its arguments.
        droppable: how many of the first arguments may be deleted here.
    """

    def __init__(self, flow: UseDef, text: Text, indent: str, names: Sequence[str], droppable: int = 0) -> None:
        super().__init__(flow, text, indent)
        self._names = names
        self._droppable = droppable

    def local(self, ref: Ref) -> str:
        """Return the local variable of a value, or the expression of an argument."""
        return self._names[ref[0]] if ref[0] < len(self._names) else super().local(ref)

    def _may_drop(self, ref: Ref) -> bool:
        mine = ref[0] < self._droppable or ref[0] >= len(self._names)
        return mine and super()._may_drop(ref)

    def run(self, results: Sequence[Ref]) -> list[str]:
        """Write the nodes that the results need, and return the results' expressions."""
        nodes = [i for i in sorted(self.flow.upstream(results)) if i >= len(self._names)]
        nodes = [i for i in nodes if not self.flow.once[i]]
        self.count_uses(nodes, results)
        self.nodes(nodes)
        return [self.value(ref) for ref in results]

    def made_arrays(self, results: Sequence[Ref]) -> list[str]:
        """Return the local variables of results that are arrays made in this code."""
        arrays = [r for r in dict.fromkeys(results) if r[0] >= len(self._names) and self._may_drop(r)]
        return [self.local(ref) for ref in arrays]


def _comment(text: str) -> str:
    """Return the text without characters that end a line in Python or that Python refuses to read."""
    if text.isprintable():
        return text.rstrip()
    return "".join([c if c.isprintable() else " " for c in text]).rstrip()
