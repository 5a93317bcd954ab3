"""``stft`` and its inverse: spectra of the frames of a signal, and signals from such spectra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.array import pad, tile
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.arithmetic import maximum, minimum
from actorsession.ops.elements.bitwise import bitwise_or
from actorsession.ops.elements.elementwise import square
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.shape_operands import constant_ints_of
from actorsession.opsets.signals.frames import frame, overlap_and_add
from actorsession.opsets.signals.transforms import irfft, rfft
from actorsession.opsets.signals.windows import hann_window

__all__ = ["inverse_stft", "inverse_stft_window_fn", "stft"]


def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the spectra of frames of a signal.

    Args:
        signals: float32 or float64 of shape ``[..., samples]``.
        frame_length: length of a frame, an int32 scalar.
        frame_step: distance between the starts of successive frames, an int32 scalar.
        fft_length: length of the transform of a frame; the next power of two if left out.
        window_fn: function from a length and a ``dtype`` to a window; no window for ``None``.
        pad_end: whether incomplete frames at the end are included and padded with zeros.

    Returns:
        Complex numbers of shape ``[..., frames, fft_length // 2 + 1]``.
    """
    value = convert_to_tensor(signals, name="signals")
    graph = value.graph
    with graph.as_default(), graph.name_scope(name or "stft"):
        value.shape.with_rank_at_least(1)
        length = _scalar(frame_length, "frame_length")
        frames = frame(value, length, _scalar(frame_step, "frame_step"), pad_end)
        size = _enclosing_power(length) if fft_length is None else _scalar(fft_length, "fft_length")
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return rfft(frames, reshape(size, [1]))


def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Return the signal that belongs to the spectra of its frames; overlapping frames are added.

    For exact reconstruction, use the window made by ``inverse_stft_window_fn``.

    Args:
        stfts: complex numbers of shape ``[..., frames, fft_length // 2 + 1]``.
        frame_length: as in ``stft``, like the arguments that follow.
        frame_step: distance between the starts of successive frames.
        fft_length: length of the transform of a frame.
        window_fn: function that makes the window by which frames are multiplied again; no window for
            ``None``.

    Returns:
        Real numbers of shape ``[..., samples]``.
    """
    value = convert_to_tensor(stfts, name="stfts")
    graph = value.graph
    with graph.as_default(), graph.name_scope(name or "inverse_stft"):
        value.shape.with_rank_at_least(2)
        length, step = _scalar(frame_length, "frame_length"), _scalar(frame_step, "frame_step")
        size = _enclosing_power(length) if fft_length is None else _scalar(fft_length, "fft_length")
        frames = _of_length(irfft(value, reshape(size, [1])), length)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, step)


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[[Any, Any], Tensor]:
    """Return a function that makes the window for ``inverse_stft`` that compensates the one of ``stft``.

    Args:
        frame_step: as in ``stft``.
        forward_window_fn: the window function used in ``stft``.

    Returns:
        A function of a length and a dtype.
    """

    def inverse_window(frame_length: Any, dtype: Any) -> Tensor:
        length, step = _scalar(frame_length, "frame_length"), _scalar(frame_step, "frame_step")
        with length.graph.as_default(), length.graph.name_scope(name or "inverse_stft_window_fn"):
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = (length + step - 1) // step
            filled = pad(square(forward), [[0, overlaps * step - length]])
            # The sum of all overlapping frames at each position of a step.
            sums = reduce_sum(reshape(filled, [overlaps, step]), 0, keepdims=True)
            total = reshape(tile(sums, [overlaps, 1]), [overlaps * step])
            window: Tensor = forward / total[:length]
            return window

    return inverse_window


def _scalar(value: Any, name: str) -> Tensor:
    tensor = convert_to_tensor(value, int32, name)
    tensor.shape.assert_has_rank(0)
    return tensor


def _enclosing_power(length: Tensor) -> Tensor:
    """Return the least power of two that is not below a length."""
    known = constant_ints_of(length)
    if known is not None:
        return convert_to_tensor(1 << max(0, known[0] - 1).bit_length(), int32, "fft_length")
    # Each bit below the highest one is set, in doubling strides; integers stay exact.
    filled = maximum(length, 1) - 1
    for shift in (1, 2, 4, 8, 16):
        filled = bitwise_or(filled, filled // (1 << shift))
    return filled + 1


def _of_length(frames: Tensor, length: Tensor) -> Tensor:
    """Return frames truncated or padded with zeros to a length."""
    known, old = constant_ints_of(length), frames.shape.rank and frames.shape[-1]
    if known and isinstance(old, int) and known[0] <= old:
        return frames[..., : known[0]]
    sizes = shape(frames)
    cut = frames[..., : minimum(length, sizes[-1])]
    extra = concat([sizes[:-1] * 0, reshape(maximum(0, length - sizes[-1]), [1])], 0)
    margins = concat([reshape(extra * 0, [-1, 1]), reshape(extra, [-1, 1])], 1)
    filled = pad(cut, margins)
    if frames.shape.rank is not None:
        filled.set_shape(frames.shape[:-1].concatenate([known[0] if known else None]))
    return filled
