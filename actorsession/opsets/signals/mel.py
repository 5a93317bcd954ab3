"""The mel scale of hearing, and the cepstral coefficients used to describe speech."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import as_dtype, float32
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import rsqrt
from actorsession.opsets.signals.cosine import dct

__all__ = ["linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms"]

# HTK's scale: mels are this factor times the logarithm of 1 plus the frequency over a break frequency.
_MELS, _BREAK = 1127.0, 700.0


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """Return the matrix from spectra to bands of the mel scale: triangles that overlap by half.

    Args:
        num_mel_bins: number of bands.
        num_spectrogram_bins: number of entries of a spectrum; known while the graph is built.
        sample_rate: samples of the signal per second; known while the graph is built.
        lower_edge_hertz: start of the first band.
        upper_edge_hertz: end of the last band, at most half the sample rate.
        dtype: a floating type.

    Returns:
        A matrix of shape ``[num_spectrogram_bins, num_mel_bins]``.
    """
    bins, rate = _known(num_spectrogram_bins), _known(sample_rate)
    kind = as_dtype(dtype)
    _check(num_mel_bins, rate, lower_edge_hertz, upper_edge_hertz, kind)
    edges = np.linspace(_mels(lower_edge_hertz), _mels(upper_edge_hertz), num_mel_bins + 2)
    # The constant component is left out, and gets no weight.
    heard = _mels(np.linspace(0, rate / 2, int(bins))[1:, np.newaxis])
    lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (heard - lower) / (centre - lower), (upper - heard) / (upper - centre)
    weights = np.maximum(0, np.minimum(rising, falling))
    matrix = np.pad(weights, [[1, 0], [0, 0]]).astype(kind.np_dtype)
    return constant(matrix, kind, name=name or "linear_to_mel_weight_matrix")


def _known(value: Any) -> Any:
    known = get_static_value(value) if isinstance(value, Tensor) else value
    if known is None:
        raise ValueError("the sizes of this matrix are known while the graph is built")
    return known


def _mels(hertz: Any) -> Any:
    return _MELS * np.log1p(np.asarray(hertz, np.float64) / _BREAK)


def _check(count: int, rate: Any, lower: float, upper: float, kind: Any) -> None:
    if count <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {count}")
    if lower < 0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower}")
    if lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower:.1f} >= upper_edge_hertz {upper:.1f}")
    if rate <= 0:
        raise ValueError(f"sample_rate must be positive. Got: {rate}")
    if upper > rate / 2:
        raise ValueError(
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got "
            f"{upper} for sample_rate: {rate}"
        )
    if not kind.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {kind.name}")


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Return the cepstral coefficients of log mel spectra: their cosine transform, scaled as in HTK.

    Args:
        log_mel_spectrograms: floats of shape ``[..., bands]``.

    Returns:
        As many coefficients as bands; usually about the first 13 are used.
    """
    value = convert_to_tensor(log_mel_spectrograms, name="log_mel_spectrograms")
    graph = value.graph
    with graph.as_default(), graph.name_scope(name or "mfccs_from_log_mel_spectrograms"):
        known = value.shape[-1] if value.shape.rank else None
        if known == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {known}")
        count = shape(value)[-1] if known is None else convert_to_tensor(known)
        return dct(value, 2) * rsqrt(cast(count, value.dtype) * 2.0)
