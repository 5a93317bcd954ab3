"""Hooks: what is done before and after each step of a monitored session.

``monitored`` calls them. A hook adds its nodes in ``begin``, for the graph is finalized after that. There are
more in ``checkpoint_hooks`` and ``step_hooks``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from actorsession.train import get_global_step

__all__ = [
    "FeedFnHook", "FinalOpsHook", "LoggingTensorHook", "NanLossDuringTrainingError", "NanTensorHook",
    "SecondOrStepTimer", "SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues",
    "StopAtStepHook", "step_of",
]  # fmt: skip

_log = logging.getLogger("actorsession.compat")


class SessionRunArgs(NamedTuple):
    """What a hook wants to have run beside the program's own fetches.

    Attributes:
        fetches: anything that ``Session.run`` fetches.
        feed_dict: what is fed for it.
        options: how the step is made; the more of this and what the program says counts.
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What came out for a hook.

    Attributes:
        results: the values of what it fetched.
        options: how the step was made.
        run_metadata: what the step reported, if the program or a hook asked for that.
    """

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """One step, as hooks see it.

    Args:
        original_args: what the program asked for.
        session: the session.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program asked for."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session, for further steps without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook wants the program to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Make ``should_stop()`` of the monitored session true."""
        self._stop_requested = True


class SessionRunHook:
    """A hook that does nothing; others override what they need."""

    def begin(self) -> None:
        """Called once, before the session is made; nodes are added here."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when the session was made, and again if it was lost and made anew."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each step; says what is to be run with it."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each step that did not fail."""

    def end(self, session: Any) -> None:
        """Called once at the end, unless that is an error."""


class SecondOrStepTimer:
    """Says when it is time again: after so many seconds, or so many steps.

    Args:
        every_secs: seconds from one time to the next.
        every_steps: steps likewise.

    Raises:
        ValueError: for both or neither.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if (every_secs is None) == (every_steps is None):
            raise ValueError("exactly one of every_secs and every_steps should be provided.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Begin anew: the next step is the first one."""
        self._step: int | None = None
        self._time = 0.0

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether it is time at that step; always at the first one."""
        if self._step is None:
            return True
        if step == self._step:
            return False
        if self._every_secs is not None:
            return time.monotonic() >= self._time + self._every_secs
        assert self._every_steps is not None
        return step >= self._step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Note that what was to be done was done at that step.

        Returns:
            The seconds and the steps since the time before; ``None`` at the first one.
        """
        now = time.monotonic()
        since = (None, None) if self._step is None else (now - self._time, step - self._step)
        self._step, self._time = step, now
        return since

    def last_triggered_step(self) -> int | None:
        """Return the step of the last time, if there was one."""
        return self._step


def step_of(hook: Any) -> Any:
    """Return the global step, for a hook that counts by it.

    Raises:
        RuntimeError: if the graph has none.
    """
    found = get_global_step()
    if found is None:
        raise RuntimeError(f"Global step should be created to use {type(hook).__name__}.")
    return found


class StopAtStepHook(SessionRunHook):
    """Stops after a number of steps.

    Args:
        num_steps: how many steps, counted from where the session began.
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
        """Count from where the session begins."""
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = int(session.run(self._step)) + self._num_steps

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Read the step when it is done, as what is fetched with it may be the number before."""
        assert self._last_step is not None
        if run_context.session.run(self._step) >= self._last_step:
            run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Logs values of tensors every so often.

    Args:
        tensors: tensors, or names of some; a mapping from what they are called in the log, or a list.
        every_n_iter: steps from one line to the next.
        every_n_secs: seconds likewise.
        at_end: whether they are logged at the end, and then only if no interval is given.
        formatter: makes the line of a mapping from what they are called to values.

    Raises:
        ValueError: for both intervals, or nothing that says when.
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
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        named = sorted(tensors.items()) if isinstance(tensors, Mapping) else _named(tensors)
        self._tensors = {name: _output(tensor) for name, tensor in named}
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._at_end = at_end
        self._formatter = formatter
        self._count = 0
        self._due = False

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetch the tensors if it is time."""
        timer = self._timer
        self._due = timer is not None and timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._tensors) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log what was fetched."""
        if self._due and self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._count)
            self._write(run_values.results, "" if seconds is None else f" ({seconds:.3f} sec)")
        self._count += 1

    def end(self, session: Any) -> None:
        """Log the last values, if that is wanted."""
        if self._at_end:
            self._write(session.run(self._tensors), "")

    def _write(self, values: Mapping[str, Any], since: str) -> None:
        if self._formatter is not None:
            _log.info("%s", self._formatter(values))
            return
        with np.printoptions(suppress=True):
            said = ", ".join(f"{name} = {value}" for name, value in values.items())
        _log.info("%s%s", said, since)


def _named(tensors: Any) -> list[tuple[str, Any]]:
    return [(t if isinstance(t, str) else str(t.name), t) for t in tensors]


def _output(tensor: Any) -> Any:
    """A name of an operation as that of its output."""
    return f"{tensor}:0" if isinstance(tensor, str) and ":" not in tensor else tensor


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops when a loss is not a number.

    Args:
        loss_tensor: the loss.
        fail_on_nan_loss: whether that is an error, NanLossDuringTrainingError.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fails = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetch the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Look at it."""
        if np.isnan(run_values.results):
            if self._fails:
                raise NanLossDuringTrainingError
            _log.warning("the loss is not a number: training stops")
            run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Fetches something at the end.

    Args:
        final_ops: what.
        final_ops_feed_dict: what is fed for it.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._feeds = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, after the end."""
        return self._values

    def end(self, session: Any) -> None:
        """Fetch it."""
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds what a function says.

    Args:
        feed_fn: gives the feeds of each step.
    """

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Feed it."""
        return SessionRunArgs(None, self.feed_fn())
