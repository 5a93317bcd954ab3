"""Writes nodes as lines of Python: straight code, loops and branches inside one another.

A ``Block`` is the code of one partition's segment or of one function of a loop or branch. Values are
local variables and each array is dropped after its last use, so that its buffer can serve again and a
variable that was read can be changed in place. Called by ``writer``, which makes a function of a
segment's block.

A loop's variables are locals of their own, bound before the loop and bound anew at the end of each
iteration; what its functions capture are the locals outside. A value that comes into a function is
never owned by it: whatever an op keeps of it is copied, as with a feed. So nobody who holds a value can
see a loop change it.

Invariant: nothing in the text is chosen by whoever sent the graph. Names are numbers, expressions come
from our ops, and the comment behind a line, which holds the node's name and source, cannot end before
the line does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from actorsession.graph.dtypes import variant
from actorsession.graph.function import IF, WHILE, entering
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import Array, OpDef
from actorsession.plan.context import NodeContext
from actorsession.plan.cost import loop_cost, node_cost
from actorsession.plan.flow import Flow, Ref, function_flow
from actorsession.plan.partition import SEND
from actorsession.plan.segment import INDENT, Line

__all__ = ["CONSTRUCT_WRITERS", "Block", "Construct", "FunctionBlock", "Text"]

# Microseconds. A node dearer than this looks for a cancellation before it starts; below it the look
# would cost more than it can save.
_CHECK_ABOVE = 100.0
# Microseconds of cheaper nodes that may go by without a look: a step ends soon after it is given up,
# and the looks cost nothing that can be measured.
_CHECK_EVERY = 1000.0


@dataclass(slots=True)
class Text:
    """The code of one function while it is written.

    Attributes:
        device: full name of the device.
        nodes: all nodes of the partition, to which those of functions are added; their numbers.
        contexts: contexts of the nodes that the code binds.
        sends: keys sent so far.
        code: the lines.
        bindings: global names in them.
        cost: estimated microseconds.
        cost_known: whether everything behind the estimate is known.
        steady: whether no branch is so much dearer than its other that a run that took one says nothing.
        unchecked: microseconds of cheap nodes since the code last looked for a cancellation.
        suspensions: the nodes of the partition that the step goes on without, with what the code calls each.
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


