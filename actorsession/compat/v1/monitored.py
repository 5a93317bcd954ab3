"""Monitored sessions: variables are initialised or restored, hooks run around each step.

A session that is lost with its worker (AbortedError, UnavailableError) is made anew, from the last
checkpoint, and the step is run again. ``hooks`` has the hooks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from actorsession import ops
from actorsession.compat.v1.graphs import get_default_graph
from actorsession.compat.v1.hooks import (
    CheckpointSaverHook,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from actorsession.compat.v1.savers import Saver
from actorsession.compat.v1.sessions import Session
from actorsession.errors import (
    AbortedError,
    DeadlineExceededError,
    OutOfRangeError,
    UnavailableError,
)
from actorsession.ops import GraphKeys
from actorsession.train import Coordinator, latest_checkpoint, start_queue_runners

__all__ = [
    "ChiefSessionCreator", "MonitoredSession", "MonitoredTrainingSession", "Scaffold",
    "SingularMonitoredSession", "WorkerSessionCreator",
]  # fmt: skip

_log = logging.getLogger("actorsession.compat")

_LOST = (AbortedError, UnavailableError)
_USE_DEFAULT = object()
_POLL_SECONDS = 0.5  # between two looks at whether the chief has initialised the variables


class Scaffold:
    """The operations that a program needs beside its own; those left out are made.

    Args:
        init_op: gives variables their values.
        init_feed_dict: what is fed for it.
        init_fn: called with the scaffold and the session after it.
        ready_op: gives the names of variables that have no value.
        ready_for_local_init_op: accepted for TensorFlow's sake.
        local_init_op: initialises what belongs to one session.
        summary_op: accepted for TensorFlow's sake.
        saver: saves and restores.
        copy_from_scaffold: another one, whose parts stand in for those that are left out.
        local_init_feed_dict: what is fed for ``local_init_op``.
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
        def part(name: str, given: Any) -> Any:
            return getattr(copy_from_scaffold, name, None) if given is None else given

        self.init_op = part("init_op", init_op)
        self.init_feed_dict = part("init_feed_dict", init_feed_dict)
        self.init_fn = init_fn
        self.ready_op = part("ready_op", ready_op)
        self.ready_for_local_init_op = part("ready_for_local_init_op", ready_for_local_init_op)
        self.local_init_op = part("local_init_op", local_init_op)
        self.summary_op = part("summary_op", summary_op)
        self.saver = part("saver", saver)
        self.local_init_feed_dict = part("local_init_feed_dict", local_init_feed_dict)

    def finalize(self) -> Scaffold:
        """Finds or makes what is missing, and finalizes the default graph."""
        graph = get_default_graph()
        made: Mapping[str, tuple[str, Callable[[], Any]]] = {
            "init_op": (GraphKeys.INIT_OP, ops.global_variables_initializer),
            "ready_op": (GraphKeys.READY_OP, ops.report_uninitialized_variables),
            "local_init_op": (GraphKeys.LOCAL_INIT_OP, _local_init_op),
            "saver": (GraphKeys.SAVERS, lambda: Saver(allow_empty=True)),
        }
        for name, (key, make) in made.items():
            if getattr(self, name) is None:
                if not graph.get_collection(key):
                    # Another scaffold of the graph finds it there, which is then finalized.
                    graph.add_to_collection(key, make())
                setattr(self, name, graph.get_collection(key)[0])
        self.saver.build()
        graph.finalize()
        return self


def _local_init_op() -> Any:
    tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return ops.group(ops.local_variables_initializer(), *tables)


