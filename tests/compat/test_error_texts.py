"""Errors as programs and unit tests raise, look at and compare them."""

from __future__ import annotations

import copy
import logging
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from actorsession import errors
from actorsession.compat.v1.python.ops import data_flow_ops
from actorsession.compat.v1.sessions.error_texts import reword
from actorsession.plan.placement_log import PLACEMENT_LOG
from tests.session.inner import direct_session

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture(name="server")
def served() -> Iterator[Any]:
    server = tf.train.Server.create_local_server()
    yield server
    server.stop()


def placeholders() -> tuple[Any, Any, Any]:
    a, b, c = (tf.placeholder(tf.float32, [], name=name) for name in "abc")
    return a, b, c


@pytest.mark.parametrize("remote", [False, True])
def test_an_error_of_a_partial_run_ends_as_tensorflow_ends_it(server: Any, remote: bool) -> None:
    with tf.Graph().as_default(), tf.Session(server.target if remote else "") as sess:
        a, b, c = placeholders()
        first, second = a + b, a * c
        handle = sess.partial_run_setup([first, second], [a, b, c])
        assert sess.partial_run(handle, first, {a: 1, b: 2}) == 3.0
        with pytest.raises(tf.errors.InvalidArgumentError) as said:
            sess.partial_run(handle, second, {a: 1, c: 3})
        assert str(said.value).endswith("has already been fed.")
        assert str(said.value) == said.value.message
        assert (said.value.op, said.value.node_def, said.value.error_code) == (None, None, 3)
        with pytest.raises(tf.errors.InvalidArgumentError) as said:
            sess.partial_run(handle, first, {c: 3})
        assert str(said.value).endswith("has already been fetched.")
        less = sess.partial_run_setup([first], [a, b])
        for fetch, feeds in ((first, {a: 1, b: 2, c: 3}), (second, {a: 1})):
            with pytest.raises(tf.errors.InvalidArgumentError) as said:
                sess.partial_run(less, fetch, feeds)
            assert str(said.value).endswith("was not specified in partial_run_setup.")


def test_the_task_of_such_an_error_is_kept_beside_its_text(server: Any) -> None:
    with tf.Graph().as_default(), tf.Session(server.target) as sess:
        a, b, c = placeholders()
        handle = sess.partial_run_setup([a + b], [a, b])
        with pytest.raises(tf.errors.InvalidArgumentError) as said:
            sess.partial_run(handle, [], {c: 1.0})
    assert said.value.task == "/job:localhost/replica:0/task:0"
    assert "".join(traceback.format_exception(said.value)).endswith("[task /job:localhost/replica:0/task:0]\n")


def test_an_error_of_an_operation_in_a_partial_run_has_the_operation() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [], name="x")
        handle = sess.partial_run_setup([x * 2.0], [])
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value") as said:
            sess.partial_run(handle, "mul:0")
        assert said.value.op is x.op


def _queue(full: bool) -> Any:
    queue = tf.FIFOQueue(1, tf.float32, [])
    return queue, queue.enqueue(1.0) if full else tf.no_op()


def _dequeue() -> tuple[Any, Any]:
    queue, before = _queue(full=False)
    return queue.dequeue(), before


def _dequeue_many() -> tuple[Any, Any]:
    queue, before = _queue(full=True)
    return queue.dequeue_many(2), before


def _enqueue() -> tuple[Any, Any]:
    queue, before = _queue(full=True)
    return queue.enqueue(2.0), before


def _enqueue_many() -> tuple[Any, Any]:
    queue, before = _queue(full=True)
    return queue.enqueue_many([[2.0]]), before


def _take_many() -> tuple[Any, Any]:
    return data_flow_ops.Barrier([tf.float32], [[]]).take_many(1)[1], tf.no_op()


def _take_grad() -> tuple[Any, Any]:
    return tf.ConditionalAccumulator(tf.float32, []).take_grad(1), tf.no_op()


