"""What a model function returns, and what training and evaluation are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from actorsession.compat.v1.train.session_creators import Scaffold
from actorsession.durations import checked_seconds
from actorsession.graph.operation import Operation, Tensor

__all__ = ["EstimatorSpec", "EvalSpec", "ModeKeys", "TrainSpec"]


class ModeKeys:
    """What a model function is called for."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class _Spec(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Mapping[str, Any]
    export_outputs: Mapping[str, Any] | None
    training_chief_hooks: tuple[Any, ...]
    training_hooks: tuple[Any, ...]
    scaffold: Any
    evaluation_hooks: tuple[Any, ...]
    prediction_hooks: tuple[Any, ...]


class EstimatorSpec(_Spec):
    """The operations of a model in one mode.

    Args:
        mode: one of ``ModeKeys``.
        predictions: a tensor, or tensors by key; required for ``PREDICT``.
        loss: the loss, a scalar; required for ``TRAIN`` and ``EVAL``.
        train_op: the operation of a step; required for ``TRAIN``.
        eval_metric_ops: metrics by name: pairs of a value and the operation that updates it.
        export_outputs: the outputs of an exported model, by the names of its signatures.
        training_chief_hooks: hooks of the chief's training.
        training_hooks: hooks of training.
        scaffold: the scaffold of the session.
        evaluation_hooks: hooks of evaluation.
        prediction_hooks: hooks of prediction.

    Raises:
        ValueError: if something is missing for the mode, or the loss is no scalar.
        TypeError: for an element of the wrong type.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        export_outputs: Mapping[str, Any] | None = None,
        training_chief_hooks: Sequence[Any] | None = None,
        training_hooks: Sequence[Any] | None = None,
        scaffold: Any = None,
        evaluation_hooks: Sequence[Any] | None = None,
        prediction_hooks: Sequence[Any] | None = None,
    ) -> EstimatorSpec:
        """Check the fields."""
        if mode not in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
            raise ValueError(
                f"mode must be one of {ModeKeys.TRAIN!r}, {ModeKeys.EVAL!r}, {ModeKeys.PREDICT!r}, got {mode!r}"
            )
        if mode == ModeKeys.TRAIN and train_op is None:
            raise ValueError("Missing train_op.")
        if mode == ModeKeys.PREDICT and predictions is None:
            raise ValueError("Missing predictions.")
        if not (train_op is None or isinstance(train_op, Operation) or hasattr(train_op, "op")):
            raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
        if scaffold is not None and not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(
            cls,
            mode,
            _checked_predictions({} if predictions is None else predictions),
            _checked_loss(loss, mode),
            train_op,
            _checked_metrics(eval_metric_ops or {}),
            _checked_outputs(export_outputs),
            _checked_hooks(training_chief_hooks),
            _checked_hooks(training_hooks),
            scaffold or Scaffold(),
            _checked_hooks(evaluation_hooks),
            _checked_hooks(prediction_hooks),
        )


def _checked_predictions(predictions: Any) -> Any:
    for key, value in predictions.items() if isinstance(predictions, Mapping) else [("predictions", predictions)]:
        if not isinstance(value, Tensor) and not hasattr(value, "op"):
            raise TypeError(f"predictions[{key}] must be Tensor, given: {value}")
    return predictions


def _checked_loss(loss: Any, mode: str) -> Any:
    if loss is None:
        if mode != ModeKeys.PREDICT:
            raise ValueError("Missing loss.")
        return None
    if not isinstance(loss, Tensor):
        raise TypeError(f"loss must be Tensor, given: {loss}")
    if loss.shape.rank not in (None, 0):
        if loss.shape.num_elements() != 1:
            raise ValueError(f"Loss must be scalar, given: {loss}")
        from actorsession import ops

        loss = ops.reshape(loss, [])
    return loss


def _checked_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(metrics, Mapping):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics}")
    for key, pair in metrics.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: {pair} for key: {key}"
            )
    return dict(metrics)


def _checked_outputs(export_outputs: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    from actorsession.compat.v1.estimator.export import ExportOutput
    from actorsession.compat.v1.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY

    if export_outputs is None:
        return None
    if not isinstance(export_outputs, Mapping):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    for value in export_outputs.values():
        if not isinstance(value, ExportOutput):
            raise TypeError(f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}")
    outputs = dict(export_outputs)
    if DEFAULT_SERVING_SIGNATURE_DEF_KEY not in outputs:
        if len(outputs) > 1:
            raise ValueError(
                "Multiple export_outputs were provided, but none of them is specified as the default. "
                f"Use the key {DEFAULT_SERVING_SIGNATURE_DEF_KEY!r}"
            )
        outputs |= dict.fromkeys([DEFAULT_SERVING_SIGNATURE_DEF_KEY], *outputs.values())
    return outputs


def _checked_hooks(listed: Sequence[Any] | None) -> tuple[Any, ...]:
    from actorsession.compat.v1.train.hooks.basic import SessionRunHook

    hooks = tuple(listed or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
    return hooks


def _positive(what: str, number: int | None) -> None:
    if number is not None and number <= 0:
        raise ValueError(f"Must specify {what} > 0, given: {number}")


class _TrainFields(NamedTuple):
    input_fn: Callable[..., Any]
    max_steps: int | None
    hooks: tuple[Any, ...]
    saving_listeners: tuple[Any, ...]


class TrainSpec(_TrainFields):
    """What ``train_and_evaluate`` trains with.

    Args:
        input_fn: the function that makes features and labels.
        max_steps: the global step at which training ends; without end if omitted.
        hooks: hooks of training.
        saving_listeners: listeners for checkpoints.

    Raises:
        ValueError: for a number of steps that is not positive.
        TypeError: if ``input_fn`` is not callable, or for a hook that is none.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        max_steps: int | None = None,
        hooks: Sequence[Any] | None = None,
        saving_listeners: Sequence[Any] | None = None,
    ) -> TrainSpec:
        """Check the fields."""
        _check_function(input_fn)
        _positive("max_steps", max_steps)
        return super().__new__(cls, input_fn, max_steps, _checked_hooks(hooks), tuple(saving_listeners or ()))


