"""Parsing of sequences by a node: ``parse_sequence_example`` and ``parse_single_sequence_example``.

Owns the public functions. A serialized ``SequenceExample`` has features of the sequence as a whole, its
context, and lists with a feature for each step. ``sequence_nodes`` has the operation type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from actorsession.graph.dtypes import bool_, string
from actorsession.graph.operation import Tensor
from actorsession.ops.build import constant, convert_to_tensor, graph_of, make
from actorsession.opsets.parsing.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    Wanted,
    wanted_of,
)
from actorsession.opsets.sparse.basics import SparseTensor

__all__ = ["parse_sequence_example", "parse_single_sequence_example"]

Parsed: TypeAlias = "tuple[dict[str, Any], dict[str, Any], dict[str, Any]]"


def parse_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> Parsed:
    """Return the features of a batch of serialized ``SequenceExample`` messages.

    Args:
        serialized: the messages, a vector of strings.
        context_features: by key, a ``FixedLenFeature`` or ``VarLenFeature`` of the sequence as a whole.
        sequence_features: by key, a ``FixedLenSequenceFeature`` or ``VarLenFeature`` of each step.
        example_names: names of the examples for error messages, a vector of strings.
        name: wanted name.

    Returns:
        The features of the whole by key, those of the steps, and for each dense feature of the steps the
        number of steps. Dense ones have shape ``[batch, steps, ...]``, with zeros or empty strings after the
        end of shorter sequences; sparse ones have the axes batch, step and position. At run time an
        InvalidArgumentError, which names key and example, is raised as for ``parse_example``.

    Raises:
        ValueError: for no features, or one that is incomplete or of another kind.
        TypeError: for another type than string, float32 and int64.
    """
    _check_any(context_features, sequence_features)
    graph = graph_of(serialized, example_names)
    with (
        graph.as_default(),
        graph.name_scope(name or "ParseSequenceExample"),
        graph.name_scope(name or "ParseSequenceExample"),
    ):
        value = convert_to_tensor(serialized, string, "serialized", graph=graph)
        return _parsed(value, context_features, sequence_features, example_names, name)


def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the features of one serialized ``SequenceExample``; see ``parse_sequence_example``.

    Args:
        serialized: the message, a string.
        context_features: by key, features of the sequence as a whole.
        sequence_features: by key, features of each step.
        example_name: name of the example for error messages, a string.
        name: wanted name.

    Returns:
        The features of the whole by key, and those of the steps, without the batch axis.

    Raises:
        ValueError: for a message that is no scalar, and as for ``parse_sequence_example``.
        TypeError: as for ``parse_sequence_example``.
    """
    _check_any(context_features, sequence_features)
    graph = graph_of(serialized, example_name)
    with graph.as_default(), graph.name_scope(name or "ParseSingleSequenceExample"):
        value = convert_to_tensor(serialized, string, "serialized", graph=graph)
        if value.shape.rank not in (None, 0):
            raise ValueError(f"Input serialized must be a scalar, got shape {value.shape}")
        if value.shape.rank is None:
            value.set_shape([])
        with graph.name_scope(name or "ParseSequenceExample"):
            parsed = _parsed(value, context_features, sequence_features, example_name, name)
            return parsed[:2]


def _check_any(context_features: Mapping[str, Any] | None, sequence_features: Mapping[str, Any] | None) -> None:
    if not context_features and not sequence_features:
        raise ValueError("Both context_features and sequence_features are None, but at least one should have values.")


def _parsed(
    value: Tensor,
    context_features: Mapping[str, Any] | None,
    sequence_features: Mapping[str, Any] | None,
    names: Any,
    name: str | None,
) -> Parsed:
    graph = value.graph
    context = wanted_of(context_features or {}, (VarLenFeature, FixedLenFeature))
    steps = wanted_of(sequence_features or {}, (VarLenFeature, FixedLenSequenceFeature))
    for key, default in steps.defaults.items():
        if default is not None:
            raise ValueError(f"feature {key!r} of each step has no default, got {default!r:.100}")
    defaults = context.default_tensors(graph)
    with graph.name_scope(name or "ParseSequenceExampleV2") as scope:
        empty = "" if value.shape.rank == 0 else []
        keys = [context.sparse, context.dense, (), steps.sparse, steps.dense, ()]
        inputs = [
            value,
            convert_to_tensor(empty if names is None else names, string, "debug_name", graph=graph),
            *[constant(list(some), string, name="keys", graph=graph) for some in keys],
            constant([key in steps.defaults for key in steps.dense], bool_, graph=graph),
            *defaults,
        ]
        outputs = make("ParseSequenceExampleV2", inputs, _attrs(context, steps), scope, graph).outputs
    return _by_key(list(outputs), context, steps)


def _attrs(context: Wanted, steps: Wanted) -> dict[str, Any]:
    return {
        "Ncontext_sparse": len(context.sparse),
        "context_sparse_types": tuple(context.sparse.values()),
        "context_dense_shapes": tuple(context.shapes.values()),
        "Nfeature_list_sparse": len(steps.sparse),
        "feature_list_sparse_types": tuple(steps.sparse.values()),
        "Nfeature_list_dense": len(steps.dense),
        "feature_list_dense_types": tuple(steps.dense.values()),
        "feature_list_dense_shapes": tuple(steps.shapes.values()),
    }


def _by_key(outputs: list[Tensor], context: Wanted, steps: Wanted) -> Parsed:
    by_key: list[dict[str, Any]] = []
    for layout in (context, steps):
        count, dense = len(layout.sparse), len(layout.dense)
        sparse = {
            key: SparseTensor(outputs[i], outputs[count + i], outputs[2 * count + i])
            for i, key in enumerate(layout.sparse)
        }
        rest = outputs[3 * count :]
        by_key.append({**sparse, **dict(zip(layout.dense, rest, strict=False))})
        outputs = rest[dense:]
    return by_key[0], by_key[1], dict(zip(steps.dense, outputs, strict=True))
