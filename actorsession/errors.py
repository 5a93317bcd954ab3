"""The canonical error codes as exception classes, and their wire form.

The module holds every exception that the runtime raises on purpose. All other packages import it; it
imports nothing of this project.

Each class stands for one of the sixteen canonical codes that TensorFlow's ``tf.errors`` (and gRPC) use,
with the same names and numbers. An error carries its origin: node, device, task and the user's source line
travel with it, also over the wire, and are appended to the message. One flag orders the errors of a step: a
*derived* error is a consequence (a cancellation after a failure elsewhere) and never replaces an original
one.

Programs that run something in other processes pickle errors. An error pickles with its causes, notes and
attributes; what cannot leave the process is replaced: the operation by its description, an exception of
somebody else by an error that says the same.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import reprlib
import sys
from collections.abc import Callable
from typing import Any, Self

from actorsession.process_bound import ProcessBound

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "FolderInUseError",
    "InaccessibleTensorError",
    "InternalError",
    "InvalidArgumentError",
    "MissingFileError",
    "NotFoundError",
    "OpError",
    "OperatorNotAllowedInGraphError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "PicklableError",
    "ProtocolError",
    "RequestError",
    "RequestOverflowError",
    "RequestTypeError",
    "RequestValueError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "UnreadableFileError",
    "WorkerRestartedError",
    "WrongDtypeError",
    "error_from_wire",
    "error_to_wire",
    "exhausted",
    "first_error",
    "from_exception",
    "register_memory_error",
]


class PicklableError(Exception):
    """An error that pickles with all that belongs to it, whatever the constructor of its class takes."""

    def __reduce__(self) -> Any:
        return _unpacked, (_packed(self),)

    def __copy__(self) -> Self:
        copied: Self = _restored(type(self), self.args, vars(self), self)
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        for kept in (getattr(self, "op", None), getattr(self, "_node_def", None)):
            memo[id(kept)] = kept
        copied: Self = _restored(type(self), self.args, copy.deepcopy(vars(self), memo), self)
        return copied


class OpError(PicklableError):
    """The base class of all errors of the runtime: a canonical code, a message and the origin.

    ``OpError(message)`` is the usual form; TensorFlow's ``OpError(node_def, op, message)`` is accepted too.

    Args:
        said: the message: what was requested, what was found and what would have been valid. Or
            TensorFlow's three arguments, and optionally the code for an error without a class of its own.
        message: the message as a keyword.
        op: the operation that failed, as an object of the user's graph; sessions fill it in.
        node_def: the description of the operation.
        error_code: the number of the code, if it is not that of the class.
        node: name of the operation that failed, if one did.
        device: full name of the device on which it ran.
        task: cluster task that raised it, ``/job:worker/replica:0/task:0``.
        source: the user's line that built the node, ``file:line``.
        derived: whether this is only the consequence of another error of the same step.

    Attributes:
        shows_origin: whether its text ends with the origin.
    """

    error_code: int = 2
    shows_origin = True

    def __init__(
        self,
        *said: Any,
        message: str = "",
        op: Any = None,
        node_def: Any = None,
        error_code: int | None = None,
        node: str | None = None,
        device: str | None = None,
        task: str | None = None,
        source: str | None = None,
        derived: bool = False,
    ) -> None:
        if len(said) == 1:
            (message,) = said
        elif said:
            node_def, op, message = (*said, message)[:3]
            error_code = said[3] if len(said) > 3 and isinstance(said[3], int) else error_code
        if error_code is not None:
            self.error_code = error_code
        super().__init__(message)
        self.message = message
        self.op = op
        self._node_def = node_def
        self.node = node if op is None else node or op.name
        self.device = device
        self.task = task
        self.source = source
        self.derived = derived

    def __str__(self) -> str:
        origin = self.origin if self.shows_origin else ""
        return f"{self.message} [{origin}]" if origin else self.message

    @property
    def origin(self) -> str:
        """What is known of the node, device, task and line, without what the message says already."""
        said = self.message
        named = (  # what the message or the device says already is not repeated
            ("node", self.node, f"{self.node!r}"),
            ("device", self.device, f"{self.device}"),
            ("task", self.task, f"{self.task}"),
            ("built at", self.source, f"{self.source}"),
        )
        where = []
        for label, value, words in named:
            if value and words not in said:
                where.append(f"{label} {value}")
                said += f" {value}"
        return ", ".join(where)

    @property
    def node_def(self) -> Any:
        """The description of the operation that failed, if available."""
        return self._node_def if self.op is None else self.op.node_def

    def locate(
        self, *, node: str | None = None, device: str | None = None, task: str | None = None, source: str | None = None
    ) -> OpError:
        """Fill in the missing parts of the origin, and return the error itself."""
        self.node = self.node or node
        self.device = self.device or device
        self.task = self.task or task
        self.source = self.source or source
        return self


class CancelledError(OpError):
    """The step or call was cancelled; not ``asyncio.CancelledError``, which is the caller's own.

    What to do: nothing, if the program has cancelled the step or closed the session itself; else the message and
    the cause say who did.
    """

    error_code = 1


class UnknownError(OpError):
    """A foreign exception that no other code describes.

    What to do: look at the error that is its cause.
    """

    error_code = 2


class RequestError(PicklableError):
    """The base class of the errors of a run that its feeds and fetches cause, in any state of the system.

    A service answers it with "bad request". It is raised by sessions and kernels, and for graphs, files and
    variables of the environment of somebody else; mistakes in building a graph are plain ``TypeError`` and
    ``ValueError``.
    """


class RequestOverflowError(RequestError, OverflowError):
    """A number that the type of the tensor cannot hold."""


class RequestTypeError(RequestError, TypeError):
    """A feed or fetch of a wrong type."""


class RequestValueError(RequestError, ValueError):
    """A feed or fetch that does not exist, or does not fit its tensor."""


# Programs of TensorFlow print the names of the classes that they catch.
RequestOverflowError.__name__ = "OverflowError"
RequestTypeError.__name__ = "TypeError"
RequestValueError.__name__ = "ValueError"


class InvalidArgumentError(OpError, RequestError):
    """A value, name or graph that is invalid in any state of the system.

    What to do: change what the message names; the same call fails again.
    """

    error_code = 3


class DeadlineExceededError(OpError):
    """A wait has exceeded its deadline.

    What to do: ``Session.why`` and ``actorsession why`` say what a step waits for. A longer limit helps if it
    only is slow.
    """

    error_code = 4


class NotFoundError(OpError):
    """A named object does not exist.

    What to do: compare the name with those that the message lists; it may be misspelt, of another graph, or not
    made yet.
    """

    error_code = 5


class AlreadyExistsError(OpError):
    """An object to be created exists already.

    What to do: choose another name or folder, or remove what is there.
    """

    error_code = 6


class PermissionDeniedError(OpError):
    """The caller is identified but lacks the permission.

    What to do: give the server the folder by ``--file-root``, or use a path below one that it has.
    """

    error_code = 7


class ResourceExhaustedError(OpError):
    """A limit on memory, queue length or number is reached.

    What to do: use smaller batches or fewer steps at once, free space, or raise the limit that the message names.
    """

    error_code = 8


class FailedPreconditionError(OpError):
    """The system is not in the required state; for example, a variable is not initialised.

    What to do: bring the system into that state first, such as by running ``global_variables_initializer``, and
    do the same again.
    """

    error_code = 9


class AbortedError(OpError):
    """The call conflicted with a concurrent change, such as a restarted worker or a stale graph version.

    What to do: do the same again, which may succeed. After the restart of a task ``Session.reattach`` comes
    first.
    """

    error_code = 10


class OutOfRangeError(OpError):
    """A position past the end of a range.

    What to do: end the loop that reads, if this is the end of its input; else check the position.
    """

    error_code = 11


class UnimplementedError(OpError):
    """A known operation that is not supported here.

    What to do: take another operation or setting; the message names one where there is one.
    """

    error_code = 12


class InternalError(OpError):
    """An invariant of the runtime is violated, which is an error of the library.

    What to do: report it, with the message and a program that shows it.
    """

    error_code = 13


class UnavailableError(OpError):
    """A task cannot be reached; the message names it.

    What to do: see whether the task runs and can be reached (``actorsession status``), and run the step again
    once it does.
    """

    error_code = 14


class DataLossError(OpError):
    """Stored data cannot be read back.

    What to do: restore an earlier checkpoint or snapshot, or copy the file again from where it is whole.
    """

    error_code = 15


class MissingFileError(NotFoundError, FileNotFoundError):
    """A file or folder that is not there, where programs expect Python's error."""


