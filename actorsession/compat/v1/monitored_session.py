"""Monitored sessions: variables are initialised or restored, and hooks run around each step.

A session that is lost with its worker (``AbortedError``, ``UnavailableError``) is recreated from the last
checkpoint, and the step is run again. ``hooks`` holds the hooks, ``session_creators`` the classes that create
sessions.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from types import SimpleNamespace, TracebackType
from typing import Any, Self

from actorsession.compat.v1.checkpoint_hooks import CheckpointSaverHook
from actorsession.compat.v1.graphs import get_default_graph
from actorsession.compat.v1.hooks import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.messages import RunMetadata, RunOptions
from actorsession.compat.v1.session_creators import (
    ChiefSessionCreator,
    Scaffold,
    WorkerSessionCreator,
)
from actorsession.compat.v1.settings import as_settings
from actorsession.compat.v1.step_hooks import StepCounterHook
from actorsession.compat.v1.summary_hooks import SummarySaverHook
from actorsession.errors import AbortedError, OutOfRangeError, UnavailableError
from actorsession.train import Coordinator, start_queue_runners

__all__ = [
    "MonitoredSession", "MonitoredTrainingSession", "SingularMonitoredSession",
]  # fmt: skip

_log = get_logger()

_LOST = (AbortedError, UnavailableError)
_USE_DEFAULT = object()


class _StepContext:
    """The argument of a function that ``MonitoredSession.run_step_fn`` calls.

    Args:
        session: the underlying session, whose ``run`` calls no hooks.
        run_with_hooks_fn: runs a step with all hooks.
    """

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The session without hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step with all hooks, like ``MonitoredSession.run``."""
        return self._run(*args, **kwargs)

    def request_stop(self) -> None:
        """End the function and the training.

        Raises:
            StopIteration: always; the ``with`` block of the session handles it.
        """
        raise StopIteration("step_fn has requested the iterations to stop.")


class _Layer:
    """A session in place of one of those that TensorFlow's monitored session consists of."""

    def __init__(self, session: Any) -> None:
        self._sess = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sess, name)


class _HookedSession:
    """A session whose steps call hooks.

    Args:
        sess: the session.
        hooks: the hooks.
    """

    def __init__(self, sess: Any, hooks: Sequence[SessionRunHook]) -> None:
        self._sess = sess
        self._hooks = hooks
        self._should_stop = False

    @property
    def graph(self) -> Any:
        """The graph of the session."""
        return self._sess.graph

    @property
    def sess_str(self) -> Any:
        """The address of the session."""
        return self._sess.sess_str

    def should_stop(self) -> bool:
        """Return whether a hook has requested to stop."""
        return self._should_stop or self._sess is None

    def close(self) -> None:
        """Close the session."""
        if self._sess is not None:
            self._sess.close()
            self._sess = None

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run a step; the arguments are those of ``Session.run``.

        Raises:
            RuntimeError: if a hook has requested to stop, or a tensor is fed twice.
        """
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), self._sess)
        feeds = dict(feed_dict or {})
        fetched: dict[Any, Any] = {"caller": fetches}
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
            options = _merged(options, wants.options)
        if options is not None and run_metadata is None:
            run_metadata = RunMetadata()  # where hooks find the results of their options
        keys = list(fetched)
        found = self._sess.run([fetched[key] for key in keys], feeds or None, options, run_metadata)
        results = dict(zip(keys, found, strict=True))
        if self._hooks:
            options = RunOptions() if options is None else options
            run_metadata = RunMetadata() if run_metadata is None else run_metadata
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(results.get(hook), options, run_metadata))
        # Threads go on until the session is closed, since hooks may need them at the end.
        self._should_stop = self._should_stop or context.stop_requested
        return results["caller"]


class MonitoredSession:
    """A session with hooks, which is recreated when it is lost.

    Args:
        session_creator: an object with a method ``create_session``.
        hooks: the hooks.
        stop_grace_period_secs: how long threads may take to end.
    """

    StepContext = _StepContext
    _recovers = True
    _layers = 3

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
        self._hooked = _HookedSession(None, self._hooks)
        self._was_final = get_default_graph().finalized
        for hook in self._hooks:
            hook.begin()
        self._create()

    def _create(self) -> None:
        self._coord = Coordinator()
        while True:
            try:
                self._session = self._creator.create_session()
                self._hooked = _HookedSession(self._session, self._hooks)
                start_queue_runners(self._session, self._coord)
                for hook in self._hooks:
                    hook.after_create_session(self._session, self._coord)
                return
            except _LOST as exc:
                self._release_session()
                if not self._recovers:
                    raise
                _log.info(
                    "the session was lost while it was created, and is created again: %s", exc
                )
                self._coord = Coordinator()
            except BaseException:
                self._release_session()
                raise

    # Programs that need the session without hooks, such as for a saver, find it by TensorFlow's attributes.

    @property
    def _sess(self) -> Any:
        found = self._session
        for _ in range(self._layers if found is not None else 0):
            found = _Layer(found)
        return found

    @property
    def _coordinated_creator(self) -> Any:
        return SimpleNamespace(tf_sess=self._session, coord=self._coord, hooks=self._hooks)

    def _tf_sess(self) -> Any:
        return self._session

    def _is_closed(self) -> bool:
        return self._closed

    @property
    def graph(self) -> Any:
        """The graph of the session."""
        return None if self._session is None else self._session.graph

    def should_stop(self) -> bool:
        """Return whether a hook, a thread or the end of input has requested to stop.

        A thread that has lost the session does not: the session is recreated.
        """
        if self._closed or not self._coord.should_stop():
            return self._closed or self._hooked.should_stop()
        try:
            self._coord.raise_requested_exception()
        except _LOST as exc:
            if self._recovers:
                self._recreate(exc)
                return False
        except Exception as exc:
            _log.debug("the session stops because of the error of a thread: %r", exc)
        return True

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Run a step with all hooks; the arguments are those of ``Session.run``.

        Raises:
            RuntimeError: if the session is closed or should stop, or a tensor is fed twice.
        """
        return self._recovering(
            lambda: self._run(SessionRunArgs(fetches, feed_dict, options), run_metadata)
        )

    def run_step_fn(self, step_fn: Callable[[_StepContext], Any]) -> Any:
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
        return self._recovering(
            lambda: step_fn(
                _StepContext(
                    self._session,
                    lambda fetches, feed_dict=None, options=None, run_metadata=None: self._run(
                        SessionRunArgs(fetches, feed_dict, options), run_metadata
                    ),
                )
            )
        )

    def _recovering(self, act: Callable[[], Any]) -> Any:
        """Call a function, and call it again on a new session whenever the session is lost."""
        if self._closed:
            raise RuntimeError("Run called even after should_stop requested.")
        while True:
            try:
                try:
                    return act()
                except _LOST:
                    raise
                except Exception:
                    # In most cases, the error of a thread is the cause of the failed step.
                    self._coord.raise_requested_exception()
                    raise
            except _LOST as exc:
                if not self._recovers:
                    raise
                self._recreate(exc)

    def _recreate(self, exc: Exception) -> None:
        _log.info("the session was lost, and is created again: %s", exc)
        self._release_session()
        self._create()

    def _run(self, asked: SessionRunArgs, run_metadata: Any) -> Any:
        if self._closed:
            raise RuntimeError("Run called even after should_stop requested.")
        return self._hooked.run(asked.fetches, asked.feed_dict, asked.options, run_metadata)

    def close(self) -> None:
        """End the hooks, the threads and the session, and open the graph again that it finalized.

        Raises:
            RuntimeError: if the session is closed.
        """
        self._close(ended=True)

    def _close(self, *, ended: bool) -> None:
        if self._closed:
            raise RuntimeError("Session is already closed.")
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
                graph = self._session.graph
                self._session.close()
                self._session = None
                if not self._was_final:
                    graph.unfinalize()

    def _release_session(self) -> None:
        """Close a lost session and stop its threads."""
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


