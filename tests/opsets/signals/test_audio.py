"""Files of waves, spectra over time, and cepstral coefficients, against their definitions."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
import pytest

from actorsession import Session, ops
from actorsession.errors import InvalidArgumentError
from actorsession.namespaces.audio import decode_wav, encode_wav
from actorsession.opsets.signals.audio import audio_spectrogram, mfcc
from tests.rows import refused

SOUND = np.random.RandomState(0).uniform(-1.1, 1.0, [600, 2]).astype(np.float32)
MANY = [24.1632, -6.421, -0.644, -0.9982]
FEW = [27.7, -4.4511, -0.1744]


def values(*tensors: Any) -> Any:
    with Session(graph=tensors[0].graph) as session:
        found = session.run(list(tensors))
    return found if len(tensors) > 1 else found[0]


def written(sound: Any, rate: int, width: int = 2) -> bytes:
    """A file as Python's own module writes it."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(sound.shape[1])
        writer.setsampwidth(width)
        writer.setframerate(rate)
        writer.writeframes(sound.tobytes())
    return file.getvalue()


def test_samples_are_written_and_read() -> None:
    numbers = np.array([[0, 1], [-32768, 32767], [1000, -1000]], "<i2")
    read = decode_wav(written(numbers, 8000))
    assert (read.audio.shape.as_list(), read.sample_rate.shape.as_list()) == ([None, None], [])
    again = encode_wav(read.audio, read.sample_rate)
    cut = decode_wav(again, desired_channels=1, desired_samples=2)
    more = decode_wav(again, desired_channels=3, desired_samples=4)
    loud = decode_wav(encode_wav([[1.5], [-1.5], [0.5 / 32768], [-0.5 / 32768]], 1))
    found = values(read.audio, read.sample_rate, again, cut.audio, more.audio, loud.audio)
    audio, rate, data, less, wider, limited = found
    np.testing.assert_array_equal(audio, numbers / np.float32(32768))
    assert (rate, data) == (8000, written(numbers, 8000))
    assert cut.audio.shape.as_list() == [2, 1]
    np.testing.assert_array_equal(less, audio[:2, :1])
    np.testing.assert_array_equal(wider[:3], audio[:, [0, 1, 1]])
    assert not wider[3].any()
    assert (limited.ravel() * 32768).tolist() == [32767, -32768, 1, -1]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"OggS", "Header mismatch"),
        (b"RIFF\x04\x00\x00\x00WAVE", "has a part that says its format"),
        (written(np.zeros([2, 1], "u1"), 8000, 1), "Can only read 16-bit PCM WAV files"),
    ],
)
def test_what_is_no_file_of_waves_is_refused(data: bytes, said: str) -> None:
    refused(lambda: values(decode_wav(data).audio), InvalidArgumentError, said)


def test_spectra_of_windows_are_those_of_fourier() -> None:
    plain = audio_spectrogram(SOUND, 100, 40)
    squared = audio_spectrogram(SOUND, 100, 40, magnitude_squared=True)
    short = audio_spectrogram(SOUND[:50], 100, 40)
    assert (plain.shape.as_list(), short.shape.as_list()) == ([2, 13, 65], [2, 0, 65])
    refused(lambda: audio_spectrogram(SOUND, 1, 40), ValueError, "has two samples or more")
    refused(lambda: audio_spectrogram(SOUND[0], 100, 40), ValueError, "rank 2")
    found, energy, nothing = values(plain, squared, short)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(100) / 100)
    wanted = np.abs(np.fft.rfft(SOUND[80:180, 1] * hann, 128))
    np.testing.assert_allclose(found[1, 2], wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(energy, np.square(found), rtol=1e-4, atol=1e-4)
    assert nothing.shape == (2, 0, 65)


def test_coefficients_describe_bands_of_the_mel_scale() -> None:
    """The numbers are those of TensorFlow 2.21."""
    energy = np.arange(1, 258, dtype=np.float32).reshape(1, 1, 257)
    many = mfcc(energy, 16000)
    few = mfcc(energy, 16000, 8000.0, 300.0, 20, 3)
    assert many.shape.as_list() == [1, 1, 13]
    refused(lambda: mfcc(energy[0], 16000), ValueError, "rank 3")
    rate = ops.placeholder("int32", [])
    with Session() as session:
        first, second = session.run([many, few])
        later = session.run(mfcc(energy, rate), {rate: 16000})
    np.testing.assert_array_equal(first, later)
    np.testing.assert_allclose(first[0, 0, :4], MANY, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(second[0, 0], FEW, rtol=1e-4, atol=1e-4)
