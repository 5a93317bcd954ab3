"""Code generation for function calls: the lines of the function in the place of the call.

A call costs nothing at run time: the nodes of its function are part of the surrounding code, with names of
their own.
"""

from __future__ import annotations

from actorsession.graph.function import CALLS
from actorsession.plan.codegen.control_flow import Construct
from actorsession.plan.codegen.emitter import Emitter, FunctionEmitter

__all__ = ["write_call"]


def write_call(block: Emitter, i: int) -> None:
    """Write the code of node ``i``, which is a call, to an emitter."""
    _Call(block, i).write()


class _Call(Construct):
    """A call, whose function's values are locals of the surrounding code."""

    def write(self) -> None:
        """Write the call."""
        block, outputs = self.block, self.wanted()
        first = CALLS[self.node.op]
        flow = self.function("f", 0, first)
        inside = FunctionEmitter(flow, self.text, block.indent, self.arguments[first:])
        results = [flow.fetches[k][1] for k in outputs]
        values = inside.run(results)
        if outputs:
            line = f"{self.results(outputs)} = {', '.join(values)}"
            block.line(line + block.comment(self.i), self.number)
            arrays = inside.made_arrays(results)
            if arrays:
                block.line(f"del {', '.join(arrays)}")
        block.release(self.flow.inputs[self.i], self.i if len(outputs) == len(self.node.outputs) else None)
