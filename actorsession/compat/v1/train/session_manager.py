"""``SessionManager``: sessions with a ready model, created by the task that prepares it and by others.

``Supervisor`` and the session creators of ``monitored_session`` use it. The chief restores a checkpoint or
initialises the model; the other tasks poll until it has. A session whose model is not ready is closed. Waits
end with their time limit; a task sleeps between two polls.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.sessions.session import Session
from actorsession.durations import checked_seconds
from actorsession.errors import AbortedError, DeadlineExceededError, FailedPreconditionError, UnavailableError
from actorsession.process_bound import ProcessBound
from actorsession.train import get_checkpoint_state

__all__ = ["SessionManager"]

_log = get_logger()

# The errors of a session while a task of its cluster has not started yet, or restarts.
_NOT_THERE_YET = (AbortedError, DeadlineExceededError, UnavailableError)


class SessionManager(ProcessBound):
    """A creator of sessions with a ready model.

    Args:
        local_init_op: initialises local variables and tables; run in every new session.
        ready_op: returns the names of uninitialised variables; empty when the model is ready.
        ready_for_local_init_op: likewise, for the variables that ``local_init_op`` reads.
        graph: the graph; the default graph if omitted.
        recovery_wait_secs: seconds between two polls for a ready model or a checkpoint.
        local_init_run_options: the run options of ``local_init_op``.
        local_init_feed_dict: the feeds of ``local_init_op``.

    Raises:
        ValueError: for a ``ready_for_local_init_op`` without ``local_init_op``.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Any = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._recovery_wait_secs = checked_seconds("recovery_wait_secs", recovery_wait_secs)
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    # -- the chief -----------------------------------------------------------------------------

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """Return a session with the model restored from a checkpoint, or initialised if there is none.

        Args:
            master: the address of the master.
            init_op: initialises the variables.
            saver: the saver that restores the model; without it nothing is restored.
            checkpoint_dir: the folder of checkpoints; the latest one is restored.
            checkpoint_filename_with_path: a checkpoint to restore instead.
            wait_for_checkpoint: whether to wait until there is a checkpoint.
            max_wait_secs: how long to wait for it; after that the model is initialised.
            config: settings of the session.
            init_feed_dict: the feeds of ``init_op``.
            init_fn: called with the session after ``init_op``.

        Raises:
            RuntimeError: if no means of initialisation is given, or the model is not ready after it.
            ValueError: for both a folder and a checkpoint.
        """
        session = Session(master, graph=self._graph, config=config)
        with _closed_on_error(session):
            restored = self._restore(
                session,
                saver,
                checkpoint_dir,
                checkpoint_filename_with_path,
                max_wait_secs if wait_for_checkpoint else 0.0,
            )
            if not restored:
                self._initialise(session, init_op, init_feed_dict, init_fn)
            used = f"Init op: {_name(init_op)}, init fn: {init_fn}"
            lacking = self._try_local_init(session)
            if lacking is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init.  {used}, error: {lacking}"
                )
            lacking = _lacking(self._ready_op, session)
            if lacking is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready.  {used}, local_init_op: "
                    f"{_name(self._local_init_op)}, error: {lacking}"
                )
        return session

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """Return a session, with the model restored if possible; otherwise like ``prepare_session``.

        Returns:
            The session, and whether its model is ready; if it is not, the program must initialise it.
        """
        session = Session(master, graph=self._graph, config=config)
        with _closed_on_error(session):
            restored = self._restore(
                session,
                saver,
                checkpoint_dir,
                checkpoint_filename_with_path,
                max_wait_secs if wait_for_checkpoint else 0.0,
            )
            lacking = self._try_local_init(session)
            if not restored:
                return session, False
            if lacking is None:
                lacking = _lacking(self._ready_op, session)
        if lacking is not None:
            _log.info(
                "restoring %s did not make the model ready: %s",
                checkpoint_dir or checkpoint_filename_with_path,
                lacking,
            )
        return session, lacking is None

    def _initialise(self, session: Session, init_op: Any, feeds: Any, init_fn: Callable[[Any], Any] | None) -> None:
        if init_op is None and init_fn is None and self._local_init_op is None:
            raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
        if init_op is not None:
            session.run(init_op, feed_dict=feeds)
        if init_fn is not None:
            init_fn(session)

    def _restore(self, session: Session, saver: Any, folder: str | None, path: str | None, patience: float) -> bool:
        """Restore a checkpoint, waiting for it if necessary, and return whether there was one."""
        if folder and path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if saver is None or not (folder or path):
            return False
        if path or not folder:
            saver.restore(session, path)
            return True
        end = time.monotonic() + checked_seconds("max_wait_secs", patience)
        while not (state := get_checkpoint_state(folder)) or not state.model_checkpoint_path:
            if time.monotonic() >= end:
                return False
            _log.info("waiting for a checkpoint in %s", folder)
            self._sleep(end)
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return True

    # -- the other tasks -----------------------------------------------------------------------

    def wait_for_session(self, master: str, config: Any = None, max_wait_secs: float | None = math.inf) -> Session:
        """Return a session once another task has made the model ready.

        The wait includes tasks of the cluster that have not started yet. Without a time limit, it lasts for
        them only as long as creating a session takes, and the failure to create it is raised. A poll that is
        in progress when the time is over is not interrupted.

        Args:
            master: the address of the master.
            config: settings of the session.
            max_wait_secs: how long to wait; without limit if ``None``.

        Raises:
            DeadlineExceededError: if the model is not ready in that time; names the uninitialised variables.
        """
        limit = math.inf
        if max_wait_secs is not None:
            limit = checked_seconds("max_wait_secs", max_wait_secs)
        end = time.monotonic() + limit
        while True:
            session, lacking = self._look(master, config, tolerant=limit < math.inf)
            if session is not None:
                return session
            if time.monotonic() + self._recovery_wait_secs > end:
                raise DeadlineExceededError(f"Session was not ready after waiting {limit:g} secs. {lacking}")
            _log.info("waiting for the model to be ready: %s", lacking)
            self._sleep(end)

    def _look(self, master: str, config: Any, *, tolerant: bool) -> tuple[Session | None, str | None]:
        """Return a session if the model is ready, or else the reason why it is not.

        Each poll uses a new session, because one from before the chief started may belong to tasks that have
        restarted since.
        """
        session = None
        try:
            session = Session(master, graph=self._graph, config=config)
            lacking = self._try_local_init(session)
            if lacking is None:
                lacking = _lacking(self._ready_op, session)
            if lacking is None:
                ready, session = session, None
                return ready, None
        except _NOT_THERE_YET as exc:
            if not tolerant:
                raise
            lacking = str(exc)
        finally:
            if session is not None:
                with contextlib.suppress(Exception):
                    session.close()
        return None, lacking

    # -- both ----------------------------------------------------------------------------------

    def _try_local_init(self, session: Session) -> str | None:
        """Run ``local_init_op``, or return the reason why the model is not ready for it."""
        if self._local_init_op is None:
            return None
        lacking = _lacking(self._ready_for_local_init_op, session)
        if lacking is None:
            session.run(self._local_init_op, self._local_init_feed_dict, self._local_init_run_options)
        return lacking

    def _sleep(self, end: float) -> None:
        time.sleep(max(0.0, min(self._recovery_wait_secs, end - time.monotonic())))


def _lacking(op: Any, session: Session) -> str | None:
    """Return why a readiness test fails; ``None`` if it succeeds or there is no test."""
    if op is None:
        return None
    try:
        said = session.run(op)
    except FailedPreconditionError as exc:  # reading an uninitialised variable
        return str(exc)
    if said is None or np.size(said) == 0 or np.asarray(said).dtype == np.int32:
        return None  # numbers are the ranks that assert_variables_initialized returns
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in np.ravel(said)]
    return f"Variables not initialized: {', '.join(names)}"


def _name(value: Any) -> str:
    if value is None:
        return "None"
    return str(getattr(value, "name", None) or f"<no name for {type(value)}>")


@contextlib.contextmanager
def _closed_on_error(session: Session) -> Iterator[None]:
    try:
        yield
    except BaseException:
        session.close()
        raise