class FolderInUseError(AlreadyExistsError, AssertionError):
    """A folder that is not empty, where programs of TensorFlow expect Python's error."""


class UnreadableFileError(DataLossError, OSError):
    """A file that holds something else, where programs of TensorFlow expect Python's error."""


MissingFileError.__name__ = UnreadableFileError.__name__ = "OSError"
FolderInUseError.__name__ = "AssertionError"


class UnauthenticatedError(OpError):
    """The caller did not prove its identity.

    What to do: give both sides the same token, or certificates of one CA.
    """

    error_code = 16


class WorkerRestartedError(AbortedError):
    """A worker came back with another incarnation, and the state it held is gone."""


class ProtocolError(InternalError):
    """A peer's message could not be understood: an unknown tag, a missing field, a wrong type."""


class InaccessibleTensorError(RequestValueError):
    """A tensor that cannot be fetched, because it is marked so or is inside a branch or loop body."""


class WrongDtypeError(PicklableError, TypeError, ValueError):
    """A tensor has another element type than its use requires.

    TensorFlow raises a TypeError or a ValueError, depending on where it detects the error; this is both
    everywhere.
    """


class OperatorNotAllowedInGraphError(PicklableError, TypeError):
    """A symbolic tensor was used as a Python value, for instance as a condition."""


