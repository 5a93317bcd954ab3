"""Tables from keys to values: the state behind the handles of lookup tables.

Keys and values are Python objects (``bytes``, ``int``, ``float``, ``bool``); values with a shape are arrays.
All methods are atomic with respect to each other, in any thread. A static table is filled once, before any
lookup; clearing its container resets it to the initial state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.graph.dtypes import DType
from actorsession.graph.held_arrays import total_bytes

__all__ = ["TableState"]


class TableState:
    """A table from keys to values.

    Args:
        label: name of the table in error messages.
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
        shape: shape of each value.
        static: whether the table is filled exactly once, before it is used.
        reserved: keys that no entry may have, each after its name.
    """

    def __init__(
        self,
        label: str,
        key_dtype: DType,
        value_dtype: DType,
        shape: tuple[int, ...],
        static: bool,
        reserved: Sequence[tuple[str, Any]] = (),
    ) -> None:
        self.label = label
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.shape = shape
        self.static = static
        self.reserved = reserved
        self._lock = threading.Lock()
        self._entries: dict[Any, Any] | None = None if static else {}

    def __repr__(self) -> str:
        return f"<{self.label} from {self.key_dtype.name} to {self.value_dtype.name}>"

    @property
    def nbytes(self) -> int:
        """The bytes of its strings and arrays; numbers do not count."""
        with self._lock:
            return 0 if self._entries is None else total_bytes([list(self._entries), self._entries])

    def clear(self) -> None:
        """Reset the table to its initial state."""
        with self._lock:
            self._entries = None if self.static else {}

    def fill(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Fill the table: once if it is static, replacing all entries if it is not.

        Reserved keys are passed over: a table that TensorFlow has exported has them for its empty buckets.

        Raises:
            FailedPreconditionError: if a static table was filled with something else, or a key has two
                values.
        """
        entries: dict[Any, Any] = {}
        reserved = [key for _, key in self.reserved]
        for key, value in pairs:
            if key in reserved:
                continue
            if self.static and not _same(entries.setdefault(key, value), value):
                raise FailedPreconditionError(
                    f"{self.label} has different value for same key. Key {key!r:.100} has "
                    f"{entries[key]!r:.100} and trying to add value {value!r:.100}"
                )
            entries[key] = value
        with self._lock:
            if self.static and self._entries is not None:
                if not _equal(self._entries, entries):
                    raise FailedPreconditionError(f"{self.label}: Table already initialized.")
                return
            self._entries = entries

    def check_keys(self, keys: Iterable[Any]) -> None:
        """Raise InvalidArgumentError for a key that no entry may have."""
        for name, key in self.reserved:
            if key in keys:
                raise InvalidArgumentError(
                    f"Using the {name} as a table key is not allowed: {key!r:.100} in {self.label}"
                )

    def insert(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Insert entries, replacing those with the same key.

        Raises:
            InvalidArgumentError: if the table is static.
        """
        added = dict(pairs)
        with self._lock:
            self._changing().update(added)

    def remove(self, keys: Iterable[Any]) -> Callable[[], None]:
        """Remove entries; missing keys are ignored.

        Returns:
            A function that restores the entries whose keys were not inserted again since.

        Raises:
            InvalidArgumentError: if the table is static.
        """
        names = list(keys)
        with self._lock:
            entries = self._changing()
            gone = {key: entries.pop(key) for key in names if key in entries}

        def undo() -> None:
            with self._lock:
                if self._entries is entries:  # neither cleared nor filled anew
                    for key, value in gone.items():
                        entries.setdefault(key, value)

        return undo

    def _changing(self) -> dict[Any, Any]:
        if self.static or self._entries is None:
            raise InvalidArgumentError(f"{self.label} cannot be changed: it is filled once")
        return self._entries

    def _filled(self) -> dict[Any, Any]:
        if self._entries is None:
            raise FailedPreconditionError(
                f"{self.label}: Table not initialized. Run its initializer, or tables_initializer()"
            )
        return self._entries

    def find(self, keys: Iterable[Any], default: Any) -> list[Any]:
        """Return the value of each key, or ``default``.

        Raises:
            FailedPreconditionError: if a static table was not filled.
        """
        with self._lock:
            entries = self._filled()
            return [entries.get(key, default) for key in keys]

    def size(self) -> int:
        """Return the number of entries; errors as for ``find``."""
        with self._lock:
            return len(self._filled())

    def entries(self) -> dict[Any, Any]:
        """Return a copy of all entries; errors as for ``find``."""
        with self._lock:
            return dict(self._filled())


def _same(a: Any, b: Any) -> bool:
    return a is b or np.array_equal(a, b)


def _equal(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
