"""The inputs of each row and its answer computed with numpy; the same for both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from . import bert, cnn, lstm, mlp, training

__all__ = [
    "CALLS",
    "DEVICE_VARIABLE",
    "HOPS",
    "ITERATIONS",
    "ON_TORCH",
    "QUESTIONS",
    "STEPS_BEFORE_IDLE",
    "TORCH_DEVICE",
    "TRAINED_STEPS",
    "TRAINING_CALLS",
    "WIDTH",
    "Question",
    "WrongAnswerError",
    "in_process",
    "layered",
    "open_sessions",
    "plans",
]

# 20,000 nodes in a shape that is typical of programs: neither one long chain nor all independent.
WIDTH, LAYERS = 100, 198
# Layers of graphs of 2,000, of 20,000 and of 200,000 nodes.
_SMALL = 18
_GRAPHS = _SMALL, LAYERS, 1998
# Bytes, by the name in rows.
_SIZES = {"4kb": 4 * 2**10, "1mb": 2**20, "64mb": 64 * 2**20}
HOPS = 20
CALLERS = 8
# Steps of each caller in one sample of rows with several: what it costs to start and to join them does not
# count.
CALLS, TRAINING_CALLS = 5, 3
STEPS_BEFORE_IDLE = 100
ITERATIONS = 1000
# The number of steps that are compared with numpy's before a training row is timed.
TRAINED_STEPS = 3
# 64 MB of float32 whose values are their indices, which are exact in float32.
_BIG = 16 * 2**20
_BIG_STRIDE = 4_000_000


class WrongAnswerError(Exception):
    """Error for an answer of a side that differs from that of numpy."""


@dataclass(frozen=True)
class Question:
    """The inputs and the expected answers of a row.

    Attributes:
        given: arrays and numbers that are built into the graph or fed.
        want: the expected answers, in the order of those of a side.
        rtol: relative tolerance.
        atol: absolute tolerance.
    """

    given: Mapping[str, Any] = field(default_factory=dict)
    want: Sequence[Any] = ()
    rtol: float = 1e-4
    atol: float = 1e-5

    def check(self, got: Sequence[Any]) -> None:
        """Compare the answers of a side with the expected ones.

        Raises:
            WrongAnswerError: if their number, shapes or values differ.
        """
        if len(got) != len(self.want):
            raise WrongAnswerError(f"{len(got)} answers instead of {len(self.want)}")
        for index, (have, want) in enumerate(zip(got, self.want, strict=True)):
            have, want = np.asarray(have), np.asarray(want)
            if have.shape != want.shape:
                raise WrongAnswerError(f"answer {index} has shape {have.shape}, not {want.shape}")
            # The first is much cheaper, and 64 MB have to be exact.
            same = np.array_equal(have, want)
            if not same and not np.allclose(have, want, self.rtol, self.atol):
                off = np.abs(have.astype("f8") - want).max()
                raise WrongAnswerError(f"answer {index} is off by up to {off:.3g}")


def _add() -> Question:
    return Question({"a": 3.0, "b": 4.0}, [7.0])


def _constant() -> Question:
    return Question({"value": 42.0}, [42.0])


def _assign_add() -> Question:
    return Question({}, [1.0, 2.0])


def _chain(shape: tuple[int, ...]) -> Question:
    """Return the question of 500 times ``y * factor + term``, which converges without overflow."""
    first = np.random.default_rng(3).random(shape, np.float32)
    given = {"first": first, "factor": np.full(shape, 0.999, "f4"), "term": np.full(shape, 1e-3, "f4")}
    y = first.astype("f8")
    for _ in range(500):
        y = y * given["factor"] + given["term"]
    return Question(given, [y], rtol=1e-3)


def _loop() -> Question:
    """Return the question of 1,000 times ``x * factor + term`` with a counter."""
    want = 3.0
    for _ in range(ITERATIONS):
        want = want * 0.999 + 0.01
    return Question({"x": 3.0, "factor": 0.999, "term": 0.01}, [want])


def _partial() -> Question:
    return Question({"a": 3.0, "b": 4.0}, [4.0, 16.0])


def _products() -> Question:
    """Return the question of 10 x 20 different pairs, so that no two products are equal."""
    random = np.random.default_rng(4)
    left = random.normal(size=(10, 64, 64)).astype("f4")
    right = random.normal(size=(20, 64, 64)).astype("f4")
    want = left.sum(axis=0, dtype="f8") @ right.sum(axis=0, dtype="f8")
    return Question({"left": left, "right": right}, [want], atol=1e-2)


def _elementwise() -> Question:
    """Return the question of ten times ``tanh(x * a + b)``."""
    x = np.random.default_rng(5).normal(size=4_000_000).astype("f4")
    want = x.copy()
    for _ in range(10):
        want *= np.float32(1.1)
        want += np.float32(0.1)
        np.tanh(want, out=want)
    return Question({"x": x, "a": np.float32(1.1), "b": np.float32(0.1)}, [want], rtol=1e-3)


def _matmul() -> Question:
    random = np.random.default_rng(6)
    a, b = (random.normal(size=(2048, 2048)).astype("f4") for _ in range(2))
    return Question({"a": a, "b": b}, [a @ b], atol=1e-2)


def _train(
    network: Any, weights: Any, size: int, rate: float, *, adam: bool = False, workers: int = 1, **tolerances: float
) -> Question:
    """Return the question of some training steps, which several workers make one after the other.

    Args:
        network: the module with the network in numpy.
        weights: its first weights.
        size: size of a batch.
        rate: learning rate.
        adam: whether Adam takes the steps, else gradient descent.
        workers: the number of workers.
        tolerances: those of the question.
    """
    data, steps = network.batch(size), max(TRAINED_STEPS, workers)
    want = training.trained(network.loss_and_gradients, weights, data, rate, steps, adam=adam)
    settings = {"rate": rate, "adam": adam, "workers": workers, "steps": steps}
    given = {"weights": weights, **settings, **data}
    if adam:
        # Adam divides by the square root of a gradient's mean square, which amplifies float32 noise where a
        # gradient is nearly 0.
        tolerances["atol"] = 1e-3
    return Question(given, want, **tolerances)


def layered(layers: int = LAYERS) -> Question:
    """Return the question of layers that alternately add up neighbours and halve values."""
    scales = np.linspace(0.5, 1.5, WIDTH, dtype=np.float32)
    now = 3.0 * scales.astype("f8")
    for layer in range(layers):
        now = now * 0.5 if layer % 2 else now + np.roll(now, -1)
    return Question({"x": 3.0, "scales": scales, "layers": layers}, [now.sum()], rtol=1e-3)


def plans(layers: int, count: int = 1000) -> Question:
    """Return the question of the first three nodes of layers, of which others make ``count`` plans."""
    given = dict(layered(layers).given) | {"count": count}
    return Question(given, list(given["x"] * given["scales"][:3]))


def open_sessions(count: int = 1000) -> Question:
    """Return the question of ``two-workers``' nodes, which each of some sessions computes."""
    return Question({"x": 8.0, "count": count}, [5.0])


