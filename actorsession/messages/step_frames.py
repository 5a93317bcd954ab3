"""Step frames: steps, and the values between tasks, in a fixed layout.

Runs of steps and the values that tasks push to each other travel as frames of their own beside
the envelopes. The header of a step frame is one flat msgpack list: a kind, which continues the kinds of
envelopes, some numbers, and two items for each value. It has no text and no names but for a rendezvous key
that a link has not carried before. Links call this module; it imports the value codec.

    RunStep     [6, call, program, seconds or nil, request or nil, values...]
    PartialRun  [7, call, call of the setup, seconds or nil, request, values...]
    RunGraph    [8, step id, program, nil, request or nil, values...]
    done        [9, call, extra or nil, values...]
    fail        [10, call, error in wire form]
    gone        [11, call]: the program is not known, and nothing was run
    cancel      [12, call]
    push        [13, step id, key, value, key, value...]
    received    [14, call]: the values of a run have reached its caller
    traced push [15, step id, when it was sent, bytes unsent before it, key, value, key, value...]
    lend        [16, step id, when it was sent or 0, bytes unsent before it, key, loan, ticket, key, loan, ticket...]
    returned    [17, loan, loan...]: lent arrays that were copied, or are not needed
    refused     [18, loan, loan...]: lent arrays that cannot be read; they go by the host, as pushes

RunStep and PartialRun go from a client to a master, RunGraph from a master to a worker, a push
from worker to worker. What a run asks for beside its values stands in a ``StepRequest``, a ``CallRequest`` or
a ``GraphRequest``; most runs ask for nothing. The setup of a partial run is a RunStep.

A lend goes from worker to worker, to a process of the same host, in place of a push. A loan is a number of the
sender's; a ticket is bytes of its device type, by which the receiver's device copies the array.

A value is a *form* and a *content*. The form of a tensor is a string of bytes, a number of its dtype and its
sizes; the content is its bytes, or the number of a segment of the frame. Any other value, such as a tensor of
strings, has the form nil and is encoded by the value codec; a dead tensor has nil twice. A key is text, or
its number among the texts that the sender has sent over this link.

Invariants: for any bytes, reading returns values or raises ``ProtocolError``. The length of a content is
compared with its form before anything refers to it. A value may be passed on to another link as it came.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any, TypeVar, cast

import msgpack
import numpy as np

from actorsession.durations import is_seconds
from actorsession.errors import OpError, ProtocolError, error_from_wire
from actorsession.graph.codec import INLINE_LIMIT, Buffer, not_encoded, pack, unpack
from actorsession.graph.dtypes import ALL_TYPES
from actorsession.records import dataclass
from transports.host import current_host

__all__ = [
    "CANCEL", "DONE", "FAIL", "GONE", "LEND", "NO_VALUES", "PARTIAL_RUN", "PUSH", "RECEIVED", "REFUSED", "RETURNED",
    "RUN_GRAPH", "RUN_STEP", "SHORT_STARTS", "TRACED_PUSH", "CallRequest", "GraphRequest", "StepRequest", "WireValues",
    "done_bytes", "extra_from_wire", "extra_to_wire", "fault_of", "is_moment", "is_step_frame", "read_ahead",
    "read_error", "read_header", "read_value", "write_header", "write_value",
]  # fmt: skip

RUN_STEP, PARTIAL_RUN, RUN_GRAPH, DONE, FAIL, GONE, CANCEL, PUSH, RECEIVED, TRACED_PUSH = range(6, 16)
LEND, RETURNED, REFUSED = range(16, 19)
"""The kinds of step frames; those of envelopes are below."""

# The first bytes of msgpack lists: of up to 15 items, and of those with a length of two and of four bytes.
# The kind follows the length.
_SHORT, _LONG, _LONGEST = 0x90, 0xDC, 0xDD
_KIND_AT = {_LONG: 3, _LONGEST: 5}

SHORT_STARTS = frozenset(
    bytes([_SHORT | length, kind]) for length in range(2, 16) for kind in range(RUN_STEP, REFUSED + 1)
)
"""The first two bytes of most step frames, for those who would rather not call ``is_step_frame``."""

_NUMBERS = 2**63  # the range that every msgpack implementation supports
_MAX_RANK = 64  # numpy's own limit
# Forms that are kept with what was read of them; a program has a few, and a peer must not fill the memory.
_KEPT = 4096
# And requests of calls, which have names in them.
_CALLS = 256
# Wall-clock seconds in the year 5138; what is computed from those before stays a number.
_LATEST = 1e11
# Above this a header goes through the value codec, which limits the number of lists in it.
_LARGE = 2**18

# The last item is whether it is that of a scalar of numpy.
_Form = tuple[np.dtype[Any], tuple[int, ...], int, bool]

_DTYPES = {t.as_datatype_enum: t.np_dtype for t in ALL_TYPES if t.kind not in "srv"}
_NUMBER_OF = {dtype: number for number, dtype in _DTYPES.items()}
# Values of rank 0 are scalars of numpy, as they are in a step of one process: their operators take a tenth of
# the time of those of arrays. This function makes them of their bytes; numpy has no public name for it.
_scalar = cast(Callable[[np.dtype[Any], bytes], Any], np.float32().__reduce__()[0])
_FORM_OF_SCALAR = {d.type: bytes([n]) for n, d in _DTYPES.items() if d.isbuiltin == 1}
_SCALAR_FORMS = frozenset(_FORM_OF_SCALAR.values())
_new = object.__new__
_forms: dict[bytes, _Form] = {}
_form_of: dict[tuple[np.dtype[Any], tuple[int, ...]], bytes] = {}

# Where the first content of a frame stands, and how far it is to the next.
_CONTENTS = {RUN_STEP: (6, 2), PARTIAL_RUN: (6, 2), RUN_GRAPH: (6, 2), DONE: (4, 2), PUSH: (4, 3), TRACED_PUSH: (6, 3)}
_BAD_BYTES = (ValueError, TypeError, OverflowError, RecursionError, msgpack.UnpackException)


def is_step_frame(header: Buffer) -> bool:
    """Return whether a header is that of a step frame, rather than an envelope; any bytes are accepted."""
    length = len(header)
    if length > 1 and header[0] & 0xF0 == _SHORT:  # nearly all
        return RUN_STEP <= header[1] <= REFUSED
    at = _KIND_AT.get(header[0], length) if length else length
    return at < length and RUN_STEP <= header[at] <= REFUSED


# Encodes the header of a step frame, a list. To make a packer allocates a buffer, which costs more than most
# headers. It calls nothing of Python's, so threads take turns, and it drops what it has written if it fails.
write_header: Callable[[list[Any]], bytes] = msgpack.Packer().pack


def read_header(header: Buffer) -> list[Any]:
    """Decode the header of a step frame, and check that its call or step is a number.

    Raises:
        ProtocolError: for bytes of any other form.
    """
    try:
        wire = unpack(header) if len(header) > _LARGE else msgpack.unpackb(header)
    except _BAD_BYTES as exc:
        raise ProtocolError(f"cannot decode a step frame: {type(exc).__name__}: {exc}") from exc
    if type(wire) is not list or len(wire) < 2 or type(wire[1]) is not int or wire[1] < 0:
        raise ProtocolError(f"a step frame is a list with a number, found {reprlib.repr(wire)}")
    return wire


class _Opened(bytes):
    """A content of form nil that was decoded ahead; as bytes it is the content as it came."""

    _found: Any
    _error: Exception | None

    @classmethod
    def of(cls, content: bytes) -> _Opened:
        opened = cls(content)
        try:
            opened._found, opened._error = unpack(content), None
        except Exception as exc:  # of whoever takes the value, if anybody does
            opened._error = exc
        return opened

    def take(self) -> Any:
        """Return the value, which belongs to the first who takes it."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        return vars(self).pop("_found") if "_found" in vars(self) else unpack(self)


