"""``tf.contrib.tpu`` for programs that can do without: estimators of it, which run as plain ones.

There are no TPUs: ``use_tpu=True`` is an error. With ``use_tpu=False`` a ``TPUEstimator`` differs from an
``Estimator`` in that it tells the functions of input and model the size of batches, in ``params``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from actorsession.compat.v1.estimator.estimator import Estimator
from actorsession.compat.v1.estimator.run_config import RunConfig as PlainRunConfig
from actorsession.compat.v1.estimator.specs import EstimatorSpec, ModeKeys
from actorsession.compat.v1.train import Optimizer
from actorsession.compat.v1.train.hooks.basic import SessionRunArgs, SessionRunHook

__all__ = ["CrossShardOptimizer", "InputPipelineConfig", "RunConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec"]

_RESERVED = ("batch_size", "context", "use_tpu")


class InputPipelineConfig:
    """How the input is split among hosts; accepted for compatibility, for there is one."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class TPUConfig(NamedTuple):
    """The settings of TPUs; all are accepted for compatibility."""

    iterations_per_loop: Any = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: Any = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: int | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: Any = InputPipelineConfig.PER_HOST_V1
    experimental_host_call_every_n_steps: int = 1


class RunConfig(PlainRunConfig):
    """The settings of a ``TPUEstimator``.

    Args:
        tpu_config: those of TPUs.
        evaluation_master: the address of the session of evaluations.
        master: the address of the session of training; that of ``TF_CONFIG`` if omitted.
        cluster: a resolver of the addresses of TPUs, which is only kept.
        **kwargs: the settings of ``tf.estimator.RunConfig``.
    """

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._tpu_config = tpu_config or TPUConfig()
        self._cluster = cluster
        self._asked_evaluation_master = evaluation_master or ""
        if master is not None:
            self._master = master

    @property
    def evaluation_master(self) -> str:
        """The address of the session of evaluations."""
        return self._asked_evaluation_master


class _Spec(NamedTuple):
    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: Any = None
    export_outputs: Mapping[str, Any] | None = None
    scaffold_fn: Callable[[], Any] | None = None
    host_call: Any = None
    training_hooks: Sequence[SessionRunHook] | None = None
    evaluation_hooks: Sequence[SessionRunHook] | None = None
    prediction_hooks: Sequence[SessionRunHook] | None = None


class TPUEstimatorSpec(_Spec):
    """The operations of a model in one mode; what runs outside of TPUs is a function with its arguments.

    Args:
        mode: one of ``tf.estimator.ModeKeys``.
        predictions: a tensor, or tensors by key.
        loss: the loss.
        train_op: the operation of a step.
        eval_metrics: a function and its arguments, a list or by name, that gives ``eval_metric_ops``.
        export_outputs: the outputs of an exported model.
        scaffold_fn: makes the scaffold of the session.
        host_call: a function and its arguments, whose operations run with each step of training.
        training_hooks: hooks of training.
        evaluation_hooks: hooks of evaluation.
        prediction_hooks: hooks of prediction.
    """

    __slots__ = ()

    def as_estimator_spec(self) -> EstimatorSpec:
        """Return the same for a plain estimator."""
        hooks = list(self.training_hooks or ())
        if self.host_call is not None and self.mode == ModeKeys.TRAIN:
            hooks.append(_RunsBeside(_called(self.host_call)))
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            self.train_op,
            None if self.eval_metrics is None else _called(self.eval_metrics),
            self.export_outputs,
            training_hooks=hooks,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            evaluation_hooks=self.evaluation_hooks,
            prediction_hooks=self.prediction_hooks,
        )


def _called(pair: tuple[Callable[..., Any], Any]) -> Any:
    function, arguments = pair
    return function(**arguments) if isinstance(arguments, Mapping) else function(*arguments)


class _RunsBeside(SessionRunHook):
    """A hook that fetches something with each step."""

    def __init__(self, fetches: Any) -> None:
        self._fetches = fetches

    def before_run(self, run_context: Any) -> Any:
        """Return what to fetch."""
        return SessionRunArgs(self._fetches)


class TPUEstimator(Estimator):
    """An ``Estimator`` whose functions are told the size of batches, as ``params["batch_size"]``.

    Args:
        model_fn: a function as for ``Estimator``; it may return a ``TPUEstimatorSpec``.
        model_dir: the folder of checkpoints.
        config: the settings.
        params: hyperparameters.
        use_tpu: False, for there are no TPUs.
        train_batch_size: the size of batches of training.
        eval_batch_size: that of evaluation.
        predict_batch_size: that of prediction.
        batch_axis: accepted for compatibility, as are the next four.
        eval_on_tpu: whether to evaluate on TPUs.
        export_to_tpu: whether to export for TPUs.
        export_to_cpu: whether to export without them.
        warm_start_from: a checkpoint, or settings, that variables begin with.
        embedding_config_spec: embeddings of TPUs.
        export_saved_model_api_version: accepted for compatibility.

    Raises:
        ValueError: for ``use_tpu=True``, or a hyperparameter whose name is taken.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: Any = None,
        config: Any = None,
        params: Mapping[str, Any] | None = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = None,
    ) -> None:
        if use_tpu:
            raise ValueError("use_tpu=True: there are no TPUs here; use_tpu=False runs on the CPU")
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        taken = [name for name in _RESERVED if name in (params or {})]
        if taken:
            raise ValueError(f"{', '.join(taken)} are reserved keys but existed in params.")
        super().__init__(model_fn, model_dir, config, params, warm_start_from)
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        self._model_fn = _plain(model_fn)
        self._mode: str | None = None

    @property
    def params(self) -> dict[str, Any]:
        """A copy of the hyperparameters; while a graph is built, with the size of its batches."""
        params = super().params
        size = self._batch_sizes.get(self._mode or "")
        return params if size is None else {**params, "batch_size": size, "use_tpu": False}

    def _built(self, input_fn: Any, mode: str) -> Any:
        self._mode = mode
        try:
            return super()._built(input_fn, mode)
        finally:
            self._mode = None


def _plain(model_fn: Callable[..., Any]) -> Callable[..., EstimatorSpec]:
    """A model function that returns an ``EstimatorSpec`` whichever of the two the given one does."""

    @functools.wraps(model_fn)
    def plain(*args: Any, **named: Any) -> EstimatorSpec:
        spec = model_fn(*args, **named)
        return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec

    return plain


class CrossShardOptimizer(Optimizer):
    """An optimiser that sums gradients over TPUs: as there are none, the optimiser that it is given.

    Args:
        opt: the optimiser.
        reduction: accepted for compatibility.
        name: name of the new operations.
        group_assignment: accepted for compatibility.
    """

    def __init__(
        self,
        opt: Any,
        reduction: Any = "weighted_mean",
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return what the optimiser's method does."""
        return self._opt.compute_gradients(loss, var_list, *args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        """Return what the optimiser's method does."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of the optimiser."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """Return the names of the optimiser's slots."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        """Return the optimiser's variables."""
        return self._opt.variables()