def in_process(workers: int) -> Question:
    """Return the question of the sum of what each of some workers computes."""
    factors = [index + 1.0 for index in range(workers)]
    return Question({"x": 2.0, "factors": factors}, [2.0 * sum(factors)])


def _two_workers() -> Question:
    return Question({"x": 8.0}, [5.0])


def _hops() -> Question:
    factors = (1.25, 0.8)
    want = 3.0
    for node in range(HOPS + 1):
        want *= factors[node % 2]
    return Question({"x": 3.0, "factors": factors}, [want])


def _callers() -> Question:
    """Return the question of ``two-workers`` by several callers, each with a number of its own."""
    xs = [float(index) for index in range(CALLERS)]
    return Question({"xs": xs}, [x * 0.5 + 1.0 for x in xs])


def _push() -> Question:
    want = np.arange(0, _BIG, _BIG_STRIDE)
    return Question({"size": _BIG, "stride": _BIG_STRIDE}, [want], rtol=0, atol=0)


def _push_result() -> Question:
    """Return the question of indices plus a number that is fed, so that each step computes them anew."""
    want = np.arange(0, _BIG, _BIG_STRIDE) + 1
    return Question({"size": _BIG, "stride": _BIG_STRIDE, "term": 1.0}, [want], rtol=0, atol=0)


