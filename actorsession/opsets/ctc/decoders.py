"""CTC decoders of class scores per time step: ``ctc_greedy_decoder``, ``ctc_beam_search_decoder``.

Owns ``CTCGreedyDecoder`` and ``CTCBeamSearchDecoder``. The greedy decoder takes the best class at each time
step, for a whole batch at once. The beam search decoder keeps the best prefixes, one sequence after the
other; each step evaluates all prefixes and classes together. The last class is the blank, unless the greedy
decoder is given another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.opsets.sparse.basics import SparseTensor

__all__ = ["batch_of", "ctc_beam_search_decoder", "ctc_beam_search_decoder_v2", "ctc_greedy_decoder"]


# -- public functions ------------------------------------------------------------------------------


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: int | None = None
) -> tuple[list[SparseTensor], Tensor]:
    """Return the best label at each time step, without blanks.

    Args:
        inputs: float32 or float64 of shape ``[time, batch, classes]``.
        sequence_length: int32 of shape ``[batch]``: number of time steps of each sequence.
        merge_repeated: whether equal classes at consecutive time steps are merged into one label.
        blank_index: the blank class, counted from the end if negative; the last class if left out.

    Returns:
        A list with a sparse int64 tensor of shape ``[batch, most labels]``, and for each sequence the negated
        sum of its best scores, shape ``[batch, 1]``.

    Raises:
        ValueError: for other shapes.
    """
    *parts, score = raw.CTCGreedyDecoder(
        *_operands(inputs, sequence_length),
        merge_repeated=bool(merge_repeated),
        blank_index=-1 if blank_index is None else int(blank_index),
    )
    return [SparseTensor(*parts)], score


def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """Return the most likely sequences of labels, over all ways to align them with the input.

    Args:
        inputs: float32 or float64 of shape ``[time, batch, classes]``, before the softmax.
        sequence_length: int32 of shape ``[batch]``: number of time steps of each sequence.
        beam_width: number of prefixes that are kept at each time step.
        top_paths: number of sequences to return.
        merge_repeated: whether equal consecutive labels are merged into one.

    Returns:
        A sparse int64 tensor of shape ``[batch, most labels]`` for each path, and the logarithms of their
        likelihoods, shape ``[batch, top_paths]``.

    Raises:
        ValueError: for other shapes or invalid numbers.
    """
    *parts, scores = raw.CTCBeamSearchDecoder(
        *_operands(inputs, sequence_length),
        beam_width=int(beam_width),
        top_paths=int(top_paths),
        merge_repeated=bool(merge_repeated),
    )
    return [SparseTensor(*path) for path in zip(*parts, strict=True)], scores


def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """Decode like ``ctc_beam_search_decoder`` without merging repeated labels."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


def _operands(inputs: Any, lengths: Any) -> list[Tensor]:
    value = convert_to_tensor(inputs, name="inputs")
    return [value, convert_to_tensor(lengths, int32, "sequence_length", graph=value.graph)]


# -- static types ----------------------------------------------------------------------------------


def batch_of(ctx: InferContext) -> Dim:
    """Check that the last input has a length for each sequence of the first, and return their number.

    Raises:
        ValueError: for other shapes.
    """
    inputs, lengths = ctx.inputs[0].shape, ctx.inputs[-1].shape
    if inputs.rank not in (None, 3) or lengths.rank not in (None, 1):
        raise ValueError(f"{ctx.op}: inputs have rank 3 and sequence_length rank 1, got {inputs} and {lengths}")
    batch = inputs.with_rank(3)[1]
    if not lengths.is_compatible_with([batch]):
        raise ValueError(f"{ctx.op}: sequence_length has shape [{batch}] with inputs of shape {inputs}, got {lengths}")
    (listed,) = lengths.with_rank(1).as_list()
    return listed if batch is None else int(batch)


