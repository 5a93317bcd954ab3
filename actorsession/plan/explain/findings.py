"""Findings: what would make a step slow, each as a sentence with the place and what to do about it.

``FINDINGS`` is the table: a row for each kind, with the function that finds it in the facts of a plan. A row is
added by writing its function. A finding names a node and the user's line, so that a reader goes there and not to
the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from actorsession.drawing.text import byte_size, duration
from actorsession.graph.control_flow_ops import ENTERS, MERGES
from actorsession.graph.device import device_task, short_device
from actorsession.graph.dtypes import resource
from actorsession.graph.function import CONSTRUCTS, nodes_inside
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import is_registered, lookup
from actorsession.plan.codegen.in_place import writes_new
from actorsession.plan.codegen.use_def import UseDef
from actorsession.plan.explain.explanation import ExplainedNode, Finding, Transfer
from actorsession.plan.explain.facts import Facts
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.prune import ARG

__all__ = ["FINDINGS", "findings"]

# Seconds. Below these a finding would be noise: a step over two tasks takes about as long without any fault.
_SLOW_NODE = 1e-3
_SLOW_WAY = 1e-3
# A round trip in one machine room is below 1 ms; a busy task takes some more to answer.
_SLOW_LINK = 10e-3
# Bytes below which what is copied or sent costs less than its frame.
_LARGE = 2**20
# What is sent for nothing is worth a word before; a few numbers travel beside other values.
_CONSTANT = 2**14
# The part of a step from which a single node is worth a look.
_SHARE = 0.5
# The same where several threads could compute it.
_NOTICED = 0.1
# Findings of one kind that are listed; the dearest matter.
_MOST = 10


def findings(facts: Facts) -> list[Finding]:
    """Return all findings in a plan, the dearest first, at most ten of each kind."""
    ranked: list[Finding] = []
    for find in FINDINGS.values():
        of_kind = sorted(find(facts), key=lambda finding: -finding.seconds)
        ranked += of_kind[:_MOST]
    return sorted(ranked, key=lambda finding: -finding.seconds)


def _of_value(kind: str, transfer: Transfer, what: str, advice: str) -> Finding:
    """Return a finding about a value that is sent."""
    return Finding(
        kind=kind,
        node=transfer.producer,
        line=transfer.line,
        what=f"{what} is sent {_way(transfer)} in each step",
        advice=advice,
        seconds=transfer.seconds,
    )


def _of_node(kind: str, node: ExplainedNode, what: str, advice: str) -> Finding:
    """Return a finding about a node and its device."""
    what = f"{node.name!r} ({node.op}) {what}"
    return Finding(kind=kind, node=node.name, line=node.line, what=what, advice=advice, seconds=node.seconds)


# -- between devices -------------------------------------------------------------------------------


def _to_and_fro(facts: Facts) -> Iterator[Finding]:
    """Find values that are sent away, and of which something comes back."""
    for out, first, back in _returning(facts):
        node = first if first in facts.nodes else back.producer
        seconds = out.seconds + back.seconds
        yield Finding(
            kind="to-and-fro",
            node=node,
            line=facts.nodes[node].line if node in facts.nodes else back.line,
            what=f"{out.tensor.name} goes {_way(out)}, and {back.tensor.name}, which is computed of it there, comes "
            f"back{_bytes(back)}: {duration(seconds)} on the way in each step",
            advice=f"place {node!r} and what it feeds on {short_device(out.source)}, where both ends are",
            seconds=seconds,
        )


def _returning(facts: Facts) -> Iterator[tuple[Transfer, str, Transfer]]:
    """Yield what is sent away, its first reader there, and what of it comes back."""
    arriving = {t.key: t for t in facts.transfers}
    tied = {node.name for part in facts.parts for node in _tied(part)}
    for part in facts.parts:
        origins: dict[str, dict[str, tuple[Transfer, str]]] = {}  # by node, by device: what came, first reader
        seen = set()
        for node in part.nodes:
            if node.op == RECV and node.attrs["key"] in arriving:
                transfer = arriving[node.attrs["key"]]
                origins[node.name] = {transfer.source: (transfer, "")}
                continue
            came: dict[str, tuple[Transfer, str]] = {}
            for name, _ in node.inputs:
                for device, (transfer, first) in origins.get(name, {}).items():
                    came.setdefault(device, (transfer, first or node.name))
            if node.op == SEND and node.attrs["key"] in arriving:
                back = arriving[node.attrs["key"]]
                if back.target in came and (back.target, back.producer) not in seen:
                    seen.add((back.target, back.producer))
                    out, first = came[back.target]
                    # What updates a variable by its value, as training does, has both ends where the state is.
                    if not tied.issuperset([out.producer, *back.readers]):
                        yield out, first, back
            elif node.name not in tied:
                origins[node.name] = came


def _tied(part: Partition) -> Iterator[NodeDef]:
    """Yield the nodes that must be where they are, because their state is there."""
    handles = {n.name for n in part.nodes if any(spec.dtype is resource for spec in n.outputs)}
    for node in part.nodes:
        if (is_registered(node.op) and lookup(node.op).stateful) or any(name in handles for name, _ in node.inputs):
            yield node


def _way(transfer: Transfer) -> str:
    return f"from {short_device(transfer.source)} to {short_device(transfer.target)}{_bytes(transfer)}"


def _bytes(transfer: Transfer) -> str:
    return "" if transfer.tensor.nbytes is None else f" ({byte_size(transfer.tensor.nbytes)})"


def _slow_link(facts: Facts) -> Iterator[Finding]:
    """Find tasks to which every message takes long."""
    for task, seconds in facts.round_trips.items():
        if seconds < _SLOW_LINK:
            continue
        over = [t for t in facts.transfers if task in (device_task(t.source), device_task(t.target))]
        over = [t for t in over if device_task(t.source) != device_task(t.target)]
        waits = [part for part in facts.chain if part.kind == "wire" and task in part.where]
        first = max(over, key=lambda t: t.seconds, default=None)
        lost = sum(part.ended - part.began for part in waits)
        yield Finding(
            kind="slow-link",
            node="" if first is None else first.producer,
            line="" if first is None else first.line,
            what=f"the link to {short_device(task)} answers after {duration(seconds)}; {len(over)} values go over it "
            f"in each step, and the longest chain of the step crosses it {len(waits)} times, which takes "
            f"{duration(lost)} of {duration(facts.seconds)}",
            advice="place what exchanges values on one side of this link, or have fewer exchanges after one another; "
            "if the task is near, look at the network",
            seconds=lost,
        )


def _large_transfer(facts: Facts) -> Iterator[Finding]:
    """Find large values that are sent between tasks, but for those of which something comes back."""
    returning = {transfer.key for out, _, back in _returning(facts) for transfer in (out, back)}
    for transfer in facts.transfers:
        if (transfer.tensor.nbytes or 0) < _LARGE or device_task(transfer.source) == device_task(transfer.target):
            continue
        if _is_constant(facts, transfer) or transfer.key in returning:
            continue
        advice = (
            "compute what is smaller before it is sent, or place its readers "
            f"({', '.join(transfer.readers[:3])}) on {short_device(transfer.source)}"
        )
        yield _of_value("large-transfer", transfer, transfer.tensor.name, advice)


def _is_constant(facts: Facts, transfer: Transfer) -> bool:
    node = facts.nodes.get(transfer.producer)
    return node is not None and node.op == "Const"


def _read_twice(facts: Facts) -> Iterator[Finding]:
    """Find variables whose value goes several times to one device."""
    reads: dict[tuple[str, str], list[Transfer]] = {}
    for transfer in facts.transfers:
        node = facts.nodes.get(transfer.producer)
        if node is not None and node.op == "ReadVariableOp":
            reads.setdefault((node.inputs[0], transfer.target), []).append(transfer)
    for (variable, target), sent in reads.items():
        if len(sent) > 1:
            size = sum(t.tensor.nbytes or 0 for t in sent[1:])
            yield Finding(
                kind="read-twice",
                node=sent[1].producer,
                line=sent[1].line,
                what=f"the variable {variable.rpartition(':')[0]!r} is read {len(sent)} times, and each value is sent "
                f"to {short_device(target)}: {byte_size(size)} more than once would take",
                advice="read it once (value = variable.value()) and use that, where the step needs one value of it",
                seconds=max(t.seconds for t in sent) if size >= _LARGE else 0.0,
            )


def _constant(facts: Facts) -> Iterator[Finding]:
    """Find large constants that are sent in each step, because they have a device."""
    for transfer in facts.transfers:
        if _is_constant(facts, transfer) and (transfer.tensor.nbytes or 0) >= _CONSTANT:
            advice = "build it without a device (graph.device(None)): then each device that reads it has a copy"
            yield _of_value("constant", transfer, f"the constant {transfer.producer!r}", advice)


def _alone(facts: Facts) -> Iterator[Finding]:
    """Find tasks that have a part in the step for a single node."""
    by_task: dict[str, list[tuple[NodeDef, Partition]]] = {}
    for part in facts.parts:
        working = [(n, part) for n in part.nodes if n.op not in (SEND, RECV, ARG) and not lookup(n.op).once]
        by_task.setdefault(part.task, []).extend(working)
    for task, nodes in by_task.items() if len(by_task) > 1 else ():
        if len(nodes) != 1 or task == facts.client:
            continue
        alone, part = nodes[0]
        if alone in _tied(part):
            continue
        node = facts.nodes[alone.name]
        ways = [t for t in facts.transfers if device_task(t.source) == task or device_task(t.target) == task]
        seconds = max([t.seconds for t in ways], default=0.0)
        beside = [t.target if device_task(t.source) == task else t.source for t in ways]
        if node.seconds > seconds:
            continue
        yield Finding(
            kind="alone",
            node=node.name,
            line=node.line,
            what=f"{node.name!r} ({node.op}) is alone on {short_device(task)}: it takes {duration(node.seconds)}, and "
            f"the messages that begin it and carry its values {duration(seconds)} each",
            advice=f"place it on {short_device(beside[-1]) if beside else 'the client device'}, where what it is "
            "connected with is",
            seconds=seconds,
        )


# -- within a device -------------------------------------------------------------------------------


def _dataflow(facts: Facts) -> Iterator[Finding]:
    """Find loops and branches that are run node by node, and why they were not compiled."""
    seen = set()  # a loop over several devices is in all of their partitions
    for part in facts.parts:
        for node in part.nodes:
            name = node.attrs.get("frame_name") if node.op in ENTERS else node.name if node.op in MERGES else None
            why = facts.notes.get(name) if name else None
            if name in seen or (why is None and node.op not in ENTERS) or name is None or node.name.startswith("_"):
                continue
            seen.add(name)
            kind = "loop" if node.op in ENTERS else "conditional"
            yield Finding(
                kind="dataflow",
                node=node.name,
                line=node.source,
                what=f"the {kind} {name!r} is not compiled, but runs node by node on {short_device(part.device)}: "
                f"{why or 'functionalization is switched off by the optimizer options'}",
                advice="change what is named, so that it becomes one operation; "
                "docs/graphs.md says which loops and branches are compiled",
            )


def _python(facts: Facts) -> Iterator[Finding]:
    """Find nodes that call functions of the program."""
    for part in facts.parts:
        for node in [inner for outer in part.nodes for inner in (outer, *[one for one, _ in nodes_inside(outer)])]:
            if is_registered(node.op) and lookup(node.op).calls_python:
                known = facts.nodes.get(node.name)
                seconds = known.seconds if known is not None and known.measured else 0.0
                yield Finding(
                    kind="python",
                    node=node.name,
                    line=node.source,
                    what=f"{node.name!r} ({node.op}) calls a function of the program on {short_device(part.device)}, "
                    "on one thread and for as long as that takes"
                    + (f": measured {duration(seconds)}" if seconds else ""),
                    advice="build it of operations, or measure it: RunOptions(trace_level=...) or build_cost_model",
                    seconds=seconds,
                )


def _one_thread(facts: Facts) -> Iterator[Finding]:
    """Find expensive nodes that one thread computes, whatever the machine has."""
    for node in facts.nodes.values():
        if node.seconds < max(_SLOW_NODE, _NOTICED * facts.seconds) or node.name in facts.divided:
            continue
        op = lookup(node.op)
        # What shares memory with an input is hardly work, whatever its size.
        if not (op.divides or op.aliases or op.once or op.blocks or op.suspends or node.op in CONSTRUCTS):
            texts = any(value.dtype == "string" for value in node.outputs)
            yield _of_node(
                "one-thread",
                node,
                f"{'makes texts one by one' if texts else 'runs'} on one thread of {short_device(node.device)}: "
                f"{duration(node.seconds)} of {duration(facts.seconds)}",
                "divide its input over several devices of the task (device_count), or do it once before the steps",
            )


def _slow_node(facts: Facts) -> Iterator[Finding]:
    """Find nodes that take most of the step."""
    for node in facts.nodes.values():
        if node.seconds >= _SLOW_NODE and node.seconds >= _SHARE * facts.seconds:
            how = "measured" if node.measured else "expected" if node.known else "expected, with unknown sizes as 1"
            yield _of_node(
                "slow-node",
                node,
                f"on {short_device(node.device)} takes {duration(node.seconds)} of the {duration(facts.seconds)} of "
                f"the step ({how})",
                "make its inputs smaller, or divide them over several tasks",
            )


def _copied(facts: Facts) -> Iterator[Finding]:
    """Find large values that are copied before they are sent, where lending them would save the copy."""
    sent = {t.key: t for t in facts.transfers}
    for part in facts.parts:
        large = [
            sent[node.attrs["key"]]
            for node in part.nodes
            if node.op == SEND and (t := sent.get(node.attrs["key"])) is not None
            if (t.tensor.nbytes or 0) >= _LARGE and device_task(t.source) != device_task(t.target)
        ]
        if not large:
            continue
        flow = UseDef(part)
        number = {node.name: i for i, node in enumerate(part.nodes)}
        for transfer in large:
            i = number.get(transfer.producer)
            op = None if i is None else flow.ops[i]
            if i is None or op is None or op.emit_sent is not None or op.once:
                continue
            if writes_new(flow, i, flow.context(i)) is None:
                node = part.nodes[i]
                known = all(spec.shape.is_fully_defined() for spec in node.outputs)
                yield Finding(
                    kind="copy",
                    node=transfer.producer,
                    line=transfer.line,
                    what=f"{transfer.tensor.name}{_bytes(transfer)} is copied before it is sent, because "
                    + (f"{node.op} makes an array of its own" if known else "its static shape is unknown"),
                    advice=("send" if known else "give it a static shape, or send")
                    + " the value of a variable: processes of the same host read it where it lies",
                )


FINDINGS: Mapping[str, Callable[[Facts], Iterator[Finding]]] = {
    "to-and-fro": _to_and_fro,
    "slow-link": _slow_link,
    "large-transfer": _large_transfer,
    "read-twice": _read_twice,
    "constant": _constant,
    "alone": _alone,
    "dataflow": _dataflow,
    "python": _python,
    "one-thread": _one_thread,
    "slow-node": _slow_node,
    "copy": _copied,
}
"""By kind, the function that finds it."""
