"""Parsing of examples by a node: ``parse_example`` and ``parse_single_example``.

Owns the public functions. From a batch of serialized ``Example`` messages they produce dense features as
tensors and features of varying length as sparse tensors. ``example_nodes`` has the operation types,
``features`` the descriptions of requested features.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorsession.graph.dtypes import int64, string
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import expand_dims
from actorsession.ops.build import constant, convert_to_tensor, graph_of, make
from actorsession.opsets.parsing.features import FixedLenSequenceFeature, SparseFeature, Wanted, index_keys, wanted_of
from actorsession.opsets.sparse.basics import SparseTensor, sparse_reorder

__all__ = ["assembled", "parse_example", "parse_single_example", "with_blocks"]


def parse_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Return the features of a batch of serialized ``Example`` messages.

    Args:
        serialized: the messages, a vector of strings; a single string yields values without the batch axis.
        features: by key, a ``FixedLenFeature``, ``VarLenFeature``, ``SparseFeature`` or
            ``FixedLenSequenceFeature``.
        name: wanted name.
        example_names: names of the examples for error messages, a vector of strings.

    Returns:
        By key, a tensor or sparse tensor whose first axis is the batch. At run time an InvalidArgumentError,
        which names key and example, is raised for bytes that are no example, and for a feature that is
        missing without a default or has another type or number of values.

    Raises:
        ValueError: for no features, or one that is incomplete or contradicts another.
        TypeError: for another type than string, float32 and int64.
    """
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    layout = wanted_of(with_blocks(features))
    graph = graph_of(serialized, example_names)
    with graph.as_default(), graph.name_scope(name or "ParseExample"):
        value = convert_to_tensor(serialized, string, "serialized", graph=graph)
        parsed = _parsed(value, layout, example_names, name)
    return assembled(features, parsed)


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Return the features of one serialized ``Example``; arguments and errors as ``parse_example``.

    Args:
        serialized: the message, a string.
        features: by key, descriptions of the features.
        name: wanted name.
        example_names: name of the example for error messages, a string.

    Returns:
        By key, a tensor or sparse tensor.

    Raises:
        ValueError: for messages that are no scalar, and as for ``parse_example``.
        TypeError: as for ``parse_example``.
    """
    if not features:
        raise ValueError(f"Invalid argument: features cannot be None. Got {features}")
    graph = graph_of(serialized, example_names)
    with graph.as_default(), graph.name_scope(name or "ParseSingleExample"):
        value = convert_to_tensor(serialized, string, "serialized", graph=graph)
        if value.shape.rank not in (None, 0):
            raise ValueError(f"Input serialized must be a scalar, got shape {value.shape}")
        if value.shape.rank is None:
            value.set_shape([])
        return parse_example(value, features, name, example_names)


def with_blocks(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return the features, with an unknown first dimension where the number of blocks varies.

    Raises:
        ValueError: for a sequence without ``allow_missing``, which a batch of examples cannot guarantee.
    """
    described = {}
    for key, feature in features.items():
        described[key] = feature
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
            if feature.shape is not None:
                sizes = [None, *TensorShape(feature.shape).as_list()]
                described[key] = feature._replace(shape=sizes)
    return described


def _parsed(value: Tensor, layout: Wanted, names: Any, name: str | None) -> dict[str, Any]:
    """Add the node, and return its outputs by key."""
    graph = value.graph
    defaults = layout.default_tensors(graph)
    with graph.name_scope(name or "ParseExampleV2") as scope:
        known = [] if names is None else names
        inputs = [
            value,
            convert_to_tensor(known, string, "names", graph=graph),
            constant(list(layout.sparse), string, name="sparse_keys", graph=graph),
            constant(list(layout.dense), string, name="dense_keys", graph=graph),
            constant([], string, name="ragged_keys", graph=graph),
        ]
        attrs = {
            "num_sparse": len(layout.sparse),
            "sparse_types": tuple(layout.sparse.values()),
            "ragged_value_types": (),
            "ragged_split_types": (),
            "dense_shapes": tuple(layout.shapes.values()),
        }
        outputs = make("ParseExampleV2", [*inputs, *defaults], attrs, scope, graph).outputs
    count = len(layout.sparse)
    sparse: dict[str, Any] = {
        key: SparseTensor(outputs[i], outputs[count + i], outputs[2 * count + i]) for i, key in enumerate(layout.sparse)
    }
    return sparse | dict(zip(layout.dense, outputs[3 * count :], strict=True))


def assembled(features: Mapping[str, Any], parsed: dict[str, Any]) -> dict[str, Any]:
    """Return the requested features; sparse features are assembled from their components."""
    out = {}
    for key in [*parsed, *(k for k in features if k not in parsed)]:
        feature = features.get(key)
        if isinstance(feature, SparseFeature):
            out[key] = merged_sparse(feature, parsed)
        elif feature is not None:
            out[key] = parsed[key]
    return out


def merged_sparse(feature: SparseFeature, parsed: Mapping[str, SparseTensor]) -> SparseTensor:
    """Return the sparse tensor whose indices and values are separate features.

    Raises:
        ValueError: if the numbers of sizes and index keys differ.
    """
    keys = index_keys(feature)
    sizes = [feature.size] if isinstance(feature.index_key, str) else list(feature.size)
    if len(keys) != len(sizes):
        raise ValueError(f"a sparse feature with {len(keys)} index keys has as many sizes: {sizes}")
    values = parsed[feature.value_key]
    graph = values.graph
    with graph.as_default(), graph.name_scope("SparseMerge"):
        first = parsed[keys[0]]
        columns = [expand_dims(parsed[key].values, 1) for key in keys]
        places = concat([first.indices[:, :-1], *columns], 1)
        extents = concat([first.dense_shape[:-1], convert_to_tensor(sizes, int64)], 0)
        merged = SparseTensor(places, values.values, extents)
        if first.shape.sizes is not None:
            merged.set_shape([*first.shape.sizes[:-1], *sizes])
        return merged if feature.already_sorted else sparse_reorder(merged)
