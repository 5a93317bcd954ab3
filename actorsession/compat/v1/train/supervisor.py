"""``Supervisor``: initialises or restores a model, saves it at intervals, and stops all threads together.

This is the older form of ``MonitoredTrainingSession``, which many programs use: it combines a coordinator, a
saver and a ``SessionManager``. The chief prepares the model and runs the services; other tasks wait for it.
The chief also writes summaries, the graph, and the steps per second.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.graphs.graph import as_compat_graph, get_default_graph
from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.sessions.session import Session
from actorsession.compat.v1.summary.writers import FileWriter, write_whole_graph
from actorsession.compat.v1.train.checkpoints.savers import Saver
from actorsession.compat.v1.train.graph_parts import default_local_init_op, get_or_create
from actorsession.compat.v1.train.hooks.checkpoints import write_graph_text
from actorsession.compat.v1.train.session_manager import SessionManager
from actorsession.durations import checked_seconds
from actorsession.interop.event_protos import SessionLog, Summary
from actorsession.ops import GraphKeys
from actorsession.opsets.summaries.functions import merge_all
from actorsession.process_bound import ProcessBound
from actorsession.train import Coordinator, LooperThread, get_global_step
from actorsession.train import global_step as read_step

__all__ = ["Supervisor"]

_log = get_logger()


class Supervisor(ProcessBound):
    """A supervisor of a training program.

    Operations that are not given are found in the collections of the graph or created; ``None`` disables one.
    The graph is finalized afterwards.

    Args:
        graph: the graph; the default graph if omitted.
        ready_op: returns the names of uninitialised variables.
        ready_for_local_init_op: returns the names of uninitialised variables that ``local_init_op`` depends
            on.
        is_chief: whether this task initialises, restores and saves; others wait for it.
        init_op: initialises the variables if there is no checkpoint.
        init_feed_dict: the feeds of ``init_op``.
        local_init_op: initialises local variables and tables.
        logdir: the folder of checkpoints; without it nothing is restored or saved.
        summary_op: the summary to write; all of the graph merged, if omitted.
        saver: the saver.
        global_step: the step counter; used in the names of checkpoints and in the log.
        save_summaries_secs: seconds between two summaries, with the steps per second; 0 for none.
        save_model_secs: seconds between two checkpoints; 0 for none.
        recovery_wait_secs: seconds between two polls for a ready model.
        stop_grace_secs: how long threads may take to end.
        checkpoint_basename: the prefix of the checkpoint files.
        session_manager: the session manager; a new one if omitted.
        summary_writer: writer of summaries; that of ``logdir`` if omitted.
        init_fn: called with the session after ``init_op``.
        local_init_run_options: the run options of ``local_init_op``.

    Raises:
        ValueError: for variables without a device, if this task is not the chief.

    Attributes:
        ready_op: the operation that returns the names of variables without a value.
        ready_for_local_init_op: the same for the variables that ``local_init_op`` needs, or ``None``.
        init_op: the operation that initialises variables.
        local_init_op: the operation that initialises the local state of a session.
        saver: the saver; ``None`` in a graph without variables.
        global_step: the tensor that counts steps, or ``None``.
        init_feed_dict: the feeds of ``init_op``.
        is_chief: whether this task initialises, restores and saves.
        coord: the coordinator that stops the threads.
        save_model_secs: seconds between two checkpoints; ``None`` for tasks other than the chief.
        save_summaries_secs: seconds between two summaries; ``None`` as well.
        summary_op: the summary that is written, or ``None``.
        summary_writer: the writer of summaries, or ``None``.
        save_path: the prefix of the paths of checkpoints, or ``None``.
        session_manager: the session manager.
    """

    # The value of an omitted argument; ``None`` disables the operation.
    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Any = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        graph = get_default_graph() if graph is None else as_compat_graph(graph)
        if not is_chief:
            _check_placed(graph)
        with graph.as_default():
            self.ready_op = _part(ready_op, GraphKeys.READY_OP, ops.report_uninitialized_variables)
            self.ready_for_local_init_op = _part(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self.init_op = _part(init_op, GraphKeys.INIT_OP, ops.global_variables_initializer)
            self.local_init_op = _part(local_init_op, GraphKeys.LOCAL_INIT_OP, default_local_init_op)
            self.summary_op = _part(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self.saver = _part(saver, GraphKeys.SAVERS, _saver)
            self.global_step = _part(global_step, GraphKeys.GLOBAL_STEP, _global_step)
        self._graph = graph
        self._logdir = logdir if is_chief else None
        self._init_fn = init_fn
        self._stop_grace_secs = checked_seconds("stop_grace_secs", stop_grace_secs)
        self.init_feed_dict = init_feed_dict
        self.is_chief = is_chief
        self.coord = Coordinator()
        for name, seconds in (("save_model_secs", save_model_secs), ("save_summaries_secs", save_summaries_secs)):
            if seconds is not None:
                checked_seconds(name, seconds)
        self.save_model_secs = save_model_secs if is_chief else None
        self.save_summaries_secs = save_summaries_secs if is_chief else None
        self.save_path = os.path.join(logdir, checkpoint_basename) if logdir and is_chief else None
        if _is_default(summary_writer):
            summary_writer = FileWriter(logdir) if logdir and is_chief else None
        self.summary_writer = summary_writer
        self._graph_written = False
        self.session_manager = session_manager or SessionManager(
            self.local_init_op,
            self.ready_op,
            self.ready_for_local_init_op,
            graph,
            recovery_wait_secs,
            local_init_run_options,
        )
        graph.finalize()

    # -- sessions ------------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """Return a session with a ready model: the chief prepares the model, other tasks wait for it.

        Args:
            master: the address of the master.
            config: settings of the session.
            wait_for_checkpoint: whether the chief waits until there is a checkpoint.
            max_wait_secs: how long to wait for the checkpoint, or for the chief.
            start_standard_services: whether to start the chief's services and the queue runners.

        Raises:
            RuntimeError: if the chief's model is not ready after its initialisation.
            DeadlineExceededError: if the chief does not make the model ready in time.
        """
        self.coord.clear_stop()
        if self.summary_writer is not None:
            self.summary_writer.reopen()  # a session before this one may have closed it
        if self.is_chief:
            session: Session = self.session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self.init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(session)
        else:
            session = self.session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph_text(self._graph, self._logdir)
        if self.summary_writer is not None and not self._graph_written:
            write_whole_graph(self.summary_writer, self._graph, self.saver)
            self._graph_written = True

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """Return a context manager with such a session, which stops the threads and closes it on exit.

        An error of the block or of a thread is raised after that; the end of input is not an error.

        Args:
            master: the address of the master.
            config: settings of the session.
            start_standard_services: as for ``prepare_or_wait_for_session``.
            close_summary_writer: whether to close the writer of summaries at the end.
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
            yield session
        except Exception as exc:
            self.request_stop(exc)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with contextlib.suppress(Exception):
                        session.close()

    # -- threads -------------------------------------------------------------------------------

    def start_standard_services(self, sess: Any) -> list[threading.Thread] | None:
        """Start the threads that save the model and write summaries and the steps per second.

        Args:
            sess: the session.

        Returns:
            The threads; ``None`` without a ``logdir``.

        Raises:
            RuntimeError: if this task is not the chief.
        """
        if not self.is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if not self._logdir:
            _log.warning("standard services need a logdir; no checkpoint is saved")
            return None
        writer = self.summary_writer
        if self.global_step is not None and writer is not None:
            step = read_step(sess, self.global_step)
            writer.add_session_log(SessionLog(status=SessionLog.START), step)
        threads: list[threading.Thread] = []
        if self.save_summaries_secs and writer is not None:
            every = self.save_summaries_secs
            if self.summary_op is not None:
                threads.append(LooperThread(self.coord, every, self._write_summary, [sess]))
            if self.global_step is not None:
                threads.append(_StepCounter(self, sess))
        if self.save_model_secs and self.saver is not None:
            threads.append(LooperThread(self.coord, self.save_model_secs, self._save, [sess]))
        for thread in threads:
            thread.start()
        return threads

    def _save(self, sess: Any) -> None:
        _log.info("saving a checkpoint to %s", self.save_path)
        self.saver.save(sess, self.save_path, global_step=self.global_step)
        if self.summary_writer is not None and self.global_step is not None:
            self.summary_writer.add_session_log(
                SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self.save_path),
                read_step(sess, self.global_step),
            )

    def _write_summary(self, sess: Any) -> None:
        if self.global_step is None:
            summary, step = sess.run(self.summary_op), None
        else:
            summary, step = sess.run([self.summary_op, self.global_step])
            step = step.item()
        if self.summary_writer is not None:
            self.summary_writer.add_summary(summary, step)

    def start_queue_runners(self, sess: Any, queue_runners: Sequence[Any] | None = None) -> list[threading.Thread]:
        """Start the threads of queue runners.

        Args:
            sess: the session.
            queue_runners: the queue runners; all of the graph if omitted.

        Returns:
            The threads.
        """
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self.coord, daemon=True, start=True)
        ]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Start a thread that calls a function repeatedly until a stop is requested.

        Args:
            timer_interval_secs: seconds between two calls; no pause if ``None``.
            target: the function.
            args: its positional arguments.
            kwargs: its keyword arguments.

        Returns:
            The thread.
        """
        return LooperThread.loop(self.coord, timer_interval_secs, target, args or (), dict(kwargs or {}))

    # -- stopping ------------------------------------------------------------------------------

    def stop(
        self,
        threads: Sequence[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop all threads and wait until they have ended; the session stays open.

        Args:
            threads: threads to wait for in addition to the supervisor's own.
            close_summary_writer: whether to close the writer of summaries.
            ignore_live_threads: whether to ignore threads that still run after ``stop_grace_secs``.

        Raises:
            BaseException: the error of a thread.
            RuntimeError: if threads still run.
        """
        self.coord.request_stop()
        try:
            self.coord.join(threads, self._stop_grace_secs, ignore_live_threads)
        finally:
            if close_summary_writer and self.summary_writer is not None:
                self.summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self.summary_writer.close()
                self._graph_written = False

    def request_stop(self, ex: Any = None) -> None:
        """Request all threads to stop; ``ex`` is as for ``Coordinator.request_stop``."""
        self.coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Return whether a stop was requested, by the program or a thread that failed."""
        return self.coord.should_stop()

    def stop_on_exception(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager that turns an exception into a stop request."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until a stop is requested."""
        self.coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Write a summary that the program has computed.

        Args:
            sess: the session.
            summary: the summary.
            global_step: its step; the current one if omitted.

        Raises:
            RuntimeError: without a writer of summaries.
        """
        if self.summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = read_step(sess, self.global_step)
        self.summary_writer.add_summary(summary, global_step)

    # The names in the oldest programs.
    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


class _StepCounter(LooperThread):
    """A thread that logs and writes the number of steps per second."""

    def __init__(self, supervisor: Supervisor, session: Any) -> None:
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._session = session
        self._counter = supervisor.global_step
        self._writer = supervisor.summary_writer

    def start_loop(self) -> None:
        """Start to count."""
        self._time, self._step = time.monotonic(), read_step(self._session, self._counter)

    def run_loop(self) -> None:
        """Log the speed since the last call."""
        now, step = time.monotonic(), read_step(self._session, self._counter)
        if now > self._time:
            rate = (step - self._step) / (now - self._time)
            tag = f"{self._counter.op.name}/sec"
            if self._writer is not None:
                value = Summary.Value(tag=tag, simple_value=rate)
                self._writer.add_summary(Summary(value=[value]), step)
            _log.info("%s: %g", tag, rate)
        self._time, self._step = now, step


def _check_placed(graph: Any) -> None:
    """Refuse variables without a device: each replica would have its own ones."""
    for op in graph.get_operations():
        if op.type in ("Variable", "VariableV2") and not op.device:
            raise ValueError(f"When using replicas, all Variables must have their device set: {op.name!r} has none")


def _is_default(argument: Any) -> bool:
    return isinstance(argument, int) and argument == Supervisor.USE_DEFAULT


def _part(argument: Any, key: str, make: Callable[[], Any]) -> Any:
    return get_or_create(key, make) if _is_default(argument) else argument


def _saver() -> Saver | None:
    return Saver() if ops.global_variables() else None


def _global_step() -> Any:
    """Return the global step, which may be a vector of one number here, as in TensorFlow."""
    try:
        return get_global_step()
    except TypeError as exc:
        named = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, "global_step:0$")
        for variable in named[:1]:
            if variable.dtype.is_integer and variable.shape.num_elements() == 1:
                return variable
        _log.warning("cannot count steps: %s", exc)
        return None
