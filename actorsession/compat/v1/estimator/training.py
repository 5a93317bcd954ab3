"""``train_and_evaluate``: a model is trained, and evaluated on the way, here or by the tasks of a cluster."""

from __future__ import annotations

import os
import time
from typing import Any

from actorsession.compat.v1.estimator.estimator import Estimator
from actorsession.compat.v1.estimator.specs import EvalSpec, TrainSpec
from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.train.hooks.basic import SecondOrStepTimer
from actorsession.compat.v1.train.hooks.checkpoints import CheckpointSaverListener
from actorsession.compat.v1.train.server import Server
from actorsession.durations import checked_seconds

__all__ = ["train_and_evaluate"]

_log = get_logger()
# Seconds between two looks of an evaluator at the folder, at most.
_LOOK = 1.0


def train_and_evaluate(estimator: Any, train_spec: Any, eval_spec: Any) -> tuple[Any, list[Any]] | None:
    """Train a model, evaluate and export it.

    Without a cluster in ``TF_CONFIG``, all of it is done here: each checkpoint is evaluated that is written
    ``throttle_secs`` after the last one that was, and the last one. In a cluster each task does its part:
    chief and workers train, parameter servers wait, and the evaluator looks for checkpoints.

    Args:
        estimator: the model.
        train_spec: what it is trained with.
        eval_spec: what it is evaluated with.

    Returns:
        The last metrics, and what the exporters returned; ``None`` from a task of a cluster.

    Raises:
        TypeError: for arguments of other classes.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`, given {type(estimator)}")
    if not isinstance(train_spec, TrainSpec):
        raise TypeError(f"`train_spec` must have type `tf.estimator.TrainSpec`. Got: {type(train_spec)}")
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(f"`eval_spec` must have type `tf.estimator.EvalSpec`. Got: {type(eval_spec)}")
    config = estimator.config
    if config.task_type == "evaluator":
        _evaluate_continuously(estimator, train_spec, eval_spec)
        return None
    if not config.cluster_spec.as_dict():
        return _train_here(estimator, train_spec, eval_spec)
    if config.task_type == "ps":
        _start_server(config).join()
        return None
    server = _start_server(config)
    try:
        if config.task_type == "worker" and config.experimental_max_worker_delay_secs:
            name = "experimental_max_worker_delay_secs"
            most = checked_seconds(name, config.experimental_max_worker_delay_secs)
            time.sleep(min(5.0 * (config.task_id + 1), most))
        listeners = train_spec.saving_listeners if config.is_chief else ()
        estimator.train(
            train_spec.input_fn, train_spec.hooks, max_steps=train_spec.max_steps, saving_listeners=listeners
        )
    finally:
        server.stop() if hasattr(server, "stop") else None
    return None


def _start_server(config: Any) -> Any:
    return Server(
        config.cluster_spec, config.task_type, config.task_id, config=config.session_config, protocol=config.protocol
    )


class _Evaluator:
    """The evaluation of checkpoints, each once.

    Args:
        estimator: the model.
        spec: what it is evaluated with.
        max_steps: the global step at which training ends.
    """

    def __init__(self, estimator: Estimator, spec: EvalSpec, max_steps: int | None) -> None:
        self._estimator = estimator
        self._spec = spec
        self._max_steps = max_steps
        self._evaluated: str | None = None
        self.metrics: Any = None
        self.exports: list[Any] = []
        self.ended = False

    def look(self) -> bool:
        """Evaluate and export the latest checkpoint if it is new, and return whether it was."""
        path = self._estimator.latest_checkpoint()
        if path is None or path == self._evaluated:
            return False
        spec = self._spec
        self.metrics = self._estimator.evaluate(spec.input_fn, spec.steps, spec.hooks, path, spec.name)
        self._evaluated = path
        self.ended = self._max_steps is not None and int(self.metrics["global_step"]) >= self._max_steps
        self.exports = [
            exporter.export(
                self._estimator,
                os.path.join(self._estimator.model_dir, "export", exporter.name),
                path,
                self.metrics,
                self.ended,
            )
            for exporter in spec.exporters
        ]
        return True


class _EvaluatingListener(CheckpointSaverListener):
    """A listener that evaluates checkpoints while the model is trained."""

    def __init__(self, evaluator: _Evaluator, every_secs: float) -> None:
        self._evaluator = evaluator
        self._every = every_secs

    def begin(self) -> None:
        """Begin to count the time."""
        self._timer = SecondOrStepTimer(every_secs=self._every)
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluate a checkpoint if it is time, but not the one at the start of training."""
        if self._is_first:
            self._is_first = False
            return
        if self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            _log.info("Skip the current checkpoint eval due to throttle secs (%s secs).", self._every)

    def end(self, session: Any, global_step_value: int) -> None:
        """Evaluate the last checkpoint if it was not."""
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        self._evaluator.look()


def _train_here(estimator: Estimator, train: TrainSpec, spec: EvalSpec) -> tuple[Any, list[Any]]:
    evaluator = _Evaluator(estimator, spec, train.max_steps)
    listeners = [_EvaluatingListener(evaluator, spec.throttle_secs), *train.saving_listeners]
    estimator.train(train.input_fn, train.hooks, max_steps=train.max_steps, saving_listeners=listeners)
    return evaluator.metrics, evaluator.exports


def _evaluate_continuously(estimator: Estimator, train: TrainSpec, spec: EvalSpec) -> None:
    evaluator = _Evaluator(estimator, spec, train.max_steps)
    if spec.start_delay_secs:
        _log.info("Waiting %f secs before starting eval.", spec.start_delay_secs)
        time.sleep(spec.start_delay_secs)
    while not evaluator.ended:
        began = time.monotonic()
        if evaluator.look():
            time.sleep(0 if evaluator.ended else max(0.0, began + spec.throttle_secs - time.monotonic()))
        else:
            time.sleep(min(_LOOK, max(0.05, spec.throttle_secs)))
