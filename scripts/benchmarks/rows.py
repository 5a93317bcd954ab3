"""The table of rows, with their budgets.

A budget is a share of the peer's time in the same run, or absolute for rows without a counterpart of the
peer. Rows of features that do not exist yet are included, so that the table shows what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["GROUPS", "ROWS", "Budget", "Row", "find"]

GROUPS = ("local", "graph", "remote", "collective", "start", "install")


@dataclass(frozen=True)
class Budget:
    """The limit of a row's figure.

    Attributes:
        at_most: the limit.
        unit: ``peer`` for a multiple of the peer's median, else ``s`` or ``MB``.
    """

    at_most: float
    unit: str = "peer"


@dataclass(frozen=True)
class Row:
    """One benchmark.

    Attributes:
        name: its name in options and reports.
        group: one of ``GROUPS``.
        title: a description of one step.
        budget: the limit of its figure.
        whole: whether a step starts from nothing and is long. Then a round is one step without warm-up, and
            garbage collection stays on, as in a program that does it once.
    """

    name: str
    group: str
    title: str
    budget: Budget
    whole: bool = False


ROWS = (
    Row("feed-add", "local", "feed two scalars, add, fetch", Budget(0.15)),
    Row("callable-add", "local", "the same through make_callable", Budget(0.10)),
    Row("constant", "local", "fetch a constant", Budget(0.3)),
    Row("assign-add", "local", "add 1 to a variable, fetch its new value", Budget(0.3)),
    Row("chain-scalar", "local", "chain of 1,000 scalar ops", Budget(0.3)),
    Row("chain-8x8", "local", "chain of 1,000 elementwise ops on 8x8 arrays", Budget(1.0)),
    Row("products", "local", "200 independent 64x64 products, summed", Budget(1.0)),
    Row("elementwise", "local", "30 elementwise ops on 4M floats", Budget(0.6)),
    Row("matmul-2048", "local", "matrix product 2048x2048", Budget(1.05)),
    Row("mlp-sgd", "local", "MLP 784-256-10, batch 128, SGD step", Budget(0.8)),
    Row("mlp-adam", "local", "MLP 784-256-10, batch 128, Adam step", Budget(0.9)),
    Row("cnn-sgd", "local", "two 5x5 convolutions, batch 32, SGD step", Budget(2.0)),
    Row("mnist-cnn", "local", "5x5x32, 5x5x64, 1,024 hidden, batch 50, Adam step", Budget(2.0)),
    Row("lstm-128", "local", "LSTM of 128 units over 28 steps, batch 64, SGD step", Budget(1.0)),
    Row("while-loop", "local", "while_loop of 1,000 iterations", Budget(0.2)),
    Row("raw-loop", "local", "the same of Switch, Merge, Enter and Exit", Budget(0.2)),
    Row("partial-run", "local", "partial run in two stages", Budget(0.2)),
    Row("graph-20000", "graph", "build a graph of 20,000 nodes, first run", Budget(0.15),
        whole=True),
    Row("remote-step", "remote", "feed two scalars, add, fetch, on one worker", Budget(0.3)),
    Row("two-workers", "remote", "a step over two workers", Budget(0.12)),
    Row("hops", "remote", "20 hops between two workers", Budget(0.15)),
    Row("push-64mb-host", "remote", "64 MB worker to worker, shared memory", Budget(0.05)),
    Row("push-64mb", "remote", "64 MB worker to worker over tcp", Budget(0.8)),
    Row("fetch-64mb", "remote", "64 MB fetched by a client", Budget(0.1)),
    Row("ps-sgd", "remote", "1 ps + 1 worker: 784-256-10, batch 64, SGD step", Budget(0.35)),
    Row("reduce-4kb-2", "collective", "all-reduce of 4 KB, 2 tasks", Budget(0.15)),
    Row("reduce-1mb-2", "collective", "all-reduce of 1 MB, 2 tasks", Budget(0.3)),
    Row("reduce-64mb-2", "collective", "all-reduce of 64 MB, 2 tasks", Budget(0.25)),
    Row("reduce-4kb-4", "collective", "all-reduce of 4 KB, 4 tasks", Budget(0.15)),
    Row("reduce-1mb-4", "collective", "all-reduce of 1 MB, 4 tasks", Budget(0.3)),
    Row("reduce-64mb-4", "collective", "all-reduce of 64 MB, 4 tasks", Budget(0.25)),
    Row("cluster-start", "start", "1 ps + 2 workers: from nothing to the first step",
        Budget(1.5, "s"), whole=True),
    Row("installed-size", "install", "files of the library and all that it requires",
        Budget(100, "MB")),
)  # fmt: skip


def find(groups: Sequence[str], names: Sequence[str]) -> list[Row]:
    """Return the rows of some groups, or the named rows.

    Raises:
        KeyError: for an unknown name.
    """
    by_name = {row.name: row for row in ROWS}
    if names:
        return [by_name[name] for name in names]
    return [row for row in ROWS if row.group in groups]
