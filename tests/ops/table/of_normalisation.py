"""Rows of normalisation: of batches, and by neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import nn, ops
from tests.nodes import make
from tests.ops.table.row import Fault, Row

RNG = np.random.default_rng(0)


def some(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> Any:
    return abs(some(*shape)) + np.float32(0.5)


def axes_of(x: Any, front: bool) -> tuple[Any, Any]:
    """The axes of a channel's numbers, and the shape by which its vector broadcasts."""
    channel = 1 if front else x.ndim - 1
    shape = [1] * x.ndim
    shape[channel] = -1
    return tuple(a for a in range(x.ndim) if a != channel), shape


def trained(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, front: bool = False, share: Any = 1) -> Any:
    wide = x.astype(np.float64)
    axes, shape = axes_of(x, front)
    now, spread = wide.mean(axes), wide.var(axes)
    y = (wide - now.reshape(shape)) / np.sqrt(spread.reshape(shape) + 1e-3)
    y = y * scale.reshape(shape) + offset.reshape(shape)
    count = x.size // x.shape[1 if front else -1]
    fresh = spread * count / (count - 1)
    if share != 1:
        outputs = [(1 - share) * mean + share * now, (1 - share) * variance + share * fresh]
    else:
        outputs = [now, fresh]
    return [y.astype(x.dtype), *(v.astype(scale.dtype) for v in (*outputs, now, spread))]