def _feed(nbytes: int) -> Question:
    fed = np.arange(nbytes // 4, dtype="f4")
    stride = fed.size // 4
    given = {"size": fed.size, "stride": stride, "fed": fed}
    return Question(given, [fed[::stride]], rtol=0, atol=0)


def _fetch(nbytes: int) -> Question:
    size = nbytes // 4
    return Question({"size": size}, [np.arange(size, dtype="f4")], rtol=0, atol=0)


def _reduce(nbytes: int, tasks: int) -> Question:
    """Return the question of the sum of the members' arrays; member ``i`` has ``i + 1`` times its indices."""
    size = nbytes // 4
    stride = size // 4
    want = np.arange(0, size, stride) * sum(range(1, tasks + 1))
    return Question({"size": size, "stride": stride, "tasks": tasks}, [want] * tasks)


def _start() -> Question:
    return Question({"x": 8.0}, [13.0])


def _sparse_matmul() -> Question:
    random = np.random.default_rng(11)
    shape, count, width = (20_000, 5_000), 200_000, 64
    flat = np.sort(random.choice(shape[0] * shape[1], count, replace=False))
    rows, columns = np.divmod(flat, shape[1])
    given = {
        "indices": np.stack([rows, columns], 1).astype("i8"),
        "shape": np.array(shape, "i8"),
        "values": random.normal(size=count).astype("f4"),
        "dense": random.normal(size=(shape[1], width)).astype("f4"),
        "weight": random.normal(size=(shape[0], width)).astype("f4"),
    }
    values, dense, weight = (given[name].astype("f8") for name in ("values", "dense", "weight"))
    by_value = (dense[columns] * weight[rows]).sum(axis=1)
    order = np.argsort(columns, kind="stable")
    found, first = np.unique(columns[order], return_index=True)
    by_dense = np.zeros_like(dense)
    by_dense[found] = np.add.reduceat((values[:, None] * weight[rows])[order], first)
    loss = (by_value * values).sum()
    return Question(given, [loss, by_value, by_dense], rtol=1e-3, atol=1e-2)


def _depthwise() -> Question:
    random = np.random.default_rng(12)
    shape = (32, 56, 56, 64)
    x, weight = (random.normal(size=shape).astype("f4") for _ in range(2))
    kernel = random.normal(size=(3, 3, shape[3], 1)).astype("f4")
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))).astype("f8")
    back, by_kernel = np.zeros_like(wide), np.zeros(kernel.shape)
    for i in range(3):
        for j in range(3):
            window = np.s_[:, i : i + shape[1], j : j + shape[2]]
            by_kernel[i, j, :, 0] = np.einsum("nyxc,nyxc->c", wide[window], weight)
            back[window] += weight * kernel[i, j, :, 0]
    loss = (by_kernel * kernel).sum()
    want = [loss, back[:, 1:-1, 1:-1], by_kernel]
    return Question({"x": x, "weight": weight, "kernel": kernel}, want, rtol=1e-3, atol=0.05)


def _records() -> Question:
    random = np.random.default_rng(13)
    records = [random.bytes(int(size)) for size in random.integers(50, 400, 10_000)]
    return Question({"records": records}, [sum(map(len, records))])


def _examples() -> Question:
    random = np.random.default_rng(14)
    count = 5_000
    given = {
        "x": random.normal(size=(count, 20)).astype("f4"),
        "label": random.integers(0, 1000, count).tolist(),
        "name": [b"n" * int(size) for size in random.integers(3, 30, count)],
        "ids": [random.integers(0, 10**6, size).tolist() for size in random.integers(0, 12, count)],
    }
    total = given["x"].sum(dtype="f8") + sum(given["label"]) + sum(map(len, given["name"]))
    return Question(given, [total + sum(map(sum, given["ids"]))])


def _histograms() -> Question:
    random = np.random.default_rng(15)
    values = [random.normal(size=50_000).astype("f4") for _ in range(10)]
    want = [[value.size for value in values], [value.sum(dtype="f8") for value in values]]
    return Question({"values": values}, want, atol=1e-2)


