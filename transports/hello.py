"""The hello: the message by which both sides of every connection identify themselves.

Callers create a ``Hello`` for their own side and find the other side's on the connection. ``handshake``
exchanges them; this file defines only the value and its wire form, and imports ``errors`` and ``frame``.
Every existing ``Hello`` is valid: constructing one from wrong values raises ValueError, receiving one
raises ProtocolError.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from transports.errors import ProtocolError
from transports.frame import WIRE_VERSION

SUPPORTED: tuple[int, ...] = (WIRE_VERSION,)

# Names are shown in errors and logs; a task name is about 40 characters long.
MAX_NAME = 512
# A version is one byte in the prefix of a frame, and 0 is the handshake's.
MAX_VERSION = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The identity of one side of a connection.

    Attributes:
        cluster_id: The cluster of the side; "" for a client that has not learned it yet.
        task: The task of the side, such as "/job:worker/replica:0/task:0", or "client".
        incarnation: 64 bits that differ each time the task is started.
        pid: The process id.
        pulse: Where the other end can check whether the process is alive when nothing arrives from it; ""
            if nowhere. This package does not interpret it.
        wire_versions: The versions of frames that the side supports; the highest common one is used.
    """

    cluster_id: str
    task: str
    incarnation: int
    pid: int
    pulse: str = ""
    wire_versions: tuple[int, ...] = SUPPORTED

    def __post_init__(self) -> None:
        """Check types and ranges.

        Raises:
            ValueError: A field has an invalid value; the message names the field.
        """
        _check_name("cluster_id", self.cluster_id)
        _check_name("task", self.task)
        _check_name("pulse", self.pulse)
        if not self.task:
            raise ValueError("the task is empty; it must be a task name or 'client'")
        _check_range("incarnation", self.incarnation, 0, 2**64 - 1)
        _check_range("pid", self.pid, 0, 2**32 - 1)
        if not isinstance(self.wire_versions, tuple) or not self.wire_versions:
            raise ValueError(f"wire_versions is {self.wire_versions!r}; it must be a tuple of numbers")
        if len(self.wire_versions) > MAX_VERSION:
            raise ValueError(f"{len(self.wire_versions)} wire_versions; there can be at most {MAX_VERSION}")
        for version in self.wire_versions:
            _check_range("wire version", version, 1, MAX_VERSION)

    def to_wire(self) -> dict[str, object]:
        """Return the fields by name, in types that msgpack carries."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_wire(cls, message: Mapping[Any, object]) -> Hello:
        """Build the peer's hello from a received map, ignoring fields that only newer peers have.

        Args:
            message: The decoded map.

        Returns:
            The checked value.

        Raises:
            ProtocolError: A field is missing or has an invalid value.
        """
        missing = [field.name for field in fields(cls) if field.name not in message]
        if missing:
            raise ProtocolError(f"the peer's hello lacks {', '.join(missing)}")
        values = {field.name: message[field.name] for field in fields(cls)}
        if isinstance(values["wire_versions"], list):  # msgpack has no tuples
            values["wire_versions"] = tuple(values["wire_versions"])
        try:
            return cls(**values)  # type: ignore[arg-type]  # __post_init__ checks them
        except ValueError as error:
            raise ProtocolError(f"the peer's hello is malformed: {error}") from None


def negotiate_version(ours: tuple[int, ...], theirs: tuple[int, ...]) -> int | None:
    """Return the highest wire version that both sides support, or None where there is none."""
    return max(set(ours) & set(theirs), default=None)


def _check_name(field: str, value: object) -> None:
    """Check a name that will be displayed."""
    if not isinstance(value, str) or len(value) > MAX_NAME or not (value.isprintable()):
        raise ValueError(f"{field} is {value!r:.80}; it must be a printable string of up to {MAX_NAME} characters")


def _check_range(field: str, value: object, low: int, high: int) -> None:
    """Check a number; a bool is rejected although Python counts it as an int."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{field} is {value!r:.80}; it must be a number from {low} to {high}")
