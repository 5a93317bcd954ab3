"""Hooks: callbacks before and after each step of a monitored session.

``monitored_session`` calls them. A hook adds its nodes in ``begin``; the graph is finalized after that.
``checkpoint_hooks`` and ``step_hooks`` hold further hooks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from actorsession.compat.v1 import logging
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.durations import checked_seconds
from actorsession.errors import OutOfRangeError
from actorsession.train import get_global_step

__all__ = [
    "FeedFnHook",
    "FinalOpsHook",
    "LoggingTensorHook",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "SecondOrStepTimer",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "StopAtStepHook",
    "step_after",
    "step_of",
]


class SessionRunArgs(NamedTuple):
    """The additional fetches, feeds and run options of a hook for a step.

    Attributes:
        fetches: anything that ``Session.run`` fetches.
        feed_dict: the additional feeds.
        options: the run options of the step. They are merged with those of the program; the larger value
            applies.
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results of a step for a hook.

    Attributes:
        results: the values of the hook's fetches.
        options: the run options of the step.
        run_metadata: the metadata of the step, if the program or a hook requested it.
    """

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The context of one step, as passed to hooks.

    Args:
        original_args: the arguments of the program's ``run``.
        session: the session.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The arguments of the program's ``run``."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session, for further steps without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has requested to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Make ``should_stop()`` of the monitored session true."""
        self._stop_requested = True


class SessionRunHook:
    """A hook that does nothing; subclasses override methods."""

    def begin(self) -> None:
        """Add nodes to the graph; called once, before the session is created."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Prepare for a session; called after it is created, and again after it is lost and recreated."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return additional fetches and feeds for a step; called before each step."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Handle the results of a step; called after each step that did not fail."""

    def end(self, session: Any) -> None:
        """Finish; called once at the end, unless the session ends with an error."""


class SecondOrStepTimer:
    """A timer that triggers after a number of seconds or steps.

    It reads ``time.time``, which tests of programs replace.

    Args:
        every_secs: seconds between two triggers.
        every_steps: steps between two triggers.

    Raises:
        ValueError: for both or neither.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None:
            every_secs = checked_seconds("every_secs", every_secs)
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Restart the timer: the next step counts as the first one."""
        self._step: int | None = None
        self._time = 0.0

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether the timer triggers at a step; it always does at the first one."""
        if self._step is None:
            return True
        if step == self._step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._time + self._every_secs
        assert self._every_steps is not None
        return step >= self._step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Record that the timer triggered at a step.

        Returns:
            The seconds and the steps since the previous trigger; ``None`` each at the first one.
        """
        now = time.time()
        since = (None, None) if self._step is None else (now - self._time, step - self._step)
        self._step, self._time = step, now
        return since

    def last_triggered_step(self) -> int | None:
        """Return the step of the last trigger, if there was one."""
        return self._step


def step_of(hook: Any) -> Any:
    """Return the global step, for a hook that counts steps.

    Raises:
        RuntimeError: if the graph has none.
    """
    step = get_global_step()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {type(hook).__name__}.")
    return step


def step_after(context: SessionRunContext, timer: SecondOrStepTimer, step: Any, fetched: Any) -> int:
    """Return the number of the next step, for a hook that has to decide before it.

    Args:
        context: the step that has ended.
        timer: what decides.
        step: the global step.
        fetched: its value in the step that has ended: before or after the update. It is read again only where
            that makes a difference.
    """
    known = int(fetched)
    if timer.should_trigger_for_step(known + 2):
        known = int(context.session.run(step))
    return known + 1


class StopAtStepHook(SessionRunHook):
    """A hook that stops training after a number of steps.

    Args:
        num_steps: the number of steps, counted from the initial global step of the session.
        last_step: the global step to stop at.

    Raises:
        ValueError: for both or neither.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise ValueError("Exactly one of num_steps or last_step must be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        """Find the global step."""
        self._step = step_of(self)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Compute the last step from the initial global step of the session."""
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = int(session.run(self._step)) + self._num_steps

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Read the global step after the step, since a fetch within the step may return the old value."""
        assert self._last_step is not None
        if run_context.session.run(self._step) >= self._last_step:
            run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """A hook that logs the values of tensors at intervals.

    Args:
        tensors: tensors or names of tensors, as a list or as a mapping from their labels in the log.
        every_n_iter: steps between two log lines.
        every_n_secs: seconds between two log lines.
        at_end: whether to log at the end; without an interval, they are logged only then.
        formatter: returns the log line for a mapping from labels to values.

    Raises:
        ValueError: for both intervals, or for neither an interval nor ``at_end``.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[Mapping[str, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        named = sorted(tensors.items()) if isinstance(tensors, Mapping) else _named(tensors)
        self._tensors = dict(named)
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._at_end = at_end
        self._formatter = formatter
        self._count = 0
        self._due = False

    def begin(self) -> None:
        """Find the tensors that were given by their names.

        Raises:
            KeyError: if there is none of that name.
        """
        graph = get_default_graph()
        self._tensors = {name: graph.as_graph_element(_output(tensor)) for name, tensor in self._tensors.items()}
        self._count = 0

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetch the tensors if they are due."""
        timer = self._timer
        self._due = timer is not None and timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._tensors) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the fetched values."""
        if self._due and self._timer is not None:
            self._write(run_values.results)
        self._count += 1

    def end(self, session: Any) -> None:
        """Log the last values, if requested."""
        if self._at_end:
            self._write(session.run(self._tensors))

    def _write(self, values: Mapping[str, Any]) -> None:
        seconds = None
        if self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._count)
        since = "" if seconds is None else f" ({seconds:.3f} sec)"
        if self._formatter is not None:
            logging.info(self._formatter(values))
            return
        with np.printoptions(suppress=True):
            said = ", ".join(f"{name} = {value!s}" for name, value in values.items())
        logging.info("%s%s", said, since)


def _named(tensors: Any) -> list[tuple[str, Any]]:
    return [(str(tensor), tensor) for tensor in tensors]


def _output(tensor: Any) -> Any:
    """Return the name of the first output for the name of an operation; return anything else unchanged."""
    return f"{tensor}:0" if isinstance(tensor, str) and ":" not in tensor else tensor


class NanLossDuringTrainingError(RuntimeError):
    """Error for a loss that is not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """A hook that stops training when a loss is not a number.

    Args:
        loss_tensor: the loss.
        fail_on_nan_loss: whether to raise ``NanLossDuringTrainingError``.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fails = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetch the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Check the loss."""
        if np.isnan(run_values.results):
            if self._fails:
                raise NanLossDuringTrainingError
            logging.warning("the loss is NaN; training stops")
            run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """A hook that fetches values at the end.

    Args:
        final_ops: the fetches.
        final_ops_feed_dict: the feeds.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._feeds = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The fetched values; available after the end."""
        return self._values

    def end(self, session: Any) -> None:
        """Fetch the values."""
        if self._final_ops is None:
            return
        try:
            self._values = session.run(self._final_ops, self._feeds)
        except (OutOfRangeError, StopIteration):
            logging.warning(
                "An OutOfRangeError or StopIteration exception is raised by the code in FinalOpsHook. This "
                "typically means the Ops running by the FinalOpsHook have a dependency back to some input "
                "source, which should not happen."
            )
            raise


class FeedFnHook(SessionRunHook):
    """A hook that feeds the result of a function.

    Args:
        feed_fn: returns the feeds of each step.
    """

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return the feeds of the step."""
        return SessionRunArgs(None, self.feed_fn())
