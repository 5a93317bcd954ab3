"""The features to parse for a ready model: those of its columns, the label and the weight."""

from __future__ import annotations

from typing import Any

from actorsession.compat.v1.feature_column.models import make_parse_example_spec
from actorsession.graph.dtypes import float32, int64
from actorsession.opsets import FixedLenFeature

__all__ = ["classifier_parse_example_spec", "regressor_parse_example_spec"]


def classifier_parse_example_spec(
    feature_columns: Any, label_key: str, label_dtype: Any = int64, label_default: Any = None, weight_column: Any = None
) -> dict[str, Any]:
    """Return the features to parse for a classifier, for ``tf.parse_example``.

    Args:
        feature_columns: the columns of the model.
        label_key: key of the label.
        label_dtype: dtype of the label.
        label_default: the label of examples without one; it is an error if there is no default.
        weight_column: key of the weight, or a numeric column.

    Raises:
        ValueError: if the label or the weight has the key of a feature.
    """
    return _spec(feature_columns, label_key, (1,), label_dtype, label_default, weight_column)


def regressor_parse_example_spec(
    feature_columns: Any,
    label_key: str,
    label_dtype: Any = float32,
    label_default: Any = None,
    label_dimension: int = 1,
    weight_column: Any = None,
) -> dict[str, Any]:
    """Return the features to parse for a regressor; see ``classifier_parse_example_spec``."""
    return _spec(feature_columns, label_key, (label_dimension,), label_dtype, label_default, weight_column)


def _spec(
    columns: Any, key: str, shape: tuple[int, ...], dtype: Any, default: Any, weight_column: Any
) -> dict[str, Any]:
    spec: dict[str, Any] = dict(make_parse_example_spec(columns))
    extra = {key: FixedLenFeature(shape, dtype, default)}
    if isinstance(weight_column, str):
        extra[weight_column] = FixedLenFeature((1,), float32)
    elif weight_column is not None:
        extra |= make_parse_example_spec([weight_column])
    for name in extra:
        if name in spec:
            raise ValueError(f"label or weight should not be used as feature. key: {name}")
    return spec | extra
