"""The options of a callable: ``CallableOptions``, a run described by names alone.

Frozen values with TensorFlow's names. ``session`` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from actorsession.config.run import RunOptions
from actorsession.config.wire import check_types, list_of, one_of
from actorsession.records import changed_fields, dataclass

__all__ = ["CallableOptions", "TensorConnection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorConnection:
    """One tensor of a callable in the place of another.

    Attributes:
        from_tensor: name of the tensor whose value is used.
        to_tensor: name of the tensor in whose place it is used.
    """

    from_tensor: str = ""
    to_tensor: str = ""

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallableOptions:
    """A run described by names, for ``make_callable_from_options``.

    A tensor is named ``operation:index``; ``operation`` alone is its output 0.

    Attributes:
        feed: names of the tensors that the arguments of the callable feed, in order.
        fetch: names of the tensors whose values a call returns, in order.
        target: names of operations that run without a value.
        run_options: options of each call.
        tensor_connection: tensors in whose place others are used.
        feed_devices: by the name of a tensor of ``feed``, the full name of the device at which it enters the
            step; a tensor that is left out enters at each device that reads it.
        fetch_devices: by the name of a tensor of ``fetch``, the full name of the device at which it leaves
            the step; a tensor that is left out leaves where it is computed.
        fetch_skip_sync: permits a call to return before the values are computed. No call makes use of it,
            because values are arrays of the host and complete when a call returns.
    """

    feed: Sequence[str] = ()
    fetch: Sequence[str] = ()
    target: Sequence[str] = ()
    run_options: RunOptions = field(default_factory=RunOptions, metadata=one_of(RunOptions))
    tensor_connection: Sequence[TensorConnection] = field(default=(), metadata=list_of(TensorConnection))
    feed_devices: Mapping[str, str] = field(default_factory=dict)
    fetch_devices: Mapping[str, str] = field(default_factory=dict)
    fetch_skip_sync: bool = False

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("feed", "fetch", "target"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        for name in ("feed_devices", "fetch_devices"):
            object.__setattr__(self, name, _devices(name, getattr(self, name)))


def _names(field_name: str, value: object) -> tuple[str, ...]:
    """Return a list of names as a tuple."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"{field_name} must be a list of names, got {value!r:.100}")
    return tuple(value)


def _devices(field_name: str, value: object) -> dict[str, str]:
    """Return a mapping from tensor to device as a dict of its own."""
    if not isinstance(value, Mapping) or not all(isinstance(item, str) for pair in value.items() for item in pair):
        raise TypeError(
            f"{field_name} must be a mapping from the name of a tensor to that of a device, got {value!r:.100}"
        )
    return dict(value)
