"""Signals: transforms, frames and windows composed of ops, against SciPy's or by what they undo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import as_dtype, constant, convert_to_tensor, float32, float64, gradients, int32, signal
from actorsession.compat.v1 import spectral
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

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
@for_each("kind", [1, 2, 3, 4])
def test_cosine_transforms_are_scipys(kind: int, norm: str | None, known: bool) -> None:
    if kind == 1 and norm:
        with pytest.raises(ValueError, match="not supported for the Type-I"):
            signal.dct(WAVES, kind, norm=norm)
        return
    found = run(lambda x: signal.dct(x, kind, norm=norm), WAVES, known)
    np.testing.assert_allclose(found, fftpack.dct(WAVES, kind, norm=norm), atol=1e-12)
    back = run(lambda x: signal.idct(x, kind, norm=norm), found, known)
    times = 1 if norm else 2 * (WAVES.shape[-1] - (kind == 1))
    np.testing.assert_allclose(back, WAVES * times, atol=1e-12)


@pytest.mark.parametrize("n", [5, 8, 11])
def test_cosine_transforms_take_so_many_numbers(n: int) -> None:
    found = run(lambda x: signal.dct(x, 2, n), WAVES, True)
    np.testing.assert_allclose(found, fftpack.dct(WAVES, 2, n), atol=1e-12)
    hidden = run(lambda x: signal.dct(x, 2, n), WAVES, False)
    np.testing.assert_allclose(hidden, found, atol=1e-12)


@for_each("kind", [1, 2, 3, 4])
def test_cosine_transforms_have_gradients(kind: int) -> None:
    check_gradient(lambda x: signal.dct(x, kind), WAVES[0, :2, :4], unknown_shapes=[False])


@for_each(
    "arguments, error, message",
    [
        ({"type": 5}, ValueError, "Types I, II, III and IV"),
        ({"axis": 0}, NotImplementedError, "axis must be -1"),
        ({"n": 0}, ValueError, "positive integer"),
        ({"norm": "x"}, ValueError, "Unknown normalization"),
    ],
)
def test_cosine_transforms_refuse_others(arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        signal.dct(WAVES, **arguments)
    with pytest.raises(error, match=message):
        signal.idct(WAVES, **arguments)


def test_transforms_of_numbers_are_in_single_precision() -> None:
    assert signal.rfft([1, 2, 3, 4]).dtype.name == "complex64"
    assert signal.irfft([1, 2, 3]).dtype is float32
    assert signal.rfft(constant(WAVES)).dtype.name == "complex128"
    assert spectral.fft is signal.fft
    with pytest.raises(ValueError, match="RFFT requires"):
        signal.rfft(constant([1, 2], int32))
    with pytest.raises(TypeError, match="takes complex64, complex128"):
        signal.fft(constant(WAVES))


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


def test_frames_refuse_what_is_none() -> None:
    with pytest.raises(ValueError, match="rank"):
        signal.frame(1.0, 2, 1)
    with pytest.raises(ValueError, match="rank"):
        signal.frame(WAVES, [2], 1)
    with pytest.raises(ValueError, match="must be an integer"):
        signal.overlap_and_add(WAVES, 1.5)


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


def test_windows_are_those_of_the_books() -> None:
    windows = pytest.importorskip("scipy.signal.windows")
    for size in (1, 2, 5, 8):
        even = size % 2 == 0
        wanted = [
            windows.hann(size, sym=not even),
            windows.hamming(size, sym=not even),
            windows.hann(size),
            windows.kaiser(size, 12.0),
        ]
        made = [
            signal.hann_window(size, dtype=float64),
            signal.hamming_window(size, dtype=float64),
            signal.hann_window(size, False, float64),
            signal.kaiser_window(size, dtype=float64),
        ]
        for found, want in zip(evaluate(made), wanted, strict=True):
            np.testing.assert_allclose(found, want, atol=1e-12)


def test_windows_whose_halves_add_up() -> None:
    for make in (signal.vorbis_window, signal.kaiser_bessel_derived_window):
        [found] = evaluate([make(8, dtype=float64)])
        np.testing.assert_allclose(found[:4] ** 2 + found[4:] ** 2, np.ones(4), 1e-9)
        np.testing.assert_allclose(found, found[::-1], 1e-9)


def test_a_window_of_a_length_that_is_known_late(graph: Any) -> None:
    length = source(int32, [])
    window = signal.hann_window(length, dtype=float64)
    for size in (0, 1, 5, 6):
        [wanted] = evaluate([signal.hann_window(size, dtype=float64)])
        np.testing.assert_allclose(evaluate([window], {length: size})[0], wanted, atol=1e-12)


def test_windows_are_of_floating_numbers() -> None:
    for make in (signal.hann_window, signal.vorbis_window, signal.kaiser_window):
        with pytest.raises(ValueError, match="must be a floating point type"):
            make(4, dtype=int32)


# -- mel -------------------------------------------------------------------------------------------


def test_bands_of_the_mel_scale_are_triangles_that_overlap_by_half() -> None:
    [found] = evaluate([signal.linear_to_mel_weight_matrix(6, 400, 8000, 100.0, 3500.0, float64)])
    assert found.shape == (400, 6)
    assert not found[0].any()
    hertz = np.linspace(0, 4000, 400)
    edges = 700 * (np.exp(np.linspace(np.log(1 + 100 / 700), np.log(1 + 3500 / 700), 8)) - 1)
    inside = (hertz > edges[1]) & (hertz < edges[-2])
    np.testing.assert_allclose(found[inside].sum(1), np.ones(inside.sum()), 1e-9)
    outside = (hertz < edges[0]) | (hertz > edges[-1])
    assert not found[outside].any()


@for_each(
    "arguments, message",
    [
        ({"num_mel_bins": 0}, "num_mel_bins must be positive"),
        ({"lower_edge_hertz": -1}, "must be non-negative"),
        ({"lower_edge_hertz": 4000.0}, "lower_edge_hertz 4000.0 >= upper_edge_hertz 3800.0"),
        ({"sample_rate": -1}, "sample_rate must be positive"),
        ({"upper_edge_hertz": 9000.0}, "Nyquist frequency"),
        ({"dtype": int32}, "must be a floating point type"),
    ],
)
def test_bands_that_cannot_be_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        signal.linear_to_mel_weight_matrix(**arguments)


def test_coefficients_are_scaled_cosine_transforms() -> None:
    found = run(signal.mfccs_from_log_mel_spectrograms, WAVES, False)
    np.testing.assert_allclose(found, fftpack.dct(WAVES) / 4, atol=1e-12)
    with pytest.raises(ValueError, match="num_mel_bins must be positive"):
        signal.mfccs_from_log_mel_spectrograms(convert_to_tensor(WAVES[..., :0]))
