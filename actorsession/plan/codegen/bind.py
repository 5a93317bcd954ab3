"""Bind: binds generated code to the kernels and state of one device.

This is the only module that executes generated source. The source comes from ``compile`` alone, never from a
peer: a worker receives graphs and generates its own code. Functions are registered with ``linecache``, so a
traceback shows the node and the user's line that built it. Every loader of a graph calls this; the executor
calls the functions.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, OpError
from actorsession.graph.device_kernels import (
    DeviceClock,
    DeviceKernels,
    SideBySide,
    all_to_host_of,
    arrays_of,
    clock_of,
    definition_of,
    kernels_of,
)
from actorsession.graph.extension import ExtensionPoint
from actorsession.graph.lending import staged_of
from actorsession.graph.registry import KernelContext, ResourceHost, lookup
from actorsession.graph.shared_arrays import empty
from actorsession.plan.abandonment import check_wanted
from actorsession.plan.codegen.compiled_calls import CompiledCalls
from actorsession.plan.codegen.memory_check import within_memory
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.codegen.outline import LONGEST
from actorsession.plan.codegen.segment import CompiledPartition, Segment
from actorsession.plan.codegen.segment_context import SegmentFunction
from actorsession.plan.codegen.use_def import conversion_of
from actorsession.plan.partition import CONTROL_TOKEN
from actorsession.plan.rendezvous_key import parse_key
from transports.host import current_host

__all__ = ["GENERATED_CODE_NAMES", "BoundPartition", "BoundSegment", "arrival", "kernel_of", "own"]

_PLANS = itertools.count()
# How many texts are kept with their code, and how long they may be: sessions that run the same graph have the same
# texts, and so has one that is opened again. To compile one takes some 150 us, to rename its code 5 us.
_KEPT, _LONGEST_KEPT = 512, 2**13

GENERATED_CODE_NAMES: ExtensionPoint[Any] = ExtensionPoint("names in generated code", "actorsession.ops")
"""``Blockwise``, which computes runs of elementwise nodes, and ``NO_ITEMS``, the first value of the loop
variables that collect intermediate values for gradients.
"""


def own(value: Any) -> Any:
    """Return a value that shares memory with nothing; arrays of rank 0 become scalars."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.ndim else value[()]
    return value


def _out(value: Any) -> Any:
    """Return a fetched value whose rank may be 0, as a scalar in that case, as in TensorFlow."""
    if isinstance(value, np.ndarray) and not value.ndim:
        return value[()]
    return value


def _predicate(value: Any) -> bool:
    """Return whether a predicate without static rank holds."""
    if np.ndim(value):
        raise InvalidArgumentError(f"a predicate must be a scalar, but it has shape {list(np.shape(value))}")
    return bool(value)


def _start(nanos: Callable[[], int], clock: DeviceClock) -> tuple[int, Any]:
    return nanos(), clock.mark()


class BoundSegment:
    """A segment that can be called: ``function(context, *arguments) -> tuple of results``.

    Attributes:
        blocks: whether a node of it may take any time; see ``OpDef.blocks``.
        unpredictable: whether no measured time predicts the next run, because of such a node or of a loop.
        places: slots of its arguments; with ``unsized``, a short way to what ``segment`` has.
        seconds: moving average of its measured time; 0 until it ran once. The offload policy keeps it.
        largest: the most bytes of arguments of unknown size with which a run of it was short; likewise.
        threads: gives a function of it the threads of its kernels; ``None`` where nothing sets their number.
        is_short: whether a run of it is short by ``seconds``, whatever its arguments are; likewise.
    """

    __slots__ = (
        "blocks",
        "filename",
        "function",
        "is_short",
        "largest",
        "places",
        "seconds",
        "segment",
        "threads",
        "traced_filename",
        "traced_function",
        "unpredictable",
        "unsized",
    )

    def __init__(
        self,
        segment: Segment,
        namespace: dict[str, Any],
        label: str,
        *,
        blocks: bool,
        side_by_side: SideBySide | None = None,
    ) -> None:
        self.segment = segment
        self.places, self.unsized = segment.arguments, segment.unsized
        self.blocks = blocks
        self.unpredictable = blocks or not segment.is_steady
        self.filename = f"<{label} {segment.name}>"
        self.traced_filename = f"<{label} {segment.name} traced>"
        self.threads: Callable[[SegmentFunction], SegmentFunction] | None = None
        if side_by_side is not None:
            self.threads = side_by_side.together if segment.side_by_side else side_by_side.alone
        self.function = self.load(segment.lines, self.filename, namespace)
        # Traced code is rare and as long as the plain code, so it is made on first use.
        self.traced_function: SegmentFunction | None = None
        self.seconds = 0.0
        self.largest = 0
        self.is_short = False

    def load(self, lines: tuple[str, ...], filename: str, namespace: dict[str, Any]) -> SegmentFunction:
        """Return the function of the segment's text, or of its traced text."""
        function = _load(self.segment.name, lines, filename, namespace)
        return function if self.threads is None else self.threads(function)

    def node_at(self, filename: str, line: int) -> int | None:
        """Return the number of the node whose line is at ``line`` of ``filename``."""
        table = self.segment.line_nodes if filename == self.filename else self.segment.traced_line_nodes
        return table[line - 1] if 0 < line <= len(table) else None