class Block:
    """The code of some nodes of one flow.

    Args:
        flow: their values.
        text: where the lines go.
        indent: what they begin with.
    """

    def __init__(self, flow: Flow, text: Text, indent: str) -> None:
        self._flow = flow
        self._text = text
        self._indent = indent
        self._base = flow.base
        self._left: dict[Ref, int] = {}  # uses of each value in this block, yet to come

    def nodes(self, nodes: Iterable[int]) -> None:
        """Writes nodes, producers first."""
        for i in nodes:
            write = CONSTRUCT_WRITERS.get(self._flow.nodes[i].op)
            if write is not None:
                write(self, i)
            else:
                self._node(i)
                self.release(self._flow.inputs[i], None if self._goes_on_without(i) else i)

    def count_uses(self, nodes: Iterable[int], results: Iterable[Ref]) -> None:
        """Counts who reads each value; what leaves the block is read by someone for ever."""
        left = self._left
        for i in nodes:
            for ref in self._flow.inputs[i]:
                left[ref] = left.get(ref, 0) + 1
        for ref in results:
            left[ref] = left.get(ref, 0) + 1

    # -- nodes ---------------------------------------------------------------------------------

    def _node(self, i: int) -> None:
        flow, text = self._flow, self._text
        node, op = flow.nodes[i], flow.ops[i]
        number = self._base + i
        comment = self.comment(i)
        arguments = [self.value(ref) for ref in flow.inputs[i]]
        if op is None:
            assert node.op == SEND, f"{node.op} is no node of a segment"
            value = arguments[0] if arguments else "TOKEN"
            self.line(f"C.send({len(text.sends)}, {value}){comment}", number, "None")
            text.sends.append(node.attrs["key"])
            return
        context = flow.context(i)
        cost, known = node_cost(node, context.inputs)
        text.cost += cost
        text.cost_known &= known
        dear = cost > _CHECK_ABOVE or (op.cost is not None and not known)
        if dear or text.unchecked > _CHECK_EVERY:
            self.line(f"C.check(){comment}", number)
            text.unchecked = 0.0
        text.unchecked += 0.0 if dear else cost
        for k in op.keeps:
            if k < len(arguments) and not self._gives_away(flow.inputs[i][k]):
                arguments[k] = f"own({arguments[k]})"
        expression = _expression(op, context, arguments)
        if expression is None:
            text.bindings[f"k{number}"] = number
            text.contexts[number] = context
            expression = f"k{number}({', '.join(arguments)})"
        if self._goes_on_without(i):
            self.line(f"C.begin({text.suspensions[i]}, {expression}){comment}", number)
            return
        if op.suspends:
            expression = f"C.wait_for({expression})"
        made = self._made(i)
        value = f"({made})" if len(node.outputs) > 1 else made or "None"
        self.line(
            f"{value} = {expression}{comment}" if made else expression + comment, number, value
        )

    def _goes_on_without(self, i: int) -> bool:
        """Whether what follows a node here is not to wait for its values: they come by the step."""
        return False

    def _made(self, i: int) -> str:
        """The names of a node's values."""
        return ", ".join([self.local((i, o)) for o in range(len(self._flow.nodes[i].outputs))])

    def _gives_away(self, ref: Ref) -> bool:
        """Whether an input that an op keeps can be handed over without a copy."""
        return self._flow.owned(ref) and self._flow.has_one_use(ref)

    def value(self, ref: Ref) -> str:
        """The expression by which a value is read."""
        i = ref[0]
        if not self._flow.once[i]:
            return self.local(ref)
        number = self._base + i
        name = f"c{number}"
        if name not in self._text.bindings:
            self._text.bindings[name] = number
            self._text.contexts[number] = self._flow.context(i)
        return name

    def local(self, ref: Ref) -> str:
        """The local variable of a value that is made here or comes in."""
        i, output = ref
        number = self._base + i
        return f"v{number}_{output}" if output else f"v{number}"

    # -- lines ---------------------------------------------------------------------------------

    def line(self, text: str, number: int | None = None, value: str | None = None) -> None:
        """Adds a line."""
        self._text.code.append(Line(self._indent + text, number, value))

    def comment(self, i: int) -> str:
        """What stands behind a node's line: who it is and where it was built."""
        node = self._flow.nodes[i]
        return _comment(f"  # {node.name} ({node.op}) {node.source}")

    # -- life ----------------------------------------------------------------------------------

    def release(self, refs: Iterable[Ref], made_by: int | None = None) -> None:
        """Ends the life of arrays that were read for the last time, or made by a node for nobody."""
        flow, left = self._flow, self._left
        dead = []
        for ref in refs:
            left[ref] -= 1
            if not left[ref] and self._may_drop(ref):
                dead.append(self.local(ref))
        if made_by is not None:
            made = [(made_by, o) for o in range(len(flow.nodes[made_by].outputs))]
            dead.extend(
                self.local(ref) for ref in made if ref not in left and not flow.is_scalar(ref)
            )
        if dead:
            self.line(f"del {', '.join(dead)}")

    def _may_drop(self, ref: Ref) -> bool:
        return not self._flow.once[ref[0]] and not self._flow.is_scalar(ref)


def _expression(op: OpDef, context: NodeContext, arguments: Sequence[str]) -> str | None:
    """What stands for a node in place of a call; ``None`` for none.

    Neither is there one for constants that make no sense: the kernel says so when the node runs.
    """
    if op.emit is None:
        return None
    try:
        return op.emit(context, arguments)
    except Exception:
        return None