def _decoded(ctx: InferContext) -> Sequence[TensorShape]:
    if ctx.inputs[1].dtype is not int32:
        raise TypeError(f"{ctx.op} takes int32 lengths, got {ctx.inputs[1].dtype.name}")
    for key in ("beam_width", "top_paths"):
        if ctx.attrs.get(key, 1) < 1:
            raise ValueError(f"{ctx.op}: {key} is at least 1, got {ctx.attrs[key]}")
    batch, paths = batch_of(ctx), ctx.attrs.get("top_paths", 1)
    shapes: Sequence[Sequence[Dim]] = ([None, 2], [None], [2])
    parts = [TensorShape(shape) for shape in shapes for _ in range(paths)]
    return [*parts, TensorShape([batch, paths])]


# -- kernels ---------------------------------------------------------------------------------------


def _check_values(op: str, inputs: Any, lengths: Any) -> None:
    if inputs.ndim != 3 or not inputs.size or lengths.shape != inputs.shape[1:2]:
        raise InvalidArgumentError(
            f"{op}: inputs must not be empty, and have a length for each of the batch, got shapes "
            f"{list(inputs.shape)} and {list(lengths.shape)}"
        )
    if (lengths > len(inputs)).any():
        raise FailedPreconditionError(
            f"{op}: sequence_length is at most {len(inputs)}, the time that there is, got {lengths.tolist()}"
        )


def _sparse(rows: list[Any]) -> tuple[Array, Array, Array]:
    """Return sequences of labels as the three components of a sparse tensor."""
    sizes = [len(row) for row in rows]
    total = sum(sizes)
    places = np.empty((total, 2), np.int64)
    places[:, 0] = np.repeat(np.arange(len(rows)), sizes)
    places[:, 1] = np.concatenate([np.zeros(0, np.int64), *map(np.arange, sizes)])
    values = np.concatenate([np.zeros(0, np.int64), *(np.asarray(row, np.int64) for row in rows)])
    return places, values, np.array([len(rows), max(sizes, default=0)], np.int64)


def _greedy_kernel(ctx: KernelContext) -> Kernel:
    merges, blank_index = ctx.attrs["merge_repeated"], ctx.attrs["blank_index"]

    def decoded(inputs: Any, lengths: Any) -> Any:
        _check_values(ctx.op, inputs, lengths)
        classes = inputs.shape[2]
        if not -classes <= blank_index < classes:
            raise InvalidArgumentError(
                f"{ctx.op}: blank_index expected to be between {-classes} and {classes - 1} but was {blank_index}"
            )
        best = inputs.argmax(2)
        alive = np.arange(len(inputs))[:, np.newaxis] < lengths
        score = -np.where(alive, inputs.max(2), 0).sum(0, dtype=inputs.dtype)[:, np.newaxis]
        kept = alive & (best != blank_index % classes)
        if merges:
            kept[1:] &= best[1:] != best[:-1]
        rows = [best[kept[:, row], row] for row in range(inputs.shape[1])]
        return (*_sparse(rows), score)

    return decoded


class _Beams(NamedTuple):
    """The prefixes that are kept, the best first.

    Attributes:
        nodes: node of each prefix in the prefix tree.
        parents: nodes of the prefixes without their last label.
        last: last label of each prefix; -1 for the empty prefix.
        blank: log-likelihoods of the alignments that end with a blank.
        label: log-likelihoods of the alignments that end with a label.
    """

    nodes: Array
    parents: Array
    last: Array
    blank: Array
    label: Array


def _start() -> _Beams:
    nowhere = np.full(1, -1, np.int64)
    return _Beams(np.zeros(1, np.int64), nowhere, nowhere, np.zeros(1), np.full(1, -np.inf))


