"""Sound: files of waves, their spectra over time, and the cepstral coefficients of those."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.rows import op

__all__ = ["audio_spectrogram", "decode_wav", "encode_wav", "mfcc"]

_SCALE = 32768.0  # of 16 bits
_FLOOR = 1e-12  # of the energy in a band of the mel scale


def decode_wav(contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> Any:
    """Return the samples of a file of waves, from -1 to 1, and how many there are a second.

    Args:
        contents: the file, of 16 bits a sample.
        desired_channels: how many channels to return; those of the file for -1. Missing ones are copies of
            the last.
        desired_samples: how many samples to return; those of the file for -1. Missing ones are zeros.
        name: wanted name.

    Returns:
        ``audio``, of shape ``[samples, channels]``, and ``sample_rate``.
    """
    return raw.DecodeWav(contents, desired_channels=desired_channels, desired_samples=desired_samples, name=name)


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Any:
    """Return samples as a file of waves of 16 bits.

    Args:
        audio: samples from -1 to 1, of shape ``[samples, channels]``.
        sample_rate: how many there are a second.
        name: wanted name.
    """
    return raw.EncodeWav(audio, sample_rate, name=name)


def audio_spectrogram(
    input: Any, window_size: int, stride: int, magnitude_squared: bool = False, name: str | None = None
) -> Any:
    """Return the spectra of windows of a sound.

    Args:
        input: samples, of shape ``[samples, channels]``.
        window_size: samples of a window.
        stride: samples between the starts of two windows.
        magnitude_squared: whether magnitudes are squared.
        name: wanted name.

    Returns:
        Magnitudes of shape ``[channels, windows, frequencies]``.
    """
    return raw.AudioSpectrogram(
        input, window_size=window_size, stride=stride, magnitude_squared=magnitude_squared, name=name
    )


def mfcc(
    spectrogram: Any,
    sample_rate: Any,
    upper_frequency_limit: float = 4000,
    lower_frequency_limit: float = 20,
    filterbank_channel_count: int = 40,
    dct_coefficient_count: int = 13,
    name: str | None = None,
) -> Any:
    """Return the cepstral coefficients of spectra on the mel scale, which describe speech.

    Args:
        spectrogram: squared magnitudes, of shape ``[channels, windows, frequencies]``.
        sample_rate: samples of the sound a second.
        upper_frequency_limit: the highest frequency that is heard.
        lower_frequency_limit: the lowest.
        filterbank_channel_count: bands of the mel scale.
        dct_coefficient_count: how many coefficients to return.
        name: wanted name.
    """
    return raw.Mfcc(
        spectrogram,
        sample_rate,
        upper_frequency_limit=upper_frequency_limit,
        lower_frequency_limit=lower_frequency_limit,
        filterbank_channel_count=filterbank_channel_count,
        dct_coefficient_count=dct_coefficient_count,
        name=name,
    )


# -- files -----------------------------------------------------------------------------------------


def _decoded(ctx: InferContext) -> Sequence[TensorShape]:
    sizes = (ctx.attrs["desired_samples"], ctx.attrs["desired_channels"])
    return [TensorShape([None if size < 0 else size for size in sizes]), scalar_shape]


def _decode_kernel(ctx: KernelContext) -> Kernel:
    samples, channels = ctx.attrs["desired_samples"], ctx.attrs["desired_channels"]

    def decoded(contents: Any) -> Any:
        data = contents.item() if isinstance(contents, np.ndarray) else contents
        rate, samples_read = _read(data)
        if channels >= 0:
            samples_read = samples_read[:, np.minimum(np.arange(channels), samples_read.shape[1] - 1)]
        if samples >= 0:
            missing = max(0, samples - len(samples_read))
            samples_read = np.pad(samples_read[:samples], [[0, missing], [0, 0]])
        return samples_read, np.int32(rate)

    return decoded


def _read(data: bytes) -> tuple[int, Any]:
    """The rate and the samples of a file.

    Raises:
        InvalidArgumentError: if it is no file of waves of 16 bits.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise InvalidArgumentError(
            f"Header mismatch: a file of waves begins with RIFF and WAVE, and this one with {data[:12]!r}"
        )
    at, form = 12, None
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<4sI", data, at)
        part, at = data[at + 8 : at + 8 + size], at + 8 + size + size % 2
        if kind == b"fmt ":
            form = struct.unpack_from("<HHIIHH", part)
            if form[0] != 1 or form[5] != 16 or not form[1]:
                raise InvalidArgumentError(
                    f"Can only read 16-bit PCM WAV files: this one has format {form[0]} and {form[5]} bits a sample"
                )
        elif kind == b"data" and form is not None:
            numbers = np.frombuffer(part[: len(part) // 2 * 2], "<i2")
            whole = numbers[: len(numbers) // form[1] * form[1]].reshape(-1, form[1])
            return form[2], (whole / np.float32(_SCALE)).astype(np.float32)
    raise InvalidArgumentError("a file of waves has a part that says its format, and one with samples")


def _encode_kernel(ctx: KernelContext) -> Kernel:
    def encoded(audio: Any, rate: Any) -> bytes:
        if audio.ndim != 2 or not audio.size:
            raise InvalidArgumentError(f"EncodeWav: audio has samples and channels, got shape {list(audio.shape)}")
        channels, second = audio.shape[1], int(rate)
        scaled = audio.astype(np.float64) * _SCALE
        rounded = np.trunc(scaled + np.copysign(0.5, scaled))  # halves away from zero
        body = np.clip(rounded, -32768, 32767).astype("<i2").tobytes()
        form = struct.pack("<HHIIHH", 1, channels, second, second * channels * 2, channels * 2, 16)
        return b"".join(
            (
                b"RIFF",
                struct.pack("<I", 36 + len(body)),
                b"WAVEfmt ",
                struct.pack("<I", 16),
                form,
                b"data",
                struct.pack("<I", len(body)),
                body,
            )
        )

    return encoded


def _scalar(ctx: InferContext) -> Sequence[TensorShape]:
    return [scalar_shape]


op("DecodeWav", _decoded, kernel=_decode_kernel, grad=NOT_DIFFERENTIABLE)
op("EncodeWav", _scalar, kernel=_encode_kernel, grad=NOT_DIFFERENTIABLE)


# -- spectra ---------------------------------------------------------------------------------------


def _windows(samples: int, window: int, stride: int) -> int:
    return 0 if samples < window else 1 + (samples - window) // stride


def _transformed(window: int) -> int:
    """The length of the transform of a window: the next power of two."""
    return 1 << max(0, window - 1).bit_length()


def _spectra(ctx: InferContext) -> Sequence[TensorShape]:
    window, stride = ctx.attrs["window_size"], ctx.attrs["stride"]
    if window < 2 or stride < 1:
        raise ValueError(
            f"AudioSpectrogram: a window has two samples or more and the stride is one or more, got "
            f"{window} and {stride}"
        )
    sizes = ctx.inputs[0].shape.sizes
    if sizes is not None and len(sizes) != 2:
        raise ValueError(f"AudioSpectrogram: input has rank 2, got {ctx.inputs[0].shape}")
    samples, channels = sizes or (None, None)
    count = None if samples is None else _windows(samples, window, stride)
    return [TensorShape([channels, count, _transformed(window) // 2 + 1])]


def _spectra_kernel(ctx: KernelContext) -> Kernel:
    window, stride = ctx.attrs["window_size"], ctx.attrs["stride"]
    squared = ctx.attrs["magnitude_squared"]
    weights = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    length = _transformed(window)

    def spectra(audio: Any) -> Any:
        starts = stride * np.arange(_windows(len(audio), window, stride))
        frames = audio.T[:, starts[:, np.newaxis] + np.arange(window)].astype(np.float64)
        energy = np.square(np.abs(np.fft.rfft(frames * weights, length)))
        return (energy if squared else np.sqrt(energy)).astype(np.float32)

    return spectra


op("AudioSpectrogram", _spectra, kernel=_spectra_kernel, grad=NOT_DIFFERENTIABLE)


def _coefficients(ctx: InferContext) -> Sequence[TensorShape]:
    sizes = ctx.inputs[0].shape.sizes
    if sizes is not None and len(sizes) != 3:
        raise ValueError(f"Mfcc: spectrogram has rank 3, got {ctx.inputs[0].shape}")
    return [TensorShape([*(sizes or (None, None))[:2], ctx.attrs["dct_coefficient_count"]])]


def _coefficients_kernel(ctx: KernelContext) -> Kernel:
    bands, count = ctx.attrs["filterbank_channel_count"], ctx.attrs["dct_coefficient_count"]
    lower, upper = ctx.attrs["lower_frequency_limit"], ctx.attrs["upper_frequency_limit"]
    turns = np.pi / bands * np.outer(np.arange(count), np.arange(bands) + 0.5)
    cosines = np.sqrt(2.0 / bands) * np.cos(turns)

    def coefficients(energy: Any, rate: Any) -> Any:
        filters = _bands(energy.shape[2], float(rate), bands, lower, upper)
        heard = np.sqrt(np.maximum(energy, 0).astype(np.float64)) @ filters
        return (np.log(np.maximum(heard, _FLOOR)) @ cosines.T).astype(np.float32)

    return coefficients


def _bands(bins: int, rate: float, bands: int, lower: float, upper: float) -> Any:
    """How much of each frequency is heard in each band: triangles that overlap by half."""

    def mels(hertz: Any) -> Any:
        return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)

    low, high = mels(lower), mels(upper)
    edges = np.concatenate([[low], low + (high - low) / (bands + 1) * (1 + np.arange(bands + 1))])
    width = 0.5 * rate / (bins - 1)
    first, last = int(1.5 + lower / width), int(upper / width)
    triangles = np.zeros([bins, bands])
    for index in range(first, min(last, bins - 1) + 1):
        mel = mels(index * width)
        # The frequency lies between the centres of the band before and of the one at the place.
        place = int(np.searchsorted(edges[1 : bands + 1], mel))
        share = (edges[place + 1] - mel) / (edges[place + 1] - edges[place])
        if place > 0:
            triangles[index, place - 1] = share
        if place < bands:
            triangles[index, place] = 1 - share
    return triangles


op("Mfcc", _coefficients, kernel=_coefficients_kernel, grad=NOT_DIFFERENTIABLE)
