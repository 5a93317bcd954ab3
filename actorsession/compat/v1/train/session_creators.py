"""Creators of the sessions of monitored sessions: for the chief, and for the tasks that wait for it.

``monitored_session`` uses them; ``session_manager`` does the work.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from actorsession import ops
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.sessions.session import Session
from actorsession.compat.v1.train.checkpoints.savers import Saver
from actorsession.compat.v1.train.graph_parts import default_local_init_op, get_or_create
from actorsession.compat.v1.train.session_manager import SessionManager
from actorsession.durations import checked_seconds
from actorsession.graph.dtypes import string
from actorsession.ops import GraphKeys
from actorsession.opsets.summaries.functions import merge_all

__all__ = ["ChiefSessionCreator", "Scaffold", "SessionCreator", "WorkerSessionCreator"]

_POLL_SECONDS = 0.5  # between two checks whether the chief has initialised the variables


class Scaffold:
    """The auxiliary operations of a program; those that are omitted are created.

    Args:
        init_op: initialises the variables.
        init_feed_dict: the feeds of ``init_op``.
        init_fn: called with the scaffold and the session after ``init_op``.
        ready_op: returns the names of uninitialised variables.
        ready_for_local_init_op: returns the names of uninitialised variables that ``local_init_op`` depends
            on.
        local_init_op: initialises local variables and tables.
        summary_op: the merged summaries; all of the graph if omitted.
        saver: the saver.
        copy_from_scaffold: another scaffold, which provides the operations that are omitted.
        local_init_feed_dict: the feeds of ``local_init_op``.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any, Any], None] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError(f"copy_from_scaffold is not a Scaffold instance: {copy_from_scaffold!r:.100}")

        def part(name: str, value: Any) -> Any:
            return getattr(copy_from_scaffold, name, None) if value is None else value

        self.init_op = part("init_op", init_op)
        self.init_feed_dict = part("init_feed_dict", init_feed_dict)
        self._user_init_fn: Any = part("_user_init_fn", init_fn)
        self.init_fn: Any = None if self._user_init_fn is None else self._call_init_fn
        self.ready_op = part("ready_op", ready_op)
        self.ready_for_local_init_op = part("ready_for_local_init_op", ready_for_local_init_op)
        self.local_init_op = part("local_init_op", local_init_op)
        self.summary_op = part("summary_op", summary_op)
        self.saver = part("saver", saver)
        self.local_init_feed_dict = part("local_init_feed_dict", local_init_feed_dict)

    def _call_init_fn(self, session: Any) -> Any:
        return self._user_init_fn(self, session)

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Any) -> Any:
        """Return the element of a collection, or make one; see ``get_or_create``.

        Args:
            arg_name: name of the argument, for messages.
            collection_key: the collection.
            default_constructor: makes the element.

        Raises:
            RuntimeError: if the collection has several.
        """
        if len(get_default_graph().get_collection(collection_key)) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one '
                f"to use by passing it to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to "
                "use)"
            )
        return get_or_create(collection_key, default_constructor)

    @staticmethod
    def default_local_init_op() -> Any:
        """Return an operation that initialises local variables and tables."""
        return default_local_init_op()

    def finalize(self) -> Scaffold:
        """Find or create the missing operations, and finalize the default graph.

        Raises:
            RuntimeError: if a collection has several elements to choose from.
        """
        graph = get_default_graph()
        parts: Mapping[str, tuple[str, Callable[[], Any]]] = {
            "init_op": (GraphKeys.INIT_OP, lambda: ops.group(ops.global_variables_initializer())),
            "ready_op": (
                GraphKeys.READY_OP,
                # In TensorFlow the names of resources follow.
                lambda: ops.concat([ops.report_uninitialized_variables(), ops.constant([], string)], 0),
            ),
            "ready_for_local_init_op": (
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: ops.report_uninitialized_variables(ops.global_variables()),
            ),
            "local_init_op": (GraphKeys.LOCAL_INIT_OP, default_local_init_op),
            "summary_op": (GraphKeys.SUMMARY_OP, merge_all),
            "saver": (GraphKeys.SAVERS, lambda: Saver(allow_empty=True)),
        }
        for name, (key, make) in parts.items():
            if getattr(self, name) is None:
                setattr(self, name, self.get_or_default(name, key, make))
        self.saver.build()
        graph.finalize()
        return self


def _manager(scaffold: Scaffold) -> SessionManager:
    return SessionManager(
        scaffold.local_init_op,
        scaffold.ready_op,
        scaffold.ready_for_local_init_op,
        recovery_wait_secs=_POLL_SECONDS,
        local_init_feed_dict=scaffold.local_init_feed_dict,
    )


class SessionCreator(abc.ABC):
    """A creator of the sessions of a ``MonitoredSession``."""

    @abc.abstractmethod
    def create_session(self) -> Session:
        """Return a new session."""


class ChiefSessionCreator(SessionCreator):
    """A creator of sessions for the task that initialises or restores the variables.

    Args:
        scaffold: the operations that prepare the model.
        master: the address of the master.
        config: settings of the session.
        checkpoint_dir: the folder of checkpoints; the latest one is restored.
        checkpoint_filename_with_path: a checkpoint to restore instead.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._folder = checkpoint_dir
        self._path = checkpoint_filename_with_path

    def create_session(self) -> Session:
        """Return a new session in which all variables are initialised.

        Raises:
            RuntimeError: if variables are uninitialised after the initialisation; it names them.
        """
        scaffold = self._scaffold.finalize()
        return _manager(scaffold).prepare_session(
            self._master,
            scaffold.init_op,
            scaffold.saver,
            self._folder,
            self._path,
            config=self._config,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """A creator of sessions for the other tasks, which wait until the variables are initialised.

    Args:
        scaffold: the operations that prepare the model.
        master: the address of the master.
        config: settings of the session.
        max_wait_secs: the maximal time to wait in seconds.
    """

    def __init__(
        self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, max_wait_secs: float = 30 * 60
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._limit = checked_seconds("max_wait_secs", max_wait_secs)

    def create_session(self) -> Session:
        """Return a new session once all variables are initialised.

        Raises:
            DeadlineExceededError: if they are uninitialised for too long; it names them.
        """
        manager = _manager(self._scaffold.finalize())
        return manager.wait_for_session(self._master, self._config, self._limit)
