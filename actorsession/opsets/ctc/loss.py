"""``ctc_loss``: the loss of label sequences that are not aligned with the input.

Owns ``CTCLoss``, which computes the loss and its gradient together. The kernel runs once forwards and once
backwards through time, for all sequences of a batch together; it computes in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bool_, int32, int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.array import concat, pad, stack, transpose
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.masks import boolean_mask, sequence_mask
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import less
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.flow.mapping import map_fn
from actorsession.ops.reductions.cumulative import cumsum
from actorsession.ops.reductions.reduction import reduce_max, reduce_sum
from actorsession.ops.rows import op
from actorsession.opsets.ctc.decoders import batch_of
from actorsession.opsets.sparse.basics import SparseTensor

__all__ = ["check_alignments", "collapse_repeated", "ctc_loss", "ctc_loss_v2", "ctc_unique_labels", "label_sequences"]


def ctc_loss(
    labels: SparseTensor,
    logits: Any,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
) -> Tensor:
    """Return the negative log-likelihood of label sequences, summed over all alignments with the input.

    The last class is the blank that separates labels.

    Args:
        labels: int32 sparse tensor of shape ``[batch, most labels]``.
        logits: float32 or float64 of shape ``[time, batch, classes]``, before the softmax.
        sequence_length: int32 of shape ``[batch]``: number of time steps of each sequence.
        preprocess_collapse_repeated: whether equal consecutive labels are merged into one.
        ctc_merge_repeated: whether consecutive time steps with one class count as one label; if not, each is
            a label of its own.
        ignore_longer_outputs_than_inputs: whether sequences with more labels than time steps get no loss;
            they are an error otherwise.
        time_major: whether the first axis of ``logits`` is time rather than the batch.

    Returns:
        The negative logarithm of the likelihood of each sequence, shape ``[batch]``; infinite where no
        alignment exists.

    Raises:
        TypeError: for labels that are no sparse tensor.
        ValueError: for other shapes.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError(f"Expected argument `labels` to be a SparseTensor. Received labels={labels!r:.100}")
    graph = labels.values.graph
    with graph.as_default():
        value = convert_to_tensor(logits, name="logits")
        if not time_major:
            value = transpose(value, [1, 0, 2])
        loss, _ = raw.CTCLoss(
            value,
            labels.indices,
            labels.values,
            convert_to_tensor(sequence_length, int32, "sequence_length"),
            preprocess_collapse_repeated=bool(preprocess_collapse_repeated),
            ctc_merge_repeated=bool(ctc_merge_repeated),
            ignore_longer_outputs_than_inputs=bool(ignore_longer_outputs_than_inputs),
        )
        return loss


def _loss(ctx: InferContext) -> Sequence[TensorShape]:
    inputs, indices, values, lengths = (spec.shape for spec in ctx.inputs)
    dtypes = [spec.dtype for spec in ctx.inputs[1:]]
    if dtypes != [int64, int32, int32]:
        raise TypeError(
            f"{ctx.op} takes labels of int64 and int32 and int32 lengths; got "
            f"{', '.join(dtype.name for dtype in dtypes)}"
        )
    for shape, rank in ((inputs, 3), (indices, 2), (values, 1), (lengths, 1)):
        if shape.rank not in (None, rank):
            raise ValueError(
                f"{ctx.op}: shapes [time, batch, classes], [labels, 2], [labels] and [batch] are needed, got "
                f"{', '.join(str(s.shape) for s in ctx.inputs)}"
            )
    if not values.is_compatible_with(indices[:1]):
        raise ValueError(f"{ctx.op}: labels have places {indices} and values {values}")
    return [TensorShape([batch_of(ctx)]), inputs]


