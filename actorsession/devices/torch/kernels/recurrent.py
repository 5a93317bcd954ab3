"""Torch kernels of cells of recurrent networks that are one operation for each step or sequence.

Formulas are those of the CPU's kernels: nothing flows back through gates that are outputs, and clips of the state do
not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, narrowed, plain, row
from actorsession.graph.registry import Kernel, KernelContext

__all__ = ["ROWS"]


class _Weights(NamedTuple):
    """The weights of an LSTM: of inputs and state, of the three peepholes, and the bias."""

    w: Tensor
    wci: Tensor
    wcf: Tensor
    wco: Tensor
    b: Tensor


class _Cell:
    """An LSTM by the attributes of its node."""

    def __init__(self, context: KernelContext) -> None:
        attrs = context.attrs
        self._swapped = context.op.endswith("V2")
        self._bias = float(attrs.get("forget_bias", 0.0))
        self._clip = float(attrs.get("cell_clip", 0.0))
        self._peeps = bool(attrs["use_peephole"])

    def check(self, x: Tensor, state: Tensor, h: Tensor, weights: _Weights) -> None:
        """Refuse shapes that do not fit."""
        fitting(x.ndim == 2 == state.ndim)
        (batch, wide), units = x.shape, state.shape[1]
        fitting(state.shape == h.shape == (batch, units) and weights.w.shape == (wide + units, 4 * units))
        fitting(weights.b.shape == (4 * units,))
        fitting(not self._peeps or all(v.shape == (units,) for v in weights[1:4]))

    def step(self, x: Tensor, state: Tensor, h: Tensor, weights: _Weights) -> Sequence[Tensor]:
        """Return i, cs, f, o, ci, co and h."""
        w, wci, wcf, wco, b = weights
        gates = torch.addmm(b, torch.cat([x, h], 1), w)
        i, ci, f, o = self._split(gates)
        ci = torch.tanh(ci)
        f.add_(self._bias)
        if self._peeps:
            i.addcmul_(state, wci)
            f.addcmul_(state, wcf)
            i, f = torch.sigmoid(i), torch.sigmoid(f)
        else:  # one call for all gates
            i, _, f, o = self._split(gates.sigmoid_())
        cs = torch.addcmul(state * f, ci, i)
        if self._clip > 0:
            cs.clamp_(-self._clip, self._clip)
        if self._peeps:
            o = torch.sigmoid(o.addcmul_(cs, wco))
        co = torch.tanh(cs)
        return i, cs, f, o, ci, co, co * o

    def _split(self, gates: Tensor) -> Sequence[Tensor]:
        """Return the parts for i, c, f and o."""
        first, second, third, last = gates.chunk(4, 1)
        return (first, third, second, last) if self._swapped else (first, second, third, last)

    def back(
        self, state: Tensor, weights: _Weights, outputs: Sequence[Tensor], cs_grad: Tensor, h_grad: Tensor
    ) -> Sequence[Tensor]:
        """Return the gradients of the state, of the gates before their functions, and of the peepholes."""
        _, wci, wcf, wco, _ = weights
        i, cs, f, o, ci, co = outputs[:6]
        by_o = o * (1 - o) * h_grad * co
        by_cs = (1 - co * co) * h_grad * o + cs_grad
        if self._peeps:
            by_cs = by_cs + by_o * wco
        by_ci = (1 - ci * ci) * by_cs * i
        by_f, by_i = f * (1 - f) * by_cs * state, i * (1 - i) * by_cs * ci
        by_state = by_cs * f
        peeps = [torch.zeros_like(v) for v in weights[1:4]]
        if self._peeps:
            by_state = by_state + by_i * wci + by_f * wcf
            peeps = [(grad * value).sum(0) for grad, value in ((by_i, state), (by_f, state), (by_o, cs))]
        gates = (by_i, by_f, by_ci, by_o) if self._swapped else (by_i, by_ci, by_f, by_o)
        return by_state, torch.cat(gates, 1), *peeps


def _lstm_step(context: KernelContext) -> Kernel:
    cell = _Cell(context)

    def kernel(x: Tensor, state: Tensor, h: Tensor, *weights: Tensor) -> Sequence[Tensor]:
        cell.check(x, state, h, _Weights(*weights))
        return cell.step(x, state, h, _Weights(*weights))

    return narrowed(kernel)


def _lstm_step_back(context: KernelContext) -> Kernel:
    cell = _Cell(context)

    def kernel(x: Tensor, state: Tensor, h: Tensor, *rest: Tensor) -> Sequence[Tensor]:
        weights = _Weights(*rest[:5])
        cell.check(x, state, h, weights)
        return cell.back(state, weights, rest[5:11], *rest[11:])

    return narrowed(kernel)


def _steps(length: Any, x: Tensor) -> int:
    """Return the number of steps; those after it are zeros."""
    fitting(x.ndim == 3 and 0 <= length <= len(x))
    return int(length)


def _lstm(context: KernelContext) -> Kernel:
    cell = _Cell(context)

    def kernel(length: Any, x: Tensor, state: Tensor, h: Tensor, *parameters: Tensor) -> Sequence[Tensor]:
        weights, count = _Weights(*parameters), _steps(length, x)
        outputs = [x.new_zeros(len(x), *state.shape) for _ in range(7)]
        for step in range(count):
            cell.check(x[step], state, h, weights)
            stepped = cell.step(x[step], state, h, weights)
            for output, part in zip(outputs, stepped, strict=True):
                output[step] = part
            state, h = stepped[1], stepped[6]
        return outputs

    return narrowed(kernel)


def _lstm_back(context: KernelContext) -> Kernel:
    cell = _Cell(context)

    def kernel(length: Any, x: Tensor, state: Tensor, h: Tensor, *inputs: Tensor) -> Sequence[Tensor]:
        weights, outputs = _Weights(*inputs[:5]), inputs[5:12]
        cs_grads, h_grads = inputs[12:]
        by_x, by_w, by_b = torch.zeros_like(x), torch.zeros_like(weights.w), torch.zeros_like(weights.b)
        peeps = [torch.zeros_like(v) for v in weights[1:4]]
        by_state, by_h = torch.zeros_like(state), torch.zeros_like(h)
        wide = x.shape[-1]
        for step in reversed(range(_steps(length, x))):
            before, h_before = (outputs[1][step - 1], outputs[6][step - 1]) if step else (state, h)
            parts = [output[step] for output in outputs]
            by_state, gates, *more = cell.back(before, weights, parts, cs_grads[step] + by_state, h_grads[step] + by_h)
            both = gates @ weights.w.t()
            by_x[step], by_h = both[:, :wide], both[:, wide:].contiguous()
            by_w.addmm_(torch.cat([x[step], h_before], 1).t(), gates)
            by_b += gates.sum(0)
            peeps = [a + b for a, b in zip(peeps, more, strict=True)]
        return by_x, by_state, by_h, by_w, *peeps, by_b

    return narrowed(kernel)


# -- one step of a GRU -----------------------------------------------------------------------------


def _check_gru(x: Tensor, h: Tensor, w_ru: Tensor, w_c: Tensor, b_ru: Tensor, b_c: Tensor) -> None:
    fitting(x.ndim == 2 == h.ndim and len(x) == len(h))
    units = h.shape[1]
    rows = x.shape[1] + units
    fitting(w_ru.shape == (rows, 2 * units) and w_c.shape == (rows, units))
    fitting(b_ru.shape == (2 * units,) and b_c.shape == (units,))


def _gru(x: Tensor, h: Tensor, w_ru: Tensor, w_c: Tensor, b_ru: Tensor, b_c: Tensor) -> Sequence[Tensor]:
    """Return r, u, c and h."""
    _check_gru(x, h, w_ru, w_c, b_ru, b_c)
    r, u = torch.sigmoid(torch.addmm(b_ru, torch.cat([x, h], 1), w_ru)).chunk(2, 1)
    c = torch.tanh(torch.addmm(b_c, torch.cat([x, h * r], 1), w_c))
    return r.contiguous(), u.contiguous(), c, u * h + (1 - u) * c


def _gru_back(
    x: Tensor,
    h: Tensor,
    w_ru: Tensor,
    w_c: Tensor,
    b_ru: Tensor,
    b_c: Tensor,
    r: Tensor,
    u: Tensor,
    c: Tensor,
    h_grad: Tensor,
) -> Sequence[Tensor]:
    """Return the gradients of x and h, and those of the gates before their functions."""
    _check_gru(x, h, w_ru, w_c, b_ru, b_c)
    wide = x.shape[1]
    by_c = h_grad * (1 - u) * (1 - c * c)
    by_u = h_grad * (h - c) * u * (1 - u)
    through_c = by_c @ w_c.t()
    by_reset = through_c[:, wide:]
    gates = torch.cat([by_reset * h * r * (1 - r), by_u], 1)
    through = gates @ w_ru.t()
    by_h = through[:, wide:] + by_reset * r + h_grad * u
    return through[:, :wide] + through_c[:, :wide], by_h, by_c, gates


ROWS: Rows = {
    "LSTMBlockCell": row(_lstm_step, checks=True),
    "LSTMBlockCellGrad": row(_lstm_step_back, checks=True),
    **{f"BlockLSTM{end}": row(_lstm, host=[0], checks=True) for end in ("", "V2")},
    **{f"BlockLSTMGrad{end}": row(_lstm_back, host=[0], checks=True) for end in ("", "V2")},
    "GRUBlockCell": plain(narrowed(_gru), checks=True),
    "GRUBlockCellGrad": plain(narrowed(_gru_back), checks=True),
}
