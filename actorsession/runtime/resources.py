"""State of one device: variables and other resources, in containers.

A resource lives under (container, kind, name); things of different kinds may share a name. Resources are
made once and live as long as their manager: clearing a container empties them where they stand, so plans
may keep a reference. A variable's value is copy-on-write: an array that anybody else holds is never
changed, so a value read earlier stays what it was.

Sessions and workers have one manager per device; kernels see it as the ``ResourceHost`` of the op registry.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import numpy as np

from actorsession.config.file_roots import ANYWHERE, FileRoots
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from actorsession.graph.dtypes import as_dtype, string
from actorsession.graph.node import TensorSpec
from actorsession.records import dataclass

__all__ = [
    "DEFAULT_CONTAINER", "Resource", "ResourceManager", "ResourceStatistics",
    "UninitializedVariableError", "Variable",
]  # fmt: skip

DEFAULT_CONTAINER = "localhost"  # TensorFlow's name for the container of state that names none

_VARIABLE = "variable"
_BYTES = string.np_dtype


class UninitializedVariableError(NotFoundError, FailedPreconditionError):
    """A variable is changed before it has a value.

    TensorFlow's resource variables say NotFoundError then, its reference variables
    FailedPreconditionError, as both do for a read; ours stand for both kinds and so does the error.
    """


class Resource(Protocol):
    """What a manager asks of the things that it holds."""

    def clear(self) -> None:
        """Leave the resource as if it were new; called from any thread. Plans may still refer to it."""


R = TypeVar("R", bound=Resource)


def _references(value: Any) -> int:
    return sys.getrefcount(value)


def _baseline() -> int:
    """Return what ``_references`` counts for an array that only a holder has, as ``Variable.update`` asks."""
    holder = [np.zeros(1)]
    value = holder[0]
    return _references(value)


# CPython counts the list's (the holder's) reference, the local name and the arguments; how many exactly
# differs between versions, so it is measured where it is used.
_ALONE = _baseline()


class Variable:
    """A variable's value on its device (the ``VariableHolder`` protocol).

    Args:
        name: resource name, for messages.
        spec: static type that assigned values must have.

    Attributes:
        changes: how many times the value was changed, assigned or cleared; it is counted before others see
            the new value, so who reads the number first never reads an older value than it stands for.
    """

    __slots__ = ("_lock", "_value", "changes", "name", "spec")

    def __init__(self, name: str, spec: TensorSpec) -> None:
        self.name = name
        self.spec = spec
        self._lock = threading.Lock()
        self._value: Any = None
        self.changes = 0

    @property
    def initialized(self) -> bool:
        """Whether a value was assigned."""
        return self._value is not None

    @property
    def value(self) -> Any:
        """The value, as ``read`` gives it; ``None`` when uninitialised."""
        # The lock keeps a reader from taking the array in the middle of an update in place.
        with self._lock:
            return self._value

    def read(self) -> Any:
        """Return the value; borrowed, never changes afterwards.

        Raises:
            FailedPreconditionError: when uninitialised.
        """
        with self._lock:  # as in ``value``, which would cost a call in every step
            value = self._value
        if value is None:
            raise FailedPreconditionError(self._uninitialised("read"))
        return value

    def assign(self, value: Any) -> None:
        """Store a value of the variable's type, which the holder owns from now on.

        Raises:
            InvalidArgumentError: if dtype or shape do not fit.
        """
        # A string scalar is plain bytes.
        found, shape = (_BYTES, ()) if isinstance(value, bytes) else (value.dtype, value.shape)
        if found != self.spec.dtype.np_dtype or not self.spec.shape.is_compatible_with(shape):
            raise InvalidArgumentError(
                f"variable {self.name!r} holds {self.spec.dtype.name} of shape {self.spec.shape}; "
                f"{as_dtype(found).name} of shape {shape} cannot be assigned"
            )
        if isinstance(value, np.ndarray):
            value = value if value.ndim else value[()]
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                value = value.copy()
        with self._lock:
            self.changes += 1
            self._value = value

    def update(self, function: Callable[..., Any], *operands: Any) -> None:
        """Store ``function(old, *operands)``, in place when nobody else holds the old value.

        Args:
            function: a numpy ufunc or alike that takes ``out=``.
            operands: further operands, borrowed.

        Raises:
            UninitializedVariableError: when uninitialised.
        """
        with self._lock:
            value = self._value
            if value is None:
                raise UninitializedVariableError(self._uninitialised("changed"))
            self.changes += 1
            if not isinstance(value, np.ndarray):
                self._value = function(value, *operands)
            elif _references(value) <= _ALONE:
                function(value, *operands, out=value)
            else:
                out = np.empty_like(value)
                function(value, *operands, out=out)
                self._value = out

    def access(self, function: Callable[[Any], Any]) -> None:
        """Store ``function(value)``, where ``value`` may be written to.

        Args:
            function: gets the old value, or a copy if anybody else holds it; returns the new one.

        Raises:
            UninitializedVariableError: when uninitialised.
        """
        with self._lock:
            value = self._value
            if value is None:
                raise UninitializedVariableError(self._uninitialised("changed"))
            self.changes += 1
            if isinstance(value, np.ndarray) and _references(value) > _ALONE:
                value = value.copy()
            self._value = function(value)

    def clear(self) -> None:
        """Leave the variable uninitialised."""
        with self._lock:
            self.changes += self._value is not None
            self._value = None

    def _uninitialised(self, how: str) -> str:
        return (
            f"variable {self.name!r} is {how} before it has a value: run its initializer "
            "(or global_variables_initializer()) or restore it first"
        )


@dataclass(frozen=True, slots=True)
class ResourceStatistics:
    """What a resource manager holds.

    Attributes:
        variables: variables with a value.
        nbytes: bytes of their values.
    """

    variables: int
    nbytes: int


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A resource and what it was made as; only ``spec`` says whether another maker means the same."""

    resource: Any
    spec: object