def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return ``ctc_loss`` of labels that may be a matrix, with any class as the blank.

    Args:
        labels: integers of shape ``[batch, most labels]``, dense or sparse.
        logits: see ``ctc_loss``.
        label_length: the number of labels of each sequence; ignored for sparse labels.
        logit_length: the number of time steps of each sequence.
        logits_time_major: whether the first axis of ``logits`` is time.
        blank_index: the class of blanks, from the end if negative; 0 for dense labels if left out.
        name: wanted name of the scope.

    Raises:
        ValueError: for sparse labels without a class of blanks.
    """
    value = convert_to_tensor(logits)
    sparse = isinstance(labels, SparseTensor)
    if sparse and blank_index is None:
        raise ValueError("Argument `blank_index` must be provided when labels is a SparseTensor.")
    classes = value.shape.with_rank(3)[2]
    if classes is None:
        raise ValueError("the number of classes, the last size of logits, has to be known")
    blank = (blank_index or 0) % classes
    with value.graph.name_scope(name or ("ctc_loss" if sparse else "ctc_loss_dense")):
        targets = labels if sparse else _as_sparse(labels, label_length)
        if blank != classes - 1:
            parts = [value[:, :, :blank], value[:, :, blank + 1 :], value[:, :, blank : blank + 1]]
            value = concat(parts, 2)
            numbers = targets.values
            moved = where_v2(less(numbers, blank), numbers, numbers - 1)
            targets = SparseTensor(targets.indices, moved, targets.dense_shape)
        return ctc_loss(targets, value, logit_length, time_major=logits_time_major)


def _as_sparse(labels: Any, lengths: Any) -> SparseTensor:
    """Return the labels of sequences of given lengths."""
    value = cast(convert_to_tensor(labels), int32)
    mask = sequence_mask(lengths, shape_tensor(value)[1])
    places = where_v2(mask)
    return SparseTensor(places, boolean_mask(value, mask), shape_tensor(value, int64))


def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the different labels of each sequence in their order, and where each label is among them.

    Args:
        labels: integers of shape ``[batch, most labels]``.
        name: wanted name of the scope.

    Returns:
        The different labels, filled up with 0, and int32 places; both have the shape of ``labels``.
    """
    value = convert_to_tensor(labels)
    with value.graph.name_scope(name or "ctc_unique_labels"):

        def of_row(row: Any) -> tuple[Tensor, Tensor]:
            distinct, places = raw.Unique(row)
            return pad(distinct, [[0, shape_tensor(row)[0] - shape_tensor(distinct)[0]]]), places

        distinct, places = map_fn(of_row, cast(value, int64), fn_output_signature=(int64, int32))
        return distinct, places


