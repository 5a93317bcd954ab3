"""Encodings of labels and of sequences of ids."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.framework.arg_scopes import add_arg_scope
from actorsession.compat.v1.contrib.framework.variables import model_variable
from actorsession.compat.v1.contrib.layers.building import collect_output
from actorsession.graph.dtypes import int32, int64, string
from actorsession.graph.graph import name_scope
from actorsession.graph.operation import Tensor
from actorsession.namespaces import nn
from actorsession.opsets import SparseTensor

__all__ = ["bow_encoder", "dense_to_sparse", "embed_sequence", "embedding_lookup_unique", "one_hot_encoding"]


@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: Any = 1.0,
    off_value: Any = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Return a row for each label that is one value at its place and another one elsewhere.

    Args:
        labels: integers.
        num_classes: the number of places.
        on_value: the one value.
        off_value: the other one.
        outputs_collections: collections of the outputs.
        scope: the name scope; ``OneHotEncoding`` if left out.
    """
    with name_scope(scope or "OneHotEncoding") as entered:
        value = ops.convert_to_tensor(labels)
        if value.dtype is int32:
            value = ops.cast(value, int64)
        outputs = ops.one_hot(value, num_classes, on_value=on_value, off_value=off_value)
        return collect_output(outputs_collections, entered.rstrip("/"), outputs)


def _table(vocab_size: int | None, embed_dim: int | None, initializer: Any, regularizer: Any, trainable: bool) -> Any:
    if vocab_size is None or embed_dim is None:
        raise ValueError("Must specify vocab size and embedding dimension when not reusing")
    return model_variable(
        "embeddings", [vocab_size, embed_dim], initializer=initializer, regularizer=regularizer, trainable=trainable
    )


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """Return a vector for each id of sequences, which is trained.

    Args:
        ids: integers ``[batch, steps]``.
        vocab_size: the number of ids; may be left out if the variable is shared.
        embed_dim: the length of a vector; may be left out likewise.
        unique: whether each id of a batch is looked up once.
        initializer: the initialiser of the vectors.
        regularizer: the regulariser of the vectors.
        trainable: whether they are trained.
        scope: the scope of the variable; ``EmbedSequence`` if left out.
        reuse: whether the variable is shared.

    Raises:
        ValueError: without sizes of a variable that is not shared.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. Got "
            f"vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with ops.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        if vocab_size is None or embed_dim is None:
            table = model_variable("embeddings", initializer=initializer, trainable=trainable)
        else:
            table = _table(vocab_size, embed_dim, initializer, regularizer, trainable)
        look = embedding_lookup_unique if unique else nn.embedding_lookup
        return look(table, ids)


def embedding_lookup_unique(params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None) -> Tensor:
    """Return the rows of a table for ids, each looked up once; see ``tf.nn.embedding_lookup``."""
    with name_scope(name or "EmbeddingLookupUnique"):
        value = ops.convert_to_tensor(ids)
        once, places = ops.unique(ops.reshape(value, [-1]))
        rows = ops.gather(nn.embedding_lookup(params, once, partition_strategy), places)
        vectors = ops.reshape(rows, ops.concat([ops.shape(value), ops.shape(rows)[1:]], 0))
        vectors.set_shape(value.shape.concatenate(rows.shape[1:]))
        return vectors


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """Return the mean of the vectors of each sequence of ids; see ``embed_sequence``.

    With ``sparse_lookup`` the ids are a ``SparseTensor``, or dense ones of which 0 counts as none.
    """
    with ops.variable_scope(scope, "bow_encoder", reuse=reuse):
        table = _table(vocab_size, embed_dim, initializer, regularizer, trainable)
        if sparse_lookup:
            sparse = ids if isinstance(ids, SparseTensor) else dense_to_sparse(ids)
            return nn.safe_embedding_lookup_sparse(table, sparse, combiner="mean")
        if isinstance(ids, SparseTensor):
            raise TypeError("ids are expected to be dense Tensor, got SparseTensor")
        return ops.reduce_mean(nn.embedding_lookup(table, ids), axis=1)


def dense_to_sparse(
    tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None
) -> SparseTensor:
    """Return a tensor as a sparse one without the elements that are ``eos_token``."""
    with ops.variable_scope(scope, "dense_to_sparse", [tensor]):
        value = ops.convert_to_tensor(tensor)
        ignored = ops.constant("" if value.dtype is string and not eos_token else eos_token, value.dtype)
        places = ops.where(ops.not_equal(value, ignored))
        values = ops.gather_nd(value, places)
        return SparseTensor(places, values, ops.shape(value, out_type=int64))
