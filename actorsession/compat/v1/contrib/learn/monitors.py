"""``tf.contrib.learn.monitors``: what watched training before there were hooks. They are hooks here."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from actorsession.compat.v1 import train
from actorsession.compat.v1.train import SessionRunArgs, SessionRunHook

__all__ = [
    "BaseMonitor",
    "CheckpointSaver",
    "EveryN",
    "NanLoss",
    "PrintTensor",
    "RunHookAdapterForMonitors",
    "StepCounter",
    "StopAtStep",
    "SummarySaver",
    "ValidationMonitor",
    "get_default_monitors",
    "replace_monitors_with_hooks",
]

_log = logging.getLogger("tensorflow")

CheckpointSaver = train.CheckpointSaverHook
StepCounter = train.StepCounterHook
SummarySaver = train.SummarySaverHook


class BaseMonitor(SessionRunHook):
    """A hook with methods for the beginning and the end of each step."""

    def __init__(self) -> None:
        self._estimator: Any = None
        self._step: Any = None
        self._now = 0

    @property
    def run_on_all_workers(self) -> bool:
        """Whether it runs in each worker process, and not in the chief alone."""
        return False

    def set_estimator(self, estimator: Any) -> None:
        """Say which estimator trains.

        Args:
            estimator: the estimator.
        """
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Begin, with the graph still open."""
        self._step = train.get_or_create_global_step()

    def end(self, session: Any = None) -> None:
        """End, with the session still open."""

    def step_begin(self, step: int) -> list[Any]:
        """Return what is fetched besides in a step."""
        return []

    def step_end(self, step: int, output: Any) -> bool:
        """Take what was fetched; return whether training ends."""
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Act between two steps."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Learn which step the session is at."""
        self._now = int(session.run(self._step))

    def before_run(self, run_context: Any) -> Any:
        """Ask for what the step fetches besides."""
        asked = {str(getattr(each, "name", each)): each for each in self.step_begin(self._now + 1)}
        graph = run_context.session.graph
        fetches = {
            name: graph.as_graph_element(each) if isinstance(each, str) else each for name, each in asked.items()
        }
        return SessionRunArgs({"found": fetches, "step": self._step})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Hand over what was fetched."""
        self._now += 1
        if self.step_end(self._now, run_values.results["found"]):
            run_context.request_stop()
        self.post_step(self._now, run_context.session)


class EveryN(BaseMonitor):
    """A monitor that acts on the first steps and then on every so many.

    Args:
        every_n_steps: of so many steps, one.
        first_n_steps: and on as many at the beginning.
    """

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every, self._first = every_n_steps, first_n_steps
        self._last: int | None = None
        self._active = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Return what is fetched besides in such a step."""
        return []

    def every_n_step_end(self, step: int, outputs: Any) -> bool:
        """Take what was fetched; return whether training ends."""
        return False

    def every_n_post_step(self, step: int, session: Any) -> None:
        """Act after such a step."""

    def step_begin(self, step: int) -> list[Any]:
        """Return what is fetched besides in a step."""
        last = self._last
        self._active = step <= self._first or last is None or step >= last + self._every
        if not self._active:
            return []
        self._last = step
        return self.every_n_step_begin(step)

    def step_end(self, step: int, output: Any) -> bool:
        """Take what was fetched; return whether training ends."""
        return self.every_n_step_end(step, output) if self._active else False

    def post_step(self, step: int, session: Any) -> None:
        """Act between two steps."""
        if self._active:
            self.every_n_post_step(step, session)


