"""``tf.contrib.estimator``: models around models, hooks that end training, and gradients that are cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import actorsession.compat.v1 as tf
from actorsession.compat.v1.estimator.early_stopping import (
    InMemoryEvaluatorHook,
    make_early_stopping_hook,
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
)
from actorsession.compat.v1.estimator.estimator import Estimator
from actorsession.compat.v1.estimator.export import PredictOutput
from actorsession.compat.v1.estimator.extra_metrics import add_metrics
from actorsession.compat.v1.estimator.specs import ModeKeys

__all__ = [
    "InMemoryEvaluatorHook",
    "add_metrics",
    "clip_gradients_by_norm",
    "forward_features",
    "make_early_stopping_hook",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]


def forward_features(
    estimator: Any, keys: str | Iterable[str] | None = None, sparse_default_values: Any = None
) -> Estimator:
    """Return an estimator whose predictions have features as well; it has the folder of the first.

    Args:
        estimator: the estimator.
        keys: the features; all if omitted.
        sparse_default_values: what stands where sparse features have nothing, by key.

    Raises:
        ValueError: when predictions are built, for a key that is no feature or is one of a prediction.
        TypeError: when they are built, for predictions that are not by key.
    """
    asked = [keys] if isinstance(keys, str) else None if keys is None else list(keys)

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        spec = estimator.model_fn(features, labels, mode, config)
        predictions = spec.predictions
        if mode != ModeKeys.PREDICT:
            return spec
        if not isinstance(predictions, Mapping):
            raise TypeError(f"Predictions should be a dict to be extended, got {type(predictions)}")
        added = {}
        for key in sorted(features) if asked is None else asked:
            if key not in features:
                raise ValueError(f"keys should be keys of features: {key!r} is none of {sorted(features)}")
            if key in predictions:
                raise ValueError(f"Cannot forward feature key ({key}). Since it does exist in predictions.")
            feature = features[key]
            if isinstance(feature, tf.SparseTensor):
                default = (sparse_default_values or {}).get(key)
                feature = tf.sparse_tensor_to_dense(feature, default)
            added[key] = feature
        outputs = {
            name: PredictOutput({**output.outputs, **added}) if isinstance(output, PredictOutput) else output
            for name, output in (spec.export_outputs or {}).items()
        }
        return spec._replace(predictions={**predictions, **added}, export_outputs=outputs or spec.export_outputs)

    return Estimator(model_fn, estimator.model_dir, estimator.config)


class _Clipped(tf.train.Optimizer):
    """An optimiser whose gradients are cut before they are applied."""

    def __init__(self, optimizer: Any, norm: float) -> None:
        super().__init__(False, f"Clipped{optimizer.get_name()}")
        self._optimizer, self._norm = optimizer, norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        pairs = [(grad, var) for grad, var in grads_and_vars if grad is not None]
        gradients, _ = tf.clip_by_global_norm([grad for grad, _ in pairs], self._norm)
        variables = [var for _, var in pairs]
        return self._optimizer.apply_gradients(list(zip(gradients, variables, strict=True)), *args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        return self._optimizer.variables()


def clip_gradients_by_norm(optimizer: Any, clip_norm: float) -> Any:
    """Return an optimiser that cuts gradients to a norm over all of them.

    Args:
        optimizer: the optimiser that applies them.
        clip_norm: the largest norm.
    """
    return _Clipped(optimizer, clip_norm)
