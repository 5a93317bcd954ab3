"""The state of one device: variables and other resources, in containers.

A resource is identified by (container, kind, name); resources of different kinds may share a name. Resources
are made once and exist as long as their manager: clearing a container empties them in place, so plans may
keep references. The value of a variable is copy-on-write: an array that has another holder is never changed,
so a value that was read stays what it was.

Sessions and workers have one manager per device; kernels use it as the ``ResourceHost`` of the op registry.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import numpy as np

from actorsession.config.file_roots import ANYWHERE, FileRoots
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OpError
from actorsession.graph.dtypes import as_dtype, string
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import Array
from actorsession.graph.shared_arrays import LEAST, empty, shared
from actorsession.records import dataclass

__all__ = [
    "DEFAULT_CONTAINER",
    "VARIABLE",
    "Resource",
    "ResourceManager",
    "ResourceStatistics",
    "UninitializedVariableError",
    "Variable",
    "place_of",
]

DEFAULT_CONTAINER = "localhost"  # TensorFlow's name for the default container

VARIABLE = "variable"
"""The kind of variables."""

# Bytes of the largest value that a read moves to shared memory: it may hold the event loop meanwhile, some
# 0.6 ms for each MB of new pages.
_MOVED = 2**28
_BYTES = string.np_dtype


class UninitializedVariableError(NotFoundError, FailedPreconditionError):
    """A variable is changed before it has a value.

    TensorFlow's resource variables raise NotFoundError then, and its reference variables
    FailedPreconditionError, as both do for a read. Our variables stand for both kinds, and so does this
    error.
    """


# Programs of TensorFlow print the names of the classes that they catch.
UninitializedVariableError.__name__ = "NotFoundError"


def place_of(variable: NodeDef) -> tuple[str, str]:
    """Return the container of the variable of a node, and its name there."""
    container = variable.attrs.get("container") or DEFAULT_CONTAINER
    return container, variable.attrs.get("shared_name") or variable.name


class Resource(Protocol):
    """The interface of the objects that a manager holds."""

    def clear(self) -> None:
        """Reset the resource to its new state; called from any thread. Plans may still refer to it."""


R = TypeVar("R", bound=Resource)


def _references(value: Any) -> int:
    return sys.getrefcount(value)


def _baseline() -> int:
    """Return the ``_references`` of an array that only a holder has, measured as in ``Variable.update``."""
    holder = [np.zeros(1)]
    value = holder[0]
    return _references(value)


# CPython counts the reference of the list (the holder), the local name and the arguments. The exact number
# differs between versions, so it is measured.
_ALONE = _baseline()


class Variable:
    """The value of a variable on its device (the ``VariableHolder`` protocol).

    Args:
        name: resource name, for messages.
        spec: static type that assigned values must have.

    Attributes:
        changes: how many times the value was assigned, changed or cleared. It is incremented before the new
            value becomes visible, so a reader that reads the number first never gets an older value.
        by_reference: whether it is a reference variable, whose errors are those of TensorFlow's.
    """

    __slots__ = ("_declared", "_lent", "_lock", "_value", "by_reference", "changes", "name", "spec")

    def __init__(self, name: str, spec: TensorSpec) -> None:
        self.name = name
        self.spec = spec
        self._lock = threading.Lock()
        self._value: Any = None
        self._lent = False  # whether values were sent to other tasks
        self.changes = 0
        self.by_reference = False
        self._declared: tuple[int, ...] | None = None

    def declare(self, shape: tuple[int, ...]) -> None:
        """Make it a reference variable, of a shape that holds until it has a value or is cleared."""
        self.by_reference = True
        if self._declared is None:
            self._declared = shape

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the value, or that with which a reference variable without one was first asked for."""
        value = self._value
        # A string scalar is plain bytes, which have no shape.
        return self._declared if value is None else getattr(value, "shape", ())

    @property
    def nbytes(self) -> int:
        """The bytes of the value; 0 without one."""
        value = self._value
        return len(value) if isinstance(value, bytes) else int(getattr(value, "nbytes", 0))

    @property
    def initialized(self) -> bool:
        """Whether a value was assigned."""
        return self._value is not None

    @property
    def value(self) -> Any:
        """The value, as from ``read``; ``None`` when uninitialised."""
        # The lock keeps readers from getting the array in the middle of an update in place.
        with self._lock:
            return self._value

    def read(self) -> Any:
        """Return the value; borrowed, never changes afterwards.

        Raises:
            FailedPreconditionError: when uninitialised.
        """
        with self._lock:  # not by way of ``value``, which would cost a call in every step
            value = self._value
        if value is None:
            raise FailedPreconditionError(self._uninitialised("read"))
        return value

    def lend(self) -> Any:
        """Return the same as ``read``, to be sent to another task.

        The value is moved to memory that other processes of this host can read, unless it is very large:
        then its next update does that. While it is lent, it has another holder.

        Raises:
            FailedPreconditionError: when uninitialised.
        """
        with self._lock:
            value = self._value
            if isinstance(value, np.ndarray):
                self._lent = True
                if LEAST <= value.nbytes <= _MOVED:
                    value = self._value = shared(value)
        if value is None:
            raise FailedPreconditionError(self._uninitialised("read"))
        return value

    def assign(self, value: Any) -> None:
        """Store a value of the variable's type, which the variable owns from now on.

        Raises:
            InvalidArgumentError: if dtype or shape do not fit.
        """
        # A string scalar is plain bytes.
        dtype, shape = (_BYTES, ()) if isinstance(value, bytes) else (value.dtype, value.shape)
        if dtype != self.spec.dtype.np_dtype or not self.spec.shape.is_compatible_with(shape):
            raise InvalidArgumentError(
                f"variable {self.name!r} holds {self.spec.dtype.name} of shape {self.spec.shape}; "
                f"{as_dtype(dtype).name} of shape {shape} cannot be assigned"
            )
        if isinstance(value, np.ndarray):
            value = value if value.ndim else value[()]
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                value = value.copy()
        with self._lock:
            self.changes += 1
            self._value = value

    def update(self, function: Callable[..., Any], *operands: Any) -> None:
        """Store ``function(old, *operands)``, in place if the old value has no other holder.

        Args:
            function: a numpy ufunc or a similar function that takes ``out=``.
            operands: further operands; borrowed.

        Raises:
            UninitializedVariableError: when uninitialised.
        """
        with self._lock:
            value = self._value
            if value is None:
                raise self._without_value()
            self.changes += 1
            if not isinstance(value, np.ndarray):
                self._value = function(value, *operands)
            elif _references(value) <= _ALONE and value.flags.writeable:
                function(value, *operands, out=value)
            else:
                out = self._new_like(value)
                function(value, *operands, out=out)
                self._value = out

    def access(self, function: Callable[[Any], Any]) -> None:
        """Store ``function(value)``, where ``value`` may be written to.

        Args:
            function: gets the old value, or a copy if it has another holder; returns the new value.

        Raises:
            UninitializedVariableError: when uninitialised.
        """
        with self._lock:
            value = self._value
            if value is None:
                raise self._without_value()
            self.changes += 1
            if isinstance(value, np.ndarray) and (_references(value) > _ALONE or not value.flags.writeable):
                old, value = value, self._new_like(value)
                np.copyto(value, old)
            self._value = function(value)

    def clear(self) -> None:
        """Leave the variable uninitialised."""
        with self._lock:
            self.changes += self._value is not None
            self._value = self._declared = None

    def _new_like(self, value: Array) -> Array:
        """Return an array for a new value, where other processes can read it if the old one was lent."""
        return empty(value.shape, value.dtype) if self._lent else np.empty_like(value)

    def _without_value(self) -> OpError:
        """Return the error of a change of a variable that has no value."""
        kind = FailedPreconditionError if self.by_reference else UninitializedVariableError
        return kind(self._uninitialised("changed"))

    def _uninitialised(self, how: str) -> str:
        said = (
            f"variable {self.name!r} is {how} before it has a value: run its initializer "
            "(or global_variables_initializer()) or restore it first"
        )
        return f"Attempting to use uninitialized value {self.name}: {said}" if self.by_reference else said


