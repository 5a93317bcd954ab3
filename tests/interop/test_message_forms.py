"""Variables and queue runners that write themselves as messages, and are read back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import actorsession as acts
from actorsession import interop, ops, train
from actorsession.graph import message_forms


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with acts.Graph().as_default() as graph:
        yield graph


def test_a_variable_is_found_again_by_the_names_in_its_message() -> None:
    with acts.name_scope("outer"):
        v = ops.Variable(3.0, name="v", trainable=False)
    message = v.to_proto()
    assert (message.variable_name, message.is_resource, message.trainable) == (
        "outer/v:0",
        True,
        False,
    )
    assert ops.Variable.from_proto(message) is v
    with pytest.raises(KeyError):
        with acts.Graph().as_default():
            ops.Variable.from_proto(message)


def test_a_variable_that_was_imported_is_one_again() -> None:
    v = ops.Variable(3.0, name="v")
    message, stored = v.to_proto(), interop.graph_def_of(v.graph)
    with acts.Graph().as_default():
        interop.import_graph_def(stored, name="copy")
        copy = ops.Variable.from_proto(message, import_scope="copy")
        with acts.Session() as sess:
            sess.run(copy.initializer)
            assert sess.run(copy) == 3.0
        assert copy.to_proto("copy") == message


def test_what_is_outside_of_a_scope_is_not_written() -> None:
    v = ops.Variable(3.0, name="v")
    queue = ops.FIFOQueue(3, acts.float32)
    runner = train.QueueRunner(queue, [queue.enqueue(1.0)])
    assert (v.to_proto("other"), runner.to_proto("other")) == (None, None)


def test_a_queue_runner_is_written_and_read() -> None:
    queue = ops.FIFOQueue(3, acts.float32, name="q")
    runner = train.QueueRunner(queue, [queue.enqueue(1.0)])
    message = runner.to_proto()
    assert (message.queue_name, list(message.enqueue_op_name)) == ("q", ["q_enqueue"])
    assert train.QueueRunner.from_proto(message).enqueue_ops == runner.enqueue_ops


def test_an_object_that_nobody_writes_is_refused() -> None:
    with pytest.raises(TypeError, match="there is no message for a int"):
        message_forms.written(3, None)
