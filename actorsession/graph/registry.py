"""The op registry: for each operation type its signature, shape function, gradient and kernel.

This module holds ``OpDef`` and the one table of them. ``ops/`` fills it (one ``register`` per op, everything
about the op in one place); the graph infers shapes through it, planners read its flags, and the runtime takes
kernels from it. Registering a name twice is an error. Programs register types as well, and so do the modules
of entry-point group ``actorsession.op_modules``, which are imported when a type is wanted that is not there.

A **kernel** is made once per node when a plan is bound: ``kernel(ctx)`` returns a function from input values
to the output value (a tuple for several outputs, anything for none). It may use static types and constant
inputs to choose a specialised function. One that **suspends** returns a ``Completion`` or a future of that
value in its place, or a coroutine. Values are numpy arrays or numpy scalars; inputs are borrowed and must not
be written to. An output may share memory with an input, with state or with another output only when the op is
marked ``aliases=True``; otherwise each call makes arrays that are writable and that nothing else holds.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from actorsession.config.file_roots import FileRoots
from actorsession.entry_points import Plugins
from actorsession.graph.extension import PROTO_VIEWS
from actorsession.graph.node import TensorSpec
from actorsession.graph.op_signatures import REQUIRED, signature_of
from actorsession.records import dataclass
from actorsession.registrations import scoped

if TYPE_CHECKING:
    from actorsession.graph.operation import Operation, Tensor

__all__ = [
    "ANY_INPUT", "ENTRY_POINTS", "NOT_DIFFERENTIABLE", "REQUIRED", "TENSOR_STORE", "Array", "Gradient",
    "InferContext", "Kernel", "KernelContext", "OpDef", "ResourceHost", "SumTerm", "VariableHolder", "defer",
    "is_registered", "lookup", "needs_import", "register", "registered_ops",
]  # fmt: skip

Array: TypeAlias = "np.ndarray[Any, Any]"
Kernel: TypeAlias = Callable[..., Any]
Gradient: TypeAlias = "Callable[..., Sequence[Tensor | None]]"

# Stands for the attributes that the table of signatures has, until the op is first looked up.
_IN_TABLE: Mapping[str, Any] = MappingProxyType({})

# The positions of all inputs, however many there are.
ANY_INPUT = range(sys.maxsize)

# Container, name and kind of the resource that keeps a session's values behind tensor handles. It is not in
# the default container: a reset of state must not remove values that handles refer to.
TENSOR_STORE = ("session", "tensors", "tensor store")


def NOT_DIFFERENTIABLE(op: Operation, *grads: Tensor | None) -> Sequence[Tensor | None]:
    """Return the gradient of an op that has none: ``None`` for each input."""
    return [None] * len(op.inputs)


@dataclass(frozen=True, slots=True)
class InferContext:
    """The view that a shape function has of the node being built.

    Attributes:
        op: operation type.
        inputs: static types of the data inputs.
        attrs: attribute values, defaults filled in.
        constants: value of each input that is known while the graph is built, else ``None``.
        partial: returns the numbers in a small input as float64, NaN for each that is unknown; ``None`` where
            nothing is known beyond ``constants``. See ``partial_value``.
    """

    op: str
    inputs: tuple[TensorSpec, ...]
    attrs: Mapping[str, Any]
    constants: tuple[Array | None, ...]
    partial: Callable[[int], Array | None] | None = None

    def constant(self, index: int) -> Array | None:
        """Return the value of an input if it is known while the graph is built."""
        value = self.constants[index]
        if value is None and self.partial is not None and self.inputs[index].dtype.is_integer:
            partial = self.partial(index)
            # Of no numbers it is only known if it was computed that there are none.
            is_known = partial is not None and (partial.size or self.inputs[index].shape.sizes != (0,))
            if partial is not None and is_known and not np.isnan(partial).any():
                return partial.astype(self.inputs[index].dtype.np_dtype)
        return value

    def numbers(self, index: int) -> Array | None:
        """Return the numbers in an integer input as float64, NaN for each that is unknown.

        Returns:
            ``None`` if even their number is unknown.
        """
        value = self.constants[index]
        if value is not None or self.partial is None or not self.inputs[index].dtype.is_integer:
            return None if value is None else value.astype(np.float64)
        return self.partial(index)


class VariableHolder(Protocol):
    """State behind a resource handle, as seen by kernels; the runtime implements it.

    A holder exists as long as its device; clearing its container leaves it uninitialised. All methods are
    atomic with respect to each other, in any thread.

    Attributes:
        by_reference: whether it is that of a reference variable, whose errors are others.
    """

    by_reference: bool

    @property
    def initialized(self) -> bool:
        """Whether a value was assigned."""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the value, or that with which a reference variable without one was first asked for."""

    def declare(self, shape: tuple[int, ...]) -> None:
        """Make it a reference variable, of a shape that holds until it has a value or is cleared."""

    def read(self) -> Any:
        """Return the value, which is borrowed.

        Raises:
            FailedPreconditionError: when uninitialised.
        """

    def lend(self) -> Any:
        """Return the same as ``read``, to be sent to another task.

        Raises:
            FailedPreconditionError: when uninitialised.
        """

    def assign(self, value: Any) -> None:
        """Store ``value``, which the holder owns from now on."""

    def update(self, function: Callable[..., Any], *operands: Any) -> None:
        """Store ``function(old, *operands, out=buffer)``.

        The update is in place if nothing else holds the old value.
        """

    def access(self, function: Callable[[Any], Any]) -> None:
        """Store ``function(writable)``, given the old value or, if shared, a copy of it."""


