"""Runs of elementwise nodes that are computed block by block if their arrays are large.

``fused`` finds them among the nodes of an emitter. ``write_run`` writes both variants: the nodes one by one,
and a call of ``ops.blockwise.Blockwise`` with a generated function that computes one block of elements. Each
step chooses by its arrays, because some shapes are static and others are not. Runs with static shapes that
are small have no second variant. Traced steps run the nodes one by one.

A run is a stretch of the order; nodes in between that need nothing of it were moved before it. All its nodes
have results of one shape, and each reads an array of that shape. Their other inputs are scalars. ``emitter``
calls this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from actorsession.graph.shape import Dim
from actorsession.plan.codegen.segment import INDENT, Line
from actorsession.plan.codegen.use_def import Ref, UseDef

if TYPE_CHECKING:
    from actorsession.plan.codegen.emitter import Emitter

__all__ = ["LEAST", "SHARED", "Run", "fused", "write_run"]

# Elements up to which the ops run one by one, in place where they can: there, blocks were no faster (float32,
# 1 MB of cache for each core), and up to 10 % slower for 3 ops.
LEAST = 1 << 19
# Elements times ops above which threads share the work: about 1 ms of work, where starting and joining a
# thread takes 0.1 ms.
SHARED = 1 << 23

Run = tuple[int, ...]
_Sizes = tuple[Dim, ...] | None

# Least nodes of a run: with a static shape, and where each step must test its arrays first.
_FEWEST, _FEWEST_UNKNOWN = 2, 3
# Nodes that may be moved before a run: the inputs of the run must stay that much longer.
MOST_PASSED = 32


def fused(flow: UseDef, nodes: Iterable[int]) -> list[int | Run]:
    """Return the nodes with runs among them grouped.

    Args:
        flow: the use-def analysis.
        nodes: of one emitter, producers first.

    Returns:
        All nodes, producers first; each run as one tuple.
    """
    out: list[int | Run] = []
    run: list[int] = []
    members: set[int] = set()
    sizes: _Sizes = None
    passed = 0

    def end() -> None:
        least = _FEWEST_UNKNOWN if sizes is None or None in sizes else _FEWEST
        if len(run) >= least:
            out.append(tuple(run))
        else:
            out.extend(run)
        run.clear()
        members.clear()

    for i in nodes:
        fits = _may_be_large(flow, i)
        if run and fits and flow.nodes[i].outputs[0].shape.sizes == sizes:
            run.append(i)
            members.add(i)
            continue
        if run and (fits or passed == MOST_PASSED or not members.isdisjoint(flow.before[i])):
            end()
        if fits:
            run.append(i)
            members.add(i)
            sizes, passed = flow.nodes[i].outputs[0].shape.sizes, 0
        else:
            out.append(i)
            passed += 1
    end()
    return out


def _may_be_large(flow: UseDef, i: int) -> bool:
    """Return whether a node can be part of a run, as far as static types show."""
    if flow.ops[i] is None or len(flow.nodes[i].outputs) != 1:
        return False
    shape = flow.nodes[i].outputs[0].shape
    size = shape.num_elements()
    if shape.rank == 0 or (size is not None and size <= LEAST):
        return False
    arrays = [ref for ref in flow.inputs[i] if not flow.is_scalar(ref)]
    alike = all(flow.nodes[j].outputs[k].shape.sizes == shape.sizes for j, k in arrays)
    return bool(arrays) and alike and flow.into(i) is not None


def write_run(block: Emitter, run: Run, write_one_by_one: Callable[[], None]) -> None:
    """Write a run in both variants.

    Args:
        block: the emitter to which it is written.
        run: its nodes.
        write_one_by_one: writes the nodes to the emitter and deletes the values that they read last.
    """
    part = _Part(block, run)
    if not part.results:  # no result of the run is read
        write_one_by_one()
        return
    number = block.number(run[-1])
    block.text.runs.append(tuple(map(block.number, run)))
    name = f"b{number}"
    operands = [block.on_host(ref, block.value(ref)) for ref in part.operands]
    test = f"if not {name}.takes({', '.join(operands[: part.arrays])}):"
    if not block.flow.nodes[run[-1]].outputs[0].shape.is_fully_defined():
        # The call would be a tenth of the time of a short run of small arrays.
        test = f"if {operands[0]}.size <= {LEAST} or not{test.removeprefix('if not')}"
    block.line(test + block.comment(run[-1]), number, traced="if True:")
    block.indent += INDENT
    before = [block.local(ref) for ref in part.operands]
    write_one_by_one()
    results = [block.local(ref) for ref in part.results]
    block.indent = block.indent.removesuffix(INDENT)
    block.line("else:", number)
    block.indent += INDENT
    call = f"{', '.join(results)} = {name}(C.check, {', '.join(operands)})"
    block.line(call + block.comment(run[-1]), number)
    for ref, result in zip(part.results, results, strict=True):
        if block.flow.is_of_device(ref):
            block.line(f"{result} = on_device({result})")
    ended = [v for ref, v in zip(part.operands, before, strict=True) if block.has_ended(ref)]
    dead = [name for name in ended if name not in results]
    if dead:
        block.line(f"del {', '.join(dead)}")
    block.indent = block.indent.removesuffix(INDENT)
    block.text.functions.extend(part.lines(name))


class _Part:
    """The function that computes one block of a run.

    Args:
        block: the emitter to which the run is written.
        run: its nodes.

    Attributes:
        operands: values from outside that it reads, scalars last.
        arrays: how many of them are no scalars.
        results: values of it that are read outside.
    """

    def __init__(self, block: Emitter, run: Run) -> None:
        flow = block.flow
        self._block = block
        self._run = run
        uses: dict[Ref, int] = {}
        for i in run:
            for ref in flow.inputs[i]:
                uses[ref] = uses.get(ref, 0) + 1
        refs = [(i, 0) for i in run]
        inside = frozenset(run)
        outside = [ref for ref in uses if ref[0] not in inside]
        scalars = [ref for ref in outside if flow.is_scalar(ref)]
        self.operands = [*[ref for ref in outside if not flow.is_scalar(ref)], *scalars]
        self.arrays = len(outside) - len(scalars)
        self.results = [ref for ref in refs if block.uses_left(ref) > uses.get(ref, 0)]
        self._place = {ref: f"p{k}" for k, ref in enumerate(self.operands)}
        self._place |= {ref: f"r{k}" for k, ref in enumerate(self.results)}
        self._left = uses  # how often each value is still read
        self._buffers: list[str] = []  # dtypes
        self._idle: defaultdict[str, list[str]] = defaultdict(list)  # buffers by dtype
        self._free = [ref for ref in self.operands[: self.arrays] if block.is_free(ref)]
        self._over: dict[Ref, Ref] = {}  # operands by the results that are written over them

    def lines(self, name: str) -> list[Line]:
        """Return the text of the function, and of the assignment of a ``Blockwise`` of it to ``name``."""
        body = [self._line(i) for i in self._run]
        parameters = [
            *[f"p{k}" for k in range(len(self.operands))],
            *[f"r{k}" for k in range(len(self.results))],
            *[f"s{k}" for k in range(len(self._buffers))],
        ]
        targets = [
            self.operands.index(self._over[ref]) if ref in self._over else self._dtype(ref) for ref in self.results
        ]
        flow = self._block.flow
        sent = [k for k, ref in enumerate(self.results) if flow.is_sent(ref)]
        given = f"{self.arrays}, {targets}, {self._buffers}, {len(self._run)}"
        given += f", {sent}" if sent else ""
        last = f"{name} = Blockwise({name}_part, {given})"
        head = f"def {name}_part({', '.join(parameters)}):"
        return [Line(head), *[Line(INDENT + text) for text in body], Line(last)]

    def _line(self, i: int) -> str:
        """Return the line of a node, and count what it reads."""
        block, result = self._block, (i, 0)
        inputs = block.flow.inputs[i]
        for ref in inputs:
            self._left[ref] -= 1
        read_last = [ref for ref in dict.fromkeys(inputs) if not self._left[ref]]
        ended = [ref for ref in read_last if self._place[ref].startswith("s")]
        name, function = block.bind_into(i)
        out = self._output(result, inputs, ended, isinstance(function, np.ufunc))
        self._place[result] = out
        for ref in ended:
            if self._place[ref] != out:
                self._idle[self._dtype(ref)].append(self._place[ref])
        if result not in self._left and out.startswith("s"):  # never read
            self._idle[self._dtype(result)].append(out)
        arguments = ", ".join([*[self._place[ref] for ref in inputs], out])
        return f"{name}({arguments}){block.comment(i)}"

    def _output(self, result: Ref, inputs: Sequence[Ref], ended: Sequence[Ref], in_place: bool) -> str:
        """Return where a value is written: its own place, that of one read last, or a buffer."""
        if result in self._place:
            self._write_over(result, [] if in_place else inputs)
            return self._place[result]
        dtype = self._dtype(result)
        alike = [self._place[ref] for ref in ended if in_place and self._dtype(ref) == dtype]
        idle = self._idle[dtype]
        if not (alike or idle):
            self._buffers.append(dtype)
        return alike[0] if alike else idle.pop() if idle else f"s{len(self._buffers) - 1}"

    def _write_over(self, result: Ref, kept: Sequence[Ref]) -> None:
        """Choose an operand that a result may overwrite: one of its dtype that is no longer read.

        A result that is sent gets an array that other processes can read instead.
        """
        if self._block.flow.is_sent(result):
            return
        for ref in self._free:
            if not self._left[ref] and ref not in kept and self._dtype(ref) == self._dtype(result):
                self._over[result] = ref
                self._free.remove(ref)
                return

    def _dtype(self, ref: Ref) -> str:
        return self._block.flow.nodes[ref[0]].outputs[ref[1]].dtype.np_dtype.name
