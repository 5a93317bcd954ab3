"""Beam search: a decoder that keeps the best few sequences of each member, and finds them at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from actorsession import ops
from actorsession.compat.v1.contrib.seq2seq.decoders import Decoder
from actorsession.graph.dtypes import bool_, float32, int32, int64
from actorsession.graph.graph import name_scope
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.namespaces import nn
from actorsession.ops import TensorArray
from actorsession.train.layers import nests
from actorsession.train.layers.layer import Layer
from actorsession.train.layers.recurrent.cells.cell import check_cell

__all__ = [
    "BeamSearchDecoder",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "FinalBeamSearchDecoderOutput",
    "gather_tree",
    "tile_batch",
]


class BeamSearchDecoderState(NamedTuple):
    """The state of a beam search.

    Attributes:
        cell_state: the state of the cell, ``[batch, beams, ...]``.
        log_probs: the logarithm of each sequence's probability, ``[batch, beams]``.
        finished: which sequences are finished.
        lengths: the number of symbols of each sequence, int64.
    """

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any


class BeamSearchDecoderOutput(NamedTuple):
    """The outputs of one step.

    Attributes:
        scores: the score of each sequence.
        predicted_ids: its last symbol.
        parent_ids: the sequence of the step before that it goes on from.
    """

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """The outputs of a whole search.

    Attributes:
        predicted_ids: the best sequences, the best one first, ``[batch, steps, beams]``.
        beam_search_decoder_output: the outputs of all steps.
    """

    predicted_ids: Any
    beam_search_decoder_output: Any


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Return tensors in which each member of the batch stands several times in a row.

    Args:
        t: a tensor ``[batch, ...]``, or a structure of them.
        multiplier: the number of times.
        name: the name scope.

    Raises:
        ValueError: for a tensor of unknown rank, or a scalar.
    """
    with name_scope(name or "tile_batch"):
        return nests.mapped(lambda leaf: _tiled(leaf, multiplier), t)


def _tiled(leaf: Any, times: int) -> Tensor:
    value = ops.convert_to_tensor(leaf, name="t")
    sizes = value.shape.sizes
    if not sizes:
        raise ValueError(f"t must have statically known rank of 1 or more, got {value!r}")
    wide = ops.tile(ops.expand_dims(value, 1), [1, times, *([1] * (len(sizes) - 1))])
    flat = ops.reshape(wide, ops.concat([[-1], ops.shape(value)[1:]], 0))
    flat.set_shape([None if sizes[0] is None else sizes[0] * times, *sizes[1:]])
    return flat


def gather_tree(
    step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any, name: str | None = None
) -> Tensor:
    """Return the sequences of a beam search.

    Args:
        step_ids: the symbols of each step, int32 ``[steps, batch, beams]``.
        parent_ids: the sequence of the step before that each goes on from, of the same shape.
        max_sequence_lengths: the number of steps of each member.
        end_token: the symbol that ends a sequence; only this one is behind it.
        name: the name scope.
    """
    with name_scope(name or "GatherTree"):
        ids, parents = ops.convert_to_tensor(step_ids), ops.convert_to_tensor(parent_ids)
        end = ops.convert_to_tensor(end_token, ids.dtype)
        extent = ops.shape(ids)
        steps = extent[0]
        limits = ops.expand_dims(ops.cast(max_sequence_lengths, int32), 1)
        places = ops.zeros(extent[1:], int32) + ops.range(0, extent[2])
        array = ops.TensorArray(ids.dtype, steps, element_shape=ids.shape[1:])

        def back(time: Any, places: Any, array: Any) -> Any:
            counts = ops.logical_and(ops.less(time, limits), ops.ones_like(places, dtype=bool_))
            tokens = ops.gather(ids[time], places, batch_dims=1)
            array = array.write(time, ops.where(counts, tokens, ops.zeros_like(tokens) + end))
            above = ops.gather(parents[time], places, batch_dims=1)
            return time - 1, ops.where(counts, above, places), array

        _, _, array = ops.while_loop(
            lambda time, places, array: ops.greater_equal(time, 0), back, [steps - 1, places, array]
        )
        beams = array.stack()
        ended = ops.cast(ops.equal(beams, end), int32)
        after = ops.greater(ops.cumsum(ended, 0, exclusive=True), 0)
        sequences = ops.where(after, ops.zeros_like(beams) + end, beams)
        sequences.set_shape(ids.shape)
        return sequences


