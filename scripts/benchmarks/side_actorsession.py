"""actorsession's side: the local rows through ``Session``, and the process that answers the driver.

It uses the library as a user does. The driver starts it with the ``OPENBLAS_CORETYPE`` of worker processes.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession.actors.loops import new_event_loop
from actorsession.ops.blas_threads import loaded_libraries
from actorsession.ops.flow import dataflow

from .case import Case, SyncCase
from .cluster_actorsession import ClusterRows
from .clusters_actorsession import Clusters
from .concurrent_actorsession import ConcurrentRows
from .files_rows import FilesRows
from .growth_actorsession import GrowthRows, build_layers
from .network_actorsession import Network, build_cnn, build_lstm, build_network
from .questions import ITERATIONS, TRAINED_STEPS, Question
from .side import Side, serve

__all__ = ["builders", "main"]


def main(out: int) -> None:
    """Answer the driver until it has no more requests.

    Args:
        out: the descriptor for the replies.
    """
    clusters = Clusters()
    packages = ["actorsession", "transports"]
    side = Side(("actorsession", packages), _describe, builders(clusters), clusters.close)
    serve(side, sys.stdin, out)


def builders(clusters: Clusters) -> dict[str, Callable[[Question], Case]]:
    """Return what builds the case of each row."""
    kinds = (ClusterRows, ConcurrentRows, GrowthRows)
    found = LOCAL | {
        name: build for kind in kinds for name, build in kind(clusters).builders.items()
    }
    return found | FilesRows(tf).builders


def _describe() -> dict[str, str]:
    loop = new_event_loop()
    loop.close()
    return {
        "name": "actorsession",
        "version": acts.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "loop": type(loop).__module__.split(".")[0],
        "blas": next((library.kernels for library in loaded_libraries()), "unknown"),
        "coretype": os.environ.get("OPENBLAS_CORETYPE", ""),
    }


def _case(
    graph: acts.Graph,
    fetches: Any,
    feeds: dict[Any, Any] | None = None,
    *,
    answers: Callable[[acts.Session], Sequence[Any]] | None = None,
    first: Iterable[Any] = (),
) -> Case:
    """Return the case that runs ``fetches`` with ``feeds`` in each step, after ``first`` once."""
    session = acts.Session(graph=graph)
    for fetch in first:
        session.run(fetch)
    return SyncCase(
        step=lambda: session.run(fetches, feeds),
        answers=lambda: answers(session) if answers else [session.run(fetches, feeds)],
        closes=session.close,
    )


def _feed_add(question: Question) -> Case:
    with acts.Graph().as_default() as graph:
        a, b = (acts.placeholder(acts.float32, []) for _ in range(2))
        total = a + b
    return _case(graph, total, {a: question.given["a"], b: question.given["b"]})


def _callable_add(question: Question) -> Case:
    with acts.Graph().as_default() as graph:
        a, b = (acts.placeholder(acts.float32, []) for _ in range(2))
        total = a + b
    session = acts.Session(graph=graph)
    add = session.make_callable(total, [a, b])
    given = question.given["a"], question.given["b"]
    return SyncCase(step=lambda: add(*given), answers=lambda: [add(*given)], closes=session.close)


def _constant(question: Question) -> Case:
    with acts.Graph().as_default() as graph:
        value = acts.constant(question.given["value"])
    return _case(graph, value)


def _assign_add(_question: Question) -> Case:
    with acts.Graph().as_default() as graph:
        count = acts.Variable(0.0)
        add = count.assign_add(1.0)

    def twice(session: acts.Session) -> Sequence[Any]:
        return [session.run(add), session.run(add)]

    return _case(graph, add, answers=twice, first=[count.initializer])


def _chain(question: Question) -> Case:
    with acts.Graph().as_default() as graph:
        y, factor, term = (
            acts.Variable(question.given[name]).value() for name in ("first", "factor", "term")
        )
        for _ in range(500):
            y = y * factor + term
        initialize = acts.global_variables_initializer()
    return _case(graph, y, first=[initialize])


def _products(question: Question) -> Case:
    with acts.Graph().as_default() as graph:
        left, right = (
            [acts.Variable(value).value() for value in question.given[name]]
            for name in ("left", "right")
        )
        total = acts.add_n([acts.matmul(a, b) for a in left for b in right])
        initialize = acts.global_variables_initializer()
    return _case(graph, total, first=[initialize])


def _elementwise(question: Question) -> Case:
    with acts.Graph().as_default() as graph:
        x, a, b = (acts.Variable(question.given[name]).value() for name in ("x", "a", "b"))
        for _ in range(10):
            x = acts.tanh(x * a + b)
        initialize = acts.global_variables_initializer()
    return _case(graph, x, first=[initialize])


def _matmul(question: Question) -> Case:
    with acts.Graph().as_default() as graph:
        a, b = (acts.Variable(question.given[name]).value() for name in ("a", "b"))
        product = acts.matmul(a, b)
        initialize = acts.global_variables_initializer()
    return _case(graph, product, first=[initialize])


def _train(question: Question, build: Callable[[Question], Network] = build_network) -> Case:
    with acts.Graph().as_default() as graph:
        network = build(question)
        initialize = acts.global_variables_initializer()

    def trained(session: acts.Session) -> Sequence[Any]:
        losses = [session.run(network.step, network.feeds)[1] for _ in range(TRAINED_STEPS)]
        return [*losses, *session.run(list(network.weights.values()))]

    return _case(graph, network.step, network.feeds, answers=trained, first=[initialize])


def _loop(question: Question) -> Case:
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [])
        factor, term = (question.given[name] for name in ("factor", "term"))
        _, result = acts.while_loop(
            lambda i, _: i < ITERATIONS,
            lambda i, value: (i + 1, value * factor + term),
            [acts.constant(0), x],
        )
    return _case(graph, result, {x: question.given["x"]})


def _raw_loop(question: Question) -> Case:
    """Build the loop from the primitive operations of TensorFlow 1's control flow."""
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [])
        entered = [dataflow.enter(first, "loop") for first in (acts.constant(0), x)]
        end, factor, term = (
            dataflow.enter(acts.constant(value), "loop", is_constant=True)
            for value in (ITERATIONS, question.given["factor"], question.given["term"])
        )
        i, value = (dataflow.merge([first, first]).output for first in entered)
        condition = dataflow.loop_cond(i < end)
        switched = [dataflow.switch(variable, condition) for variable in (i, value)]
        with acts.control_dependencies([switched[0].output_true]):
            following = switched[0].output_true + 1, switched[1].output_true * factor + term
        for variable, after in zip((i, value), following, strict=True):
            dataflow.close_loop(variable, dataflow.next_iteration(after))
        result = dataflow.exit_(switched[1].output_false)
    return _case(graph, result, {x: question.given["x"]})


def _partial(question: Question) -> Case:
    with acts.Graph().as_default() as graph:
        a, b = (acts.placeholder(acts.float32, []) for _ in range(2))
        first = a + 1.0
        second = first * b
    session = acts.Session(graph=graph)

    def both() -> list[Any]:
        handle = session.partial_run_setup([first, second], [a, b])
        return [
            session.partial_run(handle, first, {a: question.given["a"]}),
            session.partial_run(handle, second, {b: question.given["b"]}),
        ]

    return SyncCase(step=both, answers=both, closes=session.close)


def _big_graph(question: Question) -> Case:
    sessions: list[acts.Session] = []

    def build_and_run() -> Any:
        layers = build_layers(question)
        sessions.append(acts.Session(graph=layers.graph))
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
    "raw-loop": _raw_loop,
    "partial-run": _partial,
    "graph-20000": _big_graph,
}