def read_ahead(header: Buffer) -> list[Any]:
    """Decode the header of a step frame with the values inside it that no form describes.

    For threads that decode long headers: a million strings take a fifth of a second, which whoever reads the
    value would take on a loop.

    Raises:
        ProtocolError: as ``read_header`` does; not for a value, which whoever reads it finds malformed.
    """
    wire = read_header(header)
    first, step = _CONTENTS.get(wire[0], (len(wire), 1)) if type(wire[0]) is int else (len(wire), 1)
    for at in range(first, len(wire), step):
        if wire[at - 1] is None and type(wire[at]) is bytes:
            wire[at] = _Opened.of(wire[at])
    return wire


def read_error(wire: Sequence[Any]) -> OpError:
    """Return the error of a ``FAIL`` frame.

    Raises:
        ProtocolError: for anything else.
    """
    if len(wire) != 3:
        raise ProtocolError(f"a failed run has one error, found {reprlib.repr(wire)}")
    return error_from_wire(wire[2])


@dataclass(frozen=True, slots=True, eq=False)
class StepRequest:
    """What a client asks a master for with a run, beside its values.

    Attributes:
        plan: the plan of the run in wire form, by which the master makes the program of this number; ``None``
            once a run of it was answered over this link. See ``PrepareStep``.
        options: run options in wire form; empty for the defaults.
        debug_run: the debugged run to which the step belongs, in wire form; ``None`` for a plain run.
        key: the client's name for the run, under which it asks for watched values; "" for none.
        waited: seconds of the run's limit that have passed at the client.
        sent: wall-clock seconds of its sender at which it was encoded; 0 before.
        arrived: wall-clock seconds at which its receiver has read it.
        nbytes: the size of the frame that has brought it.
    """

    plan: list[Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    debug_run: list[Any] | None = None
    key: str = ""
    waited: float = 0.0
    sent: float = 0.0
    arrived: float = 0.0
    nbytes: int = 0

    @property
    def traced(self) -> bool:
        """Whether the statistics of the step are requested; also for options that are malformed."""
        return bool(self.options.get("trace_level"))

    def to_wire(self) -> bytes:
        """Return the form in which it travels."""
        return pack([self.plan, self.options, self.debug_run, self.key, self.waited, current_host().clock.time()])

    @classmethod
    def from_wire(cls, wire: Any, arrived: float = 0.0, nbytes: int = 0) -> StepRequest:
        """Read the result of ``to_wire``; see the attributes for the other two.

        Raises:
            ProtocolError: for anything else.
        """
        fields = _unpacked(wire, 6)
        plan, options, debug_run, key, waited, sent = fields
        lists = all(part is None or type(part) is list for part in (plan, debug_run))
        if not (lists and type(key) is str and type(options) is dict and is_seconds(waited) and is_moment(sent)):
            raise ProtocolError(f"this is not what a run asks for: {reprlib.repr(fields)}")
        return cls(plan, options, debug_run, key, waited, sent, arrived, nbytes)


@dataclass(frozen=True, slots=True, eq=False)
class CallRequest:
    """What a call of a partial run gives and asks for; the same calls recur in each run of a program.

    Attributes:
        feeds: the names of its feeds, in the order of the values.
        fetches: the names of its fetches, in the order of the values in the answer.
    """

    feeds: tuple[str, ...]
    fetches: tuple[str, ...]

    def to_wire(self) -> bytes:
        """Return the form in which it travels."""
        packed = _calls_sent.get((self.feeds, self.fetches))
        if packed is None:
            packed = pack([list(self.feeds), list(self.fetches)])
            _keep(_calls_sent, (self.feeds, self.fetches), packed)
        return packed

    @classmethod
    def from_wire(cls, wire: Any) -> CallRequest:
        """Read the result of ``to_wire``.

        Raises:
            ProtocolError: for anything else.
        """
        request = _calls_read.get(wire) if type(wire) is bytes else None
        if request is None:
            feeds, fetches = names = _unpacked(wire, 2)
            for part in names:
                if type(part) is not list or not all(type(name) is str for name in part):
                    raise ProtocolError(f"a call has two lists of names, found {reprlib.repr(names)}")
            request = cls(tuple(feeds), tuple(fetches))
            _keep(_calls_read, wire, request)
        return request


_calls_sent: dict[tuple[tuple[str, ...], tuple[str, ...]], bytes] = {}
_calls_read: dict[bytes, CallRequest] = {}
_K = TypeVar("_K")
_V = TypeVar("_V")


def _keep(table: dict[_K, _V], key: _K, value: _V) -> None:
    if len(table) >= _CALLS:  # a peer must not fill the memory
        table.clear()
    table[key] = value


@dataclass(frozen=True, slots=True, eq=False)
class GraphRequest:
    """What a master asks a worker for with a run, beside its values.

    Attributes:
        trace: whether step statistics are requested.
        debug_run: as in ``StepRequest``, like the next four.
        trace_parent: the span of the master, as in ``RunExperimental``; "" for none.
        held_by: the task over whose link the receiver could not send when it came.
    """

    trace: bool
    debug_run: list[Any] | None
    trace_parent: str = ""
    sent: float = 0.0
    arrived: float = 0.0
    nbytes: int = 0
    held_by: str = ""

    def to_wire(self) -> bytes:
        """Return the form in which it travels."""
        return pack([self.trace, self.debug_run, self.trace_parent, current_host().clock.time()])

    @classmethod
    def from_wire(cls, wire: Any, arrived: float = 0.0, nbytes: int = 0) -> GraphRequest:
        """Read the result of ``to_wire``; see the attributes for the other two.

        Raises:
            ProtocolError: for anything else.
        """
        fields = _unpacked(wire, 4)
        trace, debug_run, parent, sent = fields
        listed = debug_run is None or type(debug_run) is list
        if not (type(trace) is bool and listed and type(parent) is str and is_moment(sent)):
            raise ProtocolError(f"this is not what a run asks for: {reprlib.repr(fields)}")
        return cls(trace, debug_run, parent, sent, arrived, nbytes)


def is_moment(value: Any) -> bool:
    """Return whether a value that was received is wall-clock seconds; the clock may be wrong, and is none of a loop."""
    return type(value) is float and 0.0 <= value < _LATEST


def _unpacked(wire: Any, count: int) -> list[Any]:
    """Return the list of so many items that bytes stand for.

    Raises:
        ProtocolError: for anything else.
    """
    items = unpack(wire) if type(wire) is bytes else None
    if type(items) is not list or len(items) != count:
        raise ProtocolError(f"a request has {count} parts, found {reprlib.repr(items)}")
    return items


def extra_to_wire(*parts: Any) -> bytes:
    """Return what an answer says beside its values, in the form in which it travels."""
    return pack(list(parts))


def extra_from_wire(wire: Any, count: int) -> list[Any]:
    """Read the result of ``extra_to_wire`` for so many parts.

    Raises:
        ProtocolError: for anything else.
    """
    return _unpacked(wire, count)


class WireValues:
    """Values as they travel: two items each, and the segments that the items refer to.

    Attributes:
        items: the forms and contents, which follow the numbers of a header.
        segments: the buffers of large tensors.
    """

    __slots__ = ("items", "segments")

    def __init__(self, items: list[Any], segments: Sequence[Buffer] = ()) -> None:
        self.items = items
        self.segments: list[Buffer] = list(segments)

    @classmethod
    def of(cls, values: Iterable[Any]) -> WireValues:
        """Return values in the form in which they travel; arrays are borrowed until they were sent."""
        wire_values = cls([])
        items, segments = wire_values.items, wire_values.segments
        for value in values:
            write_value(value, items, segments)
        return wire_values

    @classmethod
    def received(cls, items: list[Any], segments: Sequence[Buffer]) -> WireValues:
        """Return the values of a frame that has arrived.

        Raises:
            ProtocolError: if any of them is malformed.
        """
        if len(items) % 2:
            raise ProtocolError(f"values are pairs of items, found {len(items)} items")
        for at in range(0, len(items), 2):
            form, content = items[at], items[at + 1]
            if type(form) is bytes:
                known = _forms.get(form) or _read_form(form)
                if type(content) is bytes and len(content) == known[2]:
                    continue
            _check(form, content, segments)
        values = _new(cls)  # without a call
        values.items, values.segments = items, list(segments)
        return values

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.items) // 2

    @property
    def nbytes(self) -> int:
        """The bytes of tensors that are too large for a header, as ``bytes_held`` counts them."""
        return sum(map(len, self.segments))

    def add(self, value: Any) -> None:
        """Add a value; an array is borrowed until it was sent.

        Raises:
            InvalidArgumentError: for a value that cannot be encoded.
        """
        write_value(value, self.items, self.segments)

    def pass_on(self, number: int, other: WireValues) -> None:
        """Add one of these values to others, without reading it."""
        form, content = self.items[2 * number : 2 * number + 2]
        if type(content) is int:
            other.segments.append(self.segments[content])
            content = len(other.segments) - 1
        other.items += (form, content)

    def read(self, number: int) -> Any:
        """Return a value, which belongs to the caller; see ``read_value``."""
        return read_value(self.items[2 * number], self.items[2 * number + 1], self.segments)

    def read_all(self) -> list[Any]:
        """Return all values; see ``read_value``."""
        items, segments = self.items, self.segments
        if len(items) <= 2:  # no frame of a comprehension for most runs
            return [read_value(items[0], items[1], segments)] if items else []
        return [read_value(items[at], items[at + 1], segments) for at in range(0, len(items), 2)]


