"""``tf.estimator.experimental``: hooks that end training when an evaluation says so."""

from __future__ import annotations

import glob
import math
import operator
import os
from collections.abc import Callable
from typing import Any

from actorsession.compat.v1.estimator.estimator import Estimator
from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.summary.writers import summary_iterator
from actorsession.compat.v1.train.hooks.basic import (
    SecondOrStepTimer,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    step_of,
)

__all__ = [
    "InMemoryEvaluatorHook",
    "make_early_stopping_hook",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]

_log = get_logger()

_Metrics = dict[int, dict[str, float]]


def make_early_stopping_hook(
    estimator: Any,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends training when a function says so.

    Args:
        estimator: the estimator that is trained.
        should_stop_fn: returns whether to end.
        run_every_secs: seconds between two calls of it.
        run_every_steps: steps between two calls, instead.

    Raises:
        TypeError: if ``estimator`` is none.
        ValueError: for both intervals, or neither.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if (run_every_secs is None) == (run_every_steps is None):
        raise ValueError("Exactly one of `run_every_secs` and `run_every_steps` must be set.")
    return _StopHook(should_stop_fn, run_every_secs, run_every_steps)


class _StopHook(SessionRunHook):
    def __init__(self, should_stop: Callable[[], bool], seconds: float | None, steps: int | None) -> None:
        self._should_stop = should_stop
        self._timer = SecondOrStepTimer(seconds, steps)

    def begin(self) -> None:
        """Find the global step."""
        self._step = step_of(self)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Ask the function if it is time."""
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop():
                _log.info("Requesting early stopping at global step %d", step)
                run_context.request_stop()


def _metrics_of(folder: str) -> _Metrics:
    """Return the metrics of evaluations by step, from the event files of a folder."""
    by_step: _Metrics = {}
    for path in sorted(glob.glob(os.path.join(folder, "*tfevents*"))):
        for event in summary_iterator(path):
            values = {value.tag: value.simple_value for value in event.summary.value if value.HasField("simple_value")}
            if values:
                by_step.setdefault(event.step, {}).update(values)
    return dict(sorted(by_step.items()))


def _crossing(compare: Callable[[float, float], bool], name: str, said: str) -> Any:
    """Return a function that makes a hook which ends when a metric crosses a threshold."""

    def make(
        estimator: Any,
        metric_name: str,
        threshold: float,
        eval_dir: str | None = None,
        min_steps: int = 0,
        run_every_secs: float | None = 60,
        run_every_steps: int | None = None,
    ) -> SessionRunHook:
        def crossed() -> bool:
            for step, values in _metrics_of(eval_dir or estimator.eval_dir()).items():
                known = step >= min_steps and metric_name in values
                if known and compare(values[metric_name], threshold):
                    return True
            return False

        return make_early_stopping_hook(estimator, crossed, run_every_secs, run_every_steps)

    make.__name__ = name
    make.__doc__ = f"""Return a hook that ends training when a metric is {said} than a threshold.

    Args:
        estimator: the estimator that is trained.
        metric_name: name of the metric.
        threshold: the threshold.
        eval_dir: folder of the evaluations' event files; that of the estimator if omitted.
        min_steps: evaluations before this step do not count.
        run_every_secs: seconds between two looks.
        run_every_steps: steps between two looks, instead.
    """
    return make


def _resting(compare: Callable[[float, float], bool], worst: float) -> Any:
    """Return a function that makes a hook which ends when a metric has not been better for some steps."""

    def make(
        estimator: Any,
        metric_name: str,
        max_steps: int,
        eval_dir: str | None,
        min_steps: int,
        run_every_secs: float | None,
        run_every_steps: int | None,
    ) -> SessionRunHook:
        def rests() -> bool:
            best, best_step = worst, None
            for step, values in _metrics_of(eval_dir or estimator.eval_dir()).items():
                if step < min_steps or metric_name not in values:
                    continue
                if best_step is None or compare(values[metric_name], best):
                    best, best_step = values[metric_name], step
                if step - best_step >= max_steps:
                    return True
            return False

        return make_early_stopping_hook(estimator, rests, run_every_secs, run_every_steps)

    return make


stop_if_higher_hook = _crossing(operator.gt, "stop_if_higher_hook", "higher")
stop_if_lower_hook = _crossing(operator.lt, "stop_if_lower_hook", "lower")
_no_increase = _resting(operator.gt, -math.inf)
_no_decrease = _resting(operator.lt, math.inf)


def stop_if_no_increase_hook(
    estimator: Any,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> Any:
    """Return a hook that ends training when a metric has not increased for some steps.

    Args:
        estimator: the estimator that is trained.
        metric_name: name of the metric.
        max_steps_without_increase: the steps.
        eval_dir: folder of the evaluations' event files; that of the estimator if omitted.
        min_steps: evaluations before this step do not count.
        run_every_secs: seconds between two looks.
        run_every_steps: steps between two looks, instead.
    """
    return _no_increase(
        estimator, metric_name, max_steps_without_increase, eval_dir, min_steps, run_every_secs, run_every_steps
    )


def stop_if_no_decrease_hook(
    estimator: Any,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> Any:
    """Return a hook that ends training when a metric has not decreased for some steps.

    Args:
        estimator: the estimator that is trained.
        metric_name: name of the metric.
        max_steps_without_decrease: the steps.
        eval_dir: folder of the evaluations' event files; that of the estimator if omitted.
        min_steps: evaluations before this step do not count.
        run_every_secs: seconds between two looks.
        run_every_steps: steps between two looks, instead.
    """
    return _no_decrease(
        estimator, metric_name, max_steps_without_decrease, eval_dir, min_steps, run_every_secs, run_every_steps
    )


class InMemoryEvaluatorHook(SessionRunHook):
    """A hook that evaluates the latest checkpoint at intervals of training.

    Args:
        estimator: the estimator.
        input_fn: makes the input of evaluations.
        steps: batches of an evaluation.
        hooks: hooks of evaluations.
        name: name of the evaluation.
        every_n_iter: steps between two evaluations.

    Raises:
        ValueError: for a number of steps that is not positive.
    """

    def __init__(
        self,
        estimator: Any,
        input_fn: Callable[[], Any],
        steps: int | None = None,
        hooks: Any = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._estimator = estimator
        self._arguments = (input_fn, steps, hooks, None, name)
        self._every = every_n_iter
        self._count = 0

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Evaluate if it is time."""
        self._count += 1
        if self._count % self._every == 0 and self._estimator.latest_checkpoint():
            self._estimator.evaluate(*self._arguments)
