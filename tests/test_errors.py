"""Errors say whose fault it was, and keep saying it after a journey over the wire."""

from __future__ import annotations

import copy
import errno
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import errors
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    InternalError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ProtocolError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
    WorkerRestartedError,
    error_from_wire,
    error_to_wire,
    exhausted,
    first_error,
    from_exception,
)
from tests.rows import for_each

# Names and numbers as in tf.errors and gRPC, written down here a second time on purpose.
CODES = {
    "CancelledError": 1,
    "UnknownError": 2,
    "InvalidArgumentError": 3,
    "DeadlineExceededError": 4,
    "NotFoundError": 5,
    "AlreadyExistsError": 6,
    "PermissionDeniedError": 7,
    "ResourceExhaustedError": 8,
    "FailedPreconditionError": 9,
    "AbortedError": 10,
    "OutOfRangeError": 11,
    "UnimplementedError": 12,
    "InternalError": 13,
    "UnavailableError": 14,
    "DataLossError": 15,
    "UnauthenticatedError": 16,
}


def subclasses(kind: type[OpError]) -> list[type[OpError]]:
    """Every error class of ours below one, defined in the module itself."""
    found = [kind]
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            found += subclasses(below)
    return found


# -- classes and codes -----------------------------------------------------------------------------


@for_each("name, code", CODES.items())
def test_each_canonical_code_has_a_class_of_tensorflows_name(name: str, code: int) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, OpError)
    assert kind.error_code == code
    assert kind("why").error_code == code


def test_a_restarted_worker_is_an_aborted_call_and_a_bad_message_an_internal_error() -> None:
    assert issubclass(WorkerRestartedError, AbortedError)
    assert WorkerRestartedError.error_code == 10
    assert issubclass(ProtocolError, InternalError)
    assert ProtocolError.error_code == 13


def test_errors_of_building_are_the_python_errors_that_programs_expect() -> None:
    assert issubclass(errors.InaccessibleTensorError, ValueError)
    assert issubclass(errors.OperatorNotAllowedInGraphError, TypeError)


def test_all_lists_every_class_of_the_module() -> None:
    public = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}
    defined = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert public == defined


# -- where it happened -----------------------------------------------------------------------------


def test_a_plain_error_reads_as_its_message() -> None:
    assert str(InvalidArgumentError("no such thing")) == "no such thing"


def test_an_error_tells_where_it_happened() -> None:
    error = UnavailableError("gone", node="add", device="/cpu:0", task="/job:ps/task:1", source="train.py:7")
    assert str(error) == ("gone [node add, device /cpu:0, task /job:ps/task:1, built at train.py:7]")
    assert error.message == "gone"


def test_what_is_not_known_is_left_out() -> None:
    assert str(UnavailableError("gone", task="/job:ps/task:1")) == "gone [task /job:ps/task:1]"


def test_locate_fills_in_what_is_missing_and_returns_the_error_itself() -> None:
    error = InvalidArgumentError("bad", node="inner")
    assert error.locate(node="outer", device="/cpu:0", task="t", source="a.py:1") is error
    assert (error.node, error.device, error.task, error.source) == ("inner", "/cpu:0", "t", "a.py:1")


def test_errors_are_not_derived_unless_said_so() -> None:
    assert not CancelledError("because").derived
    assert CancelledError("because", derived=True).derived


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_of_an_error_says_the_same(duplicate: Any) -> None:
    error = AbortedError("late", node="n", device="d", task="t", source="s", derived=True)
    other = duplicate(error)
    assert type(other) is AbortedError
    assert vars(other) == vars(error)
    assert str(other) == str(error)


# -- foreign exceptions ----------------------------------------------------------------------------


def test_our_own_errors_stay_the_same_objects() -> None:
    error = AbortedError("mine")
    assert from_exception(error) is error


@for_each(
    "foreign, kind",
    [
        (ValueError("v"), InvalidArgumentError),
        (TypeError("t"), InvalidArgumentError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), InvalidArgumentError),
        (StopIteration("s"), OutOfRangeError),
        (MemoryError("m"), ResourceExhaustedError),
        (NotImplementedError("n"), UnimplementedError),
        (TimeoutError("late"), DeadlineExceededError),
        (ZeroDivisionError("z"), InvalidArgumentError),
        (OverflowError("o"), InvalidArgumentError),
        (IndexError("i"), InvalidArgumentError),
        (KeyError("k"), UnknownError),
        (RuntimeError("r"), UnknownError),
        (OSError("o"), UnknownError),
        (AttributeError("a"), UnknownError),
    ],
)
def test_a_foreign_exception_becomes_the_class_of_tensorflows_table(foreign: Exception, kind: type[OpError]) -> None:
    error = from_exception(foreign)
    assert type(error) is kind
    assert error.__cause__ is foreign
    assert error.message == f"{type(foreign).__name__}: {foreign}"


@for_each(
    "foreign, what",
    [
        (OSError(errno.ENOMEM, "o"), "memory"),
        (OSError(errno.EMFILE, "o"), "file descriptors of this process"),
        (OSError(errno.ENFILE, "o"), "file descriptors of this machine"),
        (OSError(errno.ENOSPC, "o"), "space on the disk"),
        (OSError(errno.EDQUOT, "o"), "space of the disk quota"),
        (RuntimeError("can't start new thread"), "threads"),
    ],
)
def test_an_exception_says_what_ran_out(foreign: Exception, what: str) -> None:
    error = from_exception(foreign)
    assert type(error) is ResourceExhaustedError
    assert error.message == f"no {what} left: {type(foreign).__name__}: {foreign}"
    assert exhausted(foreign) == what
    assert exhausted(ValueError("can't start")) is None