def _read() -> tuple[Any, Any]:
    queue = tf.FIFOQueue(1, tf.string, [])
    return tf.TextLineReader().read(queue)[1], tf.no_op()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (_dequeue, "Dequeue"),
        (_dequeue_many, "Dequeue"),
        (_enqueue, "Enqueue"),
        (_enqueue_many, "Enqueue"),
        (_take_many, "Dequeue"),
        (_take_grad, "TakeGrad"),
        (_read, "Dequeue"),
    ],
)
def test_closing_a_session_names_the_operation_that_waited(build: Callable[[], tuple[Any, Any]], words: str) -> None:
    found: list[Any] = []
    waiting, before = build()
    sess = tf.Session()
    sess.run(before)

    def run() -> None:
        try:
            sess.run(waiting)
        except tf.errors.OpError as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    operation = waiting[0] if isinstance(waiting, list) else waiting
    operation = getattr(operation, "op", operation)
    _until_waiting(sess)
    sess.close()
    thread.join(10)
    (error,) = found
    assert isinstance(error, tf.errors.CancelledError)
    assert error.message == f"{words} operation was cancelled: Session has been closed."
    assert error.op is operation


def _until_waiting(sess: Any) -> None:
    """Return once the session has a step that waits for what comes from outside."""
    limit = time.monotonic() + 10
    while not any(step.suspended for step in direct_session(sess)._steps.now()):
        assert time.monotonic() < limit
        time.sleep(0.001)


def test_closing_a_remote_session_has_tensorflows_words() -> None:
    error = tf.errors.CancelledError(None, None, "Session has been closed.")
    reword(error, local=False)
    words = "Step was cancelled by an explicit call to `Session::Close()`: Session has been closed."
    assert error.message == words
    reword(error, local=False)
    assert error.message == words


def test_a_run_that_takes_too_long_ends_with_tensorflows_words() -> None:
    queue = tf.FIFOQueue(1, tf.float32, [])
    take, put = queue.dequeue(), queue.enqueue(37.0)
    words = r"^Timed out waiting for notification: step \d+ exceeded the {}'s limit"
    with tf.Session() as sess:
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError, match=words.format("run")):
                sess.run(take, options=tf.RunOptions(timeout_in_ms=10))
        sess.run(put)
        assert sess.run(take) == 37.0
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=10)) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError, match=words.format("session")):
            sess.run(take)


def test_operations_tell_which_ones_they_stand_for() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        a = tf.constant(0.0)
        with graph._original_op(a.op):  # type: ignore[attr-defined]
            b = tf.identity(a)
        with graph._original_op(b.op):  # type: ignore[attr-defined]
            c = tf.placeholder(tf.float32)
            with graph._original_op(None):  # type: ignore[attr-defined]
                alone = tf.identity(c)
        with pytest.raises(tf.errors.InvalidArgumentError) as said:
            sess.run(c)
        failed: Any = said.value.op
        assert (failed, failed._original_op) == (c.op, b.op)
        assert failed._original_op._original_op is a.op
        assert (a.op._original_op, alone.op._original_op) == (None, None)


def test_a_second_interactive_session_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    tf.InteractiveSession._active_session_count = 0
    with tf.Graph().as_default(), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with caplog.at_level(logging.DEBUG):
            first = tf.InteractiveSession()
            assert not seen
            second = tf.InteractiveSession()
        (warning,) = seen
        assert "An interactive session is already active" in str(warning.message)
        assert warning.filename == __file__
        assert "interactive" not in caplog.text
        assert tf.InteractiveSession._active_session_count == 2
        second.close()
        second.close()
        assert tf.InteractiveSession._active_session_count == 1
        tf.InteractiveSession._active_session_count = 0
        tf.InteractiveSession().close()
        first.close()
        assert (len(seen), tf.InteractiveSession._active_session_count) == (1, 0)


