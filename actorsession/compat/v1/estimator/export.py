"""``tf.estimator.export``: what an exported model takes, and what it gives."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from actorsession import ops, opsets
from actorsession.compat.v1.saved_model.signature_def_utils import (
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
)
from actorsession.graph.dtypes import string
from actorsession.graph.operation import Tensor

__all__ = [
    "ClassificationOutput",
    "ExportOutput",
    "PredictOutput",
    "RegressionOutput",
    "ServingInputReceiver",
    "TensorServingInputReceiver",
    "build_parsing_serving_input_receiver_fn",
    "build_raw_serving_input_receiver_fn",
]

_FEATURE, _RECEIVER = "feature", "input"


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: Mapping[str, Tensor]
    receiver_tensors_alternatives: Mapping[str, Any] | None


class ServingInputReceiver(_Receiver):
    """The tensors that requests fill, and the features that follow from them.

    Args:
        features: a tensor, or tensors by key.
        receiver_tensors: the placeholders, one or by key.
        receiver_tensors_alternatives: further sets of tensors that may be fed instead.

    Raises:
        ValueError: if something is missing or has no tensor.
    """

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> ServingInputReceiver:
        """Check the fields."""
        wrapped = _wrapped(features, "features", _FEATURE)
        return super().__new__(
            cls, wrapped, _wrapped(receiver_tensors, "receiver_tensors", _RECEIVER), receiver_tensors_alternatives
        )


class TensorServingInputReceiver(_Receiver):
    """``ServingInputReceiver`` for a model function whose features are a single tensor.

    Args:
        features: the tensor.
        receiver_tensors: the placeholders, one or by key.
        receiver_tensors_alternatives: further sets of tensors that may be fed instead.

    Raises:
        ValueError: if the features are not one tensor.
    """

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> TensorServingInputReceiver:
        """Check the fields."""
        if not isinstance(features, Tensor):
            raise ValueError(f"features must be a Tensor, got {type(features).__name__}")
        return super().__new__(
            cls, features, _wrapped(receiver_tensors, "receiver_tensors", _RECEIVER), receiver_tensors_alternatives
        )


def _wrapped(outputs: Any, what: str, name: str) -> dict[str, Any]:
    if outputs is None:
        raise ValueError(f"{what} must be defined.")
    tensors = dict(outputs) if isinstance(outputs, Mapping) else {name: outputs}
    for key, value in tensors.items():
        if not isinstance(value, (Tensor, opsets.SparseTensor)):
            raise ValueError(f"{what} {key} must be a Tensor or SparseTensor, got {value!r:.100}")
    return tensors


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Tensor], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Return a function that makes a placeholder for each feature.

    Args:
        features: tensors whose names, types and shapes the placeholders take over.
        default_batch_size: the first dimension; any if omitted.
    """

    def receiver() -> ServingInputReceiver:
        placeholders = {}
        for name, tensor in features.items():
            shape = tensor.shape.as_list()
            if shape:
                shape[0] = default_batch_size
            placeholders[name] = ops.placeholder(tensor.dtype, shape, name=tensor.op.name.split("/")[-1])
        return ServingInputReceiver(placeholders, placeholders)

    return receiver


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Return a function that makes a placeholder for serialised ``Example`` messages, and parses them.

    Args:
        feature_spec: the features to parse, as for ``tf.parse_example``.
        default_batch_size: the number of messages; any if omitted.
    """

    def receiver() -> ServingInputReceiver:
        examples = ops.placeholder(string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(opsets.parse_example(examples, feature_spec), {"examples": examples})

    return receiver


# -- outputs -------------------------------------------------------------------------------------


class ExportOutput(abc.ABC):
    """An output of an exported model."""

    @abc.abstractmethod
    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> Any:
        """Return the signature of the output.

        Args:
            receiver_tensors: the inputs by key.

        Raises:
            ValueError: if the output cannot be had from these inputs.
        """


class PredictOutput(ExportOutput):
    """Any tensors.

    Args:
        outputs: a tensor, or tensors by key.

    Raises:
        ValueError: for anything but tensors.
    """

    def __init__(self, outputs: Any) -> None:
        self._outputs = dict(outputs) if isinstance(outputs, Mapping) else {"output": outputs}
        for key, value in self._outputs.items():
            if not isinstance(value, Tensor):
                raise ValueError(f"prediction output value must be a Tensor; got {value} for {key}")

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The tensors by key."""
        return self._outputs

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> Any:
        """Return a signature with all inputs and outputs."""
        return predict_signature_def(receiver_tensors, self._outputs)


class ClassificationOutput(ExportOutput):
    """Classes and their scores for serialised ``Example`` messages.

    Args:
        scores: floats of shape ``[batch, classes]``.
        classes: strings of that shape.

    Raises:
        ValueError: for neither of them, or another type.
    """

    def __init__(self, scores: Tensor | None = None, classes: Tensor | None = None) -> None:
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        if scores is not None and not scores.dtype.is_floating:
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and classes.dtype is not string:
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        self.scores, self.classes = scores, classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> Any:
        """Return a signature for classification."""
        examples = _examples(receiver_tensors, "Classification")
        return classification_signature_def(examples, self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """Numbers for serialised ``Example`` messages.

    Args:
        value: floats.

    Raises:
        ValueError: for another type.
    """

    def __init__(self, value: Tensor) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self.value = value

    def as_signature_def(self, receiver_tensors: Mapping[str, Tensor]) -> Any:
        """Return a signature for regression."""
        return regression_signature_def(_examples(receiver_tensors, "Regression"), self.value)


def _examples(receiver_tensors: Mapping[str, Tensor], what: str) -> Tensor:
    tensors = list(receiver_tensors.values())
    if len(tensors) != 1 or tensors[0].dtype is not string:
        raise ValueError(f"{what} input must be a single string Tensor; got {dict(receiver_tensors)}")
    return tensors[0]
