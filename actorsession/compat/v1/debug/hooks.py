"""Hooks that watch the steps of a monitored session."""

from __future__ import annotations

import re
import threading
from typing import Any

from actorsession.compat.v1.debug.command_line import Prompt
from actorsession.compat.v1.debug.runs import Dumper, RunDebugger, WatchFn
from actorsession.compat.v1.train.hooks.basic import SessionRunArgs, SessionRunContext, SessionRunHook

__all__ = ["DumpingDebugHook", "LocalCLIDebugHook"]


class _DebugHook(SessionRunHook):
    """Watches the steps of a monitored session as a debugger decides."""

    def __init__(self, debugger: RunDebugger, thread_name_filter: str | None) -> None:
        self._debugger = debugger
        self._threads = re.compile(thread_name_filter or "")
        self._watches = False

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask the debugger whether the step is watched."""
        self._watches = False
        if not self._threads.match(threading.current_thread().name):
            return None
        asked = run_context.original_args
        graph = run_context.session.graph
        options = self._debugger.begin(graph, asked.fetches, asked.feed_dict, asked.options)
        if options is None:
            return None
        self._watches = True
        return SessionRunArgs(None, None, options)

    def after_run(self, run_context: SessionRunContext, run_values: Any) -> None:
        """Let the debugger know that the step has ended."""
        if self._watches:
            self._debugger.end(None)


class DumpingDebugHook(_DebugHook):
    """Writes the watched values of each step to a directory; see ``DumpingDebugWrapperSession``.

    Args:
        session_root: as there.
        watch_fn: as there.
        thread_name_filter: as there.
        log_usage: has no effect.
    """

    def __init__(
        self,
        session_root: str,
        watch_fn: WatchFn | None = None,
        thread_name_filter: str | None = None,
        log_usage: bool = True,
    ) -> None:
        super().__init__(Dumper(session_root, watch_fn), thread_name_filter)


class LocalCLIDebugHook(_DebugHook):
    """Asks at a prompt before and after each step; see ``LocalCLIDebugWrapperSession``.

    Args:
        ui_type: as there.
        dump_root: as there.
        thread_name_filter: as there.
        config_file_path: has no effect.
    """

    def __init__(
        self,
        ui_type: str = "curses",
        dump_root: str | None = None,
        thread_name_filter: str | None = None,
        config_file_path: Any = None,
    ) -> None:
        prompt = Prompt(ui_type, dump_root)
        super().__init__(prompt, thread_name_filter)
        self.add_tensor_filter = prompt.add_tensor_filter
