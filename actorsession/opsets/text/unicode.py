"""Strings as code points and back: ``UnicodeDecode``, ``UnicodeDecodeWithOffsets`` and ``UnicodeEncode``.

The code points of all strings are one vector, with the row splits that a ragged tensor has.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import boxed
from actorsession.opsets.text.characters import check_errors, check_input_encoding, encodings
from actorsession.opsets.text.kernels import require_string, string_array

__all__: list[str] = []

_LAST, _SURROGATES = 0x10FFFF, range(0xD800, 0xE000)


# -- decoding --------------------------------------------------------------------------------------


def _decoded_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    require_string(ctx, 0)
    check_errors(ctx)
    check_input_encoding(ctx)
    count = ctx.inputs[0].shape.num_elements()
    vectors = [TensorShape([None])] * (2 if ctx.op == "UnicodeDecodeWithOffsets" else 1)
    return [TensorShape([None if count is None else count + 1]), *vectors]


def _decode_kernel(ctx: KernelContext) -> Kernel:
    attrs, splits = ctx.attrs, ctx.outputs[0].dtype.np_dtype
    read = _reader(attrs["input_encoding"], attrs["errors"], attrs["replacement_char"])
    control = attrs["replace_control_characters"]
    offsets = ctx.op == "UnicodeDecodeWithOffsets"

    def decode(texts: Any) -> Any:
        decoded = [read(text) for text in boxed(texts).ravel().tolist()]
        ends = np.cumsum([0, *[len(points) for points, _ in decoded]]).astype(splits)
        points = np.array([point for each, _ in decoded for point in each], np.int32)
        if control:
            points[points < 32] = attrs["replacement_char"]
        if not offsets:
            return ends, points
        return ends, points, np.array([start for _, each in decoded for start in each], np.int64)

    return decode


def _reader(encoding: str, errors: str, stand_in: int) -> Callable[[bytes], tuple[list[int], list[int]]]:
    """Return the function from a string to its code points and the bytes at which they start."""

    def read(text: bytes) -> tuple[list[int], list[int]]:
        points: list[int] = []
        starts: list[int] = []
        at = 0
        while at < len(text):
            try:
                part, bad = text[at:].decode(encoding), None
            except UnicodeDecodeError as error:
                if errors == "strict":
                    raise InvalidArgumentError(
                        f"Invalid formatting on input string: {text!r:.100} is no {encoding}"
                    ) from None
                part, bad = text[at : at + error.start].decode(encoding), error
            for character in part:
                points.append(ord(character))
                starts.append(at)
                at += len(character.encode(encoding))
            if bad is None:
                break
            if errors == "replace":
                points.append(stand_in)
                starts.append(at)
            at += max(bad.end - bad.start, 1)
        return points, starts

    return read


for _name in ("UnicodeDecode", "UnicodeDecodeWithOffsets"):
    op(_name, _decoded_shapes, kernel=_decode_kernel)


# -- encoding --------------------------------------------------------------------------------------


def _encoded_shape(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    check_errors(ctx)
    encodings(ctx, "output_encoding")
    size = ctx.inputs[1].shape.with_rank(1)[0]
    ctx.inputs[0].shape.with_rank(1)
    return [TensorShape([None if size is None else max(size - 1, 0)])]


def _encode_kernel(ctx: KernelContext) -> Kernel:
    errors, stand_in = ctx.attrs["errors"], chr(ctx.attrs["replacement_char"])
    target = codecs.lookup(encodings(ctx, "output_encoding")).name

    def character(point: int) -> str:
        if 0 <= point <= _LAST and point not in _SURROGATES:
            return chr(point)
        if errors == "strict":
            raise InvalidArgumentError(f"Code point is out of range for Unicode, or a noncharacter: {point}")
        return stand_in if errors == "replace" else ""

    def encode(points: Any, splits: Any) -> Any:
        ends = splits.tolist()
        if not ends or ends[0] != 0 or ends[-1] != len(points) or (np.diff(splits) < 0).any():
            raise InvalidArgumentError(
                f"input_splits begin with 0, do not fall and end with {len(points)}, the number of values, got {ends}"
            )
        texts = ["".join(map(character, points[a:b].tolist())).encode(target) for a, b in itertools.pairwise(ends)]
        return string_array(texts, (len(texts),))

    return encode


op("UnicodeEncode", _encoded_shape, kernel=_encode_kernel)
