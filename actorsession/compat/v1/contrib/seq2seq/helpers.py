"""What a decoder reads next: the truth while training, or what it put out itself.

A helper gives the first inputs, samples ids from outputs, and gives the next inputs for these.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import as_dtype, bool_, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.namespaces import nn
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent.steps import transposed

__all__ = [
    "CustomHelper",
    "GreedyEmbeddingHelper",
    "Helper",
    "InferenceHelper",
    "SampleEmbeddingHelper",
    "ScheduledEmbeddingTrainingHelper",
    "ScheduledOutputTrainingHelper",
    "TrainingHelper",
]


class Helper(abc.ABC):
    """What a decoder asks for ids and inputs."""

    @property
    @abc.abstractmethod
    def batch_size(self) -> Tensor:
        """The size of the batch, a scalar."""

    @property
    def sample_ids_shape(self) -> TensorShape:
        """The shape of the ids of one member."""
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype of ids."""
        return int32

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return which members are finished from the start, and the first inputs."""

    @abc.abstractmethod
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the ids of a step."""

    @abc.abstractmethod
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which members are finished, the inputs of the next step, and its state."""


class CustomHelper(Helper):
    """A helper of three functions.

    Args:
        initialize_fn: returns what ``initialize`` does.
        sample_fn: takes and returns what ``sample`` does, by name.
        next_inputs_fn: takes and returns what ``next_inputs`` does, by name.
        sample_ids_shape: the shape of the ids of one member; scalars if left out.
        sample_ids_dtype: the dtype of ids; int32 if left out.
    """

    def __init__(
        self,
        initialize_fn: Callable[[], tuple[Any, Any]],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., tuple[Any, Any, Any]],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize, self._sample, self._next = initialize_fn, sample_fn, next_inputs_fn
        self._shape = TensorShape([] if sample_ids_shape is None else sample_ids_shape)
        self._dtype = as_dtype(sample_ids_dtype or int32)
        self._batch: Any = None

    @property
    def batch_size(self) -> Tensor:
        """The size of the batch, which is known once ``initialize`` was called.

        Raises:
            ValueError: before that.
        """
        if self._batch is None:
            raise ValueError("batch_size accessed before initialize was called")
        size: Tensor = self._batch
        return size

    @property
    def sample_ids_shape(self) -> TensorShape:
        """The shape of the ids of one member."""
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype of ids."""
        return self._dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return which members are finished from the start, and the first inputs."""
        finished, inputs = self._initialize()
        if self._batch is None:
            self._batch = ops.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the ids of a step."""
        return self._sample(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which members are finished, the inputs of the next step, and its state."""
        return self._next(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


def _best(outputs: Any) -> Tensor:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
    return ops.cast(ops.argmax(outputs, -1), int32)


class TrainingHelper(Helper):
    """Reads the truth, whatever was put out.

    Args:
        inputs: the inputs of all steps, ``[batch, steps, ...]``, or a structure of such tensors.
        sequence_length: the number of steps of each member, an int32 vector.
        time_major: whether the inputs are ``[steps, batch, ...]``.
        name: accepted for compatibility.

    Raises:
        ValueError: for lengths that are no vector.
    """

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None) -> None:
        values = nests.mapped(ops.convert_to_tensor, inputs)
        if not time_major:
            values = nests.mapped(transposed, values)
        self._lengths = ops.convert_to_tensor(sequence_length, name="sequence_length")
        if self._lengths.shape.rank not in (None, 1):
            raise ValueError(f"Expected sequence_length to be a vector, but received shape: {self._lengths.shape}")
        self._arrays = nests.mapped(_as_array, values)
        self._zeros = nests.mapped(lambda value: ops.zeros_like(value[0]), values)
        self._batch = ops.size(self._lengths)

    @property
    def sequence_length(self) -> Tensor:
        """The number of steps of each member."""
        return self._lengths

    @property
    def batch_size(self) -> Tensor:
        """The size of the batch."""
        return self._batch

    def _at(self, time: Any, finished: Any) -> Any:
        """Return the inputs of a step; zeros if all are finished."""
        over = ops.reduce_all(finished)

        def read(array: Any, zeros: Any) -> Any:
            inputs = ops.cond(over, lambda: zeros, lambda: array.read(time))
            inputs.set_shape(zeros.shape)
            return inputs

        return nests.mapped(read, self._arrays, self._zeros)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return which members are finished from the start, and the first inputs."""
        finished = ops.equal(self._lengths, 0)
        return finished, self._at(0, finished)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the best id of each member."""
        return _best(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which members are finished, the inputs of the next step, and its state."""
        soon = time + 1
        finished = ops.greater_equal(ops.cast(soon, self._lengths.dtype), self._lengths)
        return finished, self._at(soon, finished), state


def _as_array(value: Any) -> Any:
    array = ops.TensorArray(value.dtype, ops.shape(value)[0], element_shape=value.shape[1:])
    return array.unstack(value)


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Reads the truth, or now and then the embedding of an id that it samples.

    Args:
        inputs: see ``TrainingHelper``, as for the others that are not described here.
        sequence_length: see there.
        embedding: the table of vectors, or a function of ids.
        sampling_probability: how often an id is sampled, a scalar.
        time_major: see there.
        seed: the seed of ids.
        scheduling_seed: the seed of the choice.
        name: see there.

    Raises:
        ValueError: for a probability that is no scalar or vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(inputs, sequence_length, time_major)
        self._embedding = _embedding_of(embedding)
        self._share = _share_of(sampling_probability)
        self._seed, self._choice_seed = seed, scheduling_seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return sampled ids for some members, and -1 for the others."""
        draws = ops.random_uniform(ops.shape(outputs)[:1], seed=self._choice_seed)
        ids = _drawn(outputs, self._seed)
        return ops.where(ops.less(draws, self._share), ids, ops.fill(ops.shape(ids), -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which members are finished, the inputs of the next step, and its state."""
        finished, truth, state = super().next_inputs(time, outputs, state, sample_ids)
        own = self._embedding(ops.maximum(sample_ids, 0))
        return finished, ops.where(ops.greater_equal(sample_ids, 0), own, truth), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Reads the truth, or now and then its own outputs.

    Args:
        inputs: see ``TrainingHelper``, as for the others that are not described here.
        sequence_length: see there.
        sampling_probability: how often outputs are read, a scalar.
        time_major: see there.
        seed: the seed of the choice.
        next_inputs_fn: makes inputs of outputs; these are the inputs if left out.
        auxiliary_inputs: what is joined to inputs at each step, of the shape of ``inputs`` but for the last
            axis.
        name: see there.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        self._more = None
        joined = ops.convert_to_tensor(inputs)
        if auxiliary_inputs is not None:
            more = ops.convert_to_tensor(auxiliary_inputs)
            self._more = _as_array(more if time_major else transposed(more))
            joined = ops.concat([joined, more], -1)
        super().__init__(joined, sequence_length, time_major)
        self._share, self._seed, self._next = _share_of(sampling_probability), seed, next_inputs_fn

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype of the choice."""
        return bool_

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return for each member whether its outputs are read."""
        draws = ops.random_uniform(ops.shape(outputs)[:1], seed=self._seed)
        return ops.less(draws, self._share)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which members are finished, the inputs of the next step, and its state."""
        finished, truth, state = super().next_inputs(time, outputs, state, sample_ids)
        own = outputs if self._next is None else self._next(outputs)
        if self._more is not None:
            over = ops.reduce_all(finished)
            array = self._more
            width = truth.spec.shape[-1] - own.spec.shape[-1]
            rest = ops.cond(over, lambda: truth[:, -width:], lambda: array.read(time + 1))
            own = ops.concat([own, rest], -1)
        return finished, ops.where(sample_ids, own, truth), state


def _share_of(probability: Any) -> Tensor:
    share = ops.convert_to_tensor(probability, name="sampling_probability")
    if share.shape.rank not in (None, 0, 1):
        raise ValueError(f"sampling_probability must be either a scalar or a vector. saw shape: {share.shape}")
    return share


def _embedding_of(embedding: Any) -> Callable[[Any], Any]:
    return embedding if callable(embedding) else lambda ids: nn.embedding_lookup(embedding, ids)


def _drawn(logits: Any, seed: int | None) -> Tensor:
    """Return an id for each member, drawn by its logits."""
    ids = ops.multinomial(logits, 1, seed=seed)
    return ops.cast(ops.reshape(ids, [-1]), int32)


class GreedyEmbeddingHelper(Helper):
    """Reads the embedding of the best id of the step before.

    Args:
        embedding: the table of vectors, or a function of ids.
        start_tokens: the ids that are read first, an int32 vector.
        end_token: the id that ends a sequence, an int32 scalar.

    Raises:
        ValueError: for ids of other shapes.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding = _embedding_of(embedding)
        self._first = ops.convert_to_tensor(start_tokens, int32, name="start_tokens")
        self._end = ops.convert_to_tensor(end_token, int32, name="end_token")
        if self._first.shape.rank not in (None, 1):
            raise ValueError("start_tokens must be a vector")
        if self._end.shape.rank not in (None, 0):
            raise ValueError("end_token must be a scalar")
        self._batch = ops.size(self._first)
        self._start_inputs = self._embedding(self._first)

    @property
    def batch_size(self) -> Tensor:
        """The size of the batch."""
        return self._batch

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return which members are finished from the start, and the first inputs."""
        return ops.zeros_like(self._first, dtype=bool_), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the best id of each member."""
        return _best(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which members are finished, the inputs of the next step, and its state."""
        finished = ops.equal(sample_ids, self._end)
        inputs = ops.cond(ops.reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding(sample_ids))
        inputs.set_shape(self._start_inputs.shape)
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Reads the embedding of an id that is drawn.

    Args:
        embedding: see ``GreedyEmbeddingHelper``, as for the two that follow.
        start_tokens: see there.
        end_token: see there.
        softmax_temperature: what logits are divided by.
        seed: the seed of the draws.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return an id for each member, drawn by its outputs."""
        if not isinstance(outputs, Tensor):
            raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
        logits = outputs if self._temperature is None else outputs / self._temperature
        return _drawn(logits, self._seed)


class InferenceHelper(Helper):
    """A helper of functions of the outputs.

    Args:
        sample_fn: returns the ids for outputs.
        sample_shape: the shape of the ids of one member.
        sample_dtype: the dtype of ids.
        start_inputs: the first inputs.
        end_fn: returns for ids which members are finished.
        next_inputs_fn: returns inputs for ids; these are the inputs if left out.
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample, self._end, self._next = sample_fn, end_fn, next_inputs_fn
        self._shape, self._dtype = TensorShape(sample_shape), as_dtype(sample_dtype)
        self._start_inputs = ops.convert_to_tensor(start_inputs, name="start_inputs")
        self._batch = ops.shape(self._start_inputs)[0]

    @property
    def batch_size(self) -> Tensor:
        """The size of the batch."""
        return self._batch

    @property
    def sample_ids_shape(self) -> TensorShape:
        """The shape of the ids of one member."""
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype of ids."""
        return self._dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return which members are finished from the start, and the first inputs."""
        return ops.zeros(ops.stack([self._batch]), bool_), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the ids of a step."""
        return self._sample(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which members are finished, the inputs of the next step, and its state."""
        inputs = sample_ids if self._next is None else self._next(sample_ids)
        return self._end(sample_ids), inputs, state
