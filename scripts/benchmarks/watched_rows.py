"""The rows on what it costs that steps can be looked at afterwards: a training loop with that, beside one without.

Both loops run in the same process and take turns step by step, so that whatever else the machine does falls on both.
The figure is the median of the differences of two steps that follow each other, in percent of the median step.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .case import Case, Effort, FigureCase, clock, collector_off, how_many
from .network import Network, build_network
from .questions import TRAINED_STEPS, Question

if TYPE_CHECKING:
    from .side_actorsession import Library

__all__ = ["Loops", "WatchedRows"]


@dataclass(frozen=True)
class Loops:
    """A training loop whose steps can be looked at afterwards, and the same without.

    Attributes:
        watched: makes a step of the first.
        plain: makes a step of the second.
        run: runs anything in the session of the second.
        closes: releases both.
    """

    watched: Callable[[], Any]
    plain: Callable[[], Any]
    run: Callable[[Any, Any], Any]
    closes: Callable[[], object]


class WatchedRows:
    """The rows on the cost of what is remembered of steps.

    Args:
        library: the side.
    """

    def __init__(self, library: Library) -> None:
        self._library, self._tf = library, library.tf
        self.builders: dict[str, Callable[[Question], Case]] = {
            "mlp-sgd-watched": self._local,
            "ps-sgd-watched": self._ps_sgd,
        }

    def _local(self, question: Question) -> Case:
        return self._case(question, None, [])

    def _ps_sgd(self, question: Question) -> Case:
        clusters = [self._library.running(1), self._library.running(1, kept_steps=0)]
        spec, worker = clusters[0].spec, "/job:worker/task:0"
        placed = self._tf.train.replica_device_setter(cluster=spec, worker_device=worker)
        return self._case(question, placed, [cluster.target() for cluster in clusters])

    def _case(self, question: Question, placed: Any, targets: Sequence[str]) -> Case:
        """Return the case of a training loop, in this process unless there are targets."""
        tf = self._tf
        with tf.Graph().as_default() as graph, graph.device(placed):
            network = build_network(tf, question)
            initialize = tf.global_variables_initializer()
        loops: Loops = self._library.watched_loops(graph, targets, initialize, network.step, network.feeds)
        return FigureCase(lambda effort: _overhead(loops, effort), lambda: _trained(loops, network), loops.closes)


def _trained(loops: Loops, network: Network) -> Sequence[Any]:
    losses = [loops.plain()[1] for _ in range(TRAINED_STEPS)]
    return [*losses, *loops.run(list(network.weights.values()), None)]


def _overhead(loops: Loops, effort: Effort) -> float:
    """Return by how many percent a step is longer whose loop is watched; 0 if it is not."""
    warm = [_seconds(step) for _ in range(effort.least) for step in (loops.plain, loops.watched)]
    plain, watched = list[float](), list[float]()
    with collector_off():
        for number in range(how_many(warm, effort)):
            # Each goes first as often as the other: a step may still be felt by the next one.
            if number % 2:
                watched.append(_seconds(loops.watched))
            plain.append(_seconds(loops.plain))
            if not number % 2:
                watched.append(_seconds(loops.watched))
    longer = statistics.median([one - other for one, other in zip(watched, plain, strict=True)])
    return max(0.0, 100.0 * longer / statistics.median(plain))


def _seconds(step: Callable[[], Any]) -> float:
    began = clock()
    step()
    return clock() - began