def _merged(asked: Any, wanted: Any) -> Any:
    """Return the merged run options of the program and a hook: the larger value of each, and all watches."""
    if asked is None or wanted is None:
        return wanted if asked is None else asked
    asked, wanted = as_settings(asked), as_settings(wanted)
    watches = (
        asked.debug_options.debug_tensor_watch_opts,
        wanted.debug_options.debug_tensor_watch_opts,
    )
    return dataclasses.replace(
        asked,
        trace_level=max(asked.trace_level, wanted.trace_level),
        timeout_in_ms=max(asked.timeout_in_ms, wanted.timeout_in_ms),
        output_partition_graphs=asked.output_partition_graphs or wanted.output_partition_graphs,
        debug_options=dataclasses.replace(
            asked.debug_options, debug_tensor_watch_opts=(*watches[0], *watches[1])
        ),
    )


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
    _layers = 2

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
        """Return the session without hooks."""
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
    given = list(hooks or ())
    if not is_chief:
        waiting = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(waiting, given, stop_grace_period_secs)
    found = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and log_step_count_steps:
        found.append(StepCounterHook(log_step_count_steps, output_dir=summary_dir))
    interval = _interval(save_summaries_steps, save_summaries_secs, steps=100)
    if summary_dir and any(interval.values()):
        found.append(SummarySaverHook(**interval, output_dir=summary_dir, scaffold=scaffold))
    interval = _interval(save_checkpoint_steps, save_checkpoint_secs, seconds=600)
    if checkpoint_dir and any(interval.values()):
        found.append(
            CheckpointSaverHook(
                checkpoint_dir, **interval, scaffold=scaffold, save_graph_def=save_graph_def
            )
        )
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, [*found, *given], stop_grace_period_secs)


def _interval(
    given_steps: Any, given_seconds: Any, *, steps: int | None = None, seconds: int | None = None
) -> dict[str, Any]:
    """Return the interval of a hook; the default where neither steps nor seconds are given."""
    if given_steps is not _USE_DEFAULT or given_seconds is not _USE_DEFAULT:
        steps = None if given_steps is _USE_DEFAULT else given_steps
        seconds = None if given_seconds is _USE_DEFAULT else given_seconds
    return {"save_steps": steps, "save_secs": seconds}