class ResourceHost(Protocol):
    """The resource manager of a device, as seen by kernels: state, and the files that may be opened.

    A resource exists as long as its device; clearing its container calls its ``clear()``, which leaves it as
    if it were new, so plans may keep a reference.
    """

    @property
    def files(self) -> FileRoots:
        """The folders in which files may be opened; to be read anew in each run."""

    def variable(self, container: str, name: str, spec: TensorSpec) -> VariableHolder:
        """Return the variable under (container, name), made uninitialised if absent."""

    def lookup_or_create(
        self, container: str, name: str, kind: str, make: Callable[[], Any], spec: object = None
    ) -> Any:
        """Return the resource under (container, kind, name), made if absent.

        Raises:
            InvalidArgumentError: if the existing one was made for another ``spec``.
        """

    def lookup(self, container: str, name: str, kind: str) -> Any:
        """Return the resource under (container, kind, name).

        Raises:
            NotFoundError: if there is none.
        """


class KernelContext(Protocol):
    """The view that a kernel factory has of the node that it makes a function for."""

    @property
    def name(self) -> str:
        """The node's name."""

    @property
    def op(self) -> str:
        """Operation type."""

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Attribute values, defaults filled in."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Static types of the data inputs."""

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Static types of the outputs."""

    @property
    def device(self) -> str:
        """Full name of the device that the node runs on."""

    @property
    def resources(self) -> ResourceHost:
        """The device's resource manager."""

    def constant(self, index: int) -> Array | None:
        """Return the value of an input that is a constant of the plan."""

    def state(self, make: Callable[[], Any]) -> Any:
        """Return the state of a stateful kernel, made once per session and node, shared by all its plans.

        A state that has a method ``session_ended`` is told when the session has ended.
        """


