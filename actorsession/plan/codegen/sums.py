"""Sums of many inputs, which are added as they are made, while they are in the cache, and then dropped.

``OpDef.joins`` adds an input to the sum, and ``OpDef.adds`` makes an input that nothing else reads within the sum, so
that it has no result of its own. Parts of a sum may run beside other nodes (``beside``); they are added at its end.
``emitter`` calls this.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from actorsession.plan.codegen.use_def import Ref, UseDef
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.plan.codegen.emitter import Emitter

__all__ = ["Sum", "SumWriter"]

# A sum of fewer inputs allocates at most one unneeded array.
_FEWEST = 3


@dataclass(slots=True)
class Sum:
    """A sum of many inputs while its code is written.

    Attributes:
        node: its node.
        missing: inputs that are not made yet.
        parts: the inputs that are added by one call each, in order, by their positions.
        terms: the nodes among the inputs that have no result of their own; see ``OpDef.adds``.
        added: how many of the parts are in the sum.
        begun: the first term of each part that runs beside other nodes.
    """

    node: int
    missing: set[Ref]
    parts: list[range]
    terms: frozenset[int]
    added: int = 0
    begun: list[Ref] = field(default_factory=list)

    def ready(self, inputs: Sequence[Ref]) -> list[range]:
        """Return the parts that can be added now, in order, and count them as added."""
        first = end = self.added
        while end < len(self.parts) and not any(inputs[k] in self.missing for k in self.parts[end]):
            end += 1
        if end == 1 and inputs[0][0] not in self.terms:  # a sum begins with two
            return []
        self.added = end
        return self.parts[first:end]


class SumWriter:
    """The code of the sums among the nodes of an emitter.

    Args:
        block: the emitter.
        nodes: its nodes, producers first.

    Attributes:
        sums: those whose inputs are added one by one.
        written: the nodes that have no line of their own: the sums, and the terms that have no results.
    """

    def __init__(self, block: Emitter, nodes: Sequence[int]) -> None:
        self._block = block
        self._waiting = _sums_among(block.flow, nodes)  # by the nodes that make their inputs
        self.sums = list({total.node: total for sums in self._waiting.values() for total in sums}.values())
        self.written = {i for total in self.sums for i in (total.node, *total.terms)}

    def add(self, i: int) -> None:
        """Add the values of a node that was written to the sums that wait for them."""
        for total in self._waiting.get(i, ()):
            total.missing -= {(i, k) for k in range(len(self._block.flow.nodes[i].outputs))}
            self._add_up(total)

    def _add_up(self, total: Sum) -> None:
        block = self._block
        inputs, result = block.flow.inputs[total.node], (total.node, 0)
        number, comment = block.number(total.node), block.comment(total.node)
        for part in total.ready(inputs):
            read, last = [inputs[k] for k in part], part.stop == len(inputs)
            is_term = read[0][0] in total.terms
            if not part.start and not is_term:
                continue
            first = block.local(result)
            if part.start == 1 and inputs[0][0] not in total.terms:
                read, first = [inputs[0], *read], block.value(inputs[0])
                if block.is_free(inputs[0]):
                    block.take_over(result, inputs[0])
            target = block.local(result)
            if is_term:
                self._add_terms(total, [inputs[k] for k in part], first if part.start else None, last=last)
            else:
                add, value = block.bind("j", total.node), block.value(read[-1])
                call = (
                    f"{add}({first}, {value}, {target})" if first == target else f"{target} = {add}({first}, {value})"
                )
                block.line(call + comment, number, target if last else None)
            block.release(read, total.node if last else None)

    def _add_terms(self, total: Sum, refs: Sequence[Ref], first: str | None, *, last: bool) -> None:
        """Write the call that adds terms to a sum; in traced code the terms are made as well, to be shown."""
        block, flow, number = self._block, self._block.flow, self._block.number(total.node)
        target = block.local((total.node, 0))
        if first is not None and first != target:  # an array of others
            own = "own_on_device" if flow.is_of_device((total.node, 0)) else "own"
            block.line(f"{target} = {own}({first})", number)
            first = target
        traced, operands = [], []
        for ref in refs:
            given = [block.value(each) for each in flow.inputs[ref[0]]]
            operands += given
            kernel, value = block.bind("k", ref[0]), block.local(ref)
            traced += [f"t = clock(); {value} = {kernel}({', '.join(given)})"]
            traced += [f"C.note({block.number(ref[0])}, t, {value}); del {value}"]
            block.drop(ref)
        add, is_begun = block.bind("s", refs[0][0]), total.node in block.beside.begun
        if is_begun:
            first, target = None, block.local(refs[0])
            total.begun.append(refs[0])
        arguments = f"{first}, {', '.join(operands)}"
        call = f"{target} = {add}({arguments})"
        traced += ["t = clock(); " + call] + ([f"C.note({number}, t, {target})"] if last and not is_begun else [])
        comment = block.comment(refs[0][0])
        plain = f"{target} = beside({add}, {arguments})" if is_begun else call
        block.line(plain + comment, block.number(refs[0][0]), traced="; ".join(traced) + comment)
        block.release([each for ref in refs for each in flow.inputs[ref[0]]])
        if last and is_begun:
            self._add_begun(total)

    def _add_begun(self, total: Sum) -> None:
        """Write the calls that add the parts up that were begun, the last first: a thread begins with the first."""
        block = self._block
        target, add = block.local((total.node, 0)), block.bind("j", total.node)
        for place, ref in enumerate(reversed(total.begun)):
            name = block.local(ref)
            call = "{1}({0}, {2}, {0})" if place else "{0} = {2}"
            plain, traced = (call.format(target, add, part) for part in (f"{name}.result()", name))
            block.line(plain + block.comment(ref[0]), block.number(ref[0]), traced=traced)
        number = block.number(total.node)
        block.line(f"del {', '.join(map(block.local, total.begun))}", number, traced=f"C.note({number}, t, {target})")


def _sums_among(flow: UseDef, nodes: Sequence[int]) -> dict[int, list[Sum]]:
    """Return the sums among some nodes whose inputs are added one by one.

    Args:
        flow: the use-def analysis.
        nodes: those of one emitter.

    Returns:
        The sums by the nodes that make their inputs.
    """
    sums: dict[int, list[Sum]] = {}
    here: set[int] = set()
    for i in nodes:
        op = flow.ops[i]
        if op is not None and op.joins is not None and _is_known(flow, i):
            inputs = flow.inputs[i]
            terms = frozenset(ref[0] for ref in inputs if ref[0] in here and _is_term(flow, ref))
            if len(inputs) >= _FEWEST or (terms and len(inputs) > 1):
                missing = {ref for ref in inputs if ref[0] in here}
                total = Sum(i, missing, _parts(flow, inputs, terms), terms)
                for producer in {ref[0] for ref in missing}:
                    sums.setdefault(producer, []).append(total)
        here.add(i)
    return sums


def _is_known(flow: UseDef, i: int) -> bool:
    """Return whether the inputs of a sum are arrays of one static shape."""
    spec, inputs = flow.nodes[i].outputs[0], flow.inputs[i]
    if not spec.shape.rank or not spec.shape.is_fully_defined():
        return False
    return all(flow.nodes[j].outputs[k].shape.sizes == spec.shape.sizes for j, k in inputs)


def _is_term(flow: UseDef, ref: Ref) -> bool:
    """Return whether a value that a sum reads need not be made."""
    op = flow.ops[ref[0]]
    return op is not None and op.adds is not None and flow.has_one_use(ref)


def _parts(flow: UseDef, inputs: Sequence[Ref], terms: Collection[int]) -> list[range]:
    """Return the positions of the inputs that are added together: terms that differ in nothing but their inputs."""
    parts: list[range] = []
    kinds = [_kind(flow, i) if i in terms else None for i, _ in inputs]
    start = 0
    for kind, alike in itertools.groupby(kinds):
        length = len(list(alike))
        op, context = flow.ops[inputs[start][0]], flow.context(inputs[start][0])
        at_once = 1 if kind is None or op is None or op.adds is None else op.adds(context).at_once
        count = -(-length // at_once)
        edges = [start - (-length * part // count) for part in range(count + 1)]  # the first are the larger ones
        parts += [range(*pair) for pair in itertools.pairwise(edges)]
        start += length
    return parts


def _kind(flow: UseDef, i: int) -> tuple[object, ...]:
    """Return what the function of a term depends on."""
    node, context = flow.nodes[i], flow.context(i)
    return node.op, sorted(node.attrs.items()), context.inputs