class ResourceManager:
    """The resources of one device; thread-safe.

    Attributes:
        files: where kernels may open files.
    """

    def __init__(self, files: FileRoots = ANYWHERE) -> None:
        self.files = files
        self._lock = threading.Lock()
        self._entries: dict[tuple[str, str, str], _Entry] = {}  # by (container, kind, name)

    def lookup_or_create(
        self, container: str, name: str, kind: str, make: Callable[[], R], spec: object = None
    ) -> R:
        """Return the resource under (container, kind, name), made if absent.

        Args:
            container: ``""`` for the default one.
            name: what it is called there.
            kind: what it is used as, such as ``"queue"``; a name may be taken once in each kind.
            make: makes it; called under the manager's lock, at most once, and must not call back.
            spec: what it must be in particular; compared with what the one that is there was made
                for. Its text appears in messages.

        Raises:
            InvalidArgumentError: if one with another ``spec`` is there; nothing changes then.
        """
        key = (container or DEFAULT_CONTAINER, kind, name)
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                found = self._entries[key] = _Entry(make(), spec)
        if found.spec != spec:
            raise InvalidArgumentError(
                f"{kind} {name!r} exists in container {key[0]!r} as {found.spec}; it was asked for "
                f"as {spec}: give it another name or container, or ask for what is there"
            )
        resource: R = found.resource
        return resource

    def lookup(self, container: str, name: str, kind: str) -> Any:
        """Return the resource under (container, kind, name).

        Raises:
            NotFoundError: if there is none; the message says what has that name.
        """
        container = container or DEFAULT_CONTAINER
        with self._lock:
            found = self._entries.get((container, kind, name))
            others = (
                []
                if found
                else sorted(k for c, k, n in self._entries if (c, n) == (container, name))
            )
        if found is None:
            has = f"; that name has a {' and a '.join(others)}" if others else ""
            raise NotFoundError(f"no {kind} {name!r} in container {container!r}{has}")
        return found.resource

    def variable(self, container: str, name: str, spec: TensorSpec) -> Variable:
        """Return the variable under (container, name), made uninitialised if absent.

        Raises:
            InvalidArgumentError: if one of another type is there.
        """
        found = self.lookup_or_create(container, name, _VARIABLE, lambda: Variable(name, spec))
        if found.spec.dtype is not spec.dtype or not found.spec.shape.is_compatible_with(
            spec.shape
        ):
            if not found.initialized:
                found.spec = spec
                return found
            raise InvalidArgumentError(
                f"variable {name!r} exists with {found.spec.dtype.name} and shape {found.spec.shape}; "
                f"it was asked for with {spec.dtype.name} and shape {spec.shape}"
            )
        return found

    def has_value(self, container: str, name: str) -> bool:
        """Return whether there is a variable under (container, name) that has a value."""
        with self._lock:
            found = self._entries.get((container or DEFAULT_CONTAINER, _VARIABLE, name))
        return found is not None and bool(found.resource.initialized)

    def variables(self) -> list[tuple[str, str, Variable]]:
        """Container, name and variable of each one, in the order in which they were made."""
        with self._lock:
            found = list(self._entries.items())
        return [
            (container, name, entry.resource)
            for (container, kind, name), entry in found
            if kind == _VARIABLE
        ]

    def clear(self, containers: Iterable[str] = ()) -> None:
        """Empty containers; the default one if none is named."""
        wanted = {container or DEFAULT_CONTAINER for container in containers} or {DEFAULT_CONTAINER}
        with self._lock:
            found = [e.resource for (c, _, _), e in self._entries.items() if c in wanted]
        for resource in found:
            resource.clear()

    def clear_all(self) -> None:
        """Empty every container, at the end of whoever has this state for itself.

        Plans and kernels may refer to the manager in circles, and state may be large: it goes now and not
        when a collection of garbage comes by.
        """
        with self._lock:
            found = [e.resource for e in self._entries.values()]
            self._entries.clear()
        for resource in found:
            resource.clear()

    def statistics(self) -> ResourceStatistics:
        """Return how much state there is."""
        with self._lock:
            found = [e.resource for (_, kind, _), e in self._entries.items() if kind == _VARIABLE]
        values = [value for variable in found if (value := variable._value) is not None]
        return ResourceStatistics(len(values), sum(int(getattr(v, "nbytes", 0)) for v in values))
