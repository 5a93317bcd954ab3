"""``Estimator``: a model function with a folder, which is trained, evaluated, asked and exported.

Each call builds a graph of its own and restores the latest checkpoint, so calls depend on each other through
the folder alone.
"""

from __future__ import annotations

import copy
import inspect
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.estimator.checkpointing import add_saver, checkpoint_hooks
from actorsession.compat.v1.estimator.run_config import RunConfig
from actorsession.compat.v1.estimator.saved_models import exported_folder, write_model
from actorsession.compat.v1.estimator.specs import EstimatorSpec, ModeKeys
from actorsession.compat.v1.graphs.graph import Graph, get_default_graph
from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.metrics.means import mean
from actorsession.compat.v1.summary.writers import FileWriterCache
from actorsession.compat.v1.train.checkpoints.warm_starts import WarmStartSettings, warm_start
from actorsession.compat.v1.train.hooks.basic import LoggingTensorHook, NanTensorHook, SessionRunHook, StopAtStepHook
from actorsession.compat.v1.train.monitored_session import MonitoredSession, MonitoredTrainingSession
from actorsession.compat.v1.train.session_creators import ChiefSessionCreator
from actorsession.config.file_roots import path_text
from actorsession.graph.graph import device, name_scope
from actorsession.interop.event_protos import Summary
from actorsession.ops import GraphKeys
from actorsession.opsets.summaries.functions import scalar
from actorsession.train import (
    create_global_step,
    latest_checkpoint,
    list_variables,
    load_variable,
    replica_device_setter,
)

__all__ = ["Estimator", "argument_names"]

_log = get_logger()

_LOSS, _STEP = "loss", "global_step"
_ARGUMENTS = ("features", "labels", "mode", "params", "config", "self")


