"""Rendezvous keys: the one function that builds them and the one that parses them.

A key names one tensor that is sent from one device to another within a step:
``src_device;src_incarnation;dst_device;edge_name;frame_id:iter_id``, the incarnation as sixteen lower-case
hex digits. The incarnation distinguishes the tensors of a restarted worker. ``partition``, the rendezvous and
workers call this.
"""

from __future__ import annotations

import re
from functools import lru_cache

from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import DeviceSpec
from actorsession.records import dataclass

__all__ = ["RendezvousKey", "build_key", "parse_key"]

_INCARNATION = re.compile(r"[0-9a-f]{16}")
_TENSOR = re.compile(r"(?:edge|feed|fetch)_[0-9]+_(.+)", re.DOTALL)
_FRAME_ITER = re.compile(r"([0-9]+):([0-9]+)")


@dataclass(frozen=True, slots=True)
class RendezvousKey:
    """A parsed key.

    Attributes:
        text: the whole key, which identifies it.
        src_device: full name of the producing device.
        src_incarnation: incarnation of that device.
        dst_device: full name of the consuming device.
        edge_name: which edge of the graph.
        frame_id: loop frame.
        iter_id: loop iteration.
    """

    text: str
    src_device: str
    src_incarnation: int
    dst_device: str
    edge_name: str
    frame_id: int
    iter_id: int

    @property
    def tensor(self) -> str:
        """The tensor that partitions, or a client of a partial run, exchange; "" for any other value."""
        match = _TENSOR.fullmatch(self.edge_name)
        return "" if match is None else match[1]

    @property
    def src_task(self) -> str:
        """The task of the producing device."""
        return self.src_device.rpartition("/")[0]

    @property
    def dst_task(self) -> str:
        """The task of the consuming device."""
        return self.dst_device.rpartition("/")[0]


def build_key(
    src_device: str, src_incarnation: int, dst_device: str, edge_name: str, frame_id: int = 0, iter_id: int = 0
) -> str:
    """Return the text of a key; see the module for its form."""
    return f"{src_device};{src_incarnation:016x};{dst_device};{edge_name};{frame_id}:{iter_id}"


# A loop over several devices has as many keys as iterations, all of them for the same few edges.
@lru_cache(maxsize=65536)
def _edge(front: str) -> tuple[str, int, str, str] | None:
    """Return the devices, incarnation and edge in the front of a key; ``None`` if it is malformed."""
    parts = front.split(";")
    if len(parts) == 4 and all(parts):
        src, incarnation, dst, edge = parts
        if _INCARNATION.fullmatch(incarnation) and _is_full(src) and _is_full(dst):
            return src, int(incarnation, 16), dst, edge
    return None


# Keys are parsed again in every step; a plan has as many as it has transfers.
@lru_cache(maxsize=65536)
def parse_key(text: str) -> RendezvousKey:
    """Read a key.

    Raises:
        InvalidArgumentError: unless it has five non-empty parts, two full device names, sixteen hex
            digits and ``frame:iter``.
    """
    front, _, frame_iter = text.rpartition(";")
    edge, numbers = _edge(front), _FRAME_ITER.fullmatch(frame_iter)
    if edge is not None and numbers:
        return RendezvousKey(text, *edge, int(numbers[1]), int(numbers[2]))
    raise InvalidArgumentError(
        f"invalid rendezvous key {text!r:.200}; the form is 'src_device;incarnation "
        "in 16 hex digits;dst_device;edge_name;frame:iter' with full device names"
    )


def _is_full(device: str) -> bool:
    try:
        return DeviceSpec.parse(device).is_full
    except ValueError:
        return False
