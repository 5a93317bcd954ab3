"""``dynamic_decode``, which runs a decoder until all sequences are finished, and the basic decoder."""

from __future__ import annotations

import abc
import contextlib
from typing import Any, NamedTuple

from actorsession import ops
from actorsession.compat.v1.contrib.seq2seq.helpers import Helper
from actorsession.graph.dtypes import int32
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops import TensorArray
from actorsession.train.layers import nests
from actorsession.train.layers.layer import Layer
from actorsession.train.layers.recurrent import sizes
from actorsession.train.layers.recurrent.cells.cell import check_cell
from actorsession.train.layers.recurrent.steps import opened, transposed

__all__ = ["BasicDecoder", "BasicDecoderOutput", "Decoder", "dynamic_decode", "width_after"]


class Decoder(abc.ABC):
    """What ``dynamic_decode`` runs step by step."""

    @property
    @abc.abstractmethod
    def batch_size(self) -> Any:
        """The size of the batch."""

    @property
    @abc.abstractmethod
    def output_size(self) -> Any:
        """The shape of the outputs of one member, a structure."""

    @property
    @abc.abstractmethod
    def output_dtype(self) -> Any:
        """The dtype of the outputs, a structure."""

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return which members are finished from the start, the first inputs, and the first state."""

    @abc.abstractmethod
    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """Return the outputs, the next state, the next inputs, and which members are finished."""

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Return the outputs of all steps and the last state as the program gets them."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether members that are finished may move or go on."""
        return False


class BasicDecoderOutput(NamedTuple):
    """The outputs of a ``BasicDecoder``.

    Attributes:
        rnn_output: the outputs of the cell, after the layer behind it.
        sample_id: the sampled ids.
    """

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """A cell that reads what a helper gives it.

    Args:
        cell: the cell.
        helper: the helper.
        initial_state: the first state of the cell.
        output_layer: a layer that is applied to outputs before ids are sampled.

    Raises:
        TypeError: for arguments of other kinds.
    """

    def __init__(self, cell: Any, helper: Any, initial_state: Any, output_layer: Any = None) -> None:
        check_cell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._helper = cell, helper
        self._initial_state, self._output_layer = initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        """The size of the batch."""
        return self._helper.batch_size

    @property
    def output_size(self) -> BasicDecoderOutput:
        """The shape of the outputs of one member."""
        size = self._cell.output_size
        if self._output_layer is not None:
            size = nests.mapped(lambda leaf: width_after(self._output_layer, leaf), size)
        return BasicDecoderOutput(size, self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """The dtype of the outputs."""
        dtype = nests.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(nests.mapped(lambda _: dtype, self._cell.output_size), self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return which members are finished from the start, the first inputs, and the first state."""
        finished, inputs = self._helper.initialize()
        return finished, inputs, self._initial_state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """Return the outputs, the next state, the next inputs, and which members are finished."""
        outputs, after = self._cell(inputs, state)
        if self._output_layer is not None:
            outputs = self._output_layer(outputs)
        ids = self._helper.sample(time=time, outputs=outputs, state=after)
        finished, following, after = self._helper.next_inputs(time=time, outputs=outputs, state=after, sample_ids=ids)
        return BasicDecoderOutput(outputs, ids), after, following, finished


def width_after(layer: Any, size: Any) -> Any:
    """Return the number of columns behind a layer, for inputs of a number of columns."""
    units = getattr(layer, "units", None)
    if units is not None:
        return units
    with Graph().as_default():
        shape = layer.compute_output_shape(TensorShape([None]).concatenate(sizes.known_shape(size)))
        return TensorShape(shape)[1:]


def dynamic_decode(
    decoder: Any,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Run a decoder until all members are finished.

    Args:
        decoder: the decoder.
        output_time_major: whether outputs are ``[steps, batch, ...]``.
        impute_finished: whether outputs of finished members are zeros and their states stay as they are.
        maximum_iterations: the greatest number of steps, an int32 scalar.
        parallel_iterations: accepted for compatibility.
        swap_memory: accepted for compatibility.
        scope: the scope of the variables; ``decoder`` if left out.

    Returns:
        The outputs of all steps, the last state, and the number of steps of each member.

    Raises:
        TypeError: for something other than a decoder.
        ValueError: for a greatest number that is no scalar.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with opened(scope, "decoder", unique=True):
        most = None
        if maximum_iterations is not None:
            most = ops.convert_to_tensor(maximum_iterations, int32, name="maximum_iterations")
            if most.shape.rank != 0:
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        dtypes = nests.flatten(decoder.output_dtype)
        structure = decoder.output_dtype
        extents: list[Any] = [_extent(size) for size in _sizes(decoder.output_size, structure)]
        zeros = nests.pack(
            structure, [_zeros(decoder.batch_size, size, dtype) for size, dtype in zip(extents, dtypes, strict=True)]
        )
        arrays = nests.pack(
            structure,
            [
                TensorArray(dtype, 0, dynamic_size=True, element_shape=_static(decoder.batch_size, size))
                for size, dtype in zip(extents, dtypes, strict=True)
            ],
        )
        if most is not None:
            finished = ops.logical_or(finished, ops.greater_equal(0, most))
        lengths = ops.zeros_like(finished, dtype=int32)

        def turn(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
            outputs, after, following, ended = decoder.step(time, inputs, state)
            nests.check_alike(state, after, "the states before and after a step of the decoder")
            if not decoder.tracks_own_finished:
                ended = ops.logical_or(ended, finished)
            if most is not None:
                ended = ops.logical_or(ended, ops.greater_equal(time + 1, most))
            reached = ops.fill(ops.shape(lengths), time + 1)
            next_lengths = ops.where(ops.logical_not(finished), reached, lengths)
            if impute_finished:
                outputs = nests.mapped(lambda output, zero: ops.where(finished, zero, output), outputs, zeros)
                after = nests.mapped(lambda new, old: _kept(finished, new, old), after, state)
            arrays = nests.mapped(lambda array, output: array.write(time, output), arrays, outputs)
            return [time + 1, arrays, after, following, ended, next_lengths]

        final = ops.while_loop(
            lambda time, arrays, state, inputs, finished, lengths: ops.logical_not(ops.reduce_all(finished)),
            turn,
            [ops.constant(0), arrays, state, inputs, finished, lengths],
        )
        _, arrays, state, _, _, lengths = final
        outputs = nests.mapped(lambda array: array.stack(), arrays)
        with contextlib.suppress(NotImplementedError):
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = nests.mapped(transposed, outputs)
    return outputs, state, lengths


def _kept(finished: Any, new: Any, old: Any) -> Any:
    """Return the old state of finished members, and the new one of the others."""
    if isinstance(old, TensorArray) or new.shape.rank == 0:
        return new
    selected = ops.where(finished, old, new)
    selected.set_shape(old.shape)
    return selected


def _sizes(structure: Any, alike: Any) -> list[Any]:
    """Return the leaves of a structure of sizes, in which a shape is a leaf."""
    if nests.is_nested(alike):
        parts = list(structure)
        return [leaf for part, like in zip(parts, alike, strict=True) for leaf in _sizes(part, like)]
    return [structure]


def _extent(size: Any) -> Any:
    return TensorShape(size if isinstance(size, (TensorShape, list, tuple)) else [size])


def _static(batch: Any, size: Any) -> TensorShape:
    return sizes.known_shape(batch, size)


def _zeros(batch: Any, size: Any, dtype: Any) -> Tensor:
    return sizes.zeros(batch, size, dtype)