class Estimator:
    """A model that is defined by a function.

    Args:
        model_fn: a function of ``features``, and of ``labels``, ``mode``, ``params`` and ``config`` as far as
            it names them, that returns an ``EstimatorSpec``.
        model_dir: the folder of checkpoints; that of ``config``, or else a new temporary one, if omitted.
        config: the settings.
        params: hyperparameters for the model function.
        warm_start_from: a checkpoint, or ``WarmStartSettings``, that variables begin with.

    Raises:
        ValueError: for a model function with other arguments, or two different folders.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: Any = None,
        params: Mapping[str, Any] | None = None,
        warm_start_from: Any = None,
    ) -> None:
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        _check_model_fn(model_fn, params)
        self._config = _with_folder(config, model_dir)
        self._model_dir = self._config.model_dir
        self._model_fn = model_fn
        self._params: Any = copy.deepcopy({} if params is None else params)
        if isinstance(warm_start_from, (str, bytes, os.PathLike)):
            warm_start_from = WarmStartSettings(os.fspath(warm_start_from))
        elif warm_start_from is not None and not isinstance(warm_start_from, WarmStartSettings):
            raise ValueError(
                f"warm_start_from must be a string or a WarmStartSettings, instead got {type(warm_start_from)}"
            )
        self._warm_start = warm_start_from

    # -- what it is ----------------------------------------------------------------------------

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and summaries."""
        folder: str = self._model_dir
        return folder

    @property
    def config(self) -> RunConfig:
        """A copy of the settings."""
        return copy.copy(self._config)

    @property
    def params(self) -> dict[str, Any]:
        """A copy of the hyperparameters."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model function with the arguments ``features``, ``labels``, ``mode`` and ``config``."""

        def public(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return public

    def eval_dir(self, name: str | None = None) -> str:
        """Return the folder of the summaries of evaluations.

        Args:
            name: name of the evaluation, if there are several.
        """
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    def latest_checkpoint(self) -> str | None:
        """Return the path of the latest checkpoint, or ``None``."""
        return latest_checkpoint(self._model_dir)

    def get_variable_names(self) -> list[str]:
        """Return the names of the variables of the latest checkpoint."""
        return [name for name, _ in list_variables(self._trained())]

    def get_variable_value(self, name: str) -> Any:
        """Return the value of a variable of the latest checkpoint.

        Args:
            name: name of the variable.

        Raises:
            ValueError: if the model is not trained.
            NotFoundError: if there is no such variable.
        """
        return load_variable(self._trained(), name)

    def _trained(self) -> str:
        path = self.latest_checkpoint()
        if path is None:
            raise ValueError("Estimator hasn't been trained yet.")
        return path

    # -- training ------------------------------------------------------------------------------

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[Any] | None = None,
    ) -> Estimator:
        """Train the model, from its latest checkpoint on.

        Args:
            input_fn: makes features and labels, or a dataset of both.
            hooks: further hooks.
            steps: how many steps; until the input ends if omitted.
            max_steps: the global step to end at, instead.
            saving_listeners: listeners for checkpoints.

        Returns:
            The estimator.

        Raises:
            ValueError: for both kinds of steps, or a number that is not positive.
        """
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for name, number in (("steps", steps), ("max_steps", max_steps)):
            if number is not None and number <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {number}")
        if max_steps is not None and self._latest_step() >= max_steps:
            _log.info("Skipping training since max_steps has already saved.")
            return self
        all_hooks = _checked_hooks(hooks)
        if steps is not None or max_steps is not None:
            all_hooks.append(StopAtStepHook(steps, max_steps))
        with Graph().as_default(), device(_device_fn(self._config)):
            self._train_in_graph(input_fn, all_hooks, list(saving_listeners or ()))
        return self

    def _latest_step(self) -> int:
        path = self.latest_checkpoint()
        return 0 if path is None else int(load_variable(path, GraphKeys.GLOBAL_STEP))

    def _train_in_graph(self, input_fn: Any, hooks: list[SessionRunHook], listeners: list[Any]) -> None:
        spec, step, inputs = self._built(input_fn, ModeKeys.TRAIN)
        if self._warm_start is not None:
            _log.info("Warm-starting with WarmStartSettings: %s", self._warm_start)
            warm_start(*self._warm_start)
        graph = get_default_graph()
        if not any(each.op.name == _LOSS for each in graph.get_collection(GraphKeys.SUMMARIES)):
            scalar(_LOSS, spec.loss)
        graph.add_to_collection(GraphKeys.LOSSES, spec.loss)
        config = self._config
        hooks = [*inputs, *hooks, NanTensorHook(spec.loss)]
        if config.log_step_count_steps:
            shown = {_LOSS: spec.loss, "step": step}
            hooks.append(LoggingTensorHook(shown, every_n_iter=config.log_step_count_steps))
        hooks += spec.training_hooks
        add_saver(config, spec.scaffold)
        chief_hooks = [*spec.training_chief_hooks, *checkpoint_hooks(config, spec, hooks, listeners)]
        with MonitoredTrainingSession(
            config.master,
            config.is_chief,
            self._model_dir,
            spec.scaffold,
            hooks,
            chief_hooks,
            save_checkpoint_secs=0,
            save_summaries_steps=config.save_summary_steps,
            config=config.session_config,
            max_wait_secs=config.session_creation_timeout_secs,
            log_step_count_steps=config.log_step_count_steps,
            save_graph_def=config.checkpoint_save_graph_def,
        ) as session:
            loss = None
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
        if loss is None:
            _log.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
        else:
            _log.info("Loss for final step: %s.", loss)

    # -- evaluation ----------------------------------------------------------------------------

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Return the metrics of the model on some data, with its loss and its global step.

        Args:
            input_fn: makes features and labels, or a dataset of both.
            steps: how many batches; all there are if omitted.
            hooks: further hooks.
            checkpoint_path: the checkpoint; the latest if omitted, and the model's first values without one.
            name: name of the evaluation, if there are several.

        Raises:
            ValueError: for a number of steps that is not positive, or a metric of a name that is taken.
        """
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        path = checkpoint_path or self.latest_checkpoint()
        if path is None:
            _log.info(
                "Could not find trained model in model_dir: %s, running initialization to evaluate.", self._model_dir
            )
        with Graph().as_default():
            spec, step, inputs = self._built(input_fn, ModeKeys.EVAL)
            metrics = dict(spec.eval_metric_ops)
            if _LOSS in metrics:
                raise ValueError(f'Metric with name "{_LOSS}" is not allowed, because Estimator adds it')
            with name_scope("metrics"):
                metrics[_LOSS] = mean(spec.loss)
            update = ops.group(*[pair[1] for pair in metrics.values()])
            values = {key: pair[0] for key, pair in metrics.items()}
            values.setdefault(_STEP, step)
            creator = ChiefSessionCreator(
                spec.scaffold, config=self._config.session_config, checkpoint_filename_with_path=path
            )
            all_hooks = [*inputs, *_checked_hooks(hooks), *spec.evaluation_hooks]
            last = _LastValues(values)
            with MonitoredSession(creator, [*all_hooks, last]) as session:
                done = 0
                while not session.should_stop() and (steps is None or done < steps):
                    session.run(update)
                    done += 1
        _write_metrics(self.eval_dir(name), last.values)
        return last.values

    # -- prediction ----------------------------------------------------------------------------

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yield the predictions of the model for each example.

        Args:
            input_fn: makes features, or features and labels, which are ignored.
            predict_keys: the keys of the predictions to give; all if omitted.
            hooks: further hooks.
            checkpoint_path: the checkpoint; the latest if omitted, and the model's first values without one.
            yield_single_examples: whether to take batches apart.

        Raises:
            ValueError: if the model has none of the predictions, or batches of different sizes.
        """
        path = checkpoint_path or self.latest_checkpoint()
        if path is None:
            _log.info(
                "Could not find trained model in model_dir: %s, running initialization to predict.", self._model_dir
            )
        with Graph().as_default():
            spec, _, inputs = self._built(input_fn, ModeKeys.PREDICT)
            predictions = _chosen(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(
                spec.scaffold, config=self._config.session_config, checkpoint_filename_with_path=path
            )
            all_hooks = [*inputs, *_checked_hooks(hooks), *spec.prediction_hooks]
            session = MonitoredSession(creator, all_hooks)
        # The program's graph is the default one again while it has a prediction.
        with session:
            while not session.should_stop():
                batch = session.run(predictions)
                if not yield_single_examples:
                    yield batch
                elif isinstance(batch, Mapping):
                    for index in range(_batch_size(batch)):
                        yield {key: value[index] for key, value in batch.items()}
                else:
                    yield from batch

    # -- export --------------------------------------------------------------------------------

    def export_saved_model(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """Write the model as a SavedModel, in a new folder named after the time.

        Args:
            export_dir_base: the folder in which the new one is made.
            serving_input_receiver_fn: makes the inputs; see ``tf.estimator.export``.
            assets_extra: further files, from their paths below ``assets.extra`` to those that are copied.
            as_text: whether to write the graph in the text form.
            checkpoint_path: the checkpoint; the latest if omitted.
            experimental_mode: the mode in which the model function is called.

        Returns:
            The path of the new folder, as bytes.

        Raises:
            ValueError: if the model is not trained, or the function is missing.
        """
        if serving_input_receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        path = checkpoint_path or self.latest_checkpoint()
        if path is None:
            raise ValueError(f"Couldn't find trained model at {self._model_dir}.")
        with exported_folder(export_dir_base, assets_extra) as folder, Graph().as_default():
            create_global_step(get_default_graph())
            if self._config.tf_random_seed is not None:
                ops.set_random_seed(self._config.tf_random_seed)
            receiver = serving_input_receiver_fn()
            features = receiver.features
            if isinstance(features, Mapping) and list(features) == ["feature"]:
                features = features["feature"]
            spec = self._call_model_fn(features, None, experimental_mode, self._config)
            write_model(folder.unfinished, spec, receiver, path, self._config.session_config, as_text=as_text)
        return os.fsencode(folder.path)

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Write the model as a SavedModel; the older name of ``export_saved_model``."""
        return self.export_saved_model(
            export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path
        )

    # -- the graph -----------------------------------------------------------------------------

    def _built(self, input_fn: Any, mode: str) -> tuple[EstimatorSpec, Any, list[SessionRunHook]]:
        """Build input and model in the default graph.

        Returns:
            The model, the global step, and the hooks that the input needs.
        """
        if self._config.tf_random_seed is not None:
            ops.set_random_seed(self._config.tf_random_seed)
        step = create_global_step(get_default_graph())
        features, labels, hooks = self._inputs(input_fn, mode)
        if mode == ModeKeys.PREDICT:
            labels = None
        return self._call_model_fn(features, labels, mode, self._config), step, hooks

    def _inputs(self, input_fn: Any, mode: str) -> tuple[Any, Any, list[SessionRunHook]]:
        names = argument_names(input_fn)
        values = {"mode": mode, "params": self.params, "config": self.config}
        arguments = {key: value for key, value in values.items() if key in names}
        with device("/cpu:0"):
            inputs = input_fn(**arguments)
            hooks: list[SessionRunHook] = []
            if hasattr(inputs, "make_initializable_iterator"):
                iterator = inputs.make_initializable_iterator()
                hooks.append(_Begins(iterator.initializer))
                inputs = iterator.get_next()
        if isinstance(inputs, (list, tuple)) and mode == ModeKeys.PREDICT:
            return inputs[0], None, hooks
        if isinstance(inputs, (list, tuple)):
            if len(inputs) != 2:
                raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
            return inputs[0], inputs[1], hooks
        return inputs, None, hooks

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        names = argument_names(self._model_fn)
        arguments: dict[str, Any] = {}
        if "labels" in names:
            arguments["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        values = {"mode": mode, "params": self.params, "config": config}
        arguments |= {key: value for key, value in values.items() if key in names}
        _log.info("Calling model_fn.")
        spec = self._model_fn(features=features, **arguments)
        _log.info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec


class _Begins(SessionRunHook):
    """A hook that runs the initialiser of the input in each new session."""

    def __init__(self, initializer: Any) -> None:
        self._initializer = initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run the initialiser."""
        session.run(self._initializer)


class _LastValues(SessionRunHook):
    """A hook that reads the metrics at the end."""

    def __init__(self, fetches: Mapping[str, Any]) -> None:
        self._fetches = fetches
        self.values: dict[str, Any] = {}

    def end(self, session: Any) -> None:
        """Read the metrics."""
        self.values = dict(session.run(self._fetches))


def argument_names(function: Any) -> set[str]:
    """Return the names of the arguments that a function has left open."""
    return set(inspect.signature(function).parameters)


def _check_model_fn(model_fn: Any, params: Any) -> None:
    names = argument_names(model_fn)
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator."
        )
    others = {
        name
        for name, parameter in inspect.signature(model_fn).parameters.items()
        if name not in _ARGUMENTS
        and parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    if others:
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {sorted(others)}")


def _with_folder(config: Any, model_dir: Any) -> RunConfig:
    if config is None:
        config = RunConfig()
    elif not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    folder = None if model_dir is None else path_text(model_dir, "model_dir")
    if folder is not None and config.model_dir is not None and folder != config.model_dir:
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. In "
            f"constructor: '{folder}', in `RunConfig`: '{config.model_dir}' "
        )
    folder = folder or config.model_dir
    if folder is None:
        folder = tempfile.mkdtemp()
        _log.warning("Using temporary folder as model directory: %s", folder)
    return config.replace(model_dir=folder)  # type: ignore[no-any-return]


def _device_fn(config: RunConfig) -> Any:
    if config.device_fn is not None or not config.num_ps_replicas:
        return config.device_fn
    return replica_device_setter(
        ps_tasks=config.num_ps_replicas,
        worker_device=f"/job:{config.task_type}/task:{config.task_id}",
        merge_devices=True,
        cluster=config.cluster_spec,
    )


def _write_metrics(folder: str, values: Mapping[str, Any]) -> None:
    """Write metrics as summaries to a folder, and to the log."""
    step = int(values[_STEP])
    said = ", ".join(f"{key} = {values[key]}" for key in sorted(values))
    _log.info("Saving dict for global step %d: %s", step, said)
    summary = Summary()
    for key in sorted(values):
        value = np.asarray(values[key])
        if key != _STEP and value.ndim == 0 and value.dtype.kind in "biuf":
            summary.value.add(tag=key, simple_value=float(value))
    with Graph().as_default():  # a new writer begins with the default graph
        writer = FileWriterCache.get(folder)
    writer.add_summary(summary, step)
    writer.flush()


def _checked_hooks(hooks: Sequence[Any] | None) -> list[Any]:
    checked = list(hooks or ())
    for hook in checked:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return checked


def _chosen(predictions: Any, keys: Any) -> Any:
    if not keys:
        return predictions
    if not isinstance(predictions, Mapping):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    selected = {keys} if isinstance(keys, str) else set(keys)
    chosen = {key: value for key, value in predictions.items() if key in selected}
    if not chosen:
        raise ValueError(f"Expected to run at least one output from {list(predictions)}, provided {keys}.")
    return chosen


def _batch_size(batch: Mapping[str, Any]) -> int:
    sizes = {key: np.shape(value)[0] for key, value in batch.items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(f"Batch length of predictions should be same. The sizes are {sizes}")
    return int(next(iter(sizes.values())))
