"""``StringNGrams``: runs of neighbouring strings of each row of a ragged tensor, joined."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.rows import op
from actorsession.opsets.text.kernels import joined, require_string, string_array

__all__: list[str] = []


def _shapes(ctx: InferContext) -> Sequence[TensorShape]:
    require_string(ctx, 0, rank=1)
    return [TensorShape([None]), ctx.inputs[1].shape.with_rank(1)]


def _kernel(ctx: KernelContext) -> Kernel:
    attrs = ctx.attrs
    separator = attrs["separator"].encode()

    def ngrams(data: Any, splits: Any) -> Any:
        ends = splits.tolist()
        if ends and (ends[0] != 0 or ends[-1] != len(data) or (np.diff(splits) < 0).any()):
            raise InvalidArgumentError(
                f"Invalid split value: splits begin with 0, do not fall and end with {len(data)}, got {ends}"
            )
        words = data.tolist()
        rows = [list(_of_row(words[a:b], attrs)) for a, b in itertools.pairwise(ends)]
        texts = joined(separator, [parts for row in rows for parts in row], ctx.op)
        counts = np.cumsum([0, *map(len, rows)]) if ends else np.zeros(0)
        return string_array(texts, (len(texts),)), counts.astype(splits.dtype)

    return ngrams


def _of_row(words: list[bytes], attrs: Mapping[str, Any]) -> Iterator[list[bytes]]:
    """Yield the strings of each run, the shorter runs before the longer as the widths are given."""
    left, right = attrs["left_pad"].encode(), attrs["right_pad"].encode()
    widest, any_run = attrs["pad_width"], False
    for width in attrs["ngram_widths"]:
        pad = width - 1 if widest < 0 else min(widest, width - 1)
        padded = [left] * pad + words + [right] * pad
        for first in range(len(padded) - width + 1):
            any_run = True
            yield padded[first : first + width]
    if attrs["preserve_short_sequences"] and not any_run and words:
        yield [left] * max(widest, 0) + words + [right] * max(widest, 0)


op("StringNGrams", _shapes, kernel=_kernel)
