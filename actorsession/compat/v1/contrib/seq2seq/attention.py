"""Attention: a cell that looks at each step at the memory of an encoder, and how it scores that."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from actorsession import ops
from actorsession.graph.dtypes import as_dtype, float32, int32
from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.namespaces import layers, nn
from actorsession.ops import TensorArray
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent.cells.cell import RNNCell, check_cell

__all__ = [
    "AttentionMechanism",
    "AttentionWrapper",
    "AttentionWrapperState",
    "BahdanauAttention",
    "LuongAttention",
    "hardmax",
]


def hardmax(logits: Any, name: str | None = None) -> Tensor:
    """Return 1 at the greatest of each row of logits, and 0 elsewhere."""
    value = ops.convert_to_tensor(logits, name="logits")
    depth = value.spec.shape[-1]
    wide = depth if isinstance(depth, int) else ops.shape(value)[-1]
    return ops.one_hot(ops.argmax(value, -1), wide, dtype=value.dtype)


class AttentionMechanism(abc.ABC):
    """A memory, and a distribution over it for each query.

    Args:
        memory: what is looked at, ``[batch, steps, ...]``.
        memory_sequence_length: the number of steps of each member; what is behind counts as nothing.
        query_layer: a layer for queries.
        memory_layer: a layer that makes the keys of the memory.
        probability_fn: makes a distribution of scores; a softmax if left out.
        score_mask_value: the score of what counts as nothing.
    """

    def __init__(
        self,
        memory: Any,
        memory_sequence_length: Any,
        query_layer: Any,
        memory_layer: Any,
        probability_fn: Callable[[Any], Any] | None,
        score_mask_value: float | None,
    ) -> None:
        self.query_layer, self.memory_layer = query_layer, memory_layer
        self._probability = probability_fn or nn.softmax
        self._masked_score = float("-inf") if score_mask_value is None else score_mask_value
        value = ops.convert_to_tensor(memory, name="memory")
        self._mask: Any = None
        if memory_sequence_length is not None:
            lengths = ops.convert_to_tensor(memory_sequence_length, name="memory_sequence_length")
            self._mask = ops.sequence_mask(lengths, maxlen=ops.shape(value)[1])
            rank = value.shape.rank
            extra = [1] * (0 if rank is None else rank - 2)
            flat = ops.cast(self._mask, value.dtype)
            value = value * ops.reshape(flat, ops.concat([ops.shape(flat), extra], 0))
        self.values = value
        self.keys = value if memory_layer is None else memory_layer(value)
        known = self.keys.shape.sizes or (None, None)
        self.batch_size: Any = ops.shape(self.keys)[0] if known[0] is None else known[0]
        self.alignments_size: Any = ops.shape(self.keys)[1] if known[1] is None else known[1]

    @property
    def state_size(self) -> Any:
        """The number of columns of its state."""
        return self.alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """Return a distribution of zeros, for the first step."""
        zeros = ops.zeros(ops.stack([batch_size, self.alignments_size]), as_dtype(dtype))
        zeros.set_shape([each if isinstance(each, int) else None for each in (batch_size, self.alignments_size)])
        return zeros

    def initial_state(self, batch_size: Any, dtype: Any) -> Tensor:
        """Return the first state."""
        return self.initial_alignments(batch_size, dtype)

    def _biased(self, scores: Tensor) -> Tensor:
        """Return the scores; a subclass may add to them."""
        return scores

    @abc.abstractmethod
    def scores(self, query: Any) -> Tensor:
        """Return a score for each step of the memory, ``[batch, steps]``."""

    def __call__(self, query: Any, state: Any) -> tuple[Tensor, Any]:
        """Return the distribution for a query, and the next state."""
        scores = self.scores(query)
        if self._mask is not None:
            scores = ops.where(self._mask, scores, ops.ones_like(scores) * self._masked_score)
        alignments = self._probability(scores)
        return alignments, alignments


def _columns(num_units: int, name: str, dtype: Any) -> Any:
    return layers.Dense(num_units, name=name, use_bias=False, dtype=dtype)


class LuongAttention(AttentionMechanism):
    """Scores that are products of query and keys (Luong and others, 2015).

    Args:
        num_units: the number of columns of queries.
        memory: see ``AttentionMechanism``, as for the others that are not described here.
        memory_sequence_length: see there.
        scale: whether scores have a factor that is trained.
        probability_fn: see there.
        score_mask_value: see there.
        dtype: the dtype of its weights.
        custom_key_value_fn: refused.
        name: the scope of its factor.

    Raises:
        ValueError: for a query of another number of columns.
    """

    _scope_name = "luong_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: float | None = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "LuongAttention",
    ) -> None:
        _refuse_custom(custom_key_value_fn)
        kind = as_dtype(dtype or float32)
        super().__init__(
            memory,
            memory_sequence_length,
            None,
            _columns(num_units, "memory_layer", kind),
            probability_fn,
            score_mask_value,
        )
        self._num_units, self._scale, self._kind = num_units, scale, kind

    def scores(self, query: Any) -> Tensor:
        """Return a score for each step of the memory."""
        with ops.variable_scope(None, self._scope_name, [query]):
            width = query.spec.shape[-1]
            if width != self.keys.spec.shape[-1]:
                raise ValueError(
                    "Incompatible or unknown inner dimensions between query and keys.  Query "
                    f"({query.name}) has units: {width}.  Keys ({self.keys.name}) have units: "
                    f"{self.keys.shape[-1]}.  Perhaps you need to set num_units to the keys' dimension "
                    f"({self.keys.shape[-1]})?"
                )
            scores = ops.squeeze(ops.matmul(ops.expand_dims(query, 1), self.keys, transpose_b=True), [1])
            if self._scale:
                factor = ops.get_variable("attention_g", [], self._kind, ops.ones_initializer())
                scores = factor * scores
            return self._biased(scores)


class BahdanauAttention(AttentionMechanism):
    """Scores that a small network makes of query and keys (Bahdanau and others, 2014).

    Args:
        num_units: the number of columns of that network.
        memory: see ``AttentionMechanism``, as for the others that are not described here.
        memory_sequence_length: see there.
        normalize: whether its vector is normalised, with a factor and an offset that are trained.
        probability_fn: see there.
        score_mask_value: see there.
        dtype: the dtype of its weights.
        custom_key_value_fn: refused.
        name: the scope of its weights.
    """

    _scope_name = "bahdanau_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: float | None = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "BahdanauAttention",
    ) -> None:
        _refuse_custom(custom_key_value_fn)
        kind = as_dtype(dtype or float32)
        super().__init__(
            memory,
            memory_sequence_length,
            _columns(num_units, "query_layer", kind),
            _columns(num_units, "memory_layer", kind),
            probability_fn,
            score_mask_value,
        )
        self._num_units, self._normalize, self._kind = num_units, normalize, kind

    def scores(self, query: Any) -> Tensor:
        """Return a score for each step of the memory."""
        with ops.variable_scope(None, self._scope_name, [query]):
            asked = ops.expand_dims(self.query_layer(query), 1)
            vector = ops.get_variable("attention_v", [self._num_units], self._kind)
            if not self._normalize:
                return self._biased(ops.reduce_sum(vector * ops.tanh(self.keys + asked), [2]))
            start = ops.constant_initializer(self._num_units**-0.5)
            factor = ops.get_variable("attention_g", [], self._kind, start)
            offset = ops.get_variable("attention_b", [self._num_units], self._kind, ops.zeros_initializer())
            length = ops.rsqrt(ops.reduce_sum(ops.square(vector)))
            inner = ops.tanh(self.keys + asked + offset)
            return self._biased(ops.reduce_sum(factor * vector * length * inner, [2]))


def _refuse_custom(function: Any) -> None:
    if function is not None:
        raise NotImplementedError("custom_key_value_fn is not included; give a memory of its results")


class AttentionWrapperState(NamedTuple):
    """The state of an ``AttentionWrapper``.

    Attributes:
        cell_state: the state of the cell.
        attention: what was looked at in the step before.
        time: the number of the step.
        alignments: the distribution over the memory; a tuple for several mechanisms.
        alignment_history: an array of the distributions of all steps, or ``()``.
        attention_state: the state of the mechanism; a tuple for several.
    """

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """Return a state with other parts.

        Args:
            kwargs: the parts, which have to have the shapes that those here have.

        Raises:
            ValueError: for a part of another shape.
        """
        for name, part in kwargs.items():
            nests.mapped(_check_shape, getattr(self, name), part)
        return self._replace(**kwargs)


def _check_shape(old: Any, new: Any) -> None:
    if isinstance(old, Tensor) and not old.shape.is_compatible_with(new.shape):
        raise ValueError(f"Shapes {new.shape} and {old.shape} are incompatible")


class AttentionWrapper(RNNCell):
    """A cell that reads with each input what it looked at, and looks anew with its output.

    Args:
        cell: the cell.
        attention_mechanism: a mechanism, or several.
        attention_layer_size: the number of columns of what is looked at, after a layer of output and context;
            the context itself without; a list for several mechanisms.
        alignment_history: whether the distributions of all steps are kept.
        cell_input_fn: joins inputs and what is looked at; side by side if left out.
        output_attention: whether the output is what is looked at instead of the output of the cell.
        initial_cell_state: the first state of the cell.
        name: the name of the scope of its variables.
        attention_layer: the layer in the place of one of ``attention_layer_size`` columns, or several.
        attention_fn: refused.
        dtype: the dtype of its variables.

    Raises:
        TypeError: for arguments of other kinds.
        NotImplementedError: for a function of attention.
        ValueError: for another number of sizes or layers than of mechanisms, or both sizes and layers.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if attention_fn is not None:
            raise NotImplementedError("attention_fn is not included; derive a class from the mechanism instead")
        check_cell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms: Sequence[Any] = list(attention_mechanism) if self._is_multi else [attention_mechanism]
        for mechanism in self._mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    "attention_mechanism must contain only instances of AttentionMechanism, saw type: "
                    f"{type(mechanism).__name__}"
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, saw type: {type(cell_input_fn)}")
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        self._cell = cell
        self._layers: Sequence[Any] = [None] * len(self._mechanisms)
        if attention_layer_size is not None:
            depths = _per_mechanism(attention_layer_size, self._mechanisms, "attention_layer_size")
            self._layers = [layers.Dense(size, name="attention_layer", use_bias=False) for size in depths]
        elif attention_layer is not None:
            self._layers = _per_mechanism(attention_layer, self._mechanisms, "attention_layer")
        self._keeps_history, self._output_attention = alignment_history, output_attention
        self._joined = cell_input_fn or (lambda inputs, seen: ops.concat([inputs, seen], -1))
        self._first_cell_state = initial_cell_state

    def _item_or_tuple(self, members: Sequence[Any]) -> Any:
        return tuple(members) if self._is_multi else members[0]

    @property
    def _width(self) -> int:
        """The number of columns of what is looked at."""
        widths = []
        for mechanism, layer in zip(self._mechanisms, self._layers, strict=True):
            widths.append(mechanism.values.spec.shape[-1] if layer is None else layer.units)
        return int(sum(widths))

    @property
    def output_size(self) -> Any:
        """The number of columns of an output."""
        return self._width if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        """The shapes of a state."""
        sizes = self._item_or_tuple([each.alignments_size for each in self._mechanisms])
        history = self._item_or_tuple([each.alignments_size for each in self._mechanisms])
        return AttentionWrapperState(
            self._cell.state_size,
            self._width,
            TensorShape([]),
            sizes,
            history if self._keeps_history else (),
            self._item_or_tuple([each.state_size for each in self._mechanisms]),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        """Return the first state: that of the cell, and zeros.

        The size of the batch has to be that of the memory, which a step checks.
        """
        cell_state = self._first_cell_state
        if cell_state is None:
            cell_state = self._cell.zero_state(batch_size, dtype)
        else:
            leaf = nests.flatten(cell_state)[-1]
            batch_size = leaf.spec.shape[0] if isinstance(leaf.spec.shape[0], int) else ops.shape(leaf)[0]
        said = (
            f"When calling zero_state of AttentionWrapper {self.name}: Non-matching batch sizes between the "
            "memory (encoder output) and the requested batch size.  Are you using the BeamSearchDecoder?  If "
            "so, make sure your encoder output has been tiled to beam_width via "
            "tf.contrib.seq2seq.tile_batch, and the batch_size= argument passed to zero_state is batch_size "
            "* beam_width."
        )
        checks = [ops.assert_equal(batch_size, each.batch_size, message=said) for each in self._mechanisms]
        with control_dependencies([check for check in checks if check is not None]):
            cell_state = nests.mapped(ops.identity, cell_state)
        alignments = [each.initial_alignments(batch_size, dtype) for each in self._mechanisms]
        arrays = [TensorArray(as_dtype(dtype), 0, dynamic_size=True, element_shape=each.shape) for each in alignments]
        seen = ops.zeros(ops.stack([batch_size, self._width]), as_dtype(dtype))
        seen.set_shape([batch_size if isinstance(batch_size, int) else None, self._width])
        return AttentionWrapperState(
            cell_state,
            seen,
            ops.zeros([], int32),
            self._item_or_tuple(alignments),
            self._item_or_tuple(arrays) if self._keeps_history else (),
            self._item_or_tuple([each.initial_state(batch_size, dtype) for each in self._mechanisms]),
        )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step.

        Raises:
            TypeError: for a state of another kind.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead."
            )
        output, cell_state = self._cell(self._joined(inputs, state.attention), state.cell_state)
        before = state.attention_state if self._is_multi else (state.attention_state,)
        seen, alignments, after = [], [], []
        for mechanism, layer, last in zip(self._mechanisms, self._layers, before, strict=True):
            alignment, following = mechanism(output, last)
            weights = ops.expand_dims(alignment, 1)
            context = ops.squeeze(ops.matmul(weights, mechanism.values), [1])
            seen.append(context if layer is None else layer(ops.concat([output, context], 1)))
            alignments.append(alignment)
            after.append(following)
        history: Any = ()
        if self._keeps_history:
            kept = state.alignment_history if self._is_multi else (state.alignment_history,)
            history = self._item_or_tuple(
                [array.write(state.time, each) for array, each in zip(kept, alignments, strict=True)]
            )
        attention = seen[0] if len(seen) == 1 else ops.concat(seen, 1)
        following_state = AttentionWrapperState(
            cell_state, attention, state.time + 1, self._item_or_tuple(alignments), history, self._item_or_tuple(after)
        )
        return (attention if self._output_attention else output), following_state


def _per_mechanism(value: Any, mechanisms: Sequence[Any], what: str) -> list[Any]:
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(listed) != len(mechanisms):
        raise ValueError(
            f"If provided, {what} must contain exactly one integer per attention_mechanism, saw: "
            f"{len(listed)} vs {len(mechanisms)}"
        )
    return listed
