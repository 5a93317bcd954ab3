"""The texts of errors that leave a session, where programs and unit tests compare them with TensorFlow's.

An error without an operation reads as its message alone there; where it was raised is kept as a note, which
tracebacks show. Some messages begin with TensorFlow's words, and the library's explanation follows.
"""

from __future__ import annotations

import re

from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OpError
from actorsession.session.session_interface import SESSION_CLOSED

__all__ = ["reword"]

_UNFED = re.compile(r"(You must feed a value for placeholder tensor '[^']*' with dtype )(\w+) and shape (.*)")
_NO_DEVICE = re.compile(r"'([^']*)' requests device \S+, which does not exist here")
# The types that TensorFlow's kernels call otherwise than its programs do.
_CALLED = {"float16": "half", "float32": "float", "float64": "double"}
_LATE = re.compile(r"step \d+ exceeded the (session|run)'s limit of ")
# What TensorFlow calls operations that wait, by their type; a barrier is made of a queue.
_WAITS = {
    **dict.fromkeys(
        (
            "QueueDequeueV2",
            "QueueDequeueManyV2",
            "QueueDequeueUpToV2",
            "ReaderReadV2",
            "ReaderReadUpToV2",
            "BarrierTakeMany",
        ),
        "Dequeue",
    ),
    **dict.fromkeys(("QueueEnqueueV2", "QueueEnqueueManyV2", "BarrierInsertMany"), "Enqueue"),
    **dict.fromkeys(("AccumulatorTakeGradient", "SparseAccumulatorTakeGradient"), "TakeGrad"),
}


def reword(error: OpError, *, local: bool) -> None:
    """Give an error TensorFlow's first words, and leave the place of one without an operation out.

    Args:
        error: the error, which is changed; a second call changes nothing.
        local: whether it comes from a session of this process.
    """
    if type(error) is CancelledError and error.op is not None:
        what = _WAITS.get(error.op.type)
        if what is not None and "operation was cancelled" not in error.message:
            _begin(error, f"{what} operation was cancelled")
    elif not local and type(error) is CancelledError and error.message == SESSION_CLOSED:
        _begin(error, "Step was cancelled by an explicit call to `Session::Close()`")
    elif local and type(error) is DeadlineExceededError and _LATE.match(error.message):
        _begin(error, "Timed out waiting for notification")
    elif type(error) is InvalidArgumentError:
        if unfed := _UNFED.fullmatch(error.message):
            _say(error, unfed[1] + _CALLED.get(unfed[2], unfed[2]) + _shape(unfed[3]))
        elif absent := _NO_DEVICE.match(error.message):
            _begin(error, f"Cannot assign a device for operation {absent[1]}")
    if error.node is None and error.op is None and error.shows_origin:
        origin = error.origin
        error.shows_origin = False
        if origin:
            error.add_note(f"[{origin}]")


def _begin(error: OpError, words: str) -> None:
    _say(error, f"{words}: {error.message}")


def _say(error: OpError, message: str) -> None:
    error.message = message
    error.args = (message, *error.args[1:])


def _shape(said: str) -> str:
    """Return the end of the message with a shape; scalars and unknown shapes have none."""
    sizes = re.findall(r"\d+|None|\?", said) if said[:1] in "([" else []
    return f" and shape [{','.join('?' if s == 'None' else s for s in sizes)}]" if sizes else ""