_WIRE_CLASSES: dict[str, type[OpError]] = {
    cls.__name__: cls
    for cls in (
        CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError,
        AlreadyExistsError, PermissionDeniedError, ResourceExhaustedError, FailedPreconditionError,
        AbortedError, OutOfRangeError, UnimplementedError, InternalError, UnavailableError,
        DataLossError, UnauthenticatedError, WorkerRestartedError, ProtocolError,
    )
}  # fmt: skip

# How foreign exceptions of kernels map to codes. First TensorFlow's table for py_func
# (tensorflow/python/lib/core/py_func.cc), which users of the graph API are used to; then the exceptions
# that numpy and Python raise for bad operands.
_FOREIGN: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (ValueError, InvalidArgumentError),
    (TypeError, InvalidArgumentError),
    (TimeoutError, DeadlineExceededError),
    (ArithmeticError, InvalidArgumentError),
    (IndexError, InvalidArgumentError),
)


# What a process has too little of, by the error of the system that says so.
_EXHAUSTED = {
    errno.ENOMEM: "memory",
    errno.EMFILE: "file descriptors of this process",
    errno.ENFILE: "file descriptors of this machine",
    errno.ENOSPC: "space on the disk",
    errno.EDQUOT: "space of the disk quota",
}


_MEMORY_ERRORS: list[Callable[[BaseException], bool]] = []


def register_memory_error(is_one: Callable[[BaseException], bool]) -> None:
    """Take more exceptions for a lack of memory, such as those of a library that has memory of its own."""
    _MEMORY_ERRORS.append(is_one)


def exhausted(exc: BaseException) -> str | None:
    """Return what a process has run out of, by an exception; ``None`` if the exception is of another kind."""
    if isinstance(exc, MemoryError) or any(is_one(exc) for is_one in _MEMORY_ERRORS):
        return "memory"
    if isinstance(exc, OSError):
        return _EXHAUSTED.get(exc.errno or 0)
    return "threads" if str(exc).startswith("can't start new thread") else None


def from_exception(exc: BaseException) -> OpError:
    """Convert any exception to an ``OpError``, keeping an ``OpError`` as it is.

    Args:
        exc: the exception that a kernel or a peer raised.

    Returns:
        ``exc`` itself when it is an ``OpError``, else a new error with ``exc`` as its cause.
    """
    if isinstance(exc, OpError):
        return exc
    kind = next((ours for foreign, ours in _FOREIGN if isinstance(exc, foreign)), UnknownError)
    try:
        said = str(exc)
    except Exception:  # a class of the user's; its error must not take the place of this one
        said = ""
    text = f"{type(exc).__name__}: {said}" if said else type(exc).__name__
    if isinstance(exc, (OSError, RuntimeError)) and (what := exhausted(exc)):
        kind, text = ResourceExhaustedError, f"no {what} left: {text}"
    error = kind(text)
    error.__cause__ = exc
    return error


def error_to_wire(error: OpError) -> list[Any]:
    """Encode an error as plain values: class name, message, node, device, task, source, derived.

    A class without a wire form travels as the nearest of its base classes that has one.
    """
    names = (cls.__name__ for cls in type(error).__mro__ if _WIRE_CLASSES.get(cls.__name__) is cls)
    return [
        next(names, "UnknownError"),
        *map(_sendable, (error.message, error.node, error.device, error.task, error.source)),
        error.derived,
    ]


def _sendable(text: Any) -> str | None:
    """Return the text of an error as one that can be sent; a half of a surrogate pair cannot be encoded."""
    if text is None or (type(text) is str and text.isascii()):  # nearly all
        return text
    return str(text).encode(errors="backslashreplace").decode()


def error_from_wire(value: Any) -> OpError:
    """Decode the result of ``error_to_wire``; a class name from a newer peer becomes ``UnknownError``.

    Raises:
        ProtocolError: the value has another form.
    """
    if not (isinstance(value, (list, tuple)) and len(value) == 7 and isinstance(value[6], bool)):
        raise ProtocolError(f"a wire error is a list of 7 values ending in a bool, got {reprlib.repr(value)}")
    name, message, *where = value[:6]
    strings = isinstance(name, str) and isinstance(message, str)
    if not strings or not all(w is None or isinstance(w, str) for w in where):
        raise ProtocolError(f"a wire error holds strings or nothing, got {reprlib.repr(value)}")
    kind = _WIRE_CLASSES.get(name, UnknownError)
    node, device, task, source = where
    return kind(message, node=node, device=device, task=task, source=source, derived=value[6])


