"""State of one device: variables in containers.

A resource lives under (container, name). Holders are made once and live as long as their manager: clearing
a container leaves them uninitialised, so plans may keep a reference. Values are copy-on-write: an array
that anybody else holds is never changed, so a value read earlier stays what it was.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.graph.node import TensorSpec

__all__ = ["DEFAULT_CONTAINER", "ResourceManager", "ResourceStatistics", "Variable"]

DEFAULT_CONTAINER = "localhost"  # TensorFlow's name for the container of state that names none


def _references(value: Any) -> int:
    return sys.getrefcount(value)


def _baseline() -> int:
    """What ``_references`` counts for an array that only a holder has, as ``Variable.update`` asks."""
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
    """

    __slots__ = ("_lock", "_value", "name", "spec")

    def __init__(self, name: str, spec: TensorSpec) -> None:
        self.name = name
        self.spec = spec
        self._lock = threading.Lock()
        self._value: Any = None

    @property
    def initialized(self) -> bool:
        """Whether a value was assigned."""
        return self._value is not None

    def read(self) -> Any:
        """The value; borrowed, never changes afterwards.

        Raises:
            FailedPreconditionError: when uninitialised.
        """
        # The lock keeps a reader from taking the array in the middle of an update in place.
        with self._lock:
            value = self._value
        if value is None:
            raise self._uninitialised()
        return value

    def assign(self, value: Any) -> None:
        """Stores a value of the variable's type, which the holder owns from now on.

        Raises:
            InvalidArgumentError: if dtype or shape do not fit.
        """
        found = getattr(value, "dtype", None)
        if found != self.spec.dtype.np_dtype or not self.spec.shape.is_compatible_with(value.shape):
            raise InvalidArgumentError(
                f"variable {self.name!r} holds {self.spec.dtype.name} of shape {self.spec.shape}; "
                f"{found} of shape {getattr(value, 'shape', '?')} cannot be assigned"
            )
        if isinstance(value, np.ndarray):
            value = value if value.ndim else value[()]
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                value = value.copy()
        with self._lock:
            self._value = value

    def update(self, function: Callable[..., Any], *operands: Any) -> None:
        """Stores ``function(old, *operands)``, in place when nobody else holds the old value.

        Args:
            function: a numpy ufunc or alike that takes ``out=``.
            operands: further operands, borrowed.

        Raises:
            FailedPreconditionError: when uninitialised.
        """
        with self._lock:
            value = self._value
            if value is None:
                raise self._uninitialised()
            if not isinstance(value, np.ndarray):
                self._value = function(value, *operands)
            elif _references(value) <= _ALONE:
                function(value, *operands, out=value)
            else:
                out = np.empty_like(value)
                function(value, *operands, out=out)
                self._value = out

    def access(self, function: Callable[[Any], Any]) -> None:
        """Stores ``function(value)``, where ``value`` may be written to.

        Args:
            function: gets the old value, or a copy if anybody else holds it; returns the new one.

        Raises:
            FailedPreconditionError: when uninitialised.
        """
        with self._lock:
            value = self._value
            if value is None:
                raise self._uninitialised()
            if isinstance(value, np.ndarray) and _references(value) > _ALONE:
                value = value.copy()
            self._value = function(value)

    def clear(self) -> None:
        """Leaves the variable uninitialised."""
        with self._lock:
            self._value = None

    def _uninitialised(self) -> FailedPreconditionError:
        return FailedPreconditionError(
            f"variable {self.name!r} is read before it has a value: run its initializer "
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


class ResourceManager:
    """The resources of one device; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._variables: dict[tuple[str, str], Variable] = {}

    def variable(self, container: str, name: str, spec: TensorSpec) -> Variable:
        """The variable under (container, name), made uninitialised if absent.

        Raises:
            InvalidArgumentError: if one of another type is there.
        """
        key = (container or DEFAULT_CONTAINER, name)
        with self._lock:
            found = self._variables.get(key)
            if found is None:
                found = self._variables[key] = Variable(name, spec)
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

    def clear(self, containers: Iterable[str] = ()) -> None:
        """Empties containers; the default one if none is named."""
        wanted = set(containers) or {DEFAULT_CONTAINER}
        with self._lock:
            holders = [v for (container, _), v in self._variables.items() if container in wanted]
        for holder in holders:
            holder.clear()

    def statistics(self) -> ResourceStatistics:
        """How much state there is."""
        with self._lock:
            values = [v._value for v in self._variables.values() if v.initialized]
        return ResourceStatistics(len(values), sum(int(getattr(v, "nbytes", 0)) for v in values))
