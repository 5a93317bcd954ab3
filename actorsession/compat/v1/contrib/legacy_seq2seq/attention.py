"""Decoders of ``tf.contrib.legacy_seq2seq`` over lists of steps: with embeddings, attention, and buckets."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.legacy_seq2seq.sequences import list_loss, loss_by_example, rnn_decoder
from actorsession.graph.graph import name_scope
from actorsession.namespaces import nn
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent.cells.linear import _linear
from actorsession.train.layers.recurrent.cells.projections import EmbeddingWrapper, OutputProjectionWrapper
from actorsession.train.layers.recurrent.static import static_rnn

__all__ = [
    "attention_decoder",
    "embedding_attention_decoder",
    "embedding_attention_seq2seq",
    "embedding_rnn_decoder",
    "embedding_rnn_seq2seq",
    "embedding_tied_rnn_seq2seq",
    "model_with_buckets",
]


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Return the outputs of a cell that looks at each step at the states of an encoder.

    Args:
        decoder_inputs: matrices with a row for each member of the batch.
        initial_state: the first state.
        attention_states: what is looked at, ``[batch, steps, columns]``.
        cell: the cell.
        output_size: the number of columns of outputs; as many as those of the cell if left out.
        num_heads: how often it is looked at.
        loop_function: returns the next input for the output before and the number of the step.
        dtype: the dtype of the first state.
        scope: the scope of the variables; ``attention_decoder`` if left out.
        initial_state_attention: whether the first state is looked with, too.

    Returns:
        A list of outputs, and the last state.

    Raises:
        ValueError: for no inputs, no heads, or states of unknown sizes.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    size = attention_states.spec.shape[2]
    if not isinstance(size, int):
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    with ops.variable_scope(scope or "attention_decoder", dtype=dtype) as opened:
        kind = opened.dtype
        heads = _Heads(attention_states, size, num_heads)
        batch = ops.shape(decoder_inputs[0])[0]
        seen = [_zeros(batch, size, kind) for _ in range(num_heads)]
        if initial_state_attention:
            seen = heads.look(initial_state)
        state, outputs, before = initial_state, list[Any](), None
        for number, step_input in enumerate(decoder_inputs):
            if number:
                opened.reuse_variables()
            if loop_function is not None and before is not None:
                with ops.variable_scope("loop_function", reuse=True):
                    step_input = loop_function(before, number)
            joined = _linear([step_input, *seen], int(step_input.shape[1]), True)
            answer, state = cell(joined, state)
            shared = number == 0 and initial_state_attention
            with ops.variable_scope(ops.get_variable_scope(), reuse=shared or None):
                seen = heads.look(state)
            with ops.variable_scope("AttnOutputProjection"):
                output = _linear([answer, *seen], output_size or int(cell.output_size), True)
            before = output if loop_function is not None else None
            outputs.append(output)
    return outputs, state


def _zeros(batch: Any, size: int, dtype: Any) -> Any:
    zeros = ops.zeros(ops.stack([batch, size]), dtype)
    zeros.set_shape([None, size])
    return zeros


class _Heads:
    """What looks at the states of an encoder.

    Args:
        states: the states, ``[batch, steps, columns]``.
        size: the number of columns.
        count: the number of heads.
    """

    def __init__(self, states: Any, size: int, count: int) -> None:
        known = states.spec.shape[1]
        self._steps: Any = known if isinstance(known, int) else ops.shape(states)[1]
        self._size = size
        self._hidden = ops.reshape(states, ops.stack([-1, self._steps, 1, size]))
        self._keys, self._vectors = [], []
        for head in range(count):
            kernel = ops.get_variable(f"AttnW_{head}", [1, 1, size, size])
            self._keys.append(nn.conv2d(self._hidden, kernel, [1, 1, 1, 1], "SAME"))
            self._vectors.append(ops.get_variable(f"AttnV_{head}", [size]))

    def look(self, query: Any) -> list[Any]:
        """Return what each head sees for a query."""
        flat = ops.concat(nests.flatten(query), 1) if nests.is_nested(query) else query
        contexts = []
        for head, (keys, vector) in enumerate(zip(self._keys, self._vectors, strict=True)):
            with ops.variable_scope(f"Attention_{head}"):
                asked = ops.reshape(_linear(flat, self._size, True), [-1, 1, 1, self._size])
                scores = ops.reduce_sum(vector * ops.tanh(keys + asked), [2, 3])
                shares = ops.reshape(nn.softmax(scores), ops.stack([-1, self._steps, 1, 1]))
                seen = ops.reduce_sum(shares * self._hidden, [1, 2])
                contexts.append(ops.reshape(seen, [-1, self._size]))
        return contexts


def _own_words(embedding: Any, projection: Any, update: bool) -> Callable[[Any, int], Any]:
    """Return a function that returns the vector of the best word of the output before."""

    def following(before: Any, _: int) -> Any:
        scores = before if projection is None else nn.xw_plus_b(before, *projection)
        vector = nn.embedding_lookup(embedding, ops.argmax(scores, 1))
        return vector if update else ops.stop_gradient(vector)

    return following


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return the outputs of a cell that reads the vectors of words.

    Args:
        decoder_inputs: vectors of words, one for each step.
        initial_state: the first state.
        cell: the cell.
        num_symbols: the number of words.
        embedding_size: the length of a vector.
        output_projection: a matrix and a vector that make scores of words from outputs.
        feed_previous: whether the best word of the step before is read instead of all inputs but the first.
        update_embedding_for_previous: whether vectors of such words are trained.
        scope: the scope of the variables; ``embedding_rnn_decoder`` if left out.

    Returns:
        A list of outputs, and the last state.
    """
    with ops.variable_scope(scope or "embedding_rnn_decoder"):
        table = ops.get_variable("embedding", [num_symbols, embedding_size])
        following = _own_words(table, output_projection, update_embedding_for_previous)
        inputs = [nn.embedding_lookup(table, word) for word in decoder_inputs]
        return rnn_decoder(inputs, initial_state, cell, following if feed_previous else None)


