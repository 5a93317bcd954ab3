"""Queue runners and savers as messages, and in the collections of meta graphs."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession import Graph, GraphKeys, Session, float32, interop, ops, train
from actorsession.errors import CancelledError, OutOfRangeError
from actorsession.interop.training_protos import within_scope


def filled() -> train.QueueRunner:
    queue = ops.FIFOQueue(4, float32, shapes=[[]], name="q")
    put = queue.enqueue(2.5)
    types = (OutOfRangeError, CancelledError)
    return train.QueueRunner(queue, [put, put], queue_closed_exception_types=types)


def test_a_queue_runner_is_the_names_of_its_operations() -> None:
    with Graph().as_default():
        message: Any = interop.queue_runner_to_proto(filled())
        assert str(message).splitlines() == [
            'queue_name: "q"',
            'enqueue_op_name: "q_enqueue"',
            'enqueue_op_name: "q_enqueue"',
            'close_op_name: "q_Close"',
            'cancel_op_name: "q_Close_1"',
            "queue_closed_exception_types: OUT_OF_RANGE",
            "queue_closed_exception_types: CANCELLED",
        ]
        # What TensorFlow's own message of the same content is on the wire.
        assert message.SerializeToString() == (
            b'\n\x01q\x12\tq_enqueue\x12\tq_enqueue\x1a\x07q_Close"\tq_Close_1*\x02\x0b\x01'
        )


def test_a_queue_runner_is_made_of_names() -> None:
    with Graph().as_default():
        given = filled()
        message = interop.queue_runner_to_proto(given)
        made = train.QueueRunner.from_proto(message)
        assert made.queue.queue_ref is given.queue.queue_ref
        assert (made.queue.dtypes, made.queue.shapes[0].as_list()) == ([float32], [])
        assert made.enqueue_ops == given.enqueue_ops
        assert (made.close_op, made.cancel_op) == (given.close_op, given.cancel_op)
        assert made.queue_closed_exception_types == given.queue_closed_exception_types
        with pytest.raises(ValueError, match="mutually exclusive"):
            train.QueueRunner(given.queue, queue_runner_def=message)


def test_names_of_a_scope_are_written_without_it() -> None:
    with Graph().as_default() as graph:
        with graph.name_scope("here"):
            runner = filled()
        message: Any = interop.queue_runner_to_proto(runner, export_scope="here")
        assert (message.queue_name, message.close_op_name) == ("q", "q_Close")
        assert interop.queue_runner_to_proto(runner, export_scope="elsewhere") is None
        made = train.QueueRunner(queue_runner_def=message, import_scope="here")
        assert made.queue.queue_ref is runner.queue.queue_ref


def test_a_saver_is_the_names_of_its_nodes() -> None:
    with Graph().as_default():
        ops.Variable(1.0, name="v")
        saver = train.Saver(max_to_keep=3)
        message: Any = interop.saver_to_proto(saver)
        assert message.save_tensor_name == "save/control_dependency:0"
        assert (message.restore_op_name, message.max_to_keep) == ("save/restore_all", 3)
        assert interop.saver_to_proto(saver.saver_def) == message
        assert interop.saver_to_proto(saver, export_scope="other") is None
        assert interop.saver_to_proto(None) is None
        inner: Any = interop.saver_to_proto(saver, export_scope="save")
        assert inner.restore_op_name == "restore_all"
        assert within_scope(inner, "save") == message
        unbuilt = train.Saver(defer_build=True)
        assert interop.saver_to_proto(unbuilt) is None


def test_both_stand_in_meta_graphs(tmp_path: Any) -> None:
    with Graph().as_default() as graph:
        v = ops.Variable(1.0, name="v")
        runner = filled()
        train.add_queue_runner(runner)
        runner.queue.dequeue(name="take")
        saver = train.Saver()
        graph.add_to_collection(GraphKeys.SAVERS, saver)
        with Session() as session:
            session.run(v.initializer)
            path = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
        message = interop.export_meta_graph()
    message = interop.MetaGraphDef.FromString(message.SerializeToString())
    with Graph().as_default() as graph:
        interop.import_meta_graph(message, import_scope="again")
        (saver,) = graph.get_collection(GraphKeys.SAVERS)
        with Session() as session:
            saver.restore(session, path)
            assert session.run("again/v/Read/ReadVariableOp:0") == 1.0
            coord = train.Coordinator()
            threads = train.start_queue_runners(session, coord)
            assert session.run("again/take:0") == 2.5
            coord.request_stop()
            coord.join(threads)
