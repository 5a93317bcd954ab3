"""Attention that goes through a memory from beginning to end, and never back (Raffel and others, 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.contrib.seq2seq.attention import AttentionMechanism, BahdanauAttention, LuongAttention
from actorsession.graph.dtypes import as_dtype, int32
from actorsession.graph.operation import Tensor

__all__ = ["BahdanauMonotonicAttention", "LuongMonotonicAttention", "monotonic_attention", "safe_cumprod"]


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Return the products of all elements up to each one, computed with logarithms.

    Args:
        x: numbers from 0 to 1; the least one that is not 0 is taken for 0.
        args: further arguments of ``cumsum``.
        kwargs: likewise.
    """
    value = ops.convert_to_tensor(x, name="x")
    with value.graph.name_scope("SafeCumprod"):
        least = float(np.finfo(value.dtype.np_dtype).tiny)
        logs = ops.log(ops.clip_by_value(value, least, 1.0))
        return ops.exp(ops.cumsum(logs, *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Tensor:
    """Return how much attention each step of a memory gets, if none goes back.

    Args:
        p_choose_i: the probability of each step to be chosen when it is looked at, ``[batch, steps]``.
        previous_attention: the attention of the step before; all of it on the first at the beginning.
        mode: ``recursive`` for step after step, ``parallel`` for a formula that is inexact where
            probabilities are near to 0 or 1, ``hard`` where they are 0 or 1.

    Raises:
        ValueError: for another mode.
    """
    chosen = ops.convert_to_tensor(p_choose_i, name="p_choose_i")
    before = ops.convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        rows = ops.shape(chosen)[0]
        passed = ops.concat([ops.ones(ops.stack([rows, 1]), chosen.dtype), 1 - chosen[:, :-1]], 1)
        arrived = ops.scan(
            lambda last, now: ops.reshape(now[0] * last + now[1], ops.shape(last)),
            (ops.transpose(passed), ops.transpose(before)),
            ops.zeros(ops.reshape(rows, [1]), chosen.dtype),
        )
        attention: Tensor = chosen * ops.transpose(arrived)
    elif mode == "parallel":
        passed = safe_cumprod(1 - chosen, axis=1, exclusive=True)
        attention = chosen * passed * ops.cumsum(before / ops.clip_by_value(passed, 1e-10, 1.0), axis=1)
    elif mode == "hard":
        ahead = chosen * ops.cumsum(before, axis=1)
        attention = ahead * ops.cumprod(1 - ahead, axis=1, exclusive=True)
    else:
        raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")
    return attention


class _Monotonic(AttentionMechanism):
    """The common part of both: a bias of the scores, and what is made of them."""

    def _begin(self, noise: float, seed: int | None, bias: float, mode: str) -> None:
        self._noise, self._seed, self._bias, self._mode = noise, seed, bias, mode

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Tensor:
        """Return the attention before the first step, which is all on the beginning."""
        first = ops.zeros(ops.reshape(batch_size, [1]), int32)
        attention: Tensor = ops.one_hot(first, self.alignments_size, dtype=as_dtype(dtype))
        attention.set_shape([each if isinstance(each, int) else None for each in (batch_size, self.alignments_size)])
        return attention

    def _biased(self, scores: Tensor) -> Tensor:
        """Return scores with the bias, inside of the scope of the mechanism."""
        bias: Tensor = ops.get_variable("attention_score_bias", [], scores.dtype, ops.constant_initializer(self._bias))
        return scores + bias

    def __call__(self, query: Any, state: Any) -> tuple[Tensor, Any]:
        """Return the distribution for a query, and the next state."""
        scores = self.scores(query)
        if self._mask is not None:
            scores = ops.where(self._mask, scores, ops.ones_like(scores) * self._masked_score)
        if self._noise > 0:
            drawn = ops.random_normal(ops.shape(scores), dtype=scores.dtype, seed=self._seed)
            scores = scores + self._noise * drawn
        chosen = ops.cast(scores > 0, scores.dtype) if self._mode == "hard" else ops.sigmoid(scores)
        alignments = monotonic_attention(chosen, state, self._mode)
        return alignments, alignments


class LuongMonotonicAttention(_Monotonic, LuongAttention):
    """``LuongAttention`` that never goes back.

    Args:
        num_units: see ``LuongAttention``, as for the others that are not described here.
        memory: see there.
        memory_sequence_length: see there.
        scale: see there.
        score_mask_value: see there.
        sigmoid_noise: the deviation of noise that is added to scores, which makes them decide.
        sigmoid_noise_seed: the seed of the noise.
        score_bias_init: the first value of a bias that is added to scores.
        mode: see ``monotonic_attention``.
        dtype: see there.
        name: see there.
    """

    _scope_name = "luong_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: float | None = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        LuongAttention.__init__(self, num_units, memory, memory_sequence_length, scale, None, score_mask_value, dtype)
        self._begin(sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode)


class BahdanauMonotonicAttention(_Monotonic, BahdanauAttention):
    """``BahdanauAttention`` that never goes back; see ``LuongMonotonicAttention``."""

    _scope_name = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: float | None = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        BahdanauAttention.__init__(
            self, num_units, memory, memory_sequence_length, normalize, None, score_mask_value, dtype
        )
        self._begin(sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode)
