"""``Embedding``, a table of vectors for integer ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from actorsession import ops
from actorsession.graph.dtypes import DType, float32
from actorsession.graph.operation import Tensor
from actorsession.ops.neural.embedding import embedding_lookup
from actorsession.train.layers.arguments import checked_count
from actorsession.train.layers.layer import Layer, LayerSettings, Regularizer, weight_arguments

__all__ = ["Embedding"]

# The default initialiser draws from both sides of zero up to here, as that of Keras in TensorFlow 1 does.
_LARGEST = 0.05


class Embedding(Layer):
    """Replace each id by its row of a table.

    Inputs are ids of any shape, in ``[0, input_dim)``; in the outputs each has become a vector of
    ``output_dim`` numbers. The weight is ``embeddings [input_dim, output_dim]``. Its gradient has the rows
    that were looked up only.

    Args:
        input_dim: the number of ids.
        output_dim: the size of a vector.
        embeddings_initializer: the initialiser of the table, or the name of one; uniform random numbers
            between -0.05 and 0.05 if left out.
        embeddings_regularizer: the regulariser of the table.
        embeddings_constraint: a function that optimisers apply to the updated table.
        settings: see ``Layer``.

    Raises:
        ValueError: for sizes below 1.
        TypeError: for inputs that are not integers.
        InvalidArgumentError: at run time, for an id out of range.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        embeddings_initializer: Any = None,
        embeddings_regularizer: Regularizer | None = None,
        embeddings_constraint: Callable[..., Any] | None = None,
        **settings: Unpack[LayerSettings],
    ) -> None:
        super().__init__(**settings)
        self.input_dim = checked_count("input_dim", input_dim)
        self.output_dim = checked_count("output_dim", output_dim)
        if embeddings_initializer is None:
            embeddings_initializer = ops.random_uniform_initializer(-_LARGEST, _LARGEST)
        self._of_table = weight_arguments(embeddings_initializer, embeddings_regularizer, embeddings_constraint)

    def _converted(self, inputs: Any) -> Any:
        return ops.convert_to_tensor(inputs)

    def _dtype_of(self, _: Any) -> DType:
        return float32

    def _check_inputs(self, inputs: Tensor) -> None:
        if not inputs.dtype.is_integer:
            raise TypeError(f"Embedding {self.name!r} takes ids of an integer dtype, got {inputs.dtype.name}")

    def build(self, _: Any) -> None:
        """Create the table."""
        shape = [self.input_dim, self.output_dim]
        self._table = self.add_weight("embeddings", shape, **self._of_table)

    def call(self, inputs: Tensor) -> Any:
        """Build the outputs."""
        # The parts of a partitioned table have consecutive rows each.
        return embedding_lookup(self._table, inputs, partition_strategy="div")
