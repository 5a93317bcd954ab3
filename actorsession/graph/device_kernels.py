"""Kernels of devices whose tensors are not numpy arrays.

A device type may bring ``DeviceKernels``: which dtypes its devices hold in arrays of their own, how these come from
the host and go back, and a table of kernels by operation type. In code for such a device, every tensor of a dtype
that it holds is an array of the device; all others (strings, handles and, usually, whole numbers) are numpy arrays.
A node whose type has no row in the table runs with the *sentence* of its type (``OpDef.sentence``), if it has one and
the arrays of the device have a module of functions named as in the array API standard. Without either, or where they
do not take the node's dtypes, it runs with the kernel of the CPU, between two conversions: it is *hosted*.

The registry maps device types to their kernels. ``runtime.devices`` fills it when a type is registered, and code
generation asks ``definition_of``; neither the graph nor the placer looks at arrays.
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, Protocol, TypeAlias

from actorsession.errors import OpError, exhausted
from actorsession.graph.collective_call import DeviceGroups
from actorsession.graph.device import device_name, device_task
from actorsession.graph.dtypes import DType, as_dtype, resource, variant
from actorsession.graph.registry import Kernel, KernelContext, OpDef, SumTerm, lookup
from actorsession.records import dataclass
from actorsession.registrations import scoped

__all__ = [
    "Compiler",
    "DeviceArrays",
    "DeviceClock",
    "DeviceKernel",
    "DeviceKernels",
    "Lending",
    "all_to_host_of",
    "arrays_of",
    "can_compile",
    "clock_of",
    "definition_of",
    "kernels_of",
    "on_device",
    "peer_arrays",
    "register_device_kernels",
    "tell_without_compiler",
    "type_of",
]


class DeviceArrays(Protocol):
    """The arrays of one device."""

    def holds(self, dtype: DType) -> bool:
        """Return whether tensors of a dtype are arrays of the device; never for strings and handles.

        For variants if lists of tensors may hold arrays of the device, which ``to_host`` makes numpy's then.
        """

    def to_device(self, value: Any) -> Any:
        """Return a value as an array of the device; it is returned as it is if it is one.

        Args:
            value: a numpy array or scalar of a dtype that the device holds, or an array of the device or of another one
                of its family. The result may share its memory; nobody writes to it afterwards.
        """

    def to_host(self, value: Any) -> Any:
        """Return an array of the device as a numpy array; anything else as it is.

        The array may share memory with that of the device, which stays what it is as long as the array lives. A
        variable of the device becomes one that has numpy arrays.
        """

    def own(self, value: Any) -> Any:
        """Return an array of the device that shares memory with nothing."""


class DeviceClock(Protocol):
    """The clock of a device whose kernels run after the host has gone on, for steps that are traced."""

    def mark(self) -> Any:
        """Return a mark behind all that this thread has launched on the device; nothing waits for it."""

    def seconds(self, since: Any, until: Any) -> float:
        """Return the time between the moments in which the device reaches two marks; wait for both."""


class Lending(Protocol):
    """How devices of a type lend arrays to those of other processes of the host, which copy them.

    Device types of a family that lend understand each other's tickets.
    """

    def lend(self, array: Any) -> bytes | None:
        """Return a ticket by which another process can copy an array; ``None`` if it has to go by the host.

        The array is kept, and is not written to, until ``release`` is called with the ticket.
        """

    def take(self, device: str, ticket: bytes) -> Any:
        """Return a copy of an array that another process lends; ``None`` if this process cannot reach its memory.

        It goes by the host then, and so does all that follows from that device to this one. A ticket may be any bytes.

        Args:
            device: full name of the device that the copy is for; the copy is complete when this returns.
            ticket: what ``lend`` has returned in the other process.
        """

    def release(self, ticket: bytes) -> None:
        """End a loan, whether the array was copied or not; called once, in any thread."""


class Begun(Protocol):
    """A kernel that was begun in another thread."""

    def result(self) -> Any:
        """Return what the kernel returns, or raise what it raises; called once."""


class SideBySide(Protocol):
    """How kernels of a device run beside each other, where each of them is too small for several threads."""

    def alone(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a segment whose kernels run one after the other: each has all threads."""

    def together(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a segment some of whose kernels are begun beside the others: each has one thread."""

    def begin(self, kernel: Callable[..., Any], *arguments: Any) -> Begun:
        """Begin a kernel, a pure function, in another thread; whoever asks for its result may run it, too."""


Compiler: TypeAlias = "Callable[[Callable[..., Sequence[Any]], Sequence[Any]], Callable[..., Sequence[Any]]]"
"""Makes a faster function of a function of arrays of a device, and of the arrays of one of its calls.

Both functions return several arrays. Those of the result share memory with each other or with arguments only where
the others do. It is called with arrays of the same shapes and, if it raises, the given function is called in its place.
"""


def _all(context: KernelContext) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceKernel:
    """The kernel of an operation type on devices of one type.

    Attributes:
        kernel: makes the function of a node, as ``OpDef.kernel`` does.
        takes: whether it takes the dtypes, shapes and attributes of a node; every node by default.
        aliases: whether an output may share memory with an input or with state.
        emit: as ``OpDef.emit``.
        over: as ``OpDef.over``, if it holds for a node.
        joins: as ``OpDef.joins``, and ``adds`` as ``OpDef.adds``.
        checks: whether it refuses some values, by any exception: the kernel of the CPU is called then, and says why;
            for all nodes, or for one.
    """

    kernel: Callable[[KernelContext], Kernel]
    takes: Callable[[KernelContext], bool] = _all
    aliases: bool = False
    checks: bool | Callable[[KernelContext], bool] = False
    emit: Callable[[KernelContext, Sequence[str]], str | None] | None = None
    over: Sequence[str] | Callable[[KernelContext], Sequence[str]] = ()
    joins: Kernel | None = None
    adds: Callable[[KernelContext], SumTerm] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceKernels:
    """What a device type brings to the code of its devices.

    Attributes:
        arrays: returns the arrays of the device with a full name.
        rows: its kernels by operation type.
        namespace: the module of functions of its arrays, named as in the array API standard. With it the device has
            kernels for all operation types that are sentences of such functions, unless there is a row; arrays have
            Python's operators then. ``None`` if there is none.
        lacks_functions: whether functions of the namespace may fail because the device has no kernel for them: that
            of the CPU is called then.
        transparent: operation types whose kernel for the CPU never looks into a tensor of a dtype that the device
            holds, and so takes the arrays of any device, such as ``Identity``.
        shares_memory: whether its arrays always share their memory with those of the host, both ways. Runs of
            elementwise operations on large arrays are computed by numpy then, block by block: a device that runs one
            kernel after the other passes over memory once for each.
        hosted: operation types that are left to the kernel of the CPU on purpose, of which nothing is said.
        memory: says how much memory of the device with a full name is taken, for a message; ``None`` if its arrays are
            in that of the host.
        family: a name that device types share whose ``to_device`` takes each other's arrays: between devices of one
            task, values go directly then. ``None`` for a type whose values always go as numpy arrays.
        lending: lends arrays to devices of the family in other processes of the host; ``None`` if they go as numpy
            arrays there.
        staged: returns what makes an array of the device with a full name one of the host, in memory that is only to be
            held until the value was sent to another task. ``None``, as it may give too, if that is ``to_host``.
        clock: returns the clock of the device with a full name; ``None``, as it may give too, if kernels have run when
            they return.
        all_to_host: returns what makes several arrays of the device with a full name those of the host at once, as many
            numpy arrays that share memory with nothing. ``None``, as it may give too, if ``to_host`` costs no more.
        side_by_side: runs kernels beside each other; ``None`` if they run one after the other.
        groups: the libraries by which its devices exchange arrays in large collectives, by the ``communication_hint``
            that asks for them. Its kernels of collectives take arrays of the device then (``transparent``).
        compiler: compiles functions of several nodes, in sessions that ask for it; called in a thread of its own.
        compiles: whether the compiler takes the kernel of a node: it is a pure function of arrays, and what it does
            depends on their shapes alone.
    """

    arrays: Callable[[str], DeviceArrays]
    rows: Mapping[str, DeviceKernel]
    namespace: Any = None
    lacks_functions: bool = False
    transparent: frozenset[str] = field(default_factory=frozenset)
    shares_memory: bool = False
    hosted: frozenset[str] = field(default_factory=frozenset)
    memory: Callable[[str], str] | None = None
    family: str | None = None
    clock: Callable[[str], DeviceClock | None] | None = None
    all_to_host: Callable[[str], Callable[..., Sequence[Any]] | None] | None = None
    lending: Lending | None = None
    staged: Callable[[str], Callable[[Any], Any] | None] | None = None
    side_by_side: SideBySide | None = None
    groups: Mapping[str, DeviceGroups] = field(default_factory=dict)
    compiler: Compiler | None = None
    compiles: Callable[[KernelContext], bool] = _all

    def kernel_of(self, op: str) -> DeviceKernel | None:
        """Return the kernel of an operation type: its row, or the sentence of its definition."""
        definition = lookup(op)
        row, sentence = self.rows.get(op), definition.sentence
        if row is not None or sentence is None or self.namespace is None:
            return row
        takes = partial(self._takes_sentence, definition.stateful and self.shares_memory)
        made = partial(sentence, self.namespace)
        return DeviceKernel(
            kernel=made,
            takes=takes,
            aliases=definition.aliases,
            emit=definition.emit,
            checks=self.lacks_functions,
            over=definition.over,
        )

    def _takes_sentence(self, by_blocks: bool, context: KernelContext) -> bool:
        """Whether numbers of a node are arrays of the device, all but whole ones and handles among its inputs.

        Args:
            by_blocks: whether the kernel of the CPU changes the same memory, block by block: it does where that is
                large, in two thirds of the time.
            context: the node.
        """
        if by_blocks and any((spec.shape.num_elements() or 0) >= _LARGE for spec in context.inputs):
            return False
        holds = self.arrays(context.device).holds
        held = [spec.dtype.kind in _NUMBERS and holds(spec.dtype) for spec in context.inputs]
        others = [spec.dtype.is_integer or spec.dtype is resource for spec in context.inputs]
        outputs = [spec.dtype.kind in _NUMBERS and holds(spec.dtype) for spec in context.outputs]
        return any(held) and all(map(operator.or_, held, others)) and all(outputs)


# Elements from which a state that is not in the cache is changed block by block: to host a kernel takes some 13 us, a
# tenth of what RMSProp takes for so many.
_LARGE = 1 << 17
# Kinds of the dtypes whose tensors arrays of any library may hold: bool, whole, floating-point and complex.
_NUMBERS = "biufc"
_KERNELS: dict[str, DeviceKernels] = scoped({})
# The device types and operation types of which it was said that there is no kernel.
_TOLD: set[tuple[str, str]] = set()
_log = logging.getLogger(__name__)


def register_device_kernels(device_type: str, kernels: DeviceKernels) -> None:
    """Set the kernels of a device type, in capitals."""
    _KERNELS[device_type] = kernels


def type_of(device: str) -> str:
    """Return the type of a device, given its full name."""
    return device.rpartition("/device:")[2].partition(":")[0]


def kernels_of(device: str) -> DeviceKernels | None:
    """Return the kernels of the type of a device, given its full name; ``None`` for numpy's."""
    if not _KERNELS:
        return None
    return _KERNELS.get(type_of(device))


def arrays_of(device: str) -> DeviceArrays | None:
    """Return the arrays of a device, given its full name; ``None`` if they are numpy's."""
    kernels = kernels_of(device)
    return None if kernels is None else kernels.arrays(device)


def on_device(value: Any, device: str) -> Any:
    """Return a numpy array or scalar as the kernels of a device take it, given the device's full name."""
    arrays = arrays_of(device)
    return arrays.to_device(value) if arrays is not None and arrays.holds(as_dtype(value.dtype)) else value


def clock_of(device: str) -> DeviceClock | None:
    """Return the clock of a device, given its full name; ``None`` if the host's says when its kernels run."""
    kernels = kernels_of(device)
    return None if kernels is None or kernels.clock is None else kernels.clock(device)


def all_to_host_of(device: str) -> Callable[..., Sequence[Any]] | None:
    """Return what makes several arrays of a device, given its full name, those of the host at once, if it has that."""
    kernels = kernels_of(device)
    return None if kernels is None or kernels.all_to_host is None else kernels.all_to_host(device)


def peer_arrays(source: str, target: str) -> DeviceArrays | None:
    """Return the arrays of a device that takes those of another device without the host; ``None`` if it does not.

    Those of another task are lent, if the host of both is one.

    Args:
        source: full name of the other device.
        target: full name of the device.
    """
    ours, theirs = kernels_of(source), kernels_of(target)
    if ours is None or theirs is None or ours.family is None or ours.family != theirs.family:
        return None
    lends = ours.lending is not None and theirs.lending is not None
    return theirs.arrays(target) if lends or device_task(source) == device_task(target) else None


def definition_of(context: KernelContext) -> OpDef:
    """Return the definition of a node's type as it holds on the node's device."""
    definition, kernels = lookup(context.op), kernels_of(context.device)
    if kernels is None or context.op in kernels.transparent:
        return definition
    row = kernels.kernel_of(context.op)
    if row is None or not row.takes(context):
        arrays = kernels.arrays(context.device)
        if not any(arrays.holds(spec.dtype) for spec in (*context.inputs, *context.outputs)) and not any(
            spec.dtype is resource for spec in context.inputs
        ):
            return definition  # it has nothing to do with the device
        if row is None and context.op not in kernels.hosted:
            _tell(definition, context.device)
        return replace(
            definition,
            kernel=_Hosted(definition, arrays),
            emit=None,
            emit_sent=None,
            into=None,
            into_new=None,
            over=(),
            joins=None,
            adds=None,
        )
    # The graph has checked shapes that it knows, so that an expression cannot fail for them.
    is_known = all(spec.shape.is_fully_defined() for spec in context.inputs)
    checks = row.checks(context) if callable(row.checks) else row.checks
    return replace(
        definition,
        kernel=row.kernel if definition.stateful or (is_known and not checks) else _Guarded(row, definition, kernels),
        aliases=row.aliases or definition.aliases,  # the kernel of the CPU may take its place
        emit=row.emit if is_known else None,
        emit_sent=None,
        into=None,
        into_new=None,
        over=row.over(context) if callable(row.over) else row.over,
        joins=row.joins,
        adds=row.adds,
        sized_by=(),
    )


def can_compile(context: KernelContext) -> bool:
    """Return whether the compiler of a node's device takes its kernel; constants of the plan count as arrays."""
    kernels = kernels_of(context.device)
    if kernels is None or kernels.compiler is None or not context.outputs:
        return False
    definition = lookup(context.op)
    row = kernels.kernel_of(context.op)
    # Random numbers are no function of their inputs, and what is kept is owned by one reader.
    if definition.stateful or definition.once or definition.suspends or definition.keeps or definition.borrows:
        return False
    if context.op not in kernels.transparent and (
        row is None or not row.takes(context) or not kernels.compiles(context)
    ):
        return False
    holds = kernels.arrays(context.device).holds
    if not all(holds(spec.dtype) and spec.dtype is not variant for spec in context.outputs):
        return False
    inputs = enumerate(context.inputs)
    return all((holds(s.dtype) and s.dtype is not variant) or context.constant(k) is not None for k, s in inputs)


def tell_without_compiler(devices: Iterable[str]) -> None:
    """Say once that nothing is compiled, if it is asked for and none of some devices has a compiler."""
    types = {type_of(device): kernels_of(device) for device in devices}
    # A type that is not known here may be one of another task.
    if all(name == "CPU" if kernels is None else kernels.compiler is None for name, kernels in types.items()):
        told = "", ", ".join(sorted(types))
        if told not in _TOLD:
            _TOLD.add(told)
            _log.warning("global_jit_level compiles nothing: no device of the session has a compiler (%s)", told[1])


def _tell(definition: OpDef, device: str) -> None:
    """Say once for each operation type that a device has no kernel for it; of what is the host's anyway, nothing."""
    told = type_of(device), definition.name
    if definition.once or definition.stateful or told in _TOLD:
        return
    _TOLD.add(told)
    _log.warning("%s has no kernel for %s: it runs with that of the CPU", *told)


class _Hosted:
    """The kernel of the CPU, between two conversions."""

    def __init__(self, definition: OpDef, arrays: DeviceArrays) -> None:
        self._definition = definition
        self._arrays = arrays

    def __call__(self, context: KernelContext) -> Kernel:
        arrays, definition = self._arrays, self._definition
        function = definition.kernel(_OnHost(context))
        to_host, to_device = arrays.to_host, arrays.to_device
        inputs = [k for k, spec in enumerate(context.inputs) if arrays.holds(spec.dtype) or spec.dtype is resource]
        # What a node that suspends gives arrives later, where the code converts it.
        outputs = [] if definition.suspends else [arrays.holds(spec.dtype) for spec in context.outputs]

        def call(*values: Any) -> Any:
            given = list(values)
            for k in inputs:
                given[k] = to_host(given[k])
            result = function(*given)
            if len(outputs) == 1:
                return to_device(result) if outputs[0] else result
            if True in outputs:
                return tuple([to_device(v) if held else v for v, held in zip(result, outputs, strict=True)])
            return result

        return call


class _Guarded:
    """A kernel of a device; what it cannot do, the kernel of the CPU does, or says what is wrong."""

    def __init__(self, row: DeviceKernel, definition: OpDef, kernels: DeviceKernels) -> None:
        self._row = row
        self._definition = definition
        self._kernels = kernels

    def __call__(self, context: KernelContext) -> Kernel:
        function = self._row.kernel(context)

        def guarded(*values: Any) -> Any:
            try:
                return function(*values)
            except OpError:
                raise
            except Exception as exc:
                if exhausted(exc) == "memory":
                    raise
                return _Hosted(self._definition, self._kernels.arrays(context.device))(context)(*values)

        return guarded


class _OnHost:
    """The context of a node as the kernel of the CPU has it: functions that it compiles are for the CPU, too."""

    def __init__(self, context: KernelContext) -> None:
        self._context = context
        self.device = device_name(context.device.rpartition("/device:")[0], "CPU:0")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)
