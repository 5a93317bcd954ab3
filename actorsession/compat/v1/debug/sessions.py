"""Sessions around other sessions, whose runs are watched."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from actorsession.compat.v1.debug.command_line import Prompt
from actorsession.compat.v1.debug.runs import Dumper, RunDebugger, WatchFn
from actorsession.compat.v1.train.monitored_session import MonitoredSession
from actorsession.errors import OpError
from actorsession.graph.default_session import DEFAULT_SESSIONS
from actorsession.process_bound import ProcessBound
from actorsession.session.base import BaseSession

__all__ = ["DumpingDebugWrapperSession", "LocalCLIDebugWrapperSession"]


class _WrapperSession(ProcessBound):
    """A session around another one; what is not here is that one's.

    Args:
        sess: the session.
        debugger: decides about its runs.
        thread_name_filter: regular expression; runs of threads with other names are not watched.
        raises: whether a run that fails raises its error. Otherwise it returns it, as TensorFlow's does.
    """

    def __init__(self, sess: Any, debugger: RunDebugger, thread_name_filter: str | None, *, raises: bool) -> None:
        if not isinstance(sess, (BaseSession, MonitoredSession)):
            raise TypeError(f"Expected type {(BaseSession, MonitoredSession)}; got type {type(sess)}")
        self._sess: Any = sess
        self._debugger = debugger
        self._threads = re.compile(thread_name_filter or "")
        self._raises = raises
        self._default: list[AbstractContextManager[object]] = []
        self.run_call_count = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}", name=name)
        return getattr(self._sess, name)

    @property
    def session(self) -> Any:
        """The session that is wrapped."""
        return self._sess

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run a step; see ``Session.run``.

        Args:
            fetches: as for ``Session.run``.
            feed_dict: as for ``Session.run``.
            options: as for ``Session.run``.
            run_metadata: as for ``Session.run``.

        Returns:
            The values; the error of a run that has failed, unless such errors are raised.
        """
        if not self._threads.match(threading.current_thread().name):
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        self.run_call_count += 1
        watched = self._debugger.begin(self._sess.graph, fetches, feed_dict, options)
        if watched is None:
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        try:
            values = self._sess.run(fetches, feed_dict, watched, run_metadata)
        except OpError as error:
            self._debugger.end(error)
            if self._raises:
                raise
            return error
        self._debugger.end(None)
        return values

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs a step; see ``Session.make_callable``.

        Args:
            fetches: as for ``Session.run``.
            feed_list: what the arguments feed.
            accept_options: whether it takes ``options`` and ``run_metadata`` as well.
        """
        fed = list(feed_list or ())

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            return self.run(fetches, dict(zip(fed, values, strict=True)) or None, options, run_metadata)

        return call

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> Any:
        """Partial runs cannot be watched.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("partial_run_setup is not implemented for debug-wrapper sessions.")

    def partial_run(self, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        """Partial runs cannot be watched.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("partial_run is not implemented for debug-wrapper sessions.")

    def as_default(self) -> AbstractContextManager[object]:
        """Return a context in which this is the default session."""
        return DEFAULT_SESSIONS.entered(self)

    def __enter__(self) -> Any:
        """Make this the default session."""
        self._default.append(self.as_default())
        self._default[-1].__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Restore the former default session; the session stays open."""
        self._default.pop().__exit__(kind, error, traceback)


class DumpingDebugWrapperSession(_WrapperSession):
    """A session that writes the watched values of each run to a directory, for ``DebugDumpDir``.

    Args:
        sess: the session.
        session_root: a new or empty directory, which gets one directory for each run.
        watch_fn: gets the fetches and feeds of a run, and returns the ``WatchOptions`` for it.
        thread_name_filter: regular expression; runs of threads with other names are not watched.
        pass_through_operrors: whether a run that fails raises its error. Otherwise it returns it.
        log_usage: has no effect.

    Raises:
        TypeError: if ``sess`` is no session.
        ValueError: for a directory that is a file or not empty.
    """

    def __init__(
        self,
        sess: Any,
        session_root: str,
        watch_fn: WatchFn | None = None,
        thread_name_filter: str | None = None,
        pass_through_operrors: bool | None = None,
        log_usage: bool = True,
    ) -> None:
        super().__init__(sess, Dumper(session_root, watch_fn), thread_name_filter, raises=bool(pass_through_operrors))


class LocalCLIDebugWrapperSession(_WrapperSession):
    """A session that asks at a prompt before and after its runs; ``help`` there lists the commands.

    Args:
        sess: the session.
        dump_root: a new or empty directory for the values; a temporary one if omitted.
        log_usage: has no effect.
        ui_type: ``readline`` or ``curses``, which both mean the prompt.
        thread_name_filter: regular expression; runs of threads with other names are not watched.
        config_file_path: has no effect.

    Raises:
        TypeError: if ``sess`` is no session.
        ValueError: for another kind of interface, or a directory that is a file or not empty.
    """

    def __init__(
        self,
        sess: Any,
        dump_root: str | None = None,
        log_usage: bool = True,
        ui_type: str = "curses",
        thread_name_filter: str | None = None,
        config_file_path: Any = False,
    ) -> None:
        prompt = Prompt(ui_type, dump_root)
        super().__init__(sess, prompt, thread_name_filter, raises=False)
        self.add_tensor_filter = prompt.add_tensor_filter