class FunctionBlock(Block):
    """The code of one function of a loop or branch.

    Args:
        function_flow: its values; arguments first.
        text: where the lines go.
        indent: what they begin with.
        names: the expressions of its arguments.
        droppable: which arguments are this block's to drop.
    """

    def __init__(
        self, flow: Flow, text: Text, indent: str, names: Sequence[str], droppable: int = 0
    ) -> None:
        super().__init__(flow, text, indent)
        self._names = names
        self._droppable = droppable

    def local(self, ref: Ref) -> str:
        """The local variable of a value; of an argument the expression that stands for it."""
        return self._names[ref[0]] if ref[0] < len(self._names) else super().local(ref)

    def _may_drop(self, ref: Ref) -> bool:
        mine = ref[0] < self._droppable or ref[0] >= len(self._names)
        return mine and super()._may_drop(ref)

    def run(self, results: Sequence[Ref]) -> list[str]:
        """Writes what the results need, and gives their expressions."""
        nodes = [i for i in sorted(self._flow.upstream(results)) if i >= len(self._names)]
        nodes = [i for i in nodes if not self._flow.once[i]]
        self.count_uses(nodes, results)
        self.nodes(nodes)
        return [self.value(ref) for ref in results]

    def made_arrays(self, results: Sequence[Ref]) -> list[str]:
        """The locals of results that are arrays made in this block."""
        made = [r for r in dict.fromkeys(results) if r[0] >= len(self._names) and self._may_drop(r)]
        return [self.local(ref) for ref in made]


class Construct:
    """A loop or branch in a block.

    Args:
        block: where it stands.
        i: its node.
    """

    def __init__(self, block: Block, i: int) -> None:
        self.block = block
        self.flow = block._flow
        self.text = block._text
        self.i = i
        self.node = self.flow.nodes[i]
        self.number = self.flow.base + i
        self.arguments = [block.value(ref) for ref in self.flow.inputs[i]]

    def function(self, key: str, own: int, first_capture: int) -> Flow:
        """The flow of a function; its nodes get their numbers."""
        captured = self.flow.inputs[self.i][first_capture:]
        found = {own + k: self.flow.constant(ref) for k, ref in enumerate(captured)}
        constants: Mapping[int, Array] = {k: v for k, v in found.items() if v is not None}
        base = len(self.text.nodes)
        flow = function_flow(self.node.attrs[key], self.text.device, base, constants)
        self.text.nodes.extend(flow.nodes)
        return flow

    def wanted(self) -> list[int]:
        """The outputs that somebody reads; all if none is read, or the node was asked for itself."""
        outputs = range(len(self.node.outputs))
        read = [k for k in outputs if (self.i, k) in self.block._left]
        if read and not self.flow.runs_before(self.i):
            return read
        return sorted({*range(self.shown()), *read})

    def shown(self) -> int:
        """How many outputs are its own: what gradients added is made only where it is read."""
        return len(self.node.outputs)

    def test(self, flow: Flow, ref: Ref, name: str) -> str:
        """An expression that says whether a predicate holds."""
        return name if flow.is_scalar(ref) else f"predicate({name})"

    def results(self, wanted: Iterable[int]) -> str:
        """The names of outputs."""
        return ", ".join([self.block.local((self.i, k)) for k in wanted])