class ChiefSessionCreator:
    """Makes sessions of the task that initialises or restores the variables.

    Args:
        scaffold: the operations for it.
        master: address of the master.
        config: settings of the session.
        checkpoint_dir: folder of checkpoints; the latest one is restored.
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
        """A new session, in which all variables have values."""
        scaffold = self._scaffold.finalize()
        session = Session(self._master, config=self._config)
        try:
            path = self._path or (latest_checkpoint(self._folder) if self._folder else None)
            if path is not None:
                scaffold.saver.restore(session, path)
            else:
                session.run(scaffold.init_op, scaffold.init_feed_dict)
                if scaffold.init_fn is not None:
                    scaffold.init_fn(scaffold, session)
            session.run(scaffold.local_init_op, scaffold.local_init_feed_dict)
            missing = session.run(scaffold.ready_op)
            if len(missing):
                raise RuntimeError(
                    "Init operations did not make model ready. Variables not initialized: "
                    f"{', '.join(name.decode() for name in missing)}"
                )
        except BaseException:
            session.close()
            raise
        return session


class WorkerSessionCreator:
    """Makes sessions of the other tasks, which wait until the variables have values.

    Args:
        scaffold: the operations for it.
        master: address of the master.
        config: settings of the session.
        max_wait_secs: seconds to wait at most.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._limit = max_wait_secs

    def create_session(self) -> Session:
        """A new session, when all variables have values.

        Raises:
            DeadlineExceededError: if they have none for too long.
        """
        scaffold = self._scaffold.finalize()
        session = Session(self._master, config=self._config)
        end = time.monotonic() + self._limit
        try:
            session.run(scaffold.local_init_op, scaffold.local_init_feed_dict)
            while len(missing := session.run(scaffold.ready_op)):
                if time.monotonic() >= end:
                    raise DeadlineExceededError(
                        f"Session was not ready after waiting {self._limit} secs: not initialized are "
                        f"{', '.join(name.decode() for name in missing)}"
                    )
                time.sleep(min(_POLL_SECONDS, self._limit))
        except BaseException:
            session.close()
            raise
        return session