@dataclass(frozen=True, slots=True)
class ResourceStatistics:
    """The variables that a resource manager holds.

    Attributes:
        variables: variables with a value.
        nbytes: bytes of their values.
    """

    variables: int
    nbytes: int


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A resource and its ``spec``, by which requests for the same name are compared."""

    resource: Any
    spec: object


class ResourceManager:
    """The resources of one device; thread-safe.

    Args:
        files: the directories in which kernels may open files.
        make_variable: makes a variable, given its name and static type.

    Attributes:
        files: as given.
    """

    def __init__(
        self, files: FileRoots = ANYWHERE, make_variable: Callable[[str, TensorSpec], Variable] = Variable
    ) -> None:
        self.files = files
        self._make_variable = make_variable
        self._lock = threading.Lock()
        self._entries: dict[tuple[str, str, str], _Entry] = {}  # by (container, kind, name)
        self._cleared: set[tuple[str, str, str]] = set()  # and not asked for since

    def anew(self) -> ResourceManager:
        """Return a manager of the same kind for the same files, without resources."""
        return ResourceManager(self.files, self._make_variable)

    def lookup_or_create(self, container: str, name: str, kind: str, make: Callable[[], R], spec: object = None) -> R:
        """Return the resource under (container, kind, name); make it if absent.

        Args:
            container: name of the container; "" for the default one.
            name: name of the resource in the container.
            kind: kind of resource, such as ``"queue"``; each kind has its own names.
            make: makes the resource; called under the manager's lock, at most once. It must not call back.
            spec: further properties, compared with those for which an existing resource was made. Their text
                appears in messages.

        Raises:
            InvalidArgumentError: if a resource with another ``spec`` exists; nothing changes then.
        """
        key = (container or DEFAULT_CONTAINER, kind, name)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or (entry.spec != spec and key in self._cleared):
                entry = self._entries[key] = _Entry(make(), spec)
            self._cleared.discard(key)
        if entry.spec != spec:
            raise InvalidArgumentError(
                f"{kind} {name!r} exists in container {key[0]!r} as {entry.spec}; it was asked for "
                f"as {spec}: give it another name or container, or ask for what is there"
            )
        resource: R = entry.resource
        return resource

    def lookup(self, container: str, name: str, kind: str) -> Any:
        """Return the resource under (container, kind, name).

        Raises:
            NotFoundError: if there is none; the message lists the kinds that have this name.
        """
        container = container or DEFAULT_CONTAINER
        with self._lock:
            entry = self._entries.get((container, kind, name))
            others = [] if entry else sorted(k for c, k, n in self._entries if (c, n) == (container, name))
        if entry is None:
            has = f"; that name has a {' and a '.join(others)}" if others else ""
            raise NotFoundError(f"no {kind} {name!r} in container {container!r}{has}")
        return entry.resource

    def variable(self, container: str, name: str, spec: TensorSpec) -> Variable:
        """Return the variable under (container, name); make it, uninitialised, if absent.

        Raises:
            InvalidArgumentError: if a variable of another type with a value exists.
        """
        variable = self.lookup_or_create(container, name, VARIABLE, lambda: self._make_variable(name, spec))
        if variable.spec.dtype is not spec.dtype or not variable.spec.shape.is_compatible_with(spec.shape):
            if not variable.initialized:
                variable.spec = spec
                return variable
            raise InvalidArgumentError(
                f"variable {name!r} exists with {variable.spec.dtype.name} and shape {variable.spec.shape}; "
                f"it was asked for with {spec.dtype.name} and shape {spec.shape}"
            )
        return variable

    def has_value(self, container: str, name: str) -> bool:
        """Return whether there is a variable under (container, name) that has a value."""
        with self._lock:
            entry = self._entries.get((container or DEFAULT_CONTAINER, VARIABLE, name))
        return entry is not None and bool(entry.resource.initialized)

    def all(self) -> list[tuple[str, str, str, Any]]:
        """Return container, kind, name and object of each resource, in the order of creation."""
        with self._lock:
            return [(*key, entry.resource) for key, entry in self._entries.items()]

    def variables(self) -> list[tuple[str, str, Variable]]:
        """Return container, name and variable of each variable, in the order of creation."""
        return [(container, name, resource) for container, kind, name, resource in self.all() if kind == VARIABLE]

    def clear(self, containers: Iterable[str] = ()) -> None:
        """Clear containers; the default container if none is named.

        Resources stay where they are, for plans that refer to them; one that is asked for with another
        ``spec`` afterwards is made anew.
        """
        cleared = {container or DEFAULT_CONTAINER for container in containers} or {DEFAULT_CONTAINER}
        with self._lock:
            keys = [key for key in self._entries if key[0] in cleared]
            removed = [self._entries[key].resource for key in keys]
            self._cleared.update(keys)
        for resource in removed:
            resource.clear()

    def clear_all(self) -> None:
        """Clear every container, when the only owner of this state ends.

        Plans and kernels may refer to the manager in reference cycles, and state may be large, so it is
        released now and not by a later garbage collection.
        """
        with self._lock:
            removed = [e.resource for e in self._entries.values()]
            self._entries.clear()
        for resource in removed:
            resource.clear()

    def statistics(self) -> ResourceStatistics:
        """Return the number and size of the variables."""
        with self._lock:
            variables = [e.resource for (_, kind, _), e in self._entries.items() if kind == VARIABLE]
        valued = [variable for variable in variables if variable.initialized]
        return ResourceStatistics(len(valued), sum(variable.nbytes for variable in valued))