@dataclass(frozen=True, slots=True)
class SumTerm:
    """How a node is a term of a sum without a result of its own.

    Attributes:
        kernel: ``function(total, *inputs)`` with an array of the result's shape, which it changes, or ``None`` for a
            sum that begins with the node; it returns the sum. The inputs may be those of several nodes, one after
            the other, that differ in nothing else.
        at_once: how many nodes it had best be given.
    """

    kernel: Kernel
    at_once: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OpDef:
    """Everything about one operation type.

    Attributes:
        name: operation type, TensorFlow's name where there is one.
        infer: shape function: from the node's inputs and attributes to the static types of its outputs;
            ValueError for impossible shapes, TypeError for wrong dtypes.
        kernel: makes the function that computes the node.
        gradient: from the op and the gradients of its outputs to those of its inputs; ``None`` when no
            gradient is registered (requesting it is then a LookupError).
        attrs: attribute names with their defaults; ``REQUIRED`` where there is none. An op of the table of
            signatures leaves it out, and ``lookup`` takes it from there; so it does with ``stateful``.
        stateful: has state or side effects: never shared, folded or dropped from its device.
        aliases: an output may share memory with an input or with state.
        once: has no inputs and one value for the lifetime of a plan: computed when the plan is bound.
        keeps: indices of inputs that the kernel stores beyond the step; a node may have fewer.
        borrows: indices of inputs that are read after the kernel's function has returned, until the step has
            ended, and are not written to.
        blocks: may take any time and wait for anything, as the user's code may: never runs on an event loop
            that has a kernel pool beside it, is never folded, and gets a thread of its own.
        calls_python: calls functions of the user, which see the context variables of the run's caller.
        suspends: the kernel's function returns at once, with a ``Completion`` of the outputs, a
            ``concurrent.futures.Future``, or a coroutine, which the step runs on its event loop. The step goes on with
            other nodes until it is done, in any thread. A step that is cancelled abandons the completion, or cancels
            the future or coroutine; the completer of a future must call ``set_running_or_notify_cancel`` first, so
            that nothing is taken for a step that has ended. Within loops and branches a thread of its own waits.
        takes: whether the node suspends and takes something out of state that outlives the step: its kernel
            returns a ``Completion`` that is completed with what puts the values back if the step ends before they
            were delivered.
        divides: divides large work over several threads, its own (``ops.shares``) or those of the BLAS library.
        opens_files: opens files whose names come from inputs or attributes, all of them through
            ``resources.files`` of its context. No other kernel opens any.
        sentence: optional form of the kernel for arrays that are not numpy's: makes the function of the node from
            their module of functions, named as in the array API standard, and the node. Devices whose arrays have
            such a module (``DeviceKernels.namespace``) compute the op so. Whole numbers that a device does not hold
            are numpy's in it.
        emit: optional Python expression for the node given its argument expressions, for ops that are cheaper
            inline than as a call; ``None`` from it means "call the kernel". It is executed as it is, so
            nothing in it may come from a string that a peer can choose. That of an op with a ``sentence`` holds for
            all arrays.
        emit_sent: the same for an output that is sent to another task; by default that of ``emit``.
        into: optional second form of the kernel, for an op of one output that works element by element: makes
            ``function(*inputs, out)``, which writes to ``out``, bit for bit, what the kernel would return. It
            is called with arrays of rank 1 and more of the result's shape, and with scalars beside them. A
            numpy ufunc may be given one of its inputs as ``out``; any other function is given an array that
            is none of them, and is called for large arrays only, block by block. ``None`` from it: not for
            these types.
        into_new: optional second form of the kernel, for an op of one output that does not work element by
            element: makes ``function(*inputs, out)``, which writes what the kernel would return to ``out``, a
            new C-contiguous array of the result's shape. ``None`` from it: not for these types.
        over: optional statements that write the result over an input, by the position of that: formats of the
            argument expressions, such as ``{0} += {1}``. For arrays of devices that have Python's operators; called
            for an input of the result's type and shape that nothing else reads.
        joins: optional function of two arrays and ``out``, for an op whose result is that of its inputs
            joined one after the other, from the first to the last; shapes and dtype are all the same.
        adds: optional third form of the kernel, for an op of one output that costs less as a term of a sum (an op
            with ``joins``) than by itself; see ``SumTerm``.
        cost: optional estimate in microseconds from input and output types, unknown dimensions given as 1;
            without it the estimate follows the output's size.
        static_value: optional evaluation of the only output while the graph is built; called for outputs of a
            few thousand elements at most.
        sized_by: positions of inputs whose values, and not their sizes, decide how much the op makes or how
            long it takes. Unless those are the same in each step, it never runs on an event loop.
        stands_for: for an op with references to variables, the operation type with handles that it becomes
            in a plan; its own kernel is never made.
        references: how many inputs, from the first on, are references to variables.
        makes_reference: whether its output refers to a variable of its own.
        gives_reference: whether its output refers to the variable of its first input.
    """

    name: str
    infer: Callable[[InferContext], Sequence[TensorSpec]]
    kernel: Callable[[KernelContext], Kernel]
    gradient: Gradient | None = None
    attrs: Mapping[str, Any] = field(default_factory=lambda: _IN_TABLE)
    stateful: bool = False
    aliases: bool = False
    once: bool = False
    keeps: frozenset[int] = frozenset()
    borrows: frozenset[int] = frozenset()
    blocks: bool = False
    calls_python: bool = False
    suspends: bool = False
    takes: bool = False
    divides: bool = False
    opens_files: bool = False
    sentence: Callable[[Any, KernelContext], Kernel] | None = None
    emit: Callable[[KernelContext, Sequence[str]], str | None] | None = None
    emit_sent: Callable[[KernelContext, Sequence[str]], str | None] | None = None
    into: Callable[[KernelContext], Kernel | None] | None = None
    into_new: Callable[[KernelContext], Kernel | None] | None = None
    over: Sequence[str] = ()
    joins: Kernel | None = None
    adds: Callable[[KernelContext], SumTerm] | None = None
    cost: Callable[[Sequence[TensorSpec], Sequence[TensorSpec]], float] | None = None
    static_value: Callable[[InferContext], Array | None] | None = None
    sized_by: Container[int] = ()
    stands_for: str = ""
    references: int = 0
    makes_reference: bool = False
    gives_reference: bool = False

    # Fields of TensorFlow's message of the same name, for programs that read ``op.op_def``.

    @property
    def input_arg(self) -> Sequence[Any]:
        """Names and types of the inputs as TensorFlow declares them."""
        args: Sequence[Any] = PROTO_VIEWS.get("OpDef")(self).input_arg
        return args

    @property
    def output_arg(self) -> Sequence[Any]:
        """Names and types of the outputs as TensorFlow declares them."""
        args: Sequence[Any] = PROTO_VIEWS.get("OpDef")(self).output_arg
        return args

    @property
    def attr(self) -> Sequence[Any]:
        """Names, types and defaults of the attributes as TensorFlow declares them."""
        attrs: Sequence[Any] = PROTO_VIEWS.get("OpDef")(self).attr
        return attrs

    @property
    def is_stateful(self) -> bool:
        """The same as ``stateful``."""
        return self.stateful