def _checkpoint() -> Question:
    random = np.random.default_rng(16)
    values = {f"layer{i}/weights": random.normal(size=(8, 16)).astype("f4") for i in range(1000)}
    return Question({"values": values}, [sum(v.sum() for v in values.values())], atol=1e-2)


ON_TORCH = "products", "elementwise", "mlp-sgd", "mlp-adam", "cnn-sgd", "mnist-cnn", "lstm-128", "bert"
"""The rows that are measured with torch's kernels too, under ``torch-`` and their names."""

QUESTIONS: dict[str, Callable[[], Question]] = {
    "feed-add": _add,
    "callable-add": _add,
    "constant": _constant,
    "assign-add": _assign_add,
    "chain-scalar": lambda: _chain(()),
    "chain-8x8": lambda: _chain((8, 8)),
    "products": _products,
    "elementwise": _elementwise,
    "matmul-2048": _matmul,
    "mlp-sgd": lambda: _train(mlp, mlp.first_weights(), 128, 0.1),
    "mlp-adam": lambda: _train(mlp, mlp.first_weights(), 128, 0.001, adam=True),
    "cnn-sgd": lambda: _train(cnn, cnn.first_weights(8, 16), 32, 0.1, rtol=1e-3, atol=1e-4),
    "mnist-cnn": lambda: _train(cnn, cnn.first_weights(32, 64, 1024), 50, 0.001, adam=True, rtol=1e-3),
    "lstm-128": lambda: _train(lstm, lstm.first_weights(), 64, 0.1),
    "bert": lambda: _train(bert, bert.first_weights(), 8, 0.1, rtol=1e-3, atol=1e-4),
    "while-loop": _loop,
    "raw-loop": _loop,
    "partial-run": _partial,
    "graph-20000": layered,
    "remote-step": _add,
    "two-workers": _two_workers,
    "hops": _hops,
    "threads-8": _callers,
    "in-flight-8": _callers,
    "push-64mb-host": _push,
    "push-64mb-result": _push_result,
    "push-64mb": _push,
    **{f"feed-{name}": partial(_feed, _SIZES[name]) for name in ("1mb", "64mb")},
    **{f"fetch-{name}": partial(_fetch, _SIZES[name]) for name in ("1mb", "64mb")},
    "ps-sgd": lambda: _train(mlp, mlp.first_weights(), 64, 0.1),
    "ps-sgd-2": lambda: _train(mlp, mlp.first_weights(), 64, 0.1, workers=2),
    "ps-sgd-4": lambda: _train(mlp, mlp.first_weights(), 64, 0.1, workers=4),
    "idle": _two_workers,
    "mlp-sgd-watched": lambda: _train(mlp, mlp.first_weights(), 128, 0.1),
    "ps-sgd-watched": lambda: _train(mlp, mlp.first_weights(), 64, 0.1),
    **{f"reduce-{name}-{tasks}": partial(_reduce, size, tasks) for name, size in _SIZES.items() for tasks in (2, 4)},
    "sparse-matmul": _sparse_matmul,
    "depthwise": _depthwise,
    "records-read": _records,
    "examples-batch": _examples,
    "examples-single": _examples,
    "histogram-events": _histograms,
    "meta-graph-20000": layered,
    "checkpoint-read": _checkpoint,
    "checkpoint-read-v1": _checkpoint,
    "checkpoint-restore": _checkpoint,
    "cluster-start": _start,
    **{f"{kind}-{100 * (layers + 2)}": partial(plans, layers) for kind in ("build", "new-plan") for layers in _GRAPHS},
    **{
        f"{kind}-{100 * (layers + 2)}": partial(layered, layers) for kind in ("first-run", "step") for layers in _GRAPHS
    },
    "in-process-10": lambda: in_process(10),
    "in-process-50": lambda: in_process(50),
    "memory-session": open_sessions,
    "memory-plan": lambda: plans(_SMALL),
    "memory-server": open_sessions,
}
TORCH_DEVICE = "TORCH_CPU"
"""Our device type of these rows, unless the driver names another one to the sides by ``DEVICE_VARIABLE``."""
DEVICE_VARIABLE = "BENCHMARK_DEVICE"
QUESTIONS |= {f"torch-{name}": QUESTIONS[name] for name in ON_TORCH}
