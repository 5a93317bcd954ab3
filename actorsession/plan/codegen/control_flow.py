"""Code generation for loops and branches: the lines of their functions within the surrounding code.

The variables of a loop are locals of their own, assigned before the loop and again at the end of each
iteration. The values that its functions capture are the locals outside. So a loop never changes a value that
something else holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from actorsession.graph.dtypes import variant
from actorsession.graph.function import entering
from actorsession.graph.registry import Array
from actorsession.plan.codegen.emitter import CHECK_EVERY, Emitter, FunctionEmitter
from actorsession.plan.codegen.segment import INDENT
from actorsession.plan.codegen.use_def import Ref, UseDef, function_use_def
from actorsession.plan.cost import loop_cost

__all__ = ["Construct", "write_if", "write_while"]


class Construct:
    """A functional control flow operation in the code of an emitter.

    Args:
        block: the emitter.
        i: the position of the node.
    """

    def __init__(self, block: Emitter, i: int) -> None:
        self.block = block
        self.flow = block.flow
        self.text = block.text
        self.i = i
        self.node = self.flow.nodes[i]
        self.number = self.flow.base + i
        self.arguments = [block.value(ref) for ref in self.flow.inputs[i]]

    def function(self, key: str, own: int, first_capture: int) -> UseDef:
        """Return the use-def analysis of a function, and number its nodes."""
        captured = self.flow.inputs[self.i][first_capture:]
        known = {own + k: self.flow.constant(ref) for k, ref in enumerate(captured)}
        constants: Mapping[int, Array] = {k: v for k, v in known.items() if v is not None}
        base = len(self.text.nodes)
        compiles = self.flow.compiles
        flow = function_use_def(self.node.attrs[key], self.text.device, base, constants, compiles=compiles)
        self.text.nodes.extend(flow.nodes)
        return flow

    def wanted(self) -> list[int]:
        """Return the outputs that are read; all of its own if none is read or a node runs after it."""
        outputs = range(len(self.node.outputs))
        read = [k for k in outputs if self.block.is_read((self.i, k))]
        if read and not self.flow.runs_before(self.i):
            return read
        return sorted({*range(self.shown()), *read})

    def shown(self) -> int:
        """Return the number of outputs of its own; those added for gradients are made only if read."""
        return len(self.node.outputs)

    def test(self, flow: UseDef, ref: Ref, name: str) -> str:
        """Return an expression for whether a predicate holds."""
        return name if flow.is_scalar(ref) else f"predicate({name})"

    def results(self, outputs: Iterable[int]) -> str:
        """Return the local variables of outputs."""
        return ", ".join([self.block.local((self.i, k)) for k in outputs])


class _While(Construct):
    """A loop, whose variables are the locals of its body's arguments."""

    def shown(self) -> int:
        return entering(self.node)

    def write(self) -> None:
        """Write the loop."""
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
        outputs = self.wanted()
        finals = ", ".join([names[k] for k in outputs])
        block.line(f"{self.results(outputs)} = {finals}", self.number)
        arrays = [names[k] for k in live if not body.is_scalar((k, 0))]
        if arrays:
            block.line(f"del {', '.join(arrays)}")
        block.release(inputs[given:], self.i if len(outputs) == count else None)

    def _first(self, k: int, given: int) -> str:
        """Return the expression of a variable's first value."""
        if k < given:
            return self.arguments[k]
        return "NO_ITEMS" if self.node.outputs[k].dtype is variant else "ZERO"

    def _live(self, cond: UseDef, body: UseDef, count: int) -> list[int]:
        """Return the variables that the condition and the outputs that are read depend on."""
        results = [ref for _, ref in body.fetches]
        live = set(self.wanted()) | {i for i in cond.upstream([cond.fetches[0][1]]) if i < count}
        while True:
            more = {i for i in body.upstream([results[k] for k in live]) if i < count} - live
            if not more:
                return sorted(live)
            live |= more

    def _iteration(self, cond: UseDef, body: UseDef, names: Sequence[str], live: Sequence[int]) -> None:
        text, count = self.text, len(self.node.outputs)
        indent = self.block.indent + INDENT
        before = text.cost
        test = FunctionEmitter(cond, text, indent, names)
        test.line(f"C.check(){self.block.comment(self.i)}", self.number)
        text.unchecked = 0.0
        ref = cond.fetches[0][1]
        (predicate,) = test.run([ref])
        test.line(f"if not {self.test(cond, ref, predicate)}: break", self.number)
        turn = FunctionEmitter(body, text, indent, names, droppable=count)
        results = [body.fetches[k][1] for k in live]
        changed = [(names[k], value) for k, value in zip(live, turn.run(results), strict=True) if names[k] != value]
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
    """A branch, whose outputs are assigned at the end of whichever function runs."""

    def write(self) -> None:
        """Write the branch."""
        block, inputs, outputs = self.block, self.flow.inputs[self.i], self.wanted()
        test = self.test(self.flow, inputs[0], self.arguments[0])
        before, costs = self.text.cost, []
        for head, key in ((f"if {test}:", "then_branch"), ("else:", "else_branch")):
            block.line(f"{head}{block.comment(self.i)}", self.number)
            self.text.cost = before
            self._branch(key, outputs)
            costs.append(self.text.cost)
        self.text.cost = max(costs)
        self.text.steady &= max(costs) - min(costs) <= CHECK_EVERY
        block.release(inputs, self.i if len(outputs) == len(self.node.outputs) else None)

    def _branch(self, key: str, outputs: Sequence[int]) -> None:
        flow = self.function(key, 0, 1)
        captured = self.arguments[1:]
        branch = FunctionEmitter(flow, self.text, self.block.indent + INDENT, captured)
        results = [flow.fetches[k][1] for k in outputs]
        values = branch.run(results)
        if not outputs:
            branch.line("pass")
            return
        branch.line(f"{self.results(outputs)} = {', '.join(values)}", self.number)
        arrays = branch.made_arrays(results)
        if arrays:
            branch.line(f"del {', '.join(arrays)}")


def write_while(block: Emitter, i: int) -> None:
    """Write a ``While`` as a Python loop.

    Args:
        block: the emitter to which it is written.
        i: position of the node.
    """
    _While(block, i).write()


def write_if(block: Emitter, i: int) -> None:
    """Write an ``If`` as a Python ``if``; arguments as for ``write_while``."""
    _If(block, i).write()