NO_VALUES = WireValues([])
"""What a run without values has."""


def done_bytes(call: int, extra: Any, values: WireValues) -> int:
    """Return the size of the answer to a run, which is not kept: for traced steps alone it is encoded again."""
    return len(write_header([DONE, call, extra, *values.items])) + values.nbytes


def write_value(value: Any, items: list[Any], segments: list[Buffer]) -> None:
    """Append the form and the content of a value; an array is borrowed until it was sent.

    Args:
        value: the value.
        items: the items of a header.
        segments: the segments of its frame, for an array that is too large for the header.

    Raises:
        InvalidArgumentError: for a value that cannot be encoded.
        ResourceExhaustedError: if there is no memory for it.
    """
    try:
        form = _FORM_OF_SCALAR.get(type(value))
        if form is not None:
            items += (form, value.data.tobytes())  # its own tobytes() makes an array first
            return
        if not isinstance(value, (np.ndarray, np.generic)):
            items += (None, pack(value))
            return
        form = _form_of.get((value.dtype, value.shape))
        if form is not None and value.nbytes <= INLINE_LIMIT:  # nearly all
            items += (form, value.tobytes())
            return
        value = np.asarray(value)
        form = form or _new_form(value)
        if form is None:
            items += (None, pack(value))
        elif value.nbytes <= INLINE_LIMIT:
            items += (form, value.tobytes())
        else:
            items += (form, len(segments))
            segments.append(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    except OpError:
        raise
    except Exception as exc:  # what a class that nobody here knows does, or no memory
        raise not_encoded(exc) from exc


def fault_of(value: Any) -> OpError | None:
    """Return why a value cannot be encoded; ``None`` if it can."""
    try:
        write_value(value, [], [])
    except OpError as error:
        return error
    return None


def read_value(form: Any, content: Any, segments: Sequence[Buffer]) -> Any:
    """Return the value of a form and a content, which belongs to the caller; a segment is not copied.

    A tensor of rank 0 is a scalar of numpy, unless numpy has no scalars of its dtype itself.

    Args:
        form: its form.
        content: its content; ``None`` for a dead tensor, which has no value.
        segments: the segments of its frame.

    Raises:
        ProtocolError: if they are malformed.
    """
    if type(form) is bytes:
        dtype, shape, nbytes, is_scalar = _forms.get(form) or _read_form(form)
        if type(content) is bytes and len(content) == nbytes:
            if is_scalar:
                return _scalar(dtype, content)
            # A copy, so that the array is writable as one from a segment is.
            return np.ndarray(shape, dtype, bytearray(content))
    _check(form, content, segments)
    if form is None:
        if type(content) is _Opened:
            return content.take()
        return None if content is None else unpack(content)
    # Not ``np.ndarray``, which would refer to the owner of the memory instead of the segment: the segment
    # would count as free.
    return np.frombuffer(segments[content], np.uint8).view(dtype).reshape(shape)


def _new_form(array: np.ndarray[Any, Any]) -> bytes | None:
    """Return the form of an array, or ``None`` if the value codec has to encode it."""
    number = _NUMBER_OF.get(array.dtype)  # none for another byte order, either
    if number is None:
        return None
    form = bytes([number]) + np.array(array.shape, "<u8").tobytes()
    if len(_form_of) < _KEPT:
        _form_of[array.dtype, array.shape] = form
    return form


def _read_form(form: bytes) -> _Form:
    """Read and keep the dtype, the shape and the number of bytes that a form stands for.

    Raises:
        ProtocolError: for bytes that are no form.
    """
    dtype = _DTYPES.get(form[0]) if form else None
    sizes = form[1:]
    if dtype is None or len(sizes) % 8 or len(sizes) > 8 * _MAX_RANK:
        raise ProtocolError(f"a tensor has a dtype and up to {_MAX_RANK} sizes, found {form[:80]!r}")
    shape = tuple(np.frombuffer(sizes, "<u8").tolist())
    # numpy's own limit, which counts a size of 0 as 1.
    if math.prod([size or 1 for size in shape]) * dtype.itemsize >= _NUMBERS:
        raise ProtocolError(f"a tensor of shape {shape} cannot be held")
    read = dtype, shape, math.prod(shape) * dtype.itemsize, form in _SCALAR_FORMS
    if len(_forms) < _KEPT:
        _forms[form] = read
    return read


def _check(form: Any, content: Any, segments: Sequence[Buffer]) -> None:
    if type(form) is bytes:
        needed = (_forms.get(form) or _read_form(form))[2]
        if type(content) is int and 0 <= content < len(segments):
            content = segments[content]
        elif type(content) is not bytes:
            raise ProtocolError(
                f"a tensor's content is bytes or one of {len(segments)} segments, found {reprlib.repr(content)}"
            )
        if len(content) != needed:
            raise ProtocolError(f"a tensor takes {needed} bytes, got {len(content)}")
    elif form is not None or not (content is None or isinstance(content, bytes)):
        raise ProtocolError(f"a value has a form and a content, found {reprlib.repr((form, content))}")
