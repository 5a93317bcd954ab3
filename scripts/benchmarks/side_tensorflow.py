"""The peer's side: the local rows with TensorFlow in graph mode; only the peer's Python runs it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from .case import Case, SyncCase
from .cluster_tensorflow import ClusterRows, Clusters
from .concurrent_tensorflow import ConcurrentRows
from .files_rows import FilesRows
from .growth_tensorflow import GrowthRows, build_layers
from .network_tensorflow import Network, build_cnn, build_lstm, build_network
from .questions import ITERATIONS, TRAINED_STEPS, Question
from .side import Side, serve
from .tensorflow_module import tf

__all__ = ["main"]


def main(out: int) -> None:
    """Answer the driver until it has no more requests.

    Args:
        out: the descriptor for the replies.
    """
    clusters = Clusters()
    builders = dict(LOCAL)
    for kind in (ClusterRows, ConcurrentRows, GrowthRows):
        builders.update(kind(clusters).builders)
    builders.update(FilesRows(tf).builders)
    (distribution, *_) = metadata.packages_distributions()["tensorflow"]
    side = Side((distribution, []), _describe, builders, clusters.close)
    serve(side, sys.stdin, out)


def _describe() -> dict[str, str]:
    return {
        "name": "TensorFlow",
        "version": tf.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _case(
    graph: Any,
    fetches: Any,
    feeds: dict[Any, Any] | None = None,
    *,
    answers: Callable[[Any], Sequence[Any]] | None = None,
    first: Iterable[Any] = (),
) -> Case:
    """Return the case that runs ``fetches`` with ``feeds`` in each step, after ``first`` once."""
    session = tf.Session(graph=graph)
    for fetch in first:
        session.run(fetch)
    return SyncCase(
        step=lambda: session.run(fetches, feeds),
        answers=lambda: answers(session) if answers else [session.run(fetches, feeds)],
        closes=session.close,
    )


def _feed_add(question: Question) -> Case:
    with tf.Graph().as_default() as graph:
        a, b = (tf.placeholder(tf.float32, []) for _ in range(2))
        total = a + b
    return _case(graph, total, {a: question.given["a"], b: question.given["b"]})


def _callable_add(question: Question) -> Case:
    with tf.Graph().as_default() as graph:
        a, b = (tf.placeholder(tf.float32, []) for _ in range(2))
        total = a + b
    session = tf.Session(graph=graph)
    add = session.make_callable(total, [a, b])
    given = question.given["a"], question.given["b"]
    return SyncCase(step=lambda: add(*given), answers=lambda: [add(*given)], closes=session.close)


def _constant(question: Question) -> Case:
    with tf.Graph().as_default() as graph:
        value = tf.constant(question.given["value"])
    return _case(graph, value)


def _assign_add(_question: Question) -> Case:
    with tf.Graph().as_default() as graph:
        count = tf.Variable(0.0)
        add = count.assign_add(1.0)

    def twice(session: Any) -> Sequence[Any]:
        return [session.run(add), session.run(add)]

    return _case(graph, add, answers=twice, first=[count.initializer])


def _chain(question: Question) -> Case:
    with tf.Graph().as_default() as graph:
        y, factor, term = (
            tf.Variable(question.given[name]).value() for name in ("first", "factor", "term")
        )
        for _ in range(500):
            y = y * factor + term
        initialize = tf.global_variables_initializer()
    return _case(graph, y, first=[initialize])


def _products(question: Question) -> Case:
    with tf.Graph().as_default() as graph:
        left, right = (
            [tf.Variable(value).value() for value in question.given[name]]
            for name in ("left", "right")
        )
        total = tf.add_n([tf.matmul(a, b) for a in left for b in right])
        initialize = tf.global_variables_initializer()
    return _case(graph, total, first=[initialize])


def _elementwise(question: Question) -> Case:
    with tf.Graph().as_default() as graph:
        x, a, b = (tf.Variable(question.given[name]).value() for name in ("x", "a", "b"))
        for _ in range(10):
            x = tf.tanh(x * a + b)
        initialize = tf.global_variables_initializer()
    return _case(graph, x, first=[initialize])


def _matmul(question: Question) -> Case:
    with tf.Graph().as_default() as graph:
        a, b = (tf.Variable(question.given[name]).value() for name in ("a", "b"))
        product = tf.matmul(a, b)
        initialize = tf.global_variables_initializer()
    return _case(graph, product, first=[initialize])


def _train(question: Question, build: Callable[[Question], Network] = build_network) -> Case:
    with tf.Graph().as_default() as graph:
        network = build(question)
        initialize = tf.global_variables_initializer()

    def trained(session: Any) -> Sequence[Any]:
        losses = [session.run(network.step, network.feeds)[1] for _ in range(TRAINED_STEPS)]
        return [*losses, *session.run(list(network.weights.values()))]

    return _case(graph, network.step, network.feeds, answers=trained, first=[initialize])


def _loop(question: Question) -> Case:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        factor, term = (question.given[name] for name in ("factor", "term"))
        _, result = tf.while_loop(
            lambda i, _: i < ITERATIONS,
            lambda i, value: (i + 1, value * factor + term),
            [tf.constant(0), x],
        )
    return _case(graph, result, {x: question.given["x"]})


def _partial(question: Question) -> Case:
    with tf.Graph().as_default() as graph:
        a, b = (tf.placeholder(tf.float32, []) for _ in range(2))
        first = a + 1.0
        second = first * b
    session = tf.Session(graph=graph)

    def both() -> list[Any]:
        handle = session.partial_run_setup([first, second], [a, b])
        return [
            session.partial_run(handle, first, {a: question.given["a"]}),
            session.partial_run(handle, second, {b: question.given["b"]}),
        ]

    return SyncCase(step=both, answers=both, closes=session.close)


def _big_graph(question: Question) -> Case:
    sessions: list[Any] = []

    def build_and_run() -> Any:
        layers = build_layers(question)
        sessions.append(tf.Session(graph=layers.graph))
        return sessions[-1].run(layers.total, {layers.x: question.given["x"]})

    def close() -> None:
        while sessions:
            sessions.pop().close()

    return SyncCase(
        step=build_and_run, answers=lambda: [build_and_run()], closes=close, whole=True, after=close
    )


LOCAL: dict[str, Callable[[Question], Case]] = {
    "feed-add": _feed_add,
    "callable-add": _callable_add,
    "constant": _constant,
    "assign-add": _assign_add,
    "chain-scalar": _chain,
    "chain-8x8": _chain,
    "products": _products,
    "elementwise": _elementwise,
    "matmul-2048": _matmul,
    "mlp-sgd": _train,
    "mlp-adam": _train,
    "cnn-sgd": lambda question: _train(question, build_cnn),
    "mnist-cnn": lambda question: _train(question, build_cnn),
    "lstm-128": lambda question: _train(question, build_lstm),
    "while-loop": _loop,
    "raw-loop": _loop,  # consists of the primitive operations in TensorFlow anyway
    "partial-run": _partial,
    "graph-20000": _big_graph,
}
