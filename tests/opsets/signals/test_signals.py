"""Signals: transforms, frames and windows composed of ops, against SciPy's or by what they undo."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from actorsession import as_dtype, constant, convert_to_tensor, float64, gradients, int32, signal
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each, refusing

fftpack = pytest.importorskip("scipy.fft")
WAVES = np.random.default_rng(2).normal(size=(2, 3, 8))
KNOWN = for_each("known", [True, False], ids=["known", "hidden"])


def run(build: Any, value: Any, known: bool) -> Any:
    """What a function makes of a value, its shape known or only its rank."""
    x = source(as_dtype(value.dtype), value.shape if known else [None] * value.ndim)
    made = build(x)
    [found] = evaluate([made], {x: value})
    assert made.shape.is_compatible_with(found.shape)
    return found


# -- transforms ------------------------------------------------------------------------------------


@KNOWN
@for_each("norm", [None, "ortho"])
@for_each("kind, n", [(1, None), (2, None), (3, None), (4, None), (2, 5), (2, 8), (2, 11)])
def test_cosine_transforms_are_scipys(kind: int, n: int | None, norm: str | None, known: bool) -> None:
    norm = norm if kind > 1 else None
    found = run(lambda x: signal.dct(x, kind, n, norm=norm), WAVES, known)
    np.testing.assert_allclose(found, fftpack.dct(WAVES, kind, n, norm=norm), atol=1e-12)
    back = run(lambda x: signal.idct(x, kind, norm=norm), found, known)
    times = 1 if norm else 2 * (found.shape[-1] - (kind == 1))
    np.testing.assert_allclose(back, fftpack.idct(found, kind, norm=norm) * times, atol=1e-11)


def test_a_gradient_of_a_gradient_of_a_spectrum(graph: Any) -> None:
    x = source(float64, [4])
    energy = signal.irfft(signal.rfft(x))
    first = gradients(energy * energy * energy, x)[0]
    second = gradients(first, x)[0]
    value = WAVES[0, 0, :4]
    np.testing.assert_allclose(evaluate([second], {x: value})[0], 6 * value, 1e-9)


@for_each("axes", [None, 1, -1, [0, 2]])
def test_shifts_are_numpys(axes: Any) -> None:
    wanted = tuple(axes) if isinstance(axes, list) else axes
    for known in (True, False):
        there = run(lambda x: signal.fftshift(x, axes), WAVES, known)
        np.testing.assert_array_equal(there, np.fft.fftshift(WAVES, wanted))
        back = run(lambda x: signal.ifftshift(x, axes), there, known)
        np.testing.assert_array_equal(back, WAVES)


# -- frames ----------------------------------------------------------------------------------------


@KNOWN
@for_each("length, step", [(4, 3), (1, 1), (9, 2), (3, 5), (8, 8)])
def test_frames_are_slices(length: int, step: int, known: bool) -> None:
    found = run(lambda x: signal.frame(x, length, step), WAVES, known)
    starts = range(0, 8 - length + 1, step)
    wanted = [WAVES[..., i : i + length] for i in starts]
    shape = (2, 3, len(starts), length)
    np.testing.assert_array_equal(found, np.stack(wanted, -2) if wanted else np.zeros(shape))
    filled = run(lambda x: signal.frame(x, length, step, True, 7), WAVES, known)
    long = np.pad(WAVES, [(0, 0), (0, 0), (0, length)], constant_values=7)
    everywhere = [long[..., i : i + length] for i in range(0, 8, step)]
    np.testing.assert_array_equal(filled, np.stack(everywhere, -2))


def test_frames_along_another_axis_and_of_unknown_rank() -> None:
    found = run(lambda x: signal.frame(x, 2, 1, axis=1), WAVES, True)
    np.testing.assert_array_equal(found, np.stack([WAVES[:, :2], WAVES[:, 1:]], 1))
    x = source(float64, None)
    wanted, filled = signal.frame(x, 3, 2), signal.frame(x, 3, 4, True, 1)
    assert wanted.shape.rank is None
    first, second = evaluate([wanted, filled], {x: WAVES[0, 0]})
    np.testing.assert_array_equal(first, [WAVES[0, 0, i : i + 3] for i in (0, 2, 4)])
    np.testing.assert_array_equal(second, [WAVES[0, 0, i : i + 3] for i in (0, 4)])


@KNOWN
@for_each("step", [1, 2, 8, 11])
def test_frames_are_added_where_they_overlap(step: int, known: bool) -> None:
    wanted = np.zeros((2, 8 + 2 * step))
    for i in range(3):
        wanted[:, i * step : i * step + 8] += WAVES[:, i]
    found = run(lambda x: signal.overlap_and_add(x, step), WAVES, known)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@for_each("length, step, size", [(8, 4, None), (6, 2, 6), (6, 3, 16), (5, 2, None)])
def test_a_signal_comes_back_from_the_spectra_of_its_frames(length: int, step: int, size: int | None) -> None:
    wave = np.sin(np.arange(60.0)).reshape(2, 30)
    for known in (True, False):
        spectra = run(lambda x: signal.stft(x, length, step, size), wave, known)
        points = size or 8
        assert spectra.shape == (2, 1 + (30 - length) // step, points // 2 + 1)
        window = signal.inverse_stft_window_fn(step)
        back = run(lambda x, w=window: signal.inverse_stft(x, length, step, size, w), spectra, known)
        inner = slice(length, back.shape[1] - length)
        np.testing.assert_allclose(back[:, inner], wave[:, inner], atol=1e-9)


def test_a_length_that_is_known_late_has_the_next_power_of_two(graph: Any) -> None:
    length = source(int32, [])
    spectra = signal.stft(WAVES[0, 0], length, 1)
    for size, numbers in ((1, 1), (2, 2), (3, 3), (5, 5), (8, 5)):
        assert evaluate([spectra], {length: size})[0].shape[-1] == numbers


# -- windows ---------------------------------------------------------------------------------------


def test_a_window_of_a_length_that_is_known_late(graph: Any) -> None:
    length = source(int32, [])
    window = signal.hann_window(length, dtype=float64)
    for size in (0, 1, 5, 6):
        [wanted] = evaluate([signal.hann_window(size, dtype=float64)])
        np.testing.assert_allclose(evaluate([window], {length: size})[0], wanted, atol=1e-12)


# -- mel -------------------------------------------------------------------------------------------


def test_coefficients_are_scaled_cosine_transforms() -> None:
    found = run(signal.mfccs_from_log_mel_spectrograms, WAVES, False)
    np.testing.assert_allclose(found, fftpack.dct(WAVES) / 4, atol=1e-12)


# -- what is refused -------------------------------------------------------------------------------


def _transforms(error: Any, message: str, **arguments: Any) -> list[Any]:
    return [(lambda f=f: f(WAVES, **arguments), error, message) for f in (signal.dct, signal.idct)]


def _mel(message: str, **arguments: Any) -> Any:
    return lambda: signal.linear_to_mel_weight_matrix(**arguments), ValueError, message


HALF, LENGTHS = cast("Any", 1.5), cast("Any", [2])
test_what_is_no_signal_frame_window_or_band_is_refused = refusing(
    *_transforms(ValueError, "Types I, II, III and IV", type=5),
    *_transforms(ValueError, "not supported for the Type-I", type=1, norm="ortho"),
    *_transforms(NotImplementedError, "axis must be -1", axis=0),
    *_transforms(ValueError, "positive integer", n=0),
    *_transforms(ValueError, "Unknown normalization", norm="x"),
    (lambda: signal.rfft(constant([1, 2], int32)), ValueError, "RFFT requires"),
    (lambda: signal.fft(constant(WAVES)), TypeError, "takes complex64, complex128"),
    (lambda: signal.frame(1.0, 2, 1), ValueError, "rank"),
    (lambda: signal.frame(WAVES, LENGTHS, 1), ValueError, "rank"),
    (lambda: signal.overlap_and_add(WAVES, HALF), ValueError, "must be an integer"),
    (lambda: signal.hann_window(4, dtype=int32), ValueError, "must be a floating point type"),
    (lambda: signal.vorbis_window(4, dtype=int32), ValueError, "must be a floating point type"),
    (lambda: signal.kaiser_window(4, dtype=int32), ValueError, "must be a floating point type"),
    _mel("num_mel_bins must be positive", num_mel_bins=0),
    _mel("must be non-negative", lower_edge_hertz=-1),
    _mel("lower_edge_hertz 4000.0 >= upper_edge_hertz 3800.0", lower_edge_hertz=4000.0),
    _mel("sample_rate must be positive", sample_rate=-1),
    _mel("Nyquist frequency", upper_edge_hertz=9000.0),
    _mel("must be a floating point type", dtype=int32),
    (
        lambda: signal.mfccs_from_log_mel_spectrograms(convert_to_tensor(WAVES[..., :0])),
        ValueError,
        "num_mel_bins must be positive",
    ),
)