class BeamSearchDecoder(Decoder):
    """A decoder that keeps the ``beam_width`` best sequences.

    Args:
        cell: the cell. With attention its memory, lengths and first state are those of ``tile_batch``.
        embedding: the table of vectors, or a function of ids.
        start_tokens: the ids that are read first, an int32 vector.
        end_token: the id that ends a sequence, an int32 scalar.
        initial_state: the first state of the cell, of ``batch * beam_width`` members.
        beam_width: the number of sequences.
        output_layer: a layer that is applied to outputs.
        length_penalty_weight: the power of a sequence's length by which its score is divided.
        coverage_penalty_weight: refused if it is not 0.
        reorder_tensor_arrays: accepted for compatibility; arrays in the state stay in their order.

    Raises:
        TypeError: for arguments of other kinds.
        ValueError: for ids of other shapes.
        NotImplementedError: for a coverage penalty.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        check_cell("cell", cell)
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        if coverage_penalty_weight:
            raise NotImplementedError("coverage_penalty_weight is not included; it has to be 0")
        self._cell, self._output_layer = cell, output_layer
        self._embedding: Callable[[Any], Any] = (
            embedding if callable(embedding) else lambda ids: nn.embedding_lookup(embedding, ids)
        )
        self._first = ops.convert_to_tensor(start_tokens, int32, name="start_tokens")
        self._end = ops.convert_to_tensor(end_token, int32, name="end_token")
        if self._first.shape.rank != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end.shape.rank != 0:
            raise ValueError("end_token must be a scalar")
        self._beams, self._penalty = beam_width, length_penalty_weight
        known = self._first.spec.shape[0]
        self._batch: Any = known if isinstance(known, int) else ops.size(self._first)
        self._initial = nests.mapped(self._split, initial_state)
        rows = ops.tile(ops.expand_dims(self._first, 1), [1, beam_width])
        self._start_inputs = self._embedding(rows)

    @property
    def batch_size(self) -> Any:
        """The size of the batch, without beams."""
        return self._batch

    @property
    def tracks_own_finished(self) -> bool:
        """Sequences move between beams, so finished ones do, too."""
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        """The shape of the outputs of one member."""
        each = TensorShape([self._beams])
        return BeamSearchDecoderOutput(each, each, each)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        """The dtype of the outputs."""
        dtype = nests.flatten(self._initial)[0].dtype
        return BeamSearchDecoderOutput(dtype, int32, int32)

    # -- beams ------------------------------------------------------------------------------------

    def _split(self, leaf: Any) -> Any:
        """Return what has a row for each sequence with axes for batch and beams."""
        if isinstance(leaf, TensorArray) or leaf.shape.rank == 0:
            return leaf
        extent = ops.concat([ops.stack([self._batch, self._beams]), ops.shape(leaf)[1:]], 0)
        split = ops.reshape(leaf, extent)
        batch = self._batch if isinstance(self._batch, int) else None
        split.set_shape([batch, self._beams, *(leaf.shape.sizes or ())[1:]])
        return split

    def _merge(self, leaf: Any) -> Any:
        """Return what has axes for batch and beams with a row for each sequence."""
        if isinstance(leaf, TensorArray) or leaf.shape.rank == 0:
            return leaf
        merged = ops.reshape(leaf, ops.concat([[-1], ops.shape(leaf)[2:]], 0))
        sizes = leaf.shape.sizes or (None, None)
        rows = sizes[0] * sizes[1] if sizes[0] and sizes[1] else None
        merged.set_shape([rows, *sizes[2:]])
        return merged

    def _chosen(self, leaf: Any, beams: Any) -> Any:
        """Return the rows of some beams."""
        if isinstance(leaf, TensorArray) or leaf.shape.rank == 0:
            return leaf
        rows = ops.gather(leaf, beams, batch_dims=1)
        rows.set_shape(leaf.shape)
        return rows

    # -- steps ------------------------------------------------------------------------------------

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return which sequences are finished from the start, the first inputs, and the first state."""
        extent = ops.stack([self._batch, self._beams])
        dtype = nests.flatten(self._initial)[0].dtype
        # All sequences begin alike, so only the first of them counts.
        likely = ops.one_hot(
            ops.zeros(ops.stack([self._batch]), int32), self._beams, on_value=0.0, off_value=float("-inf"), dtype=dtype
        )
        finished = ops.zeros(extent, bool_)
        state = BeamSearchDecoderState(self._initial, likely, finished, ops.zeros(extent, int64))
        return finished, self._start_inputs, state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """Return the outputs, the next state, the next inputs, and which sequences are finished."""
        merged = nests.mapped(self._merge, state.cell_state)
        outputs, after = self._cell(nests.mapped(self._merge, inputs), merged)
        if self._output_layer is not None:
            outputs = self._output_layer(outputs)
        logits, after = self._split(outputs), nests.mapped(self._split, after)
        best, following = self._best(logits, after, state)
        finished = following.finished
        own = ops.cond(
            ops.reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding(best.predicted_ids)
        )
        own.set_shape(self._start_inputs.shape)
        return best, following, own, finished

    def _best(self, logits: Any, after: Any, state: Any) -> tuple[Any, Any]:
        """Return the best sequences of those that one symbol more makes."""
        words = ops.shape(logits)[-1]
        likely = nn.log_softmax(logits)
        # A finished sequence goes on with the end alone, at no cost.
        stays = ops.one_hot(self._end, words, on_value=0.0, off_value=likely.dtype.min, dtype=likely.dtype)
        finished = ops.expand_dims(state.finished, 2)
        over = ops.logical_and(finished, ops.ones_like(likely, dtype=bool_))
        likely = ops.where(over, ops.zeros_like(likely) + stays, likely)
        total = ops.expand_dims(state.log_probs, 2) + likely
        longer = ops.one_hot(self._end, words, on_value=ops.constant(0, int64), off_value=ops.constant(1, int64))
        counts = ops.cast(ops.logical_not(finished), int64) * longer
        scores = total / self._length_penalty(ops.expand_dims(state.lengths, 2) + counts)
        flat = ops.stack([self._batch, self._beams * words])
        best, places = nn.top_k(ops.reshape(scores, flat), k=self._beams)
        ids, beams = ops.floormod(places, words), ops.floordiv(places, words)
        chances = ops.gather(ops.reshape(total, flat), places, batch_dims=1)
        was = self._chosen(state.finished, beams)
        ended = ops.logical_or(was, ops.equal(ids, self._end))
        lengths = self._chosen(state.lengths, beams) + ops.cast(ops.logical_not(was), int64)
        for leaf in (best, ids, beams, chances, ended, lengths):
            leaf.set_shape(state.finished.shape)
        cells = nests.mapped(lambda leaf: self._chosen(leaf, beams), after)
        return (BeamSearchDecoderOutput(best, ids, beams), BeamSearchDecoderState(cells, chances, ended, lengths))

    def _length_penalty(self, lengths: Any) -> Any:
        if self._penalty == 0:
            return ops.constant(1.0, float32)
        return ((5.0 + ops.cast(lengths, float32)) / 6.0) ** self._penalty

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Return the sequences, and the last state."""
        longest = ops.cast(ops.reduce_max(final_state.lengths, 1), int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state