class _EvalFields(NamedTuple):
    input_fn: Callable[..., Any]
    steps: int | None
    name: str | None
    hooks: tuple[Any, ...]
    exporters: tuple[Any, ...]
    start_delay_secs: float
    throttle_secs: float


class EvalSpec(_EvalFields):
    """What ``train_and_evaluate`` evaluates with.

    Args:
        input_fn: the function that makes features and labels.
        steps: batches of an evaluation; all there are if ``None``.
        name: name of the evaluation, if there are several.
        hooks: hooks of evaluation.
        exporters: an exporter, or several, that are called after each evaluation.
        start_delay_secs: seconds that a separate evaluator waits first.
        throttle_secs: seconds between two evaluations at least.

    Raises:
        ValueError: for a number of steps that is not positive, or a negative time.
        TypeError: if ``input_fn`` is not callable, or for a hook or exporter that is none.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Sequence[Any] | None = None,
        exporters: Any = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> EvalSpec:
        """Check the fields."""
        from actorsession.compat.v1.estimator.exporters import Exporter

        _check_function(input_fn)
        _positive("steps", steps)
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        listed = [exporters] if isinstance(exporters, Exporter) else list(exporters or ())
        for exporter in listed:
            if not isinstance(exporter, Exporter):
                raise TypeError(f"`exporters` must be Exporter objects, given: {exporter}")
        if len({exporter.name for exporter in listed}) < len(listed):
            raise ValueError("`exporters` must have unique names.")
        for what, seconds in (("start_delay_secs", start_delay_secs), ("throttle_secs", throttle_secs)):
            checked_seconds(what, seconds, of=f"Must specify {what} >= 0: ")
        return super().__new__(
            cls, input_fn, steps, name, _checked_hooks(hooks), tuple(listed), start_delay_secs, throttle_secs
        )


def _check_function(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")