def _restored(kind: Any, args: Any, state: dict[str, Any], like: BaseException | None = None) -> Any:
    """Return an error of a class without a call of its constructor, raised from the same as another one."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    if like is not None:
        error.__cause__, error.__context__ = like.__cause__, like.__context__
        error.__suppress_context__ = like.__suppress_context__
    return error


def _packed(error: BaseException) -> list[tuple[Any, ...]]:
    """Return an error and all from which it was raised as rows of values that can be pickled.

    Returns:
        One row each: how it is made again, its class, arguments and attributes; the places of its cause and
        context in the list, and whether the context is shown.
    """
    chain = [error]
    places = {id(error): 0}

    def place(other: BaseException | None) -> int | None:
        if other is None:
            return None
        if id(other) not in places:
            places[id(other)] = len(chain)
            chain.append(other)
        return places[id(other)]

    return [
        (*_pickled_form(one), place(one.__cause__), place(one.__context__), one.__suppress_context__)
        for one in chain  # which grows
    ]


def _pickled_form(error: BaseException) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return how an error is made again, its class, arguments and attributes."""
    kind = type(error)
    if isinstance(error, PicklableError):
        state = {name: _pickled_value(value) for name, value in vars(error).items()}
        if isinstance(error, OpError):
            state |= {"op": None, "_node_def": _node_def(error)}
        kind = next(cls for cls in kind.__mro__ if _is_importable(cls))
        return _restored, kind, tuple(map(_pickled_value, error.args)), state
    make: Any = _constructed
    reduced: Any = ()
    with contextlib.suppress(Exception):  # a method of the user's
        reduced = error.__reduce__()
    made_by, args = reduced[:2] if isinstance(reduced, tuple) and len(reduced) > 1 else (None, ())
    own_init, own_reduce = (hasattr(m, "__code__") for m in (kind.__init__, kind.__reduce__))
    # A constructor may take other arguments than it passes on.
    if own_init and not (own_reduce and made_by is kind):
        make, made_by, args = _restored, kind, error.args
    if made_by is not kind or not _is_importable(kind) or not _is_plain(args):
        return _pickled_form(from_exception(error))
    return make, kind, args, {k: v for k, v in vars(error).items() if _is_plain(v)}


def _constructed(kind: Any, args: Any, state: dict[str, Any]) -> Any:
    """Return an error that its constructor makes, since classes of C keep things outside of attributes."""
    try:
        error = kind(*args)
    except Exception:
        return _restored(kind, args, state)
    error.__dict__.update(state)
    return error


def _unpacked(rows: list[tuple[Any, ...]]) -> BaseException:
    """Return the error of ``_packed``, at the process that received it."""
    chain: list[BaseException] = [make(*said) for make, *said, _, _, _ in rows]
    for error, (*_, cause, context, suppressed) in zip(chain, rows, strict=True):
        error.__cause__ = None if cause is None else chain[cause]
        error.__context__ = None if context is None else chain[context]
        error.__suppress_context__ = suppressed
    return chain[0]


def _node_def(error: OpError) -> Any:
    try:
        return _pickled_value(error.node_def)
    except Exception:  # an error must not be lost because its operation cannot be described
        return None


def _pickled_value(value: Any) -> Any:
    """Return what a pickled error holds in place of a value that it refers to."""
    return repr(value) if isinstance(value, ProcessBound) else value


def _is_plain(value: Any, depth: int = 8) -> bool:
    """Return whether a value of somebody else certainly can be pickled, and read where it arrives."""
    if isinstance(value, (tuple, list, set, frozenset, dict)) and depth:
        inner = (*value, *value.values()) if isinstance(value, dict) else value
        return _is_importable(type(value)) and all(_is_plain(each, depth - 1) for each in inner)
    numeric = getattr(getattr(value, "dtype", None), "hasobject", True) is False  # a value of numpy
    return value is None or numeric or type(value) in (bool, int, float, complex, str, bytes)


def _is_importable(kind: type) -> bool:
    """Return whether another process finds a class by its name."""
    value: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        value = getattr(value, name, None)
    return value is kind


def first_error(errors: list[OpError]) -> OpError | None:
    """Return the root cause among the errors of one step, which are in order of arrival.

    Returns:
        The first error that is not derived; the first of all if every one is; None for no errors.
    """
    return next((e for e in errors if not e.derived), errors[0] if errors else None)