def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return labels without those that are the same as the one before, and how many are left.

    Args:
        labels: integers of shape ``[batch, most labels]``.
        seq_length: the number of labels of each sequence.
        name: wanted name of the scope.

    Returns:
        The labels, filled up with 0, and their numbers.
    """
    value = convert_to_tensor(labels)
    with value.graph.name_scope(name or "collapse_repeated_labels"):
        changed = raw.NotEqual(value[:, 1:], value[:, :-1])
        first = raw.OnesLike(cast(value[:, :1], bool_))
        kept = raw.LogicalAnd(concat([first, changed], 1), sequence_mask(seq_length, shape_tensor(value)[1]))
        lengths = reduce_sum(cast(kept, int32), 1)
        rows = where_v2(kept)[:, 0]
        place = boolean_mask(cumsum(cast(kept, int64), 1) - 1, kept)
        most = reduce_max(lengths)
        shape = stack([shape_tensor(value)[0], most])
        collapsed = raw.ScatterNd(stack([rows, place], 1), boolean_mask(value, kept), cast(shape, int64))
        return collapsed, cast(lengths, convert_to_tensor(seq_length).dtype)


# -- labels ----------------------------------------------------------------------------------------


class _Targets(NamedTuple):
    """Label sequences with blanks between the labels, one per row, padded with blanks.

    Attributes:
        states: class of each state of an alignment.
        counts: number of states of each sequence.
        ignored: mask of the sequences without a loss.
    """

    states: Array
    counts: Array
    ignored: Array


def check_alignments(inputs: Any, indices: Any, values: Any, lengths: Any) -> None:
    """Check the shapes of the inputs of ``CTCLoss``, and the numbers of the host among them."""
    if inputs.ndim != 3 or not inputs.shape[0] or not inputs.shape[2]:
        raise InvalidArgumentError(f"CTCLoss: inputs have time, batch and classes, got shape {list(inputs.shape)}")
    if indices.ndim != 2 or indices.shape[1] != 2 or values.shape != indices.shape[:1]:
        raise InvalidArgumentError(
            f"CTCLoss: labels have places [labels, 2] and values [labels], got {list(indices.shape)} and "
            f"{list(values.shape)}"
        )
    if lengths.shape != inputs.shape[1:2]:
        raise InvalidArgumentError(f"CTCLoss: sequence_length has shape [{inputs.shape[1]}], got {list(lengths.shape)}")
    if ((lengths < 0) | (lengths > len(inputs))).any():
        raise InvalidArgumentError(f"CTCLoss: sequence_length is in [0, {len(inputs)}], got {lengths.tolist()}")
    rows = indices[:, 0]
    ordered = (np.diff(rows) > 0) | ((np.diff(rows) == 0) & (np.diff(indices[:, 1]) > 0))
    if not ordered.all() or ((rows < 0) | (rows >= inputs.shape[1])).any():
        raise InvalidArgumentError(
            f"CTCLoss: label SparseTensor is not valid: rows are in [0, {inputs.shape[1]}) and in order, got "
            f"{indices.tolist()[:10]}"
        )


def label_sequences(indices: Any, values: Any, batch: int, blank: int) -> list[Array]:
    """Return the labels of each sequence; it ends before the first class that is not below ``blank``."""
    sequences = []
    for row in range(batch):
        labels = values[indices[:, 0] == row]
        if (labels < 0).any():
            raise InvalidArgumentError(
                f"CTCLoss: All labels must be nonnegative integers, batch: {row} labels: {labels.tolist()}"
            )
        real = labels < blank
        if (~real[:-1] & real[1:]).any():
            raise InvalidArgumentError(
                "CTCLoss: Saw a non-null label (index >= num_classes - 1) following a null label, batch: "
                f"{row} num_classes: {blank + 1} labels: {labels.tolist()}"
            )
        labels = labels[real]
        if not len(labels):
            raise InvalidArgumentError(f"CTCLoss: Labels length is zero in batch {row}")
        sequences.append(labels)
    return sequences


def _late(sequences: list[Array], lengths: Any, ignores: bool) -> Array:
    """Return a mask of the sequences that have more labels than time steps."""
    sizes = np.array([len(labels) for labels in sequences], np.int64)
    late = np.asarray(sizes > lengths)
    if late.any() and not ignores:
        row = int(late.argmax())
        raise InvalidArgumentError(
            f"CTCLoss: Not enough time for target transition sequence (required: {sizes[row]}, available: "
            f"{lengths[row]}) in batch {row}. ignore_longer_outputs_than_inputs leaves such sequences out."
        )
    return late


def _targets(sequences: list[Array], blank: int, late: Array, collapse: bool) -> _Targets:
    """Return the states of the sequences, optionally with equal consecutive labels merged."""
    rows = sequences
    if collapse:
        rows = [labels[np.append(True, labels[1:] != labels[:-1])] for labels in sequences]
    sizes = np.array([len(labels) for labels in rows], np.int64)
    states = np.full((len(rows), 2 * int(sizes.max(initial=0)) + 1), blank)
    for row, labels in enumerate(rows):
        states[row, 1 : 2 * len(labels) : 2] = labels
    return _Targets(states, 2 * sizes + 1, late)


# -- time ------------------------------------------------------------------------------------------


def _log_softmax(x: Any) -> Any:
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _moved(states: Array, by: int) -> Array:
    """Return log-likelihoods shifted by ``by`` states, filled with minus infinity."""
    out = np.full_like(states, -np.inf)
    if by < states.shape[1]:
        out[:, by:] = states[:, : states.shape[1] - by]
    return out


def _stepped(before: Array, stays: Array, skips: Array) -> Array:
    """Return the log-likelihoods of states after one transition.

    ``stays`` masks the states that may follow themselves, ``skips`` those that may be reached past a blank.
    """
    stepped = np.where(stays, before, -np.inf)
    stepped = np.logaddexp(stepped, _moved(before, 1))
    return np.asarray(np.logaddexp(stepped, np.where(skips, _moved(before, 2), -np.inf)))


def _forward(scores: Array, stays: Array, skips: Array) -> Array:
    """Return the log-likelihood of reaching each state at each time, including the score at that time."""
    out = np.full_like(scores, -np.inf)
    out[0, :, :2] = scores[0, :, :2]
    for t in range(1, len(scores)):
        out[t] = scores[t] + _stepped(out[t - 1], stays, skips)
    return out


def _backward(scores: Array, counts: Array, lengths: Array, stays: Array, skips: Array) -> Array:
    """Return the log-likelihood of finishing from each state at each time, without the score at that time."""
    out = np.full_like(scores, -np.inf)
    states = np.arange(scores.shape[2])
    last = (states < counts[:, np.newaxis]) & (states >= counts[:, np.newaxis] - 2)
    ends = np.where(last, 0.0, -np.inf)
    # Going backwards reverses the states; the flags are those of the state that is left.
    flipped = stays[:, ::-1], _moved_flags(skips)[:, ::-1]
    for t in range(len(scores) - 1, -1, -1):
        ended = lengths - 1 == t
        out[t, ended] = ends[ended]
        if t + 1 < len(scores):
            going = lengths - 1 > t
            after = (out[t + 1] + scores[t + 1])[:, ::-1]
            out[t, going] = _stepped(after, *flipped)[going, ::-1]
    return out


def _moved_flags(skips: Array) -> Array:
    """Return for each state whether a transition may skip the next state."""
    out = np.zeros_like(skips)
    out[:, :-2] = skips[:, 2:]
    return out


def _losses(inputs: Any, targets: _Targets, lengths: Any, merges: bool) -> tuple[Array, Array]:
    """Return the losses of a batch and their gradient, in float64."""
    blank, states = inputs.shape[2] - 1, targets.states
    chances = _log_softmax(inputs)
    rows = np.arange(len(states))[:, np.newaxis]
    scores = chances[:, rows, states]
    is_label = states != blank
    same = np.zeros_like(is_label)
    same[:, 2:] = states[:, 2:] == states[:, :-2]
    skips = is_label & ~(same & merges)
    skips[:, :2] = False
    stays = ~is_label | merges
    reached = _forward(scores, stays, skips)
    both = reached + _backward(scores, targets.counts, lengths, stays, skips)
    counted = (lengths > 0) & ~targets.ignored
    total = np.full(len(states), -np.inf)
    total[counted] = np.logaddexp.reduce(both[0], axis=1)[counted]
    loss = np.where(targets.ignored, 0.0, -total)
    return loss, _gradient(chances, both, states, total, lengths)


def _gradient(chances: Array, both: Array, states: Array, total: Array, lengths: Any) -> Array:
    """Return the class probabilities minus the expected occupancy of each class over all alignments."""
    possible = np.isfinite(total)
    met = np.zeros_like(chances)
    share = np.exp(both - np.where(possible, total, 0)[:, np.newaxis])
    time, batch = np.ogrid[: len(both), : both.shape[1]]
    np.add.at(met, (time[..., np.newaxis], batch[..., np.newaxis], states), share)
    alive = (time < lengths) & possible
    return np.where(alive[..., np.newaxis], np.exp(chances) - met, 0)


def _loss_kernel(ctx: KernelContext) -> Kernel:
    collapse = ctx.attrs["preprocess_collapse_repeated"]
    merges, ignores = (ctx.attrs["ctc_merge_repeated"], ctx.attrs["ignore_longer_outputs_than_inputs"])
    dtype = ctx.outputs[0].dtype.np_dtype

    def loss(inputs: Any, indices: Any, values: Any, lengths: Any) -> Any:
        check_alignments(inputs, indices, values, lengths)
        if not inputs.shape[1]:
            return np.zeros(0, dtype), np.zeros_like(inputs)
        blank = inputs.shape[2] - 1
        sequences = label_sequences(indices, values, inputs.shape[1], blank)
        targets = _targets(sequences, blank, _late(sequences, lengths, ignores), collapse)
        with np.errstate(invalid="ignore"):
            losses, slope = _losses(inputs.astype(np.float64), targets, lengths, merges)
        return losses.astype(dtype), slope.astype(dtype)

    return loss


def _loss_gradient(op: Operation, grad: Tensor | None, of_gradient: Tensor | None) -> Sequence[Tensor | None]:
    if of_gradient is not None:
        raise LookupError("CTCLoss has a gradient, and that gradient has none")
    if grad is None:
        return [None] * 4
    return [reshape(grad, [1, -1, 1]) * op.outputs[1], None, None, None]


op("CTCLoss", _loss, kernel=_loss_kernel, grad=_loss_gradient)
