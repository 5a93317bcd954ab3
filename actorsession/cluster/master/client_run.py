"""The runs that clients request of a master, over a link or in this process, and the answers to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from actorsession.graph.codec import bytes_held
from actorsession.messages.step_frames import WireValues, extra_to_wire, write_value
from actorsession.rpc.local_calls import LocalRun, LocalValues
from actorsession.rpc.step_calls import ServedRun

__all__ = ["ClientRun", "answer_of", "extra_of"]

ClientRun: TypeAlias = "ServedRun | LocalRun"
"""A run that a client has requested, over a link or in this process."""

_Parts: TypeAlias = "Sequence[WireValues | Sequence[Any] | None]"


def answer_of(run: ClientRun, parts: _Parts, fetches: Iterable[tuple[int, int]]) -> Any:
    """Return the values of a run as its client takes them; those of other tasks are passed on as they came.

    Args:
        run: the run.
        parts: what each part of its step has returned.
        fetches: for each fetch, the part that returned it and its position there.

    Raises:
        InvalidArgumentError: for a value that cannot be encoded.
    """
    if type(run) is ServedRun:
        out = WireValues([])
        for number, at in fetches:
            part = parts[number]
            if isinstance(part, WireValues):
                part.pass_on(at, out)
            else:
                assert part is not None  # every part has returned
                write_value(part[at], out.items, out.segments)
        return out
    values = LocalValues()
    for number, at in fetches:
        part = parts[number]
        assert part is not None  # every part has returned
        values.append(part.read(at) if isinstance(part, WireValues) else part[at])
    values.nbytes = bytes_held(values) if values else 0
    return values


def extra_of(run: ClientRun, *parts: Any) -> Any:
    """Return what an answer says beside its values, as the client of a run takes it."""
    return extra_to_wire(*parts) if type(run) is ServedRun else list(parts)