class _While(Construct):
    """A loop: its variables are the locals of its body's arguments."""

    def shown(self) -> int:
        return entering(self.node)

    def write(self) -> None:
        """Writes it."""
        block, count = self.block, len(self.node.outputs)
        inputs = self.flow.inputs[self.i]
        given = entering(self.node)
        cond, body = (self.function(key, count, given) for key in ("cond", "body"))
        live = self._live(cond, body, count)
        names = [f"v{body.base + k}" for k in range(count)]
        captured = self.arguments[given:]
        targets = ", ".join([names[k] for k in live])
        first = ", ".join([self._first(k, given) for k in live])
        block.line(f"{targets} = {first}{block.comment(self.i)}", self.number)
        block.release(inputs[:given])
        block.line("while True:", self.number)
        self._iteration(cond, body, [*names, *captured], live)
        wanted = self.wanted()
        finals = ", ".join([names[k] for k in wanted])
        block.line(f"{self.results(wanted)} = {finals}", self.number)
        arrays = [names[k] for k in live if not body.is_scalar((k, 0))]
        if arrays:
            block.line(f"del {', '.join(arrays)}")
        block.release(inputs[given:], self.i if len(wanted) == count else None)

    def _first(self, k: int, given: int) -> str:
        """The expression of a variable's first value."""
        if k < given:
            return self.arguments[k]
        return "NO_ITEMS" if self.node.outputs[k].dtype is variant else "ZERO"

    def _live(self, cond: Flow, body: Flow, count: int) -> list[int]:
        """The variables that the condition and the outputs that are read depend on."""
        results = [ref for _, ref in body.fetches]
        live = set(self.wanted()) | {
            i for i in cond.upstream([cond.fetches[0][1]]) if i < count
        }  # fmt: skip
        while True:
            more = {i for i in body.upstream([results[k] for k in live]) if i < count} - live
            if not more:
                return sorted(live)
            live |= more

    def _iteration(self, cond: Flow, body: Flow, names: Sequence[str], live: Sequence[int]) -> None:
        text, count = self.text, len(self.node.outputs)
        indent = self.block._indent + INDENT
        before = text.cost
        test = FunctionBlock(cond, text, indent, names)
        test.line(f"C.check(){self.block.comment(self.i)}", self.number)
        text.unchecked = 0.0
        ref = cond.fetches[0][1]
        (predicate,) = test.run([ref])
        test.line(f"if not {self.test(cond, ref, predicate)}: break", self.number)
        turn = FunctionBlock(body, text, indent, names, droppable=count)
        results = [body.fetches[k][1] for k in live]
        changed = [
            (names[k], value)
            for k, value in zip(live, turn.run(results), strict=True)
            if names[k] != value
        ]
        if changed:
            targets = ", ".join([name for name, _ in changed])
            turn.line(f"{targets} = {', '.join([value for _, value in changed])}")
        arrays = turn.made_arrays(results)
        if arrays:
            turn.line(f"del {', '.join(arrays)}")
        text.cost = before + loop_cost(text.cost - before)
        text.cost_known = False
        text.unchecked = 0.0


class _If(Construct):
    """A branch: its outputs are bound at the end of whichever function runs."""

    def write(self) -> None:
        """Writes it."""
        block, inputs, wanted = self.block, self.flow.inputs[self.i], self.wanted()
        test = self.test(self.flow, inputs[0], self.arguments[0])
        before, costs = self.text.cost, []
        for head, key in ((f"if {test}:", "then_branch"), ("else:", "else_branch")):
            block.line(f"{head}{block.comment(self.i)}", self.number)
            self.text.cost = before
            self._branch(key, wanted)
            costs.append(self.text.cost)
        self.text.cost = max(costs)
        self.text.steady &= max(costs) - min(costs) <= _CHECK_EVERY
        block.release(inputs, self.i if len(wanted) == len(self.node.outputs) else None)

    def _branch(self, key: str, wanted: Sequence[int]) -> None:
        flow = self.function(key, 0, 1)
        captured = self.arguments[1:]
        branch = FunctionBlock(flow, self.text, self.block._indent + INDENT, captured)
        results = [flow.fetches[k][1] for k in wanted]
        values = branch.run(results)
        if not wanted:
            branch.line("pass")
            return
        branch.line(f"{self.results(wanted)} = {', '.join(values)}", self.number)
        arrays = branch.made_arrays(results)
        if arrays:
            branch.line(f"del {', '.join(arrays)}")


def _write_while(block: Block, i: int) -> None:
    _While(block, i).write()


def _write_if(block: Block, i: int) -> None:
    _If(block, i).write()


# Who writes the nodes that have functions, by operation type; ``call_block`` adds those of calls.
CONSTRUCT_WRITERS: dict[str, Callable[[Block, int], None]] = {WHILE: _write_while, IF: _write_if}


def _comment(text: str) -> str:
    """The text without anything that Python takes for the end of a line or refuses to read."""
    if text.isprintable():
        return text.rstrip()
    return "".join([c if c.isprintable() else " " for c in text]).rstrip()
