"""The sessions of which a monitored session consists, each around the next one.

From the outside: one that makes a lost session anew, one that heeds a coordinator and its threads, and one
that calls hooks. The innermost is a plain ``Session``. Unit tests reach them by TensorFlow's names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.sessions.messages import RunMetadata, RunOptions
from actorsession.compat.v1.sessions.settings import as_settings
from actorsession.compat.v1.train.hooks.basic import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from actorsession.errors import AbortedError, UnavailableError
from actorsession.interop.message import Message

__all__ = ["CoordinatedSession", "HookedSession", "RecoverableSession", "StepContext", "WrappedSession"]

_log = get_logger()

_LOST = (AbortedError, UnavailableError)


class StepContext:
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


class WrappedSession:
    """A session around another one, to which it passes everything on.

    Args:
        sess: the inner session.
    """

    def __init__(self, sess: Any) -> None:
        self._sess = sess

    @property
    def graph(self) -> Any:
        """The graph of the session."""
        return self._sess.graph

    @property
    def sess_str(self) -> Any:
        """The address of the session."""
        return self._sess.sess_str

    def should_stop(self) -> bool:
        """Return whether no step should run any more: here, in an inner session, or because it is closed."""
        if self._check_stop() or self._sess is None:
            return True
        return isinstance(self._sess, WrappedSession) and self._sess.should_stop()

    def _check_stop(self) -> bool:
        """Whether this session wants to stop, whatever inner ones want."""
        return False

    def close(self) -> None:
        """Close the inner session; a second call has no effect."""
        if self._sess is not None:
            try:
                self._sess.close()
            except _LOST as exc:
                _log.warning("a session was lost before it was closed: %s", exc)
            finally:
                self._sess = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step; the arguments are those of ``Session.run``."""
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn: Callable[[StepContext], Any], raw_session: Any, run_with_hooks: Any) -> Any:
        """Call a function that runs steps.

        Args:
            step_fn: the function.
            raw_session: the innermost session.
            run_with_hooks: runs a step with all hooks; that of the inner session if left out.
        """
        return step_fn(StepContext(raw_session, run_with_hooks or self._sess.run))


class HookedSession(WrappedSession):
    """A session whose steps call hooks.

    Args:
        sess: the session.
        hooks: the hooks.
    """

    def __init__(self, sess: Any, hooks: Sequence[SessionRunHook]) -> None:
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run a step with all hooks; the arguments are those of ``Session.run``.

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
        values = self._sess.run(
            [fetched[key] for key in keys], feed_dict=feeds or None, options=options, run_metadata=run_metadata
        )
        results = dict(zip(keys, values, strict=True))
        if self._hooks:
            options = RunOptions() if options is None else options
            run_metadata = RunMetadata() if run_metadata is None else run_metadata
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(results.get(hook), options, run_metadata))
        # Threads go on until the session is closed, since hooks may need them at the end.
        self._should_stop = self._should_stop or context.stop_requested
        return results["caller"]


class CoordinatedSession(WrappedSession):
    """A session that stops when its coordinator does, whose threads end with it.

    Args:
        sess: the session.
        coord: the coordinator.
        stop_grace_period_secs: how long threads may take to end.
    """

    def __init__(self, sess: Any, coord: Any, stop_grace_period_secs: float = 120) -> None:
        super().__init__(sess)
        self._coord = coord
        self._grace = stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        stopped: bool = self._coord.should_stop()
        return stopped

    def close(self) -> None:
        """End the threads, and close the session.

        Raises:
            Exception: the error of a thread.
        """
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        finally:
            try:
                super().close()
            except Exception as exc:  # that of a thread matters more
                _log.debug("an error while a session was closed: %r", exc)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step; if it fails because a thread has lost the session, that is the error."""
        try:
            return self._sess.run(*args, **kwargs)
        except _LOST:
            raise
        except Exception as failed:
            try:
                self._coord.raise_requested_exception()
            except _LOST:
                raise
            except Exception as exc:
                _log.debug("a thread failed before the step: %r", exc)
            raise failed


class RecoverableSession(WrappedSession):
    """A session that is made anew when it is lost, and then does again what it was about to do.

    Args:
        sess_creator: an object with a method ``create_session``.
    """

    def __init__(self, sess_creator: Any) -> None:
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self) -> Any:
        while True:
            try:
                return self._sess_creator.create_session()
            except _LOST as exc:
                _log.info("the session was lost while it was created, and is created again: %s", exc)

    def _check_stop(self) -> bool:
        """Whether the session should stop; one that a thread has lost is made anew and goes on."""
        if self._sess is None:
            return True
        try:
            stopped: bool = self._sess._check_stop() if _is_layer(self._sess) else False
        except _LOST as exc:
            self._drop(exc)
            self._sess = self._create_session()
            return False
        except Exception as exc:
            _log.debug("the session stops because of the error of a thread: %r", exc)
            return True
        return stopped

    def _drop(self, exc: Exception) -> None:
        _log.info("the session was lost, and is created again: %s", exc)
        self.close()

    def _recovering(self, act: Callable[[], Any]) -> Any:
        while True:
            try:
                if self._sess is None:
                    self._sess = self._create_session()
                return act()
            except _LOST as exc:
                self._drop(exc)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run a step, once more for each time that the session is lost."""
        return self._recovering(lambda: self._sess.run(*args, **kwargs))

    def run_step_fn(self, step_fn: Callable[[StepContext], Any], raw_session: Any, run_with_hooks: Any) -> Any:
        """Call a function that runs steps, once more for each time that the session is lost."""

        def call() -> Any:
            # A new session has another innermost one.
            return self._sess.run_step_fn(step_fn, self._sess_creator.tf_sess, run_with_hooks)

        return self._recovering(call)


def _is_layer(session: Any) -> bool:
    return isinstance(session, WrappedSession)


def _merged(asked: Any, added: Any) -> Any:
    """Return the merged run options of the program and a hook: the larger value of each, and all watches."""
    if asked is None or added is None:
        return added if asked is None else asked
    if isinstance(asked, Message) and isinstance(added, Message):
        return _merged_messages(asked, added)
    asked, added = as_settings(asked), as_settings(added)
    watches = (asked.debug_options.debug_tensor_watch_opts, added.debug_options.debug_tensor_watch_opts)
    return dataclasses.replace(
        asked,
        trace_level=max(asked.trace_level, added.trace_level),
        timeout_in_ms=max(asked.timeout_in_ms, added.timeout_in_ms),
        output_partition_graphs=asked.output_partition_graphs or added.output_partition_graphs,
        debug_options=dataclasses.replace(asked.debug_options, debug_tensor_watch_opts=(*watches[0], *watches[1])),
    )


def _merged_messages(asked: Any, added: Any) -> Any:
    merged = asked.copy()
    for name in ("trace_level", "timeout_in_ms"):
        setattr(merged, name, max(getattr(asked, name), getattr(added, name)))
    for name in ("output_partition_graphs", "report_tensor_allocations_upon_oom"):
        setattr(merged, name, getattr(asked, name) or getattr(added, name))
    watches = added.debug_options.debug_tensor_watch_opts
    if watches:
        merged.debug_options.debug_tensor_watch_opts.extend(watches)
    return merged