def _load(name: str, lines: tuple[str, ...], filename: str, namespace: dict[str, Any]) -> SegmentFunction:
    ended = [f"{line}\n" for line in lines]
    text = "".join(ended)
    for known in GENERATED_CODE_NAMES.keys():  # noqa: SIM118 - it is no mapping
        if known not in namespace and known in text:
            namespace[known] = GENERATED_CODE_NAMES.get(known)
    linecache.cache[filename] = (len(text), None, ended, filename)
    pieces = list(_pieces(ended))
    for first, piece in pieces:
        check_wanted()
        _execute(_code(first, piece, filename), namespace, alone=len(pieces) == 1)
    function: SegmentFunction = namespace.pop(name)
    return function


def _code(first: int, text: str, filename: str) -> Any:
    """Return the code of a text behind ``first`` lines of a file."""
    if len(text) <= _LONGEST_KEPT:
        return _renamed(_compiled(first, text, ""), filename)
    return _compiled.__wrapped__(first, text, filename)


@functools.lru_cache(maxsize=_KEPT)
def _compiled(first: int, text: str, filename: str) -> Any:
    # Preceded by as many empty lines as there are lines before it; they cost a thousandth of full ones.
    return compile("\n" * first + text, filename, "exec")


def _renamed(code: Any, filename: str) -> Any:
    """Return the same code, and that of the functions in it, as code of a file."""
    constants = [_renamed(value, filename) if isinstance(value, type(code)) else value for value in code.co_consts]
    return code.replace(co_filename=filename, co_consts=tuple(constants))


def _execute(code: Any, namespace: dict[str, Any], *, alone: bool) -> None:
    """Execute the definitions of some functions, with global names of their own unless they are alone.

    Python caches where a global name is only in dictionaries of less than 65,536 names; a look-up in a larger
    one also misses the processor's cache. So no function has the names of all nodes of a large graph.
    """
    names = namespace
    if not alone:
        names = {name: namespace[name] for name in _names_in(code) if name in namespace}
    exec(code, names)  # generated here, see the module docstring
    if not alone:
        namespace.update({name: names[name] for name in code.co_names})


def _names_in(code: Any) -> set[str]:
    """Return the global names that code and the functions in it use."""
    inside = [_names_in(part) for part in code.co_consts if isinstance(part, type(code))]
    return set(code.co_names).union(*inside)