def _stepped(beams: _Beams, scores: Array, width: int, tree: list[tuple[int, int]]) -> _Beams:
    """Return the best prefixes one time step later.

    Args:
        beams: prefixes before the step.
        scores: log-probabilities of the classes, the last of them the blank.
        width: number of prefixes to keep.
        tree: for each node its parent and last label; new nodes are appended.
    """
    total = np.logaddexp(beams.blank, beams.label)
    places = {node: place for place, node in enumerate(beams.nodes.tolist())}
    above = np.array([places.get(node, -1) for node in beams.parents.tolist()])
    kept = above >= 0
    # A prefix is reached unchanged by a blank, by its last label once more, or by growth from its parent.
    blank = total + scores[-1]
    label = beams.label.copy()
    repeats = kept & (beams.last == np.where(kept, beams.last[above], -2))
    grown = np.where(repeats, beams.blank[above], total[above])
    label[kept] = np.logaddexp(label, grown)[kept]
    label = np.where(beams.last >= 0, label + scores[beams.last], -np.inf)
    # All other prefixes grow by a label; if it repeats the last label, it must follow a blank.
    longer = total[:, np.newaxis] + scores[:-1]
    here = np.flatnonzero(beams.last >= 0)
    again = beams.last[here]
    longer[here, again] = beams.blank[here] + scores[again]
    longer[above[kept], beams.last[kept]] = -np.inf
    flat = longer.ravel()
    everything = np.concatenate([np.logaddexp(blank, label), flat])
    order = np.argsort(-everything, kind="stable")[:width]
    order = order[everything[order] > -np.inf]
    old = len(total)
    is_new = order >= old
    source, added = np.divmod(order - old, scores.size - 1)
    source = np.where(is_new, source, order)
    parents = np.where(is_new, beams.nodes[source], beams.parents[source])
    last = np.where(is_new, added, beams.last[source])
    nodes = beams.nodes[source].copy()
    for place in np.flatnonzero(is_new).tolist():
        nodes[place] = len(tree)
        tree.append((int(parents[place]), int(last[place])))
    new_label = np.where(is_new, flat[np.where(is_new, order - old, 0)], label[source])
    return _Beams(nodes, parents, last, np.where(is_new, -np.inf, blank[source]), new_label)


def _path(tree: list[tuple[int, int]], node: int, merges: bool) -> list[int]:
    """Return the labels on the path from the root to a node."""
    labels: list[int] = []
    before = -1
    while node > 0:
        node, label = tree[node]
        if not merges or label != before:
            labels.append(label)
        before = label
    return labels[::-1]


def _beams_kernel(ctx: KernelContext) -> Kernel:
    width, paths = ctx.attrs["beam_width"], ctx.attrs["top_paths"]
    merges = ctx.attrs["merge_repeated"]

    def decoded(inputs: Any, lengths: Any) -> Any:
        _check_values(ctx.op, inputs, lengths)
        if paths > width:
            raise InvalidArgumentError(f"{ctx.op}: requested more paths than the beam width: {paths} of {width}")
        wide = inputs.astype(np.float64)
        scores = wide - np.logaddexp.reduce(wide, axis=2, keepdims=True)
        rows: list[list[list[int]]] = [[] for _ in range(paths)]
        likelihoods = np.zeros((inputs.shape[1], paths), inputs.dtype)
        for number in range(inputs.shape[1]):
            tree, beams = [(-1, -1)], _start()
            for time in range(lengths[number]):
                beams = _stepped(beams, scores[time, number], width, tree)
            if len(beams.nodes) < paths:
                raise InvalidArgumentError(
                    f"{ctx.op}: Less leaves in the beam search than requested: {len(beams.nodes)} of {paths}"
                )
            likelihoods[number] = np.logaddexp(beams.blank, beams.label)[:paths]
            for row, node in zip(rows, beams.nodes.tolist(), strict=False):
                row.append(_path(tree, node, merges))
        parts = [_sparse(row) for row in rows]
        return (*(part[i] for i in range(3) for part in parts), likelihoods)

    return decoded


op("CTCGreedyDecoder", _decoded, kernel=_greedy_kernel, grad=NOT_DIFFERENTIABLE)
op("CTCBeamSearchDecoder", _decoded, kernel=_beams_kernel, grad=NOT_DIFFERENTIABLE)
