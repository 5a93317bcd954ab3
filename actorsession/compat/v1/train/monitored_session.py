"""Monitored sessions: variables are initialised or restored, and hooks run around each step.

A session that is lost with its worker (``AbortedError``, ``UnavailableError``) is recreated from the last
checkpoint, and the step is run again. ``hooks`` holds the hooks, ``session_creators`` the classes that create
sessions, ``session_layers`` what is put around them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.train import session_layers
from actorsession.compat.v1.train.hooks.basic import SessionRunHook
from actorsession.compat.v1.train.hooks.checkpoints import CheckpointSaverHook
from actorsession.compat.v1.train.hooks.steps import StepCounterHook
from actorsession.compat.v1.train.hooks.summaries import SummarySaverHook
from actorsession.compat.v1.train.session_creators import ChiefSessionCreator, Scaffold, WorkerSessionCreator
from actorsession.compat.v1.train.session_layers import CoordinatedSession, HookedSession, RecoverableSession
from actorsession.durations import checked_seconds
from actorsession.errors import OutOfRangeError
from actorsession.process_bound import ProcessBound
from actorsession.train import Coordinator, start_queue_runners

__all__ = ["MonitoredSession", "MonitoredTrainingSession", "SingularMonitoredSession"]

_USE_DEFAULT = object()


class _Creator:
    """Makes the inner sessions of a monitored session, and has the innermost and its coordinator."""

    def __init__(self, creator: Any, hooks: Sequence[SessionRunHook], grace: float) -> None:
        self._creator = creator
        self._hooks = hooks
        self._grace = checked_seconds("stop_grace_period_secs", grace)
        self.tf_sess: Any = None
        self.coord: Any = None

    def create_session(self) -> CoordinatedSession:
        """Create a session, start its threads, and tell the hooks."""
        self.tf_sess = self._creator.create_session()
        self.coord = Coordinator(clean_stop_exception_types=())
        try:
            start_queue_runners(self.tf_sess, self.coord)
            for hook in self._hooks:
                hook.after_create_session(self.tf_sess, self.coord)
        except BaseException:
            self.coord.request_stop()
            self.tf_sess.close()
            raise
        return CoordinatedSession(HookedSession(self.tf_sess, self._hooks), self.coord, self._grace)


class MonitoredSession(ProcessBound):
    """A session with hooks, which is recreated when it is lost.

    Args:
        session_creator: an object with a method ``create_session``.
        hooks: the hooks.
        stop_grace_period_secs: how long threads may take to end.
    """

    StepContext = session_layers.StepContext
    _recovers = True

    def __init__(
        self,
        session_creator: Any = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._hooks = list(hooks or ())
        self._was_final = get_default_graph().finalized
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = _Creator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._sess: Any = (
            RecoverableSession(self._coordinated_creator)
            if self._recovers
            else self._coordinated_creator.create_session()
        )

    # Programs that need the session without hooks, such as for a saver, find it by TensorFlow's names.

    def _tf_sess(self) -> Any:
        return self._coordinated_creator.tf_sess

    def _is_closed(self) -> bool:
        return self._tf_sess() is None

    @property
    def graph(self) -> Any:
        """The graph of the session; ``None`` once it is closed."""
        return None if self._tf_sess() is None else self._tf_sess().graph

    def should_stop(self) -> bool:
        """Return whether a hook, a thread or the end of input has requested to stop.

        A thread that has lost the session does not: the session is recreated.
        """
        return self._sess is None or self._sess.should_stop()

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run a step with all hooks; the arguments are those of ``Session.run``.

        Raises:
            RuntimeError: if the session is closed or should stop, or a tensor is fed twice.
        """
        self._check_open()
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn: Callable[[session_layers.StepContext], Any]) -> Any:
        """Call a function that may run several steps, some of them without hooks.

        If the session is lost, it is recreated and the function is called again.

        Args:
            step_fn: a function of ``step_context``, preceded by ``self`` if it is a method.

        Returns:
            The result of the function.

        Raises:
            TypeError: if ``step_fn`` is not callable.
            ValueError: if it has other arguments.
            RuntimeError: if the session is closed.
            StopIteration: if ``step_fn`` calls ``request_stop``.
        """
        if not callable(step_fn):
            raise TypeError(f"step_fn must be a function, got {step_fn!r:.100}")
        names = tuple(inspect.signature(step_fn).parameters)
        if names not in {("step_context",), ("self", "step_context")}:
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` "
                f"arguments if it's an instance method. Got {names} instead."
            )
        self._check_open()
        return self._sess.run_step_fn(step_fn, self._tf_sess(), run_with_hooks=None)

    def _check_open(self) -> None:
        if self._sess is None:
            raise RuntimeError("Run called even after should_stop requested.")

    def close(self) -> None:
        """End the hooks, the threads and the session, and open the graph again that it finalized.

        Raises:
            RuntimeError: if the session is closed.
        """
        self._close(ended=True)

    def _close(self, *, ended: bool) -> None:
        if self._sess is None:
            raise RuntimeError("Session is already closed.")
        creator = self._coordinated_creator
        graph = self.graph
        try:
            if ended:
                for hook in self._hooks:
                    hook.end(creator.tf_sess)
        finally:
            session, self._sess = self._sess, None
            try:
                session.close()
            finally:
                creator.tf_sess = creator.coord = None
                if not self._was_final and graph is not None:
                    graph.unfinalize()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> bool:
        over = exception_type is not None and issubclass(exception_type, (OutOfRangeError, StopIteration))
        self._close(ended=exception_type is None or over)
        return over


class SingularMonitoredSession(MonitoredSession):
    """A session with hooks that ends with the first error.

    Args:
        hooks: the hooks.
        scaffold: as for ``ChiefSessionCreator``, like the following arguments.
        master: the address of the master.
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
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Return the session without hooks."""
        return self._tf_sess()


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
    """Return a monitored session for training.

    Args:
        master: the address of the master.
        is_chief: whether this task initialises, restores and saves.
        checkpoint_dir: folder of checkpoints; without it nothing is saved.
        scaffold: the operations that prepare the model.
        hooks: the hooks of every task.
        chief_only_hooks: additional hooks of the chief.
        save_checkpoint_secs: seconds between two checkpoints; 600 if neither interval is given.
        save_summaries_steps: steps between two summaries; 100 if neither interval is given.
        save_summaries_secs: seconds between two summaries.
        config: settings.
        stop_grace_period_secs: how long threads may take to end.
        log_step_count_steps: steps between two log lines and summaries with the steps per second, which need
            a folder; none if ``None`` or 0.
        max_wait_secs: how long other tasks wait for the chief.
        save_checkpoint_steps: steps between two checkpoints.
        summary_dir: folder of summaries; ``checkpoint_dir`` if omitted.
        save_graph_def: whether to write the graph next to checkpoints.
    """
    scaffold = scaffold or Scaffold()
    hooks_of_all = list(hooks or ())
    if not is_chief:
        waiting = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(waiting, hooks_of_all, stop_grace_period_secs)
    hooks_of_chief = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and log_step_count_steps:
        hooks_of_chief.append(StepCounterHook(log_step_count_steps, output_dir=summary_dir))
    interval = _interval(save_summaries_steps, save_summaries_secs, steps=100)
    if summary_dir and any(interval.values()):
        hooks_of_chief.append(SummarySaverHook(**interval, output_dir=summary_dir, scaffold=scaffold))
    interval = _interval(save_checkpoint_steps, save_checkpoint_secs, seconds=600)
    if checkpoint_dir and any(interval.values()):
        hooks_of_chief.append(
            CheckpointSaverHook(checkpoint_dir, **interval, scaffold=scaffold, save_graph_def=save_graph_def)
        )
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, [*hooks_of_chief, *hooks_of_all], stop_grace_period_secs)


def _interval(
    given_steps: Any, given_seconds: Any, *, steps: int | None = None, seconds: int | None = None
) -> dict[str, Any]:
    """Return the interval of a hook; the default where neither steps nor seconds are given."""
    if given_steps is not _USE_DEFAULT or given_seconds is not _USE_DEFAULT:
        steps = None if given_steps is _USE_DEFAULT else given_steps
        seconds = None if given_seconds is _USE_DEFAULT else given_seconds
    return {"save_steps": steps, "save_secs": seconds}
