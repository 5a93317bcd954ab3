"""The peer's side for rows on torch's devices: the same models by hand, in eager mode; only its Python runs it."""

from __future__ import annotations

import itertools
import math
import os
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from . import bert
from .case import Case, SyncCase
from .lstm import UNITS
from .questions import DEVICE_VARIABLE, TRAINED_STEPS, Question
from .side import Side, serve

__all__ = ["main"]

# As ours: steps end with their values on the host, which waits for the device.
_DEVICE = "cuda" if os.environ.get(DEVICE_VARIABLE) == "GPU" else "cpu"

Weights = dict[str, torch.Tensor]
Forward = Callable[[Weights, torch.Tensor], torch.Tensor]


def _perceptron(now: Weights, x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ now["w1"] + now["b1"]) @ now["w2"] + now["b2"]


def _convolutional(now: Weights, x: torch.Tensor) -> torch.Tensor:
    images = x.permute(0, 3, 1, 2)  # channels-last memory, as it is
    for layer in "12":
        images = functional.conv2d(images, now[f"f{layer}"], now[f"b{layer}"], padding=2)
        images = functional.max_pool2d(torch.relu(images), 2)
    flat = images.permute(0, 2, 3, 1).reshape(len(x), -1)
    if "w3" in now:
        flat = torch.relu(flat @ now["w3"] + now["b3"])
    return flat @ now["w"] + now["b"]


def _recurrent(now: Weights, x: torch.Tensor) -> torch.Tensor:
    c = h = x.new_zeros(x.shape[1], UNITS)
    for row in x:
        i, j, f, o = (torch.cat([row, h], 1) @ now["kernel"] + now["bias"]).chunk(4, 1)
        c = c * torch.sigmoid(f + 1.0) + torch.sigmoid(i) * torch.tanh(j)
        h = torch.tanh(c) * torch.sigmoid(o)
    return h @ now["w"] + now["b"]


def _attentive(now: Weights, x: torch.Tensor) -> torch.Tensor:
    def dense(name: str, x: torch.Tensor) -> torch.Tensor:
        return torch.addmm(now[f"b_{name}"], x, now[f"w_{name}"])

    def normed(name: str, x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, [bert.UNITS], now[f"gain_{name}"], now[f"shift_{name}"], bert.EPSILON)

    hidden = normed("text", functional.embedding(x, now["words"]) + now["places"]).flatten(0, 1)
    hides = bert.MASKED * (x == 0)[:, None, None].float()
    for layer in range(bert.LAYERS):
        q, k, v = (
            dense(f"{name}{layer}", hidden).reshape(*x.shape, bert.HEADS, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        share = torch.softmax(q @ k.mT / math.sqrt(bert.UNITS // bert.HEADS) + hides, -1)
        attended = (share @ v).transpose(1, 2).reshape(-1, bert.UNITS)
        hidden = normed(f"mixed{layer}", dense(f"mix{layer}", attended) + hidden)
        inner = functional.gelu(dense(f"inner{layer}", hidden), approximate="tanh")
        hidden = normed(f"layer{layer}", dense(f"outer{layer}", inner) + hidden)
    first = hidden.reshape(*x.shape, -1)[:, 0]
    return dense("out", torch.tanh(dense("pool", first)))


def _train(forward: Forward) -> Callable[[Question], Case]:
    def build(question: Question) -> Case:
        given = question.given
        weights = {name: torch.tensor(value, device=_DEVICE) for name, value in given["weights"].items()}
        for name, value in weights.items():
            if value.ndim == 4:  # filters, whose channels torch has first
                weights[name] = value.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
            weights[name].requires_grad_()
        kind = torch.optim.Adam if given["adam"] else torch.optim.SGD
        optimizer = kind(weights.values(), lr=given["rate"])
        steps = itertools.count(1)

        def step() -> torch.Tensor:
            if given["adam"]:  # TensorFlow adds epsilon before it corrects the bias
                optimizer.param_groups[0]["eps"] = 1e-8 / math.sqrt(1 - 0.999 ** next(steps))
            x, labels = (torch.from_numpy(given[name]).to(_DEVICE) for name in ("x", "labels"))
            optimizer.zero_grad()
            loss = functional.cross_entropy(forward(weights, x), labels)
            loss.backward()
            optimizer.step()
            return loss

        def answers() -> Sequence[Any]:
            losses = [step().item() for _ in range(TRAINED_STEPS)]
            values = [v.detach().permute(2, 3, 1, 0) if v.ndim == 4 else v.detach() for v in weights.values()]
            return [*losses, *[value.cpu().numpy() for value in values]]

        return SyncCase(step=lambda: step().item(), answers=answers, closes=lambda: None)

    return build


def _computed(function: Callable[[dict[str, Any]], torch.Tensor]) -> Callable[[Question], Case]:
    def build(question: Question) -> Case:
        given = {name: torch.as_tensor(value, device=_DEVICE) for name, value in question.given.items()}

        @torch.no_grad()
        def step() -> Any:
            return function(given).cpu().numpy()

        return SyncCase(step=step, answers=lambda: [step()], closes=lambda: None)

    return build


def _products(given: dict[str, Any]) -> torch.Tensor:
    total = given["left"].new_zeros(64, 64)
    for left in given["left"]:
        for right in given["right"]:
            total += left @ right
    return total


def _elementwise(given: dict[str, Any]) -> torch.Tensor:
    x = given["x"]
    for _ in range(10):
        x = torch.tanh(x * given["a"] + given["b"])
    return x


BUILDERS: dict[str, Callable[[Question], Case]] = {
    "torch-products": _computed(_products),
    "torch-elementwise": _computed(_elementwise),
    "torch-mlp-sgd": _train(_perceptron),
    "torch-mlp-adam": _train(_perceptron),
    "torch-cnn-sgd": _train(_convolutional),
    "torch-mnist-cnn": _train(_convolutional),
    "torch-lstm-128": _train(_recurrent),
    "torch-bert": _train(_attentive),
}


def main(out: int) -> None:
    """Answer the driver until it has no more requests.

    Args:
        out: the descriptor for the replies.
    """
    serve(Side(("torch", ["torch"]), _describe, BUILDERS, lambda: None), sys.stdin, out)


def _describe() -> dict[str, str]:
    return {
        "name": "PyTorch",
        "version": torch.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