def test_an_exception_without_text_is_named_by_its_class() -> None:
    assert from_exception(RuntimeError()).message == "RuntimeError"


# -- over the wire ---------------------------------------------------------------------------------

text = st.text(max_size=20)
maybe = st.none() | text


@given(
    kind=st.sampled_from([kind for kind in subclasses(OpError)[1:] if "error_code" in vars(kind)]),
    message=text,
    node=maybe,
    device=maybe,
    task=maybe,
    source=maybe,
    derived=st.booleans(),
)
def test_every_error_comes_back_as_it_was_sent(kind: type[OpError], **fields: Any) -> None:
    error = kind(**fields)
    back = error_from_wire(error_to_wire(error))
    assert type(back) is kind
    assert vars(back) == vars(error)


def test_the_root_class_travels_as_an_unknown_error() -> None:
    assert type(error_from_wire(error_to_wire(OpError("what")))) is UnknownError


def test_a_subclass_that_peers_do_not_know_travels_as_the_nearest_that_they_do() -> None:
    class LostShardError(WorkerRestartedError):
        pass

    class OddError(OpError):
        pass

    assert type(error_from_wire(error_to_wire(LostShardError("x")))) is WorkerRestartedError
    assert type(error_from_wire(error_to_wire(OddError("x")))) is UnknownError


def test_a_subclass_cannot_pass_for_ours_by_its_name() -> None:
    Impostor = type("InvalidArgumentError", (AbortedError,), {})
    assert type(error_from_wire(error_to_wire(Impostor("x")))) is AbortedError


def test_a_class_of_a_newer_peer_is_read_as_an_unknown_error() -> None:
    error = error_from_wire(["QuotaExceededError", "too much", "n", None, None, None, True])
    assert type(error) is UnknownError
    assert (error.message, error.node, error.derived) == ("too much", "n", True)


@for_each(
    "value",
    [
        None,
        "text",
        [],
        {},
        ["AbortedError", "m", None, None, None, None],
        ["AbortedError", "m", None, None, None, None, 0],
        ["AbortedError", "m", None, None, None, None, False, False],
        ["AbortedError", 3, None, None, None, None, False],
        ["AbortedError", None, None, None, None, None, False],
        ["AbortedError", "m", 1, None, None, None, False],
        ["AbortedError", "m", None, None, None, b"s", False],
        [["AbortedError"], "m", None, None, None, None, False],
        [{}, "m", None, None, None, None, False],
        [None, "m", None, None, None, None, False],
    ],
)
def test_anything_else_is_a_protocol_error(value: Any) -> None:
    with pytest.raises(ProtocolError, match="a wire error"):
        error_from_wire(value)


# -- the first error of a step ---------------------------------------------------------------------


def test_the_first_real_error_wins_over_earlier_consequences() -> None:
    consequence = CancelledError("after that", derived=True)
    first, second = InvalidArgumentError("the cause"), AbortedError("another")
    assert first_error([consequence, first, second]) is first


def test_among_consequences_alone_the_first_is_taken() -> None:
    one, two = CancelledError("one", derived=True), CancelledError("two", derived=True)
    assert first_error([one, two]) is one


def test_without_errors_there_is_no_first_one() -> None:
    assert first_error([]) is None


BAD_REQUESTS: dict[str, Callable[[acts.Session, acts.Tensor], Any]] = {
    "a name that is not in the graph": lambda s, x: s.run("nothing"),
    "nothing to fetch": lambda s, x: s.run(None),
    "a feed for nothing": lambda s, x: s.run(x, {"nothing:0": 1.0}),
    "no feed": lambda s, x: s.run(x),
    "a wrong shape": lambda s, x: s.run(x, {x: [1.0, 2.0, 3.0]}),
    "a wrong type": lambda s, x: s.run(x, {x: ["a", "b"]}),
    "a number that is too large": lambda s, x: s.run("n:0", {"n:0": 2**70}),
    "complex numbers": lambda s, x: s.run(x, {x: [1j, 2]}),
    "no mapping": lambda s, x: s.run(x, [x]),  # type: ignore[arg-type]
    "rows that are not there": lambda s, x: s.run("row:0", {x: [1.0, 9.0]}),
    "too few values": lambda s, x: s.make_callable(x, [x])(),
    "a tensor of another graph": lambda s, x: s.run(elsewhere()),
}


def elsewhere() -> acts.Tensor:
    with acts.Graph().as_default():
        return acts.constant(1.0)


@pytest.mark.parametrize("request_", BAD_REQUESTS)
def test_what_a_bad_request_causes_has_one_base_class(request_: str) -> None:
    with acts.Graph().as_default():
        x = acts.placeholder("float32", [2])
        acts.gather(acts.constant([1.0, 2.0]), acts.cast(x[1], "int32"), name="row")
        acts.placeholder("int32", [], name="n")
        with acts.Session() as session, pytest.raises(acts.errors.RequestError):
            BAD_REQUESTS[request_](session, x)