class MonitoredSession:
    """A session with hooks, which is made anew when it is lost.

    Args:
        session_creator: has ``create_session``.
        hooks: the hooks.
        stop_grace_period_secs: how long threads may take to end.
    """

    _recovers = True

    def __init__(
        self,
        session_creator: Any = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._creator = session_creator or ChiefSessionCreator()
        self._hooks = list(hooks or ())
        self._grace = stop_grace_period_secs
        self._session: Any = None
        self._coord = Coordinator()
        self._closed = False
        for hook in self._hooks:
            hook.begin()
        self._create()

    def _create(self) -> None:
        self._coord = Coordinator()
        while True:
            try:
                self._session = self._creator.create_session()
                start_queue_runners(self._session, self._coord)
                for hook in self._hooks:
                    hook.after_create_session(self._session, self._coord)
                return
            except _LOST as exc:
                self._let_go()
                if not self._recovers:
                    raise
                _log.info("the session was lost while it was made, and is made anew: %s", exc)
                self._coord = Coordinator()
            except BaseException:
                self._let_go()
                raise

    @property
    def graph(self) -> Any:
        """The graph of the session."""
        return None if self._session is None else self._session.graph

    def should_stop(self) -> bool:
        """Whether a hook, a thread or the end of input says that this is all."""
        return self._closed or self._coord.should_stop()

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Runs a step with all hooks; arguments as ``Session.run``.

        Raises:
            RuntimeError: if the session is closed, or two feed the same.
        """
        if self._closed:
            raise RuntimeError("Run called even after should_stop requested.")
        while True:
            try:
                return self._run(SessionRunArgs(fetches, feed_dict, options), run_metadata)
            except _LOST as exc:
                if not self._recovers:
                    raise
                _log.info("the session was lost, and is made anew: %s", exc)
                self._let_go()
                self._create()
            except Exception:
                # What a thread failed with is why the step did, in most cases.
                self._coord.raise_requested_exception()
                raise

    def _run(self, asked: SessionRunArgs, run_metadata: Any) -> Any:
        context = SessionRunContext(asked, self._session)
        feeds = dict(asked.feed_dict or {})
        fetched: dict[Any, Any] = {"caller": asked.fetches}
        options = asked.options
        for hook in self._hooks:
            wants = hook.before_run(context)
            if wants is None:
                continue
            if wants.fetches is not None:
                fetched[hook] = wants.fetches
            twice = [key for key in wants.feed_dict or {} if key in feeds]
            if twice:
                raise RuntimeError(f"Same tensor is fed by two hooks or the program: {twice}")
            feeds.update(wants.feed_dict or {})
            options = wants.options if options is None else options
        keys = list(fetched)
        found = self._session.run(
            [fetched[key] for key in keys], feeds or None, options, run_metadata
        )
        results = dict(zip(keys, found, strict=True))
        for hook in self._hooks:
            values = SessionRunValues(results.get(hook), options, run_metadata)
            hook.after_run(context, values)
        if context.stop_requested:
            self._coord.request_stop()
        return results["caller"]

    def close(self) -> None:
        """Ends hooks, threads and session."""
        self._close(ended=True)

    def _close(self, *, ended: bool) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            if ended:
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            self._coord.request_stop()
            try:
                self._coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
            finally:
                self._session.close()

    def _let_go(self) -> None:
        """Drops a session that is lost, with its threads."""
        self._coord.request_stop()
        if self._session is not None:
            self._session.close()
            self._session = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        over = exception_type is not None and issubclass(
            exception_type, (OutOfRangeError, StopIteration)
        )
        self._close(ended=exception_type is None or over)
        return over


class SingularMonitoredSession(MonitoredSession):
    """A session with hooks that ends with the first error.

    Args:
        hooks: the hooks.
        scaffold: as for ``ChiefSessionCreator``, and so are the others.
        master: address of the master.
        config: settings.
        checkpoint_dir: folder of checkpoints.
        stop_grace_period_secs: how long threads may take to end.
        checkpoint_filename_with_path: a checkpoint to restore.
    """

    _recovers = False

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The session without hooks."""
        return self._session


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = _USE_DEFAULT,
    save_summaries_steps: Any = _USE_DEFAULT,
    save_summaries_secs: Any = _USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = _USE_DEFAULT,
    summary_dir: str | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """A monitored session for training.

    Args:
        master: address of the master.
        is_chief: whether this task initialises, restores and saves.
        checkpoint_dir: folder of checkpoints; without it nothing is saved.
        scaffold: the operations for it.
        hooks: hooks of every task.
        chief_only_hooks: hooks of the chief.
        save_checkpoint_secs: seconds from one checkpoint to the next; 600 if nothing is said.
        save_summaries_steps: accepted for TensorFlow's sake, and so are all about summaries.
        save_summaries_secs: likewise.
        config: settings.
        stop_grace_period_secs: how long threads may take to end.
        log_step_count_steps: accepted for TensorFlow's sake.
        max_wait_secs: how long other tasks wait for the chief.
        save_checkpoint_steps: steps from one checkpoint to the next.
        summary_dir: accepted for TensorFlow's sake.
        save_graph_def: whether the graph is written beside checkpoints.
    """
    scaffold = scaffold or Scaffold()
    found = list(hooks or ())
    if not is_chief:
        waiting = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(waiting, found, stop_grace_period_secs)
    seconds, steps = save_checkpoint_secs, save_checkpoint_steps
    if seconds is _USE_DEFAULT and steps is _USE_DEFAULT:
        seconds = 600
    interval: Mapping[str, Any] = {
        "save_secs": None if seconds is _USE_DEFAULT else seconds,
        "save_steps": None if steps is _USE_DEFAULT else steps,
    }
    if checkpoint_dir and any(interval.values()):
        found.append(
            CheckpointSaverHook(
                checkpoint_dir, **interval, scaffold=scaffold, save_graph_def=save_graph_def
            )
        )
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, [*found, *(chief_only_hooks or ())], stop_grace_period_secs)
