"""The rows in one process, one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .case import Case, SyncCase
from .growth_rows import build_layers
from .network import Network, build_bert, build_cnn, build_lstm, build_network
from .questions import ITERATIONS, TRAINED_STEPS, Question

__all__ = ["LocalRows"]


class LocalRows:
    """The rows in one process.

    Args:
        tf: the module with TensorFlow's names.
    """

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self.builders: dict[str, Callable[[Question], Case]] = {
            "feed-add": self._feed_add,
            "callable-add": self._callable_add,
            "constant": self._constant,
            "assign-add": self._assign_add,
            "chain-scalar": self._chain,
            "chain-8x8": self._chain,
            "products": self._products,
            "elementwise": self._elementwise,
            "matmul-2048": self._matmul,
            "mlp-sgd": self._train,
            "mlp-adam": self._train,
            "cnn-sgd": lambda question: self._train(question, build_cnn),
            "mnist-cnn": lambda question: self._train(question, build_cnn),
            "lstm-128": lambda question: self._train(question, build_lstm),
            "bert": lambda question: self._train(question, build_bert),
            "while-loop": self._loop,
            "raw-loop": self._loop,
            "partial-run": self._partial,
            "graph-20000": self._big_graph,
        }

    def _case(
        self,
        graph: Any,
        fetches: Any,
        feeds: dict[Any, Any] | None = None,
        *,
        answers: Callable[[Any], Sequence[Any]] | None = None,
        first: Iterable[Any] = (),
    ) -> Case:
        """Return the case that runs ``fetches`` with ``feeds`` in each step, after ``first`` once."""
        session = self._tf.Session(graph=graph)
        for fetch in first:
            session.run(fetch)
        return SyncCase(
            step=lambda: session.run(fetches, feeds),
            answers=lambda: answers(session) if answers else [session.run(fetches, feeds)],
            closes=session.close,
        )

    def _feed_add(self, question: Question) -> Case:
        with self._tf.Graph().as_default() as graph:
            a, b = (self._tf.placeholder(self._tf.float32, []) for _ in range(2))
            total = a + b
        return self._case(graph, total, {a: question.given["a"], b: question.given["b"]})

    def _callable_add(self, question: Question) -> Case:
        with self._tf.Graph().as_default() as graph:
            a, b = (self._tf.placeholder(self._tf.float32, []) for _ in range(2))
            total = a + b
        session = self._tf.Session(graph=graph)
        add = session.make_callable(total, [a, b])
        given = question.given["a"], question.given["b"]
        return SyncCase(step=lambda: add(*given), answers=lambda: [add(*given)], closes=session.close)

    def _constant(self, question: Question) -> Case:
        with self._tf.Graph().as_default() as graph:
            value = self._tf.constant(question.given["value"])
        return self._case(graph, value)

    def _assign_add(self, _question: Question) -> Case:
        with self._tf.Graph().as_default() as graph:
            count = self._tf.Variable(0.0)
            add = count.assign_add(1.0)

        def twice(session: Any) -> Sequence[Any]:
            return [session.run(add), session.run(add)]

        return self._case(graph, add, answers=twice, first=[count.initializer])

    def _chain(self, question: Question) -> Case:
        with self._tf.Graph().as_default() as graph:
            y, factor, term = (self._tf.Variable(question.given[name]).value() for name in ("first", "factor", "term"))
            for _ in range(500):
                y = y * factor + term
            initialize = self._tf.global_variables_initializer()
        return self._case(graph, y, first=[initialize])

    def _products(self, question: Question) -> Case:
        with self._tf.Graph().as_default() as graph:
            left, right = (
                [self._tf.Variable(value).value() for value in question.given[name]] for name in ("left", "right")
            )
            total = self._tf.add_n([self._tf.matmul(a, b) for a in left for b in right])
            initialize = self._tf.global_variables_initializer()
        return self._case(graph, total, first=[initialize])

    def _elementwise(self, question: Question) -> Case:
        with self._tf.Graph().as_default() as graph:
            x, a, b = (self._tf.Variable(question.given[name]).value() for name in ("x", "a", "b"))
            for _ in range(10):
                x = self._tf.tanh(x * a + b)
            initialize = self._tf.global_variables_initializer()
        return self._case(graph, x, first=[initialize])

    def _matmul(self, question: Question) -> Case:
        with self._tf.Graph().as_default() as graph:
            a, b = (self._tf.Variable(question.given[name]).value() for name in ("a", "b"))
            product = self._tf.matmul(a, b)
            initialize = self._tf.global_variables_initializer()
        return self._case(graph, product, first=[initialize])

    def _train(self, question: Question, build: Callable[[Any, Question], Network] = build_network) -> Case:
        with self._tf.Graph().as_default() as graph:
            network = build(self._tf, question)
            initialize = self._tf.global_variables_initializer()

        def trained(session: Any) -> Sequence[Any]:
            losses = [session.run(network.step, network.feeds)[1] for _ in range(TRAINED_STEPS)]
            return [*losses, *session.run(list(network.weights.values()))]

        return self._case(graph, network.step, network.feeds, answers=trained, first=[initialize])

    def _loop(self, question: Question) -> Case:
        with self._tf.Graph().as_default() as graph:
            x = self._tf.placeholder(self._tf.float32, [])
            factor, term = (question.given[name] for name in ("factor", "term"))
            _, result = self._tf.while_loop(
                lambda i, _: i < ITERATIONS, lambda i, value: (i + 1, value * factor + term), [self._tf.constant(0), x]
            )
        return self._case(graph, result, {x: question.given["x"]})

    def _partial(self, question: Question) -> Case:
        with self._tf.Graph().as_default() as graph:
            a, b = (self._tf.placeholder(self._tf.float32, []) for _ in range(2))
            first = a + 1.0
            second = first * b
        session = self._tf.Session(graph=graph)

        def both() -> list[Any]:
            handle = session.partial_run_setup([first, second], [a, b])
            return [
                session.partial_run(handle, first, {a: question.given["a"]}),
                session.partial_run(handle, second, {b: question.given["b"]}),
            ]

        return SyncCase(step=both, answers=both, closes=session.close)

    def _big_graph(self, question: Question) -> Case:
        sessions: list[Any] = []

        def build_and_run() -> Any:
            layers = build_layers(self._tf, question)
            sessions.append(self._tf.Session(graph=layers.graph))
            return sessions[-1].run(layers.total, {layers.x: question.given["x"]})

        def close() -> None:
            while sessions:
                sessions.pop().close()

        return SyncCase(step=build_and_run, answers=lambda: [build_and_run()], closes=close, whole=True, after=close)
