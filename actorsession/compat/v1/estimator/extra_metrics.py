"""``tf.estimator.add_metrics``: a model with further metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.compat.v1.estimator.estimator import Estimator, argument_names
from actorsession.compat.v1.estimator.specs import EstimatorSpec, ModeKeys

__all__ = ["add_metrics"]

_ARGUMENTS = {"features", "labels", "predictions", "config"}


def add_metrics(estimator: Any, metric_fn: Callable[..., Any]) -> Estimator:
    """Return an estimator that evaluates further metrics; it has the folder of the first.

    Args:
        estimator: the estimator.
        metric_fn: from ``features``, ``labels``, ``predictions`` and ``config``, as far as it names them, to
            metrics by name.

    Raises:
        ValueError: for a function with other arguments.
    """
    names = argument_names(metric_fn)
    if names - _ARGUMENTS:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {names - _ARGUMENTS}")

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec  # type: ignore[no-any-return]
        values = {"features": features, "labels": labels, "predictions": spec.predictions, "config": config}
        extra = metric_fn(**{name: values[name] for name in names})
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **extra})  # type: ignore[no-any-return]

    return Estimator(model_fn, estimator.model_dir, estimator.config)
