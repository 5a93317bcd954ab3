"""Losses and decoders of sequences, from ``contrib.seq2seq`` and ``contrib.legacy_seq2seq``.

The older functions take lists with a tensor for each step; ``sequence_loss`` of ``contrib.seq2seq`` takes
whole tensors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import DType, float32
from actorsession.graph.graph import name_scope
from actorsession.graph.operation import Tensor
from actorsession.namespaces import nn
from actorsession.train.layers.recurrent.static import static_rnn

__all__ = ["basic_rnn_seq2seq", "list_loss", "loss_by_example", "rnn_decoder", "sequence_loss", "tied_rnn_seq2seq"]

# Prevents a division by zero if all weights are zero.
_LITTLE = 1e-12


# -- losses ----------------------------------------------------------------------------------------


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross entropy of sequences.

    Args:
        logits: floats of shape ``[batch, time, symbols]``.
        targets: the correct symbols, integers of shape ``[batch, time]``.
        weights: the weights of the symbols, floats of shape ``[batch, time]``; 0 past the end of a sequence.
        average_across_timesteps: whether to take the weighted mean over time.
        average_across_batch: whether to take the weighted mean over the batch.
        sum_over_timesteps: whether to divide the sum over time by the number of symbols with a weight.
        sum_over_batch: whether to divide the sum over the batch likewise.
        softmax_loss_function: a function of ``labels`` and ``logits`` that returns the loss of each symbol;
            by default the cross entropy of a softmax.
        name: the name scope; ``sequence_loss`` if omitted.

    Returns:
        A loss with the axes over which neither a mean nor a sum is taken.

    Raises:
        ValueError: for tensors of other ranks, or both a mean and a sum.
    """
    logits, targets, weights = map(ops.convert_to_tensor, (logits, targets, weights))
    for what, value, axes in (
        ("Logits", logits, ["batch_size", "sequence_length", "logits"]),
        ("Targets", targets, ["batch_size", "sequence_length"]),
        ("Weights", weights, ["batch_size", "sequence_length"]),
    ):
        if value.shape.rank != len(axes):
            raise ValueError(f"{what} must be a [{' x '.join(axes)}] tensor, got {value!r}")
    means = {1: average_across_timesteps, 0: average_across_batch}
    sums = {1: sum_over_timesteps, 0: sum_over_batch}
    if any(means.values()) and any(sums.values()):
        raise ValueError(
            "average_across_timesteps or average_across_batch, and sum_over_timesteps or sum_over_batch "
            "cannot be set to True at same time"
        )
    with name_scope(name or "sequence_loss"):
        extents = ops.shape(logits)
        flat = ops.reshape(logits, [-1, extents[2]])
        losses = _cross_entropy(ops.reshape(targets, [-1]), flat, softmax_loss_function)
        losses = ops.reshape(losses * ops.reshape(weights, [-1]), [extents[0], extents[1]])
        axes_of = [axis for axis in (0, 1) if means[axis] or sums[axis]]
        if not axes_of:
            return losses
        shares = weights
        if not any(means.values()):
            shares = ops.cast(ops.not_equal(weights, ops.zeros_like(weights)), losses.dtype)
        total = ops.reduce_sum(shares, axes_of)
        return ops.div_no_nan(ops.reduce_sum(losses, axes_of), total)


def _cross_entropy(targets: Any, logits: Any, loss: Callable[..., Any] | None) -> Tensor:
    if loss is None:
        return nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)
    entropy: Tensor = loss(labels=targets, logits=logits)
    return entropy


def loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross entropy of each member of a batch.

    Args:
        logits: floats of shape ``[batch, symbols]``, for each step.
        targets: the correct symbols, integer vectors, for each step.
        weights: the weights of the symbols, float vectors, for each step.
        average_across_timesteps: whether to take the weighted mean over time; otherwise the sum.
        softmax_loss_function: see ``sequence_loss``.
        name: the name scope; ``sequence_loss_by_example`` if omitted.

    Raises:
        ValueError: for lists of different lengths.
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(
            f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, {len(targets)}."
        )
    with name_scope(name or "sequence_loss_by_example"):
        losses = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                target = ops.reshape(target, [-1])
            losses.append(_cross_entropy(target, logit, softmax_loss_function) * weight)
        total = ops.add_n(losses)
        return total / (ops.add_n(list(weights)) + _LITTLE) if average_across_timesteps else total


def list_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross entropy of a batch as a scalar.

    The arguments are those of ``loss_by_example``. ``average_across_batch`` divides the sum over the batch by
    its size.
    """
    with name_scope(name or "sequence_loss"):
        cost = ops.reduce_sum(
            loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function)
        )
        if not average_across_batch:
            return cost
        return cost / ops.cast(ops.shape(targets[0])[0], cost.dtype)


# -- decoders --------------------------------------------------------------------------------------


def rnn_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return the outputs of a cell for given inputs, or for inputs computed from its previous output.

    Args:
        decoder_inputs: matrices with a row for each member of the batch.
        initial_state: the initial state.
        cell: the cell.
        loop_function: returns the next input for the previous output and the number of the step; then only
            the first of ``decoder_inputs`` is used.
        scope: the scope of the variables; ``rnn_decoder`` if omitted.

    Returns:
        A list of outputs, and the last state.
    """
    with ops.variable_scope(scope or "rnn_decoder") as opened:
        state = initial_state
        outputs: list[Any] = []
        for number, step_input in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                with ops.variable_scope("loop_function", reuse=True):
                    step_input = loop_function(outputs[-1], number)
            if number:
                opened.reuse_variables()
            output, state = cell(step_input, state)
            outputs.append(output)
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Any, decoder_inputs: Any, cell: Any, dtype: DType = float32, scope: Any = None
) -> tuple[list[Any], Any]:
    """Return the outputs of a decoder that starts from the last state of an encoder with a copy of its cell.

    Args:
        encoder_inputs: the inputs of the copy of the cell.
        decoder_inputs: see ``rnn_decoder``.
        cell: the cell; the copy has variables of its own.
        dtype: the dtype of the initial state.
        scope: the scope of the variables; ``basic_rnn_seq2seq`` if omitted.

    Returns:
        A list of outputs, and the last state.
    """
    with ops.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: DType = float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return the outputs of ``basic_rnn_seq2seq`` with one cell for encoder and decoder.

    The arguments are those of ``basic_rnn_seq2seq`` and ``rnn_decoder``.
    """
    with ops.variable_scope("combined_tied_rnn_seq2seq") as opened:
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        opened.reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope)
