"""The operation types of summaries: each makes the bytes of a ``Summary`` message, a string scalar.

Owns ``ScalarSummary``, ``HistogramSummary``, ``ImageSummary``, ``AudioSummary`` and ``AudioSummaryV2``,
``TensorSummary`` and ``TensorSummaryV2``, and ``MergeSummary``. ``functions`` has what programs call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import boxed
from actorsession.opsets.parsing.serialized import written
from actorsession.opsets.summaries.audio import wav_of
from actorsession.opsets.summaries.fields import AUDIO, HISTOGRAM, IMAGE, TENSOR, float_field, sized, tagged
from actorsession.opsets.summaries.histograms import histogram_of
from actorsession.opsets.summaries.images import png_of, to_bytes
from actorsession.protobuf.wire import WireError, as_bytes, fields, length_field

__all__: list[str] = []

_VALUE, _NODE_NAME, _METADATA = 1, 7, 9


def _summary(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    for name in ("max_images", "max_outputs"):
        least = ctx.attrs.get(name, 1)
        if least < 1:
            raise ValueError(f"Attr '{name}' of '{ctx.op}' Op passed {least} less than minimum 1.")
    return [scalar_shape]


def _merged_shape(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    if not ctx.inputs:
        raise ValueError(f"List argument 'inputs' to '{ctx.op}' Op with length 0 shorter than minimum length 1.")
    return [scalar_shape]


def _scalar(tags: Any, values: Any) -> bytes:
    names, numbers = np.asarray(boxed(tags)), np.asarray(values)
    if names.shape != numbers.shape:
        one = f" (tag '{names.flat[0].decode()}')" if names.size == 1 else ""
        raise InvalidArgumentError(
            f"tags and values are not the same shape: {_dims(names.shape)} != {_dims(numbers.shape)}{one}"
        )
    with np.errstate(over="ignore"):  # numbers too large for a float are infinite
        floats = numbers.astype(np.float32)
    return b"".join([tagged(tag, 0, float(x)) for tag, x in zip(names.flat, floats.flat, strict=True)])


def _dims(shape: Sequence[int]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _one_tag(tag: Any) -> bytes:
    names = np.asarray(boxed(tag))
    if names.size != 1:
        raise InvalidArgumentError(f"tags must be scalar, got shape {_dims(names.shape)}")
    name = names.flat[0]
    assert isinstance(name, bytes)
    return name


def _histogram(tag: Any, values: Any) -> bytes:
    name = _one_tag(tag)
    return tagged(name, HISTOGRAM, histogram_of(values, name.decode(errors="replace")))


def _numbered(tag: Any, kind: bytes, most: int, index: int) -> bytes:
    """Return the tag of one image or sound; there is a number in it where there may be several."""
    base = _one_tag(tag) + b"/" + kind
    return base if most == 1 else base + b"/%d" % index


def _image_kernel(ctx: KernelContext) -> Kernel:
    most, bad_colour = ctx.attrs["max_images"], ctx.attrs["bad_color"]

    def images(tag: Any, batch: Any) -> bytes:
        if np.ndim(batch) != 4 or batch.shape[3] not in (1, 3, 4):
            raise InvalidArgumentError(f"Tensor must be 4-D with last dim 1, 3, or 4, not {_dims(np.shape(batch))}")
        out = []
        for index, image in enumerate(batch[:most]):
            pixels = image if image.dtype == np.uint8 else to_bytes(image, bad_colour)
            height, width, channels = pixels.shape
            content = b"".join([sized(1, height), sized(2, width), sized(3, channels), length_field(4, png_of(pixels))])
            out.append(tagged(_numbered(tag, b"image", most, index), IMAGE, content))
        return b"".join(out)

    return images


def _audio_kernel(ctx: KernelContext) -> Kernel:
    most, fixed_rate = ctx.attrs["max_outputs"], ctx.attrs.get("sample_rate")

    def sounds(tag: Any, batch: Any, sample_rate: Any = fixed_rate) -> bytes:
        rate = float(sample_rate)
        if rate <= 0:
            raise InvalidArgumentError(f"sample_rate must be > 0, got {rate:g}")
        if np.ndim(batch) not in (2, 3):
            raise InvalidArgumentError(f"Tensor must be 3-D or 2-D, got: {_dims(np.shape(batch))}")
        out = []
        for index, sound in enumerate(batch[:most]):
            samples = sound.reshape(len(sound), -1) if len(sound) else sound.reshape(0, 1)
            content = b"".join(
                [
                    float_field(1, rate),
                    sized(2, samples.shape[1]),
                    sized(3, len(samples)),
                    length_field(4, wav_of(samples, int(rate))),
                    length_field(5, b"audio/wav"),
                ]
            )
            out.append(tagged(_numbered(tag, b"audio", most, index), AUDIO, content))
        return b"".join(out)

    return sounds


def _tensor_kernel(ctx: KernelContext) -> Kernel:
    dtype, name = ctx.inputs[0].dtype, ctx.name.encode()

    def summary(value: Any) -> bytes:
        content = length_field(_NODE_NAME, name)
        content += length_field(TENSOR, written(np.asarray(boxed(value)), dtype))
        return length_field(_VALUE, content)

    return summary


def _tagged_tensor_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.inputs[1].dtype

    def summary(tag: Any, value: Any, metadata: Any) -> bytes:
        content = b"".join(
            [
                length_field(1, _one_tag(tag)),
                length_field(TENSOR, written(np.asarray(boxed(value)), dtype)),
                length_field(_METADATA, _one_tag(metadata)),
            ]
        )
        return length_field(_VALUE, content)

    return summary


def _merged(*inputs: Any) -> bytes:
    summaries = [item for value in inputs for item in np.asarray(boxed(value)).flat]
    seen: set[bytes] = set()
    try:
        for summary in summaries:
            for number, value in fields(summary):
                if number != _VALUE:
                    continue
                for inner, tag in fields(as_bytes(value)):
                    if inner != 1 or tag == b"":
                        continue
                    text = as_bytes(tag)
                    if text in seen:
                        raise InvalidArgumentError(
                            f"Duplicate tag {text.decode(errors='replace')} found in summary inputs"
                        )
                    seen.add(text)
    except WireError as exc:
        raise InvalidArgumentError(f"Could not parse one of the summary inputs: {exc}") from exc
    # Messages of one class that stand one behind another are their merged message.
    return b"".join(summaries)


for _name, _shapes, _function, _kernel in (
    ("ScalarSummary", _summary, _scalar, None),
    ("HistogramSummary", _summary, _histogram, None),
    ("ImageSummary", _summary, None, _image_kernel),
    ("AudioSummary", _summary, None, _audio_kernel),
    ("AudioSummaryV2", _summary, None, _audio_kernel),
    ("TensorSummary", _summary, None, _tensor_kernel),
    ("TensorSummaryV2", _summary, None, _tagged_tensor_kernel),
    ("MergeSummary", _merged_shape, _merged, None),
):
    op(_name, _shapes, _function, NOT_DIFFERENTIABLE, kernel=_kernel)
