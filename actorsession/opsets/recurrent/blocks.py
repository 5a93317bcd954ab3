"""LSTM and GRU cells as one operation per step or per sequence, and their gradients.

``LSTMBlockCell`` and ``GRUBlockCell`` are a step, ``BlockLSTM`` is a whole sequence; each has an operation
for its gradient. As in TensorFlow, nothing flows back through the gates that are outputs, and the clip of the
state does not count. The gates of an LSTM are in the order i, c, f, o; those of ``BlockLSTMV2`` i, f, c, o.

A device with arrays of its own derives its cell from ``Cell``: all but its step is written for any arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.arrays.joining import concat
from actorsession.ops.rows import checked, op

__all__ = ["KERNELS", "Cell", "Weights", "check_gru"]


def _sigmoid(x: Array) -> Array:
    half = x.dtype.type(0.5)
    out: Array = half * np.tanh(half * x) + half
    return out


# -- one step of an LSTM ---------------------------------------------------------------------------


class Weights(NamedTuple):
    """The weights of an LSTM: of inputs and state, of the three peepholes, and the bias."""

    w: Any
    wci: Any
    wcf: Any
    wco: Any
    b: Any


class Cell:
    """An LSTM by its attributes.

    Args:
        ctx: context of the kernel factory.

    Attributes:
        arrays: the module of functions of the arrays.
    """

    arrays: Any = np

    def __init__(self, ctx: KernelContext) -> None:
        attrs = ctx.attrs
        self._op = ctx.op
        self._swapped = ctx.op.endswith("V2")
        self._bias = attrs.get("forget_bias", 0.0)
        self._clip = attrs.get("cell_clip", 0.0)
        self._peeps = attrs["use_peephole"]

    def check(self, x: Any, cs_prev: Any, h_prev: Any, weights: Weights) -> None:
        """Check the shapes of the inputs.

        Raises:
            InvalidArgumentError: if they do not fit.
        """
        units = cs_prev.shape[-1] if cs_prev.ndim == 2 else -1
        batch, wide = len(x) if x.ndim else 0, x.shape[-1] if x.ndim else 0
        fits = (
            x.ndim == 2
            and cs_prev.shape == h_prev.shape == (batch, units)
            and weights.w.shape == (wide + units, 4 * units)
            and weights.b.shape == (4 * units,)
            and (not self._peeps or {v.shape for v in weights[1:4]} == {(units,)})
        )
        if not fits:
            shapes = ", ".join(str(list(v.shape)) for v in (x, cs_prev, h_prev, *weights))
            raise InvalidArgumentError(
                f"{self._op}: x [batch, inputs], cs_prev and h_prev [batch, units], w [inputs + units, "
                f"4 * units], peepholes [units] and b [4 * units] are needed, got {shapes}"
            )

    def count(self, length: Any, x: Any) -> int:
        """Return the number of steps of a sequence; those after it are zeros.

        Raises:
            InvalidArgumentError: if there are not so many.
        """
        if x.ndim != 3 or not 0 <= length <= len(x):
            raise InvalidArgumentError(
                f"{self._op}: x has shape [time, batch, inputs] and seq_len_max is at most the time, got "
                f"{list(x.shape)} and {length}"
            )
        return int(length)

    def zeros(self, like: Any, shape: Sequence[int]) -> Any:
        """Return a new array of the dtype of another one."""
        return np.zeros(shape, like.dtype)

    def step(self, x: Any, cs_prev: Any, h_prev: Any, weights: Weights) -> Sequence[Any]:
        """Return i, cs, f, o, ci, co and h."""
        w, wci, wcf, wco, b = weights
        units = cs_prev.shape[1]
        i, ci, f, o = self._gates(np.concatenate([x, h_prev], 1) @ w + b, units)
        if self._peeps:
            i, f = i + cs_prev * wci, f + cs_prev * wcf
        i, f, ci = _sigmoid(i), _sigmoid(f + f.dtype.type(self._bias)), np.tanh(ci)
        cs = ci * i + cs_prev * f
        if self._clip > 0:
            cs = np.clip(cs, -self._clip, self._clip)
        o = _sigmoid(o + cs * wco if self._peeps else o)
        co = np.tanh(cs)
        return i, cs, f, o, ci, co, co * o

    def _gates(self, gates: Any, units: int) -> Sequence[Any]:
        """Return the parts for i, c, f and o."""
        first, second, third, last = (gates[:, k * units : (k + 1) * units] for k in range(4))
        return (first, third, second, last) if self._swapped else (first, second, third, last)

    def back(self, cs_prev: Any, weights: Weights, outputs: Sequence[Any], cs_grad: Any, h_grad: Any) -> Sequence[Any]:
        """Return the gradients of the state, of the gates before their functions, and of the peepholes."""
        _, wci, wcf, wco, _ = weights
        i, cs, f, o, ci, co = outputs[:6]
        by_o = o * (1 - o) * h_grad * co
        by_cs = (1 - co * co) * h_grad * o + cs_grad
        if self._peeps:
            by_cs = by_cs + by_o * wco
        by_ci = (1 - ci * ci) * by_cs * i
        by_f, by_i = f * (1 - f) * by_cs * cs_prev, i * (1 - i) * by_cs * ci
        by_prev = by_cs * f
        peeps = [self.arrays.zeros_like(v) for v in weights[1:4]]
        if self._peeps:
            by_prev = by_prev + by_i * wci + by_f * wcf
            pairs = (by_i, cs_prev), (by_f, cs_prev), (by_o, cs)
            peeps = [(grad * value).sum(0) for grad, value in pairs]
        gates = (by_i, by_f, by_ci, by_o) if self._swapped else (by_i, by_ci, by_f, by_o)
        return by_prev, self.arrays.concatenate(gates, 1), *peeps


def _cell_kernel(cell: Cell) -> Kernel:
    def step(x: Any, cs_prev: Any, h_prev: Any, *weights: Any) -> Any:
        cell.check(x, cs_prev, h_prev, Weights(*weights))
        return cell.step(x, cs_prev, h_prev, Weights(*weights))

    return step


def _cell_back_kernel(cell: Cell) -> Kernel:
    def back(x: Any, cs_prev: Any, h_prev: Any, *rest: Any) -> Any:
        weights = Weights(*rest[:5])
        cell.check(x, cs_prev, h_prev, weights)
        return cell.back(cs_prev, weights, rest[5:11], *rest[11:])

    return back


def _kernel(ctx: KernelContext) -> Kernel:
    return KERNELS[ctx.op](Cell(ctx))


def _given(grad: Tensor | None, output: Tensor) -> Tensor:
    return zeros_like(output) if grad is None else grad


def _cell_gradient(op: Operation, *grads: Tensor | None) -> Sequence[Tensor | None]:
    x, _, h_prev, w = op.inputs[:4]
    back: Any = raw.LSTMBlockCellGrad
    by_state, by_gates, *peeps = back(
        *op.inputs,
        *op.outputs[:6],
        _given(grads[1], op.outputs[1]),
        _given(grads[6], op.outputs[6]),
        use_peephole=op.attrs["use_peephole"],
    )
    by_x, by_h = _split_like(raw.MatMul(by_gates, w, transpose_b=True), x)
    by_w = raw.MatMul(concat([x, h_prev], 1), by_gates, transpose_a=True)
    return [by_x, by_state, by_h, by_w, *peeps, raw.BiasAddGrad(by_gates)]


def _split_like(both: Tensor, x: Tensor) -> Sequence[Tensor]:
    """Return the gradients of the inputs and of the last outputs, which were joined."""
    wide = raw.Shape(x)[1]
    return both[:, :wide], both[:, wide:]


def _cell_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    x, state = ctx.inputs[0].shape.with_rank(2), ctx.inputs[1].shape.with_rank(2)
    return [TensorShape([x[0]]).merge_with(TensorShape([state[0]])).concatenate([state[1]])] * 7


def _cell_back_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    state = ctx.inputs[1].shape.with_rank(2)
    units = state[1]
    gates = TensorShape([state[0], None if units is None else 4 * units])
    return [state, gates, *[TensorShape([units])] * 3]


op("LSTMBlockCell", checked(_cell_shapes), kernel=_kernel, grad=_cell_gradient, divides=True)
op("LSTMBlockCellGrad", checked(_cell_back_shapes), kernel=_kernel, divides=True)


# -- a sequence of an LSTM -------------------------------------------------------------------------


def _block_kernel(cell: Cell) -> Kernel:
    def run(length: Any, x: Any, cs: Any, h: Any, *parameters: Any) -> Any:
        weights, count = Weights(*parameters), cell.count(length, x)
        outputs = [cell.zeros(x, (len(x), *cs.shape)) for _ in range(7)]
        for step in range(count):
            cell.check(x[step], cs, h, weights)
            stepped = cell.step(x[step], cs, h, weights)
            for output, part in zip(outputs, stepped, strict=True):
                output[step] = part
            cs, h = stepped[1], stepped[6]
        return outputs

    return run


def _block_back_kernel(cell: Cell) -> Kernel:
    def run(length: Any, x: Any, cs_prev: Any, h_prev: Any, *inputs: Any) -> Any:
        weights, outputs = Weights(*inputs[:5]), inputs[5:12]
        cs_grads, h_grads = inputs[12:]
        by_x, by_w, by_b, by_cs, by_h = map(cell.arrays.zeros_like, (x, weights.w, weights.b, cs_prev, h_prev))
        peeps = [cell.arrays.zeros_like(v) for v in weights[1:4]]
        wide = x.shape[-1]
        for step in reversed(range(cell.count(length, x))):
            cs, h = (outputs[1][step - 1], outputs[6][step - 1]) if step else (cs_prev, h_prev)
            parts = [output[step] for output in outputs]
            by_cs, gates, *more = cell.back(cs, weights, parts, cs_grads[step] + by_cs, h_grads[step] + by_h)
            both = gates @ weights.w.T
            by_x[step], by_h = both[:, :wide], both[:, wide:]
            by_w += cell.arrays.concatenate([x[step], h], 1).T @ gates
            by_b += gates.sum(0)
            peeps = [a + b for a, b in zip(peeps, more, strict=True)]
        return by_x, by_cs, by_h, by_w, *peeps, by_b

    return run


def _block_gradient(op: Operation, *grads: Tensor | None) -> Sequence[Tensor | None]:
    back: Any = raw.BlockLSTMGradV2 if op.type.endswith("V2") else raw.BlockLSTMGrad
    outputs = op.outputs
    grads_of_states = _given(grads[1], outputs[1]), _given(grads[6], outputs[6])
    gradients = back(*op.inputs, *outputs, *grads_of_states, use_peephole=op.attrs["use_peephole"])
    return [None, *gradients]


def _block_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    x, state = ctx.inputs[1].shape.with_rank(3), ctx.inputs[2].shape.with_rank(2)
    return [TensorShape([x[0], x[1], state[1]])] * 7


def _block_back_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    return [spec.shape for spec in ctx.inputs[1:9]]


for _end in ("", "V2"):
    op(f"BlockLSTM{_end}", checked(_block_shapes, 0), kernel=_kernel, grad=_block_gradient, divides=True)
    op(f"BlockLSTMGrad{_end}", checked(_block_back_shapes, 0), kernel=_kernel, divides=True)

KERNELS: dict[str, Callable[[Cell], Kernel]] = {
    "LSTMBlockCell": _cell_kernel,
    "LSTMBlockCellGrad": _cell_back_kernel,
    "BlockLSTM": _block_kernel,
    "BlockLSTMV2": _block_kernel,
    "BlockLSTMGrad": _block_back_kernel,
    "BlockLSTMGradV2": _block_back_kernel,
}
"""By operation type what makes the kernel of a cell."""


# -- one step of a GRU -----------------------------------------------------------------------------


def check_gru(op: str, x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> None:
    """Check the shapes of the inputs of a GRU.

    Raises:
        InvalidArgumentError: if they do not fit.
    """
    units = h_prev.shape[-1] if h_prev.ndim == 2 else -1
    rows = (x.shape[-1] if x.ndim else 0) + units
    if (
        (x.ndim, h_prev.ndim, len(x) if x.ndim else 0) != (2, 2, len(h_prev))
        or (w_ru.shape, w_c.shape) != ((rows, 2 * units), (rows, units))
        or (b_ru.shape, b_c.shape) != ((2 * units,), (units,))
    ):
        shapes = ", ".join(str(list(v.shape)) for v in (x, h_prev, w_ru, w_c, b_ru, b_c))
        raise InvalidArgumentError(
            f"{op}: x [batch, inputs], h_prev [batch, units], w_ru [inputs + units, 2 * units], w_c [inputs "
            f"+ units, units], b_ru [2 * units] and b_c [units] are needed, got {shapes}"
        )


def _gru(x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> Any:
    """Return r, u, c and h."""
    check_gru("GRUBlockCell", x, h_prev, w_ru, w_c, b_ru, b_c)
    both = _sigmoid(np.concatenate([x, h_prev], 1) @ w_ru + b_ru)
    r, u = (part.copy() for part in np.split(both, 2, 1))
    c = np.tanh(np.concatenate([x, h_prev * r], 1) @ w_c + b_c)
    return r, u, c, u * h_prev + (1 - u) * c


def _gru_back(
    xp: Any, x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any, r: Any, u: Any, c: Any, h_grad: Any
) -> Any:
    """Return the gradients of x and h, and those of the gates before their functions."""
    check_gru("GRUBlockCellGrad", x, h_prev, w_ru, w_c, b_ru, b_c)
    wide = x.shape[1]
    by_c = h_grad * (1 - u) * (1 - c * c)
    by_u = h_grad * (h_prev - c) * u * (1 - u)
    through_c = by_c @ w_c.T
    by_reset = through_c[:, wide:]
    gates = xp.concat([by_reset * h_prev * r * (1 - r), by_u], 1)
    through = gates @ w_ru.T
    by_h = through[:, wide:] + by_reset * r + h_grad * u
    return through[:, :wide] + through_c[:, :wide], by_h, by_c, gates


def _gru_gradient(op: Operation, *grads: Tensor | None) -> Sequence[Tensor | None]:
    x, h_prev = op.inputs[:2]
    r, u, c, h = op.outputs
    back: Any = raw.GRUBlockCellGrad
    by_x, by_h, by_c, gates = back(*op.inputs, r, u, c, _given(grads[3], h))
    by_ru = raw.MatMul(concat([x, h_prev], 1), gates, transpose_a=True)
    by_w = raw.MatMul(concat([x, h_prev * r], 1), by_c, transpose_a=True)
    return [by_x, by_h, by_ru, by_w, raw.BiasAddGrad(gates), raw.BiasAddGrad(by_c)]


def _gru_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    return [ctx.inputs[1].shape.with_rank(2)] * 4


def _gru_back_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    h = ctx.inputs[1].shape.with_rank(2)
    return [ctx.inputs[0].shape, h, h, TensorShape([h[0], None if h[1] is None else 2 * h[1]])]


op("GRUBlockCell", checked(_gru_shapes), _gru, _gru_gradient, divides=True)
op("GRUBlockCellGrad", checked(_gru_back_shapes), sentence=lambda xp, ctx: partial(_gru_back, xp), divides=True)