ENTRY_POINTS = "actorsession.op_modules"
"""The entry-point group: each entry is a module that registers operation types when it is imported."""

_OPS: dict[str, OpDef] = scoped({}, lambda name: name in _DEFERRED)
# Modules by the names of the operation types that they register when they are imported. A scope restores its
# tables from the last to the first: what is deferred within it is forgotten before it is asked what stays.
_DEFERRED: dict[str, str] = scoped({})
# Those that were looked up, which have what the table of signatures says of them.
_COMPLETE: dict[str, OpDef] = scoped({})


def register(op: OpDef) -> OpDef:
    """Add an operation type and return it.

    Raises:
        KeyError: if the name is taken.
    """
    # A module that is being imported is in ``sys.modules`` already.
    deferred = op.name in _DEFERRED and _DEFERRED[op.name] not in sys.modules
    if op.name in _OPS or deferred:
        raise KeyError(f"op {op.name!r} is registered already")
    _OPS[op.name] = op
    return op


def defer(modules: Mapping[str, str]) -> None:
    """Defer the import of modules until one of their operation types is first looked up.

    Args:
        modules: from the name of an operation type to the module that registers it.
    """
    _DEFERRED.update(modules)


def _load(name: str) -> OpDef | None:
    """Return the operation type after its module was imported; ``None`` if no module has it."""
    module = _DEFERRED.get(name)
    if module is not None:
        importlib.import_module(module)
    else:
        _load_plugins(name)
    return _OPS.get(name)


def _load_plugins(name: str) -> None:
    """Import the modules of other distributions, one of which may register an operation type."""
    if not name.startswith("_"):  # those are the nodes of plans, which have no registration
        _PLUGINS.load()


def _check_module(entry: object, module: object) -> None:
    if not isinstance(module, ModuleType):
        raise TypeError(f"an entry point of {ENTRY_POINTS} is a module, got {module!r:.100}")


_PLUGINS = Plugins(ENTRY_POINTS, _check_module)


def _complete(op: OpDef) -> None:
    """Give an operation type what the table of signatures says of it and its registration left out."""
    signature = signature_of(op.name)
    if op.attrs is _IN_TABLE:
        object.__setattr__(op, "attrs", signature.stored if signature else {})
    if signature is not None and signature.stateful:
        object.__setattr__(op, "stateful", True)
    _COMPLETE[op.name] = op


def lookup(name: str) -> OpDef:
    """Return the registered operation type of that name.

    Raises:
        ValueError: if there is none; the message lists the nearest names.
    """
    op = _OPS.get(name) or _load(name)
    if op is None:
        import difflib

        known = registered_ops()
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else f"; {len(known)} ops are registered"
        raise ValueError(f"op type {name!r} is not registered{hint}")
    if op.attrs is _IN_TABLE or name not in _COMPLETE:
        _complete(op)
    return op


def is_registered(name: str) -> bool:
    """Return whether an operation type of that name exists, here or in another distribution."""
    if name in _OPS or name in _DEFERRED:
        return True
    _load_plugins(name)
    return name in _OPS


def needs_import(name: str) -> bool:
    """Return whether looking up an operation type may import modules, which takes up to a second."""
    if name in _OPS or name.startswith("_"):  # those are the nodes of plans, which have no registration
        return False
    return _DEFERRED.get(name) not in sys.modules


def registered_ops() -> tuple[str, ...]:
    """Return the names of all operation types, sorted, without those of plug-ins that were not loaded."""
    return tuple(sorted(_OPS.keys() | _DEFERRED.keys()))
