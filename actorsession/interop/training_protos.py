"""Queue runners and savers as messages, for ``.meta`` files.

Importing this module registers both with ``collections``.
"""

from __future__ import annotations

from typing import Any

from actorsession.errors import OpError
from actorsession.graph.extension import PROTO_VIEWS
from actorsession.interop import protos
from actorsession.interop.collections import register_proto_function, without_scope
from actorsession.interop.message import Message
from actorsession.ops import GraphKeys
from actorsession.train import QueueRunner, Saver

__all__ = ["QueueRunnerDef", "queue_runner_to_proto", "saver_to_proto", "within_scope"]


class QueueRunnerDef(Message):
    """The names of the operations of a queue runner."""

    SCHEMA = """
        1 queue_name string
        2 enqueue_op_name string*
        3 close_op_name string
        4 cancel_op_name string
        5 queue_closed_exception_types Code*
    """


def queue_runner_to_proto(runner: QueueRunner, export_scope: str | None = None) -> QueueRunnerDef | None:
    """Return a queue runner as the names of its operations; ``None`` if its name is outside the scope.

    Args:
        runner: the queue runner.
        export_scope: a name scope to strip from all names.
    """
    if export_scope and not runner.name.startswith(f"{export_scope.rstrip('/')}/"):
        return None

    def named(operation: Any) -> str:
        return without_scope(operation.name, export_scope)

    return QueueRunnerDef(
        queue_name=named(runner.queue),
        enqueue_op_name=[named(op) for op in runner.enqueue_ops],
        close_op_name=named(runner.close_op),
        cancel_op_name=named(runner.cancel_op),
        queue_closed_exception_types=[
            kind.error_code for kind in runner.queue_closed_exception_types if issubclass(kind, OpError)
        ],
    )


def saver_to_proto(saver: Any, export_scope: str | None = None) -> protos.SaverDef | None:
    """Return a saver, or its ``SaverDef``, as a message; ``None`` if it has no nodes in the scope.

    Args:
        saver: a ``Saver`` or a ``SaverDef``.
        export_scope: a name scope to strip from all names.
    """
    proto = saver.saver_def if isinstance(saver, Saver) else saver
    if proto is None:
        return None
    if export_scope and not proto.save_tensor_name.startswith(f"{export_scope.rstrip('/')}/"):
        return None
    return protos.SaverDef(
        filename_tensor_name=without_scope(proto.filename_tensor_name, export_scope),
        save_tensor_name=without_scope(proto.save_tensor_name, export_scope),
        restore_op_name=without_scope(proto.restore_op_name, export_scope),
        max_to_keep=proto.max_to_keep,
        sharded=proto.sharded,
        keep_checkpoint_every_n_hours=proto.keep_checkpoint_every_n_hours,
        version=proto.version or 2,
    )


def within_scope(proto: protos.SaverDef, import_scope: str | None) -> protos.SaverDef:
    """Return the ``SaverDef`` of the same saver after its graph was imported into a scope."""
    scoped = proto.copy()
    if import_scope:
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(scoped, field, f"{import_scope.rstrip('/')}/{getattr(scoped, field)}")
    return scoped


def _saver_from_proto(proto: protos.SaverDef, import_scope: str | None = None) -> Saver:
    return Saver(saver_def=within_scope(proto, import_scope))


register_proto_function(GraphKeys.QUEUE_RUNNERS, QueueRunnerDef, queue_runner_to_proto, QueueRunner.from_proto)
PROTO_VIEWS.fill("QueueRunner.to_proto", queue_runner_to_proto)
register_proto_function(GraphKeys.SAVERS, protos.SaverDef, saver_to_proto, _saver_from_proto)