def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Return the outputs of ``attention_decoder`` with the vectors of words as inputs.

    The arguments are those of that function and of ``embedding_rnn_decoder``.
    """
    with ops.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        table = ops.get_variable("embedding", [num_symbols, embedding_size])
        following = _own_words(table, output_projection, update_embedding_for_previous)
        inputs = [nn.embedding_lookup(table, word) for word in decoder_inputs]
        return attention_decoder(
            inputs,
            initial_state,
            attention_states,
            cell,
            output_size or int(cell.output_size),
            num_heads,
            following if feed_previous else None,
            initial_state_attention=initial_state_attention,
        )


def _either(feed_previous: Any, decode: Callable[[bool], tuple[list[Any], Any]]) -> tuple[list[Any], Any]:
    """Return the outputs and state of a decoder that reads its own words if a bool or a tensor says so."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous)
    structure: list[Any] = []

    def flat(own: bool, reuse: bool | None) -> list[Any]:
        with ops.variable_scope(ops.get_variable_scope(), reuse=reuse):
            outputs, state = decode(own)
            structure[:] = [len(outputs), state]
            return [*outputs, *nests.flatten(state)]

    # Both branches have the variables, which the first one makes.
    leaves = ops.cond(feed_previous, lambda: flat(True, None), lambda: flat(False, True))
    count, state = structure
    return list(leaves[:count]), nests.pack(state, leaves[count:])


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return the outputs of a decoder that starts from the last state of an encoder of words.

    Args:
        encoder_inputs: vectors of words, one for each step.
        decoder_inputs: see ``embedding_rnn_decoder``.
        cell: the cell; the encoder has a copy of it.
        num_encoder_symbols: the number of words of the encoder.
        num_decoder_symbols: the number of words of the decoder.
        embedding_size: the length of a vector.
        output_projection: see ``embedding_rnn_decoder``; outputs are scores of words without.
        feed_previous: see there; also a bool tensor.
        dtype: the dtype of the first state.
        scope: the scope of the variables; ``embedding_rnn_seq2seq`` if left out.

    Returns:
        A list of outputs, and the last state.
    """
    with ops.variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=dtype or opened.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        return _either(
            feed_previous,
            lambda own: embedding_rnn_decoder(
                decoder_inputs, state, cell, num_decoder_symbols, embedding_size, output_projection, own
            ),
        )


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return the outputs of ``embedding_rnn_seq2seq`` with one cell and one table of vectors for both.

    The arguments are those of that function; ``num_symbols`` is the number of words of both.
    """
    with ops.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as opened:
        kind = dtype or opened.dtype
        table = ops.get_variable("embedding", [num_symbols, embedding_size], kind)
        encoded, decoded = (
            [nn.embedding_lookup(table, word) for word in words] for words in (encoder_inputs, decoder_inputs)
        )
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)

        def decode(own: bool) -> tuple[list[Any], Any]:
            following = _own_words(table, output_projection, own) if own else None
            with ops.variable_scope("combined_tied_rnn_seq2seq") as combined:
                inner = "tied_rnn_seq2seq"
                _, state = static_rnn(cell, encoded, dtype=kind, scope=inner)
                combined.reuse_variables()
                return rnn_decoder(decoded, state, cell, following, inner)

        return _either(feed_previous, decode)


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Return the outputs of a decoder that looks at the outputs of an encoder of words.

    The arguments are those of ``embedding_rnn_seq2seq`` and of ``attention_decoder``.
    """
    with ops.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        encoded, state = static_rnn(encoder, encoder_inputs, dtype=dtype or opened.dtype)
        states = ops.concat([ops.reshape(each, [-1, 1, cell.output_size]) for each in encoded], 1)
        size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            size = num_decoder_symbols
        return _either(
            feed_previous,
            lambda own: embedding_attention_decoder(
                decoder_inputs,
                state,
                states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads,
                size,
                output_projection,
                own,
                initial_state_attention=initial_state_attention,
            ),
        )


def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], tuple[Any, Any]],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """Return the outputs and losses of a model for pairs of lengths, which share its variables.

    Args:
        encoder_inputs: the inputs of the encoder, for the greatest length.
        decoder_inputs: those of the decoder.
        targets: the correct words.
        weights: the weights of the words.
        buckets: the pairs of lengths.
        seq2seq: returns outputs and state for both inputs.
        softmax_loss_function: see ``sequence_loss``.
        per_example_loss: whether there is a loss for each member of the batch.
        name: the name scope; ``model_with_buckets`` if left out.

    Raises:
        ValueError: for fewer inputs, targets or weights than the last pair has.
    """
    longest = buckets[-1]
    for what, tensors, count in (
        ("encoder_inputs", encoder_inputs, longest[0]),
        ("targets", targets, longest[1]),
        ("weights", weights, longest[1]),
    ):
        if len(tensors) < count:
            raise ValueError(f"Length of {what} ({len(tensors)}) must be at least that of last bucket ({count}).")
    outputs, losses = [], []
    loss = loss_by_example if per_example_loss else list_loss
    with name_scope(name or "model_with_buckets"):
        for number, (first, second) in enumerate(buckets):
            with ops.variable_scope(ops.get_variable_scope(), reuse=True if number else None):
                decoded, _ = seq2seq(encoder_inputs[:first], decoder_inputs[:second])
                outputs.append(decoded)
                losses.append(
                    loss(decoded, targets[:second], weights[:second], softmax_loss_function=softmax_loss_function)
                )
    return outputs, losses