class PrintTensor(EveryN):
    """Logs tensors.

    Args:
        tensor_names: names of tensors, by the names they are logged under or alone.
        every_n: of so many steps, one.
        first_n: and as many at the beginning.
    """

    def __init__(self, tensor_names: Any, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        names = tensor_names if isinstance(tensor_names, dict) else {n: n for n in tensor_names}
        self._names = {
            key: getattr(n, "name", n) if ":" in str(getattr(n, "name", n)) else f"{n}:0" for key, n in names.items()
        }

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Return what is fetched besides in such a step."""
        return list(self._names.values())

    def every_n_step_end(self, step: int, outputs: Any) -> bool:
        """Log what was fetched."""
        said = [f"{key} = {outputs[name]}" for key, name in self._names.items()]
        _log.info("Step %d: %s", step, ", ".join(said))
        return False


class StopAtStep(BaseMonitor):
    """Ends training at a step.

    Args:
        num_steps: after so many further ones.
        last_step: or at this one.

    Raises:
        ValueError: for neither or both.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        super().__init__()
        if (num_steps is None) == (last_step is None):
            raise ValueError("One of num_steps or last_step must be specified, and not both.")
        self._num, self._end = num_steps, last_step

    def step_begin(self, step: int) -> list[Any]:
        """Count from the first step on."""
        if self._end is None:
            self._end = step + (self._num or 0) - 1
        return []

    def step_end(self, step: int, output: Any) -> bool:
        """Return whether it was the last one."""
        return step >= (self._end or 0)


class NanLoss(EveryN):
    """Ends training when a loss is no number.

    Args:
        loss_tensor: the loss.
        every_n_steps: of so many steps, one is looked at.
        fail_on_nan_loss: whether that is an error.
    """

    def __init__(self, loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True) -> None:
        super().__init__(every_n_steps)
        self._loss, self._fails = loss_tensor, fail_on_nan_loss

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Return what is fetched besides in such a step."""
        return [self._loss]

    def every_n_step_end(self, step: int, outputs: Any) -> bool:
        """Return whether the loss is no number."""
        (loss,) = outputs.values()
        if loss == loss:
            return False
        if self._fails:
            raise train.NanLossDuringTrainingError
        _log.warning("Model diverged with loss = NaN.")
        return True


class ValidationMonitor(EveryN):
    """Evaluates the latest checkpoint while a model trains, and may end the training early.

    Args:
        x: features of the evaluation, an array or arrays by key.
        y: its labels.
        input_fn: makes both instead.
        batch_size: rows of a batch.
        eval_steps: batches of an evaluation.
        every_n_steps: of so many steps, one looks for a new checkpoint.
        metrics: further metrics, ``MetricSpec`` by name.
        hooks: hooks of the evaluations.
        early_stopping_rounds: after so many steps without a better value, training ends.
        early_stopping_metric: name of that value.
        early_stopping_metric_minimize: whether less is better.
        name: name of the evaluation.
        check_interval_secs: at least so many seconds pass between two looks.

    Raises:
        ValueError: without data.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Any = None,
        hooks: Any = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
        check_interval_secs: float | None = 5,
    ) -> None:
        super().__init__(every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self.x, self.y, self.input_fn, self.batch_size = x, y, input_fn, batch_size
        self.eval_steps, self.metrics, self.hooks, self.name = eval_steps, metrics, hooks, name
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_metric = early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize
        self._interval = check_interval_secs
        self._looked: float | None = None
        self._path: str | None = None
        self._best: Any = (None, None, None)
        self._stopped = False

    @property
    def early_stopped(self) -> bool:
        """Whether it has ended training."""
        return self._stopped

    @property
    def best_step(self) -> int | None:
        """The step with the best value."""
        step: int | None = self._best[0]
        return step

    @property
    def best_value(self) -> Any:
        """The best value."""
        return self._best[1]

    @property
    def best_metrics(self) -> Any:
        """All metrics of the evaluation with the best value."""
        return self._best[2]

    def every_n_step_end(self, step: int, outputs: Any) -> bool:
        """Evaluate if there is a new checkpoint."""
        if self._estimator is None:
            raise ValueError("Missing call to set_estimator.")
        now = time.monotonic()
        if None not in (self._interval, self._looked) and now - self._looked <= self._interval:  # type: ignore[operator]
            return False
        self._looked = now
        path = train.latest_checkpoint(self._estimator.model_dir)
        if path is None or path == self._path:
            return False
        self._path = path
        metrics = self._evaluated()
        said = ", ".join(f"{key} = {value}" for key, value in metrics.items())
        _log.info("Validation (step %d): %s", step, said)
        return self.early_stopping_rounds is not None and self._ends(step, metrics)

    def _evaluated(self) -> Any:
        options = {"input_fn": self.input_fn, "steps": self.eval_steps, "hooks": self.hooks, "name": self.name}
        older = {"x": self.x, "y": self.y, "batch_size": self.batch_size, "metrics": self.metrics}
        more = {key: value for key, value in older.items() if value is not None}
        return self._estimator.evaluate(**options, **more)

    def _ends(self, step: int, metrics: Any) -> bool:
        if self.early_stopping_metric not in metrics:
            raise ValueError(f"Metric {self.early_stopping_metric} missing from outputs {sorted(metrics)}.")
        value, best = metrics[self.early_stopping_metric], self._best[1]
        better = best is None or (value < best if self.early_stopping_metric_minimize else value > best)
        if better:
            self._best = (step, value, metrics)
        if step - self._best[0] < (self.early_stopping_rounds or 0):
            return False
        _log.info("Stopping. Best step: %d with %s = %s.", *(self._best[0], self.early_stopping_metric, self._best[1]))
        self._stopped = True
        return True


class RunHookAdapterForMonitors(SessionRunHook):
    """Several monitors as one hook.

    Args:
        monitors: the monitors.
    """

    def __init__(self, monitors: Sequence[Any]) -> None:
        self._monitors = list(monitors)
        self._asked: list[Any] = []

    def begin(self) -> None:
        """Begin each."""
        for each in self._monitors:
            each.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Say to each that there is a session."""
        for each in self._monitors:
            each.after_create_session(session, coord)

    def before_run(self, run_context: Any) -> Any:
        """Ask for what each fetches."""
        self._asked = [each.before_run(run_context) for each in self._monitors]
        return SessionRunArgs([asked.fetches for asked in self._asked])

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Hand each its own."""
        for each, results in zip(self._monitors, run_values.results, strict=True):
            each.after_run(run_context, run_values._replace(results=results))

    def end(self, session: Any) -> None:
        """End each."""
        for each in self._monitors:
            each.end(session)


def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """Return monitors and hooks as hooks that know the estimator.

    Args:
        monitors_or_hooks: the monitors and hooks.
        estimator: the estimator.
    """
    hooks = list(monitors_or_hooks or ())
    for each in hooks:
        if isinstance(each, BaseMonitor):
            each.set_estimator(estimator)
    return hooks


def get_default_monitors(
    loss_op: Any = None,
    summary_op: Any = None,
    save_summary_steps: int = 100,
    output_dir: Any = None,
    summary_writer: Any = None,
) -> list[Any]:
    """Return the monitors that training usually had.

    Args:
        loss_op: the loss, which is logged.
        summary_op: summaries to save.
        save_summary_steps: steps between two of them.
        output_dir: the folder of the summaries.
        summary_writer: or their writer.
    """
    monitors: list[Any] = []
    if loss_op is not None:
        monitors.append(PrintTensor({"loss": loss_op.name}))
    if summary_op is not None:
        monitors.append(
            SummarySaver(
                save_summary_steps, output_dir=output_dir, summary_writer=summary_writer, summary_op=summary_op
            )
        )
    return monitors