@pytest.fixture(name="quiet")
def placement_is_not_shown_afterwards() -> Iterator[None]:
    yield
    log = logging.getLogger(PLACEMENT_LOG)
    log.handlers.clear()
    log.setLevel(logging.NOTSET)


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.usefixtures("quiet")
def test_the_devices_of_nodes_are_written_to_standard_error(remote: bool, capfd: pytest.CaptureFixture[str]) -> None:
    config = tf.ConfigProto(log_device_placement=True)
    server = tf.train.Server.create_local_server(config=config) if remote else None
    total = tf.constant(1, name="one") + tf.placeholder_with_default(2, [], name="two")
    with tf.Session(server.target if server else "", config=None if remote else config) as sess:
        assert sess.run(total) == 3
    if server:
        server.stop()
    said = capfd.readouterr().err
    task = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert said.startswith(f"Device mapping:\n{task} -> ")
    assert f"\none: (Const): {task} (" in said


@pytest.mark.parametrize(
    ("dtype", "shape", "words"),
    [
        (tf.float32, [2, None], "with dtype float and shape [2,?]"),
        (tf.float64, [3], "with dtype double and shape [3]"),
        (tf.float16, [], "with dtype half"),
        (tf.int32, None, "with dtype int32"),
    ],
)
def test_a_placeholder_that_is_not_fed_is_described_as_by_a_kernel(dtype: Any, shape: Any, words: str) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(dtype, shape, name="x")
        for fetch in (x, tf.identity(x)):
            with pytest.raises(tf.errors.InvalidArgumentError) as said:
                sess.run(fetch)
            expected = f"You must feed a value for placeholder tensor 'x' {words}"
            assert said.value.message == expected
            assert said.value.op is x.op


def test_a_device_that_is_not_there_cannot_be_assigned() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.device("/device:CPU:7"):
            there = tf.constant(1.0, name="there")
        with pytest.raises(tf.errors.InvalidArgumentError) as said:
            sess.run(there)
        assert said.value.message.startswith("Cannot assign a device for operation there: ")
        assert "the devices are: /job:localhost/replica:0/task:0/device:CPU:0" in said.value.message
        assert said.value.op is there.op


def test_devices_are_described_as_by_tensorflow() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        (device,) = sess.list_devices()
        assert device.name == "/job:localhost/replica:0/task:0/device:CPU:0"
        assert (device.device_type, device.memory_limit_bytes > 0) == ("CPU", True)
        assert str(device).startswith(f"_DeviceAttributes({device.name}, CPU, ")


def test_a_program_raises_errors_with_tensorflows_arguments() -> None:
    for made in (
        tf.errors.InvalidArgumentError(None, None, "said"),
        tf.errors.InvalidArgumentError(node_def=None, op=None, message="said"),
        tf.errors.InvalidArgumentError(None, None, message="said"),
        tf.errors.InvalidArgumentError(None, None, "said", {"more": b"payload"}),
        tf.OpError(None, None, "said", tf.errors.INVALID_ARGUMENT),
        tf.OpError(None, None, message="said", error_code=tf.errors.INVALID_ARGUMENT),
    ):
        assert (made.node_def, made.op, made.message) == (None, None, "said")
        assert (made.error_code, str(made)) == (3, "said")
        assert isinstance(made, errors.OpError)
    assert tf.OpError(None, None, "said").error_code == tf.errors.UNKNOWN


def test_an_error_knows_the_operation_that_it_is_about() -> None:
    c = tf.constant(1, name="c")
    made = tf.errors.NotFoundError(c.op.node_def, c.op, "said")
    assert (made.op, made.node_def.name, made.node) == (c.op, "c", "c")
    # An error can be copied.
    copied = copy.copy(tf.errors.AbortedError(None, None, "said"))
    assert (type(copied), copied.message) == (tf.errors.AbortedError, "said")

    # Classes of a program are caught as what they derive from.
    class NoMore(tf.errors.OutOfRangeError):
        def __init__(self) -> None:
            super().__init__(None, None, "no more")

    with pytest.raises(errors.OutOfRangeError, match="no more") as caught:
        raise NoMore
    assert caught.value.error_code == tf.errors.OUT_OF_RANGE