def _pieces(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the functions of a text, short ones together, each with the number of lines before it.

    They are compiled one by one, because compiling holds the interpreter lock; see ``outline``.
    """
    first = 0
    for number, line in enumerate(lines):
        if number - first >= LONGEST and line.startswith("def "):
            yield first, "".join(lines[first:number])
            first = number
    yield first, "".join(lines[first:])


class BoundPartition:
    """A compiled partition bound to a device.

    Args:
        compiled: the generated code.
        host: the device's resource manager.
        states: state of stateful kernels by node name, shared by all plans of a session.

    Attributes:
        host: as given.
        states: as given.
        clock: that of the device, if its kernels run after the host has gone on.
        start: returns the time by the monotonic clock in nanoseconds; with ``clock`` also a mark of that.
        blocks: whether a node of it may take any time; see ``OpDef.blocks``.
        waits: number of arrivals and segments that each segment waits for.
        initial: the segments that wait for nothing.
        slot_of: the slot of each value that arrives, by its rendezvous key.
        woken_by: the segments that wait for the arrival in each slot.
        followers: the segments that wait for each segment.
    """

    def __init__(self, compiled: CompiledPartition, host: ResourceHost, states: dict[str, Any]) -> None:
        self.compiled = compiled
        self.device = compiled.partition.device
        self.host, self.states = host, states
        self.clock = clock_of(self.device)
        nanos = current_host().clock.perf_counter_ns
        self.start: Callable[[], Any] = nanos if self.clock is None else functools.partial(_start, nanos, self.clock)
        self._label = f"actorsession plan {next(_PLANS)} on {self.device}"
        kernels = kernels_of(self.device)
        side_by_side = None if kernels is None else kernels.side_by_side
        self._namespace = self._bind(host, states, kernels)
        self.segments = [
            BoundSegment(segment, self._namespace, self._label, blocks=self._blocks(segment), side_by_side=side_by_side)
            for segment in compiled.segments
        ]
        self.blocks = any(segment.blocks for segment in self.segments)
        self.waits = [len(s.waits) + len(s.after) for s in compiled.segments]
        self.initial = tuple([index for index, count in enumerate(self.waits) if not count])
        self.slot_of = {parse_key(key).text: slot for slot, key in compiled.recvs}
        self.woken_by: dict[int, list[int]] = {slot: [] for slot, _ in compiled.recvs}
        self.woken_by.update({suspension.arrival: [] for suspension in compiled.suspensions})
        self.followers: list[list[int]] = [[] for _ in compiled.segments]
        for index, segment in enumerate(compiled.segments):
            for slot in segment.waits:
                self.woken_by[slot].append(index)
            for before in segment.after:
                self.followers[before].append(index)
        names = [f for s in self.segments for f in (s.filename, s.traced_filename)]
        weakref.finalize(self, _forget, names).atexit = False

    def _bind(self, host: ResourceHost, states: dict[str, Any], kernels: DeviceKernels | None) -> dict[str, Any]:
        namespace: dict[str, Any] = {
            "own": own,
            "out": _out,
            "clock": self.start,
            "TOKEN": CONTROL_TOKEN,
            "predicate": _predicate,
            "ZERO": np.int32(0),
            "empty": empty,
        }
        arrays = arrays_of(self.device)
        if arrays is not None:
            namespace |= {
                "on_peer": [conversion_of(self.device, key) for key in self.compiled.sends],
                "staged": staged_of(self.device),
                "on_device": arrays.to_device,
                "on_host": arrays.to_host,
                "own_on_device": arrays.own,
                "all_on_host": all_to_host_of(self.device),
            }
        if kernels is not None and kernels.side_by_side is not None:
            namespace["beside"] = kernels.side_by_side.begin
        if any(segment.subgraphs for segment in self.compiled.segments):
            assert kernels is not None
            assert kernels.compiler is not None, "code without a compiler has no subgraphs"
            namespace["CompiledCalls"] = functools.partial(
                CompiledCalls, device=self.device, compiler=kernels.compiler, plan=weakref.ref(self)
            )
        bindings = {k: v for s in self.compiled.segments for k, v in s.bindings.items()}
        for name, number in bindings.items():
            check_wanted()
            context = self.compiled.contexts[number].bound(host, states)
            try:
                namespace[name] = _BINDERS[name[0]](context)
            except OpError as error:
                _locate(error, context)
                raise
        for context in self.compiled.unread:
            try:
                kernel_of(context.bound(host, states))()
            except OpError as error:
                _locate(error, context)
                raise
        return namespace

    def _blocks(self, segment: Segment) -> bool:
        contexts, own = self.compiled.contexts, len(self.compiled.partition.nodes)
        for number in segment.bindings.values():
            op = lookup(contexts[number].op)  # what is asked of it is the same on every device
            # In a loop or branch, the code waits for a node that suspends as for any other.
            if op.blocks or (op.suspends and number >= own):
                return True
        return False

    def traced(self, index: int) -> SegmentFunction:
        """Return the function of a segment that also records when each node ran."""
        linked = self.segments[index]
        if linked.traced_function is None:
            segment = linked.segment
            linked.traced_function = linked.load(segment.traced_lines, linked.traced_filename, self._namespace)
        return linked.traced_function


def kernel_of(context: KernelContext) -> Callable[..., Any]:
    """Return the kernel of a node; if it cannot be made from its constant inputs, return one that raises.

    The error is delayed until the node runs. Only then is it certain that the node runs at all, after which
    others, and which node and line the error should name.
    """
    definition = definition_of(context)
    try:
        kernel = definition.kernel(context)
    except Exception:
        if definition.stateful:
            raise  # the state of its device may be different the next time
        return lambda *values: definition.kernel(context)(*values)
    return within_memory(context, definition, kernel)


def _locate(error: OpError, context: NodeContext) -> None:
    node = context.node
    error.locate(node=node.name, device=context.device, source=node.source)


def _into(context: KernelContext) -> Callable[..., Any] | None:
    """Return the function of an elementwise node that writes to an array, if its op has one."""
    into = lookup(context.op).into  # into numpy arrays, whatever the device
    return None if into is None else into(context)


def _into_new(context: KernelContext) -> Callable[..., Any] | None:
    """Return the function of a node that writes to a new array, if its op has one."""
    into = definition_of(context).into_new
    return _into(context) if into is None else into(context)


def _adds(context: KernelContext) -> Callable[..., Any]:
    """Return the function of a node that is a term of a sum."""
    adds = definition_of(context).adds
    assert adds is not None
    return adds(context).kernel


def arrival(context: KernelContext) -> Callable[[Any], Any]:
    """Return the function that converts what a node of a device gives some time after it was started."""
    arrays = arrays_of(context.device)
    assert arrays is not None
    held = [arrays.holds(spec.dtype) for spec in context.outputs]

    def convert(values: Any) -> Any:
        if len(held) == 1:
            return arrays.to_device(values) if held[0] else values
        return tuple([arrays.to_device(v) if is_held else v for v, is_held in zip(values, held, strict=True)])

    return convert


# The value of a global name of the generated code, by the name's first letter; see ``Segment.bindings``.
_BINDERS: dict[str, Callable[[KernelContext], Any]] = {
    "c": lambda context: kernel_of(context)(),
    "k": kernel_of,
    "o": _into,
    "n": _into_new,
    "j": lambda context: definition_of(context).joins,
    "s": _adds,
    "a": arrival,
}


def _forget(names: list[str]) -> None:
    for name in names:
        linecache.cache.pop(name, None)