def applied(x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    y = ((x.astype(np.float64) - mean) / np.sqrt(variance + 1e-3) * scale + offset).astype(x.dtype)
    return [y, mean, variance, mean, variance]


def trained_back(g: Any, x: Any, scale: Any, mean: Any, variance: Any) -> Any:
    axes, _ = axes_of(x, False)
    inverse = 1 / np.sqrt(variance + 1e-3)
    centred = x - mean
    slope = (g * centred).mean(axes) * inverse**2
    by_x = scale * inverse * (g - g.mean(axes) - centred * slope)
    nothing = np.zeros(0, scale.dtype)
    return [by_x, (g * centred).sum(axes) * inverse, g.sum(axes), nothing, nothing]


def node(op: str, **attrs: Any) -> Any:
    return lambda *inputs: list(make(op, inputs, {"epsilon": 1e-3, **attrs}).outputs)


def first(build: Any) -> Any:
    return lambda *inputs: build(*inputs)[0]


def with_nothing(function: Any) -> Any:
    """The third version has one more output, which is empty here."""
    return lambda *inputs: [*function(*inputs), np.zeros((), inputs[1].dtype)]


IMAGES, VECTOR = some(2, 3, 4, 3), some(3)
USUAL = (IMAGES, some(3), some(3), some(3), positive(3))
LENGTHS = Fault(
    (IMAGES, some(4), some(3), some(3), positive(3)),
    "vectors with a number for each channel",
    "vectors with a number for each channel",
)


def back_inputs(grad: Any, version: str) -> tuple[Any, ...]:
    """What the gradient takes: the third version has one more, which is empty here."""
    inputs = (grad, *(USUAL[i] for i in (0, 1, 3, 4)))
    return (*inputs, np.zeros((), np.float32)) if version == "V3" else inputs


def statistics(x: Any, front: bool = False) -> tuple[Any, Any]:
    axes, _ = axes_of(x, front)
    return x.mean(axes), x.var(axes)


def back_of_batch(version: str, **attrs: Any) -> Any:
    """Builds the gradient with the statistics of the images, as the op itself gives them to it."""
    front = attrs.get("data_format") == "NCHW"

    def build(g: Any, x: Any, scale: Any) -> Any:
        mean, variance = nn.moments(x, [0, 2, 3] if front else [0, 1, 2])
        more = [ops.zeros([0], scale.dtype)] if version == "V3" else []
        if not attrs.get("is_training", True):
            mean, variance = [ops.cast(v, x.dtype) for v in FIXED]
        return node(f"FusedBatchNormGrad{version}", **attrs)(g, x, scale, mean, variance, *more)[:3]

    return build


FIXED = (np.array([0.1, 0.3, -0.2]), np.array([1.2, 0.6, 2.0]))


def by_images_in_front(g: Any, x: Any, scale: Any) -> Any:
    back, images = np.moveaxis(g, 1, -1), np.moveaxis(x, 1, -1)
    return np.moveaxis(trained_back(back, images, scale, *statistics(images))[0], -1, 1)


def by_images_applied(g: Any, x: Any, scale: Any) -> Any:
    return (g * scale / np.sqrt(FIXED[1] + 1e-3)).astype(x.dtype)


def near(x: Any, radius: int) -> Any:
    out = np.zeros(x.shape)
    for c in range(x.shape[-1]):
        out[..., c] = x[..., max(0, c - radius) : c + radius + 1].sum(-1)
    return out


def responded(x: Any) -> Any:
    return (x / (1.5 + 0.5 * near(x.astype(np.float64) ** 2, 2)) ** 0.75).astype(x.dtype)


def responded_back(g: Any, x: Any, y: Any) -> Any:
    norm = 1.5 + 0.5 * near(x.astype(np.float64) ** 2, 2)
    shared = near(g * y / norm, 2) * x * (2 * 0.5 * 0.75)
    return (g * norm**-0.75 - shared).astype(x.dtype)


LRN = {"depth_radius": 2, "bias": 1.5, "alpha": 0.5, "beta": 0.75}

ROWS = [
    *(
        Row(
            f"FusedBatchNorm{version}",
            node(f"FusedBatchNorm{version}"),
            with_nothing(trained) if version == "V3" else trained,
        ).on([USUAL], faults=[LENGTHS], rtol=1e-4)
        for version in ("", "V2", "V3")
    ),
    *(
        Row(
            f"FusedBatchNorm{version}-result",
            first(node(f"FusedBatchNorm{version}")),
            lambda *inputs: trained(*inputs)[0],
        ).on([USUAL], [(some(2, 2, 2, 2), some(2), some(2), some(2), positive(2))], wrt=[0, 1, 2], rtol=1e-4)
        for version in ("", "V2", "V3")
    ),
    Row(
        "FusedBatchNormV3-NCHW",
        first(node("FusedBatchNormV3", data_format="NCHW")),
        lambda x, s, o, m, v: trained(x, s, o, m, v, front=True)[0],
    ).on(
        [(some(2, 3, 4, 2), *USUAL[1:])],
        [(some(2, 2, 2, 2), some(2), some(2), some(2), positive(2))],
        wrt=[0, 1, 2],
        rtol=1e-4,
    ),
    Row(
        "FusedBatchNormV3-running",
        lambda x, s, o, m, v: list(nn.fused_batch_norm(x, s, o, m, v, exponential_avg_factor=0.25)),
        lambda x, s, o, m, v: trained(x, s, o, m, v, share=0.25)[:3],
    ).on([USUAL], rtol=1e-4),
    Row(
        "FusedBatchNormV3-volumes",
        first(node("FusedBatchNormV3", data_format="NDHWC")),
        lambda *inputs: trained(*inputs)[0],
    ).on([(some(2, 2, 2, 3, 3), *USUAL[1:])], rtol=1e-4),
    Row("FusedBatchNormV3-inference", node("FusedBatchNormV3", is_training=False), with_nothing(applied)).on(
        [USUAL, (some(0, 3, 4, 3), *USUAL[1:])], rtol=1e-4
    ),
    Row(
        "FusedBatchNormV3-inference result",
        first(node("FusedBatchNormV3", is_training=False)),
        lambda *inputs: applied(*inputs)[0],
    ).on([USUAL], [(some(2, 2, 2, 2), some(2), some(2), some(2), positive(2))], wrt=[0, 1, 2], rtol=1e-4),
    Row("FusedBatchNormV3-halves", first(node("FusedBatchNormV3")), lambda *inputs: trained(*inputs)[0]).on(
        [(IMAGES.astype(np.float16), *USUAL[1:])], rtol=5e-3
    ),
    *(
        Row(
            f"FusedBatchNormGrad{version}",
            node(f"FusedBatchNormGrad{version}"),
            lambda g, x, scale, mean, variance, *_: trained_back(g, x, scale, mean, variance),
        ).on(
            [back_inputs(some(2, 3, 4, 3), version)],
            faults=[Fault(back_inputs(some(2, 3, 3, 3), version), "the gradient has shape", "takes images of rank 4")],
            rtol=1e-4,
        )
        for version in ("", "V2", "V3")
    ),
    *(
        Row(
            f"FusedBatchNormGrad{version}-of its own statistics",
            back_of_batch(version),
            lambda g, x, scale: trained_back(g, x, scale, *statistics(x))[:3],
        ).on([(some(2, 3, 4, 3), IMAGES, USUAL[1])], [(some(2, 2, 2, 2), some(2, 2, 2, 2), some(2))], rtol=1e-4)
        for version in ("", "V2", "V3")
    ),
    *(
        Row(
            f"FusedBatchNormGradV3-{label}",
            lambda g, x, scale, form=form: back_of_batch("V3", **form)(g, x, scale)[0],
            wanted,
        ).on(
            [(some(2, 3, 2, 3), some(2, 3, 2, 3), some(3))], [(some(2, 3, 1, 3), some(2, 3, 1, 3), some(3))], rtol=1e-4
        )
        for label, form, wanted in (
            ("channels in front", {"data_format": "NCHW"}, by_images_in_front),
            ("inference", {"is_training": False}, by_images_applied),
        )
    ),
    Row("LRN", lambda x: nn.lrn(x, 2, 1.5, 0.5, 0.75), responded).on(
        [some(2, 2, 3, 7), some(2, 2, 3, 1), some(0, 2, 3, 7)],
        [some(1, 2, 2, 6)],
        [Fault(some(2, 3, 7), "rank 4", "rank 4")],
        rtol=1e-5,
    ),
    Row("LRNGrad", lambda g, x, y: make("LRNGrad", [g, x, y], LRN).outputs[0], responded_back).on(
        [(some(2, 2, 3, 7), (x := some(2, 2, 3, 7)), responded(x))], rtol=1e-5
    ),
]
