"""The table of rows, with their budgets.

A budget is a share of a peer's time in the same run, or absolute for rows without a counterpart of the
peer. A budget is kept where it is missed, so that the table shows what is left to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .questions import ON_TORCH

__all__ = ["GROUPS", "OPT_IN", "ROWS", "SLOPES", "Budget", "Row", "Slope", "find"]

GROUPS = ("local", "graph", "remote", "collective", "files", "start", "torch", "growth", "install")
# Groups that are only measured when they are named: they take long, need an extra, or are no times.
OPT_IN = ("torch", "growth", "install")


@dataclass(frozen=True)
class Budget:
    """The limit of a row's figure.

    Attributes:
        at_most: the limit.
        unit: the name of a peer for a multiple of its median; else ``s``, ``MB`` or ``%``, the unit of an
            absolute limit.
    """

    at_most: float
    unit: str = "tensorflow"


@dataclass(frozen=True)
class Row:
    """One benchmark.

    Attributes:
        name: its name in options and reports.
        group: one of ``GROUPS``.
        title: a description of one step.
        budget: the limit of its figure, beside TensorFlow or absolute; ``None`` if there is none.
        whole: whether a step starts from nothing and is long. Then a round is one step without warm-up, and
            garbage collection stays on, as in a program that does it once.
        others: limits beside other peers.
        unit: of its figure: ``s``, ``B`` for bytes, or ``%`` of a core.
        fresh: whether each round has new processes, because the row measures what its own process does or
            leaves something behind there.
        one_core: whether all processes of a side are bound to one core. A wake across cores takes some 30 us
            on virtual machines, which otherwise decides the figure.
        alone: whether no peer is measured, because the graph alone takes TensorFlow more than ten minutes.
        question: the row whose question and step it has; its own name if left out.
    """

    name: str
    group: str
    title: str
    budget: Budget | None = None
    whole: bool = False
    others: tuple[Budget, ...] = ()
    unit: str = "s"
    fresh: bool = False
    one_core: bool = False
    alone: bool = False
    question: str = ""

    def __post_init__(self) -> None:
        if not self.question:
            object.__setattr__(self, "question", self.name)

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """All limits."""
        return self.others if self.budget is None else (self.budget, *self.others)


@dataclass(frozen=True)
class Slope:
    """How a cost grows from one row to a larger one of the same kind.

    Attributes:
        name: its name in reports.
        title: what grows.
        small: the name of the smaller row.
        large: the name of the larger row.
        times: how many times as large it is. A slope of 1 is then a cost in proportion to the size, or with 1
            one that does not depend on it.
        at_most: the limit; ``None`` if there is none.
    """

    name: str
    title: str
    small: str
    large: str
    times: float
    at_most: float | None = None


def _with_one_core(*rows: Row) -> list[Row]:
    """Return rows that are each followed by the same on one core."""
    return [
        each
        for row in rows
        for each in (row, replace(row, name=f"{row.name}-one-core", title=f"{row.title}; on one core", one_core=True))
    ]


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
    Row("bert", "local", "BERT's encoder: 2 layers of 128 units, 8 texts of 64 words, SGD step", Budget(1.5)),
    Row("while-loop", "local", "while_loop of 1,000 iterations", Budget(0.2)),
    Row("raw-loop", "local", "the same of Switch, Merge, Enter and Exit", Budget(0.2)),
    Row("partial-run", "local", "partial run in two stages", Budget(0.2)),
    Row("graph-20000", "graph", "build a graph of 20,000 nodes, first run", Budget(0.15), whole=True),
    *[
        Row(f"torch-{name}", "torch", f"{name} with torch's kernels", Budget(1.1), others=(Budget(1.15, "torch"),))
        for name in ON_TORCH
    ],
    *_with_one_core(
        Row(
            "remote-step",
            "remote",
            "feed two scalars, add, fetch, on one worker",
            Budget(0.15),
            others=(Budget(0.7, "pyzmq"),),
        ),
        Row(
            "two-workers",
            "remote",
            "a step over two workers",
            Budget(0.12),
            others=(Budget(1.0, "ray"), Budget(0.8, "pyzmq")),
        ),
        Row(
            "hops",
            "remote",
            "20 hops between two workers",
            Budget(0.15),
            others=(Budget(0.6, "ray"), Budget(0.6, "pyzmq")),
        ),
        Row("threads-8", "remote", "a step over two workers, by 8 threads of a session", Budget(0.12)),
        Row("in-flight-8", "remote", "a step over two workers, 8 at a time", None, others=(Budget(1.0, "pyzmq"),)),
        Row("push-64mb-host", "remote", "64 MB of a variable worker to worker, shared memory", Budget(0.01)),
        Row("push-64mb-result", "remote", "64 MB computed by a worker to the other, shared memory", Budget(0.05)),
        Row("push-64mb", "remote", "64 MB worker to worker over tcp", Budget(0.8)),
        Row("feed-1mb", "remote", "1 MB fed by a client"),
        Row("fetch-1mb", "remote", "1 MB fetched by a client"),
        Row("feed-64mb", "remote", "64 MB fed by a client"),
        Row("fetch-64mb", "remote", "64 MB fetched by a client", Budget(0.06)),
        Row("ps-sgd", "remote", "1 ps + 1 worker: 784-256-10, batch 64, SGD step", Budget(0.35)),
        Row("ps-sgd-2", "remote", "1 ps + 2 workers at once, per step", Budget(0.35)),
        Row("ps-sgd-4", "remote", "1 ps + 4 workers at once, per step", Budget(0.35)),
    ),
    Row("mlp-sgd-watched", "local", "what mlp-sgd takes more if steps are remembered", Budget(3.0, "%"), unit="%"),
    Row("ps-sgd-watched", "remote", "what ps-sgd takes more if steps are remembered", Budget(3.0, "%"), unit="%"),
    Row("idle", "remote", "two workers and a client that do nothing", Budget(1.0, "%"), unit="%", fresh=True),
    Row("reduce-4kb-2", "collective", "all-reduce of 4 KB, 2 tasks", Budget(0.15)),
    Row("reduce-1mb-2", "collective", "all-reduce of 1 MB, 2 tasks", Budget(0.3)),
    Row("reduce-64mb-2", "collective", "all-reduce of 64 MB, 2 tasks", Budget(0.25)),
    Row("reduce-4kb-4", "collective", "all-reduce of 4 KB, 4 tasks", Budget(0.15)),
    Row("reduce-1mb-4", "collective", "all-reduce of 1 MB, 4 tasks", Budget(0.3)),
    Row("reduce-64mb-4", "collective", "all-reduce of 64 MB, 4 tasks", Budget(0.25)),
    Row("sparse-matmul", "files", "sparse 20,000x5,000 by dense 5,000x64, with gradients", Budget(2.0)),
    Row("depthwise", "files", "depthwise convolution 3x3 of 32 images 56x56x64, with gradients", Budget(2.0)),
    Row("records-read", "files", "a TFRecord file of 10,000 records, in batches", Budget(2.0)),
    Row("examples-batch", "files", "5,000 examples, parsed in batches of 500", Budget(2.0)),
    Row("examples-single", "files", "5,000 examples, parsed one by one, batches of 500", Budget(2.0)),
    Row("histogram-events", "files", "10 histograms of 50,000 numbers to an events file", Budget(2.0)),
    Row("meta-graph-20000", "files", "load a meta graph of 20,000 nodes", Budget(2.0), whole=True),
    Row("checkpoint-read", "files", "read 1,000 small variables of a checkpoint", Budget(2.0)),
    Row("checkpoint-read-v1", "files", "the same of a checkpoint of the first format", Budget(2.0)),
    Row("checkpoint-restore", "files", "restore 1,000 small variables by a saver", Budget(2.0)),
    Row("cluster-start", "start", "1 ps + 2 workers: from nothing to the first step", Budget(1.5, "s"), whole=True),
    Row("build-2000", "growth", "build a graph of 2,000 nodes", whole=True),
    Row("build-20000", "growth", "build a graph of 20,000 nodes", whole=True),
    Row("build-200000", "growth", "build a graph of 200,000 nodes", whole=True, alone=True),
    Row("first-run-2000", "growth", "first run of a graph of 2,000 nodes", whole=True),
    Row("first-run-20000", "growth", "first run of a graph of 20,000 nodes", whole=True),
    Row("first-run-200000", "growth", "first run of a graph of 200,000 nodes", whole=True, alone=True),
    Row("step-2000", "growth", "a step of 2,000 nodes"),
    Row("step-20000", "growth", "a step of 20,000 nodes"),
    Row("step-200000", "growth", "a step of 200,000 nodes", alone=True),
    Row("new-plan-2000", "growth", "a first run of three nodes, in a graph of 2,000"),
    Row("new-plan-20000", "growth", "a first run of three nodes, in a graph of 20,000"),
    Row("new-plan-200000", "growth", "a first run of three nodes, in a graph of 200,000", alone=True),
    Row("in-process-10", "growth", "a step over 10 workers in one process", fresh=True),
    Row("in-process-50", "growth", "a step over 50 workers in one process", fresh=True),
    Row("memory-session", "growth", "memory of an open session, of 1,000", unit="B", fresh=True),
    Row("memory-plan", "growth", "memory of a plan, of 1,000 of a session", unit="B", fresh=True),
    Row("memory-server", "growth", "memory of a session at a server, of 1,000", unit="B", fresh=True),
    Row("installed-size", "install", "files of the library and all that it requires", Budget(100, "MB"), unit="B"),
)

SLOPES = (
    *[
        Slope(
            f"{name}-{size}",
            f"{title} {size:,} to of 2,000",
            f"{name}-2000",
            f"{name}-{size}",
            size // 2000 if limit else 1,
            limit,
        )
        for name, title, limit in (
            ("build", "a node that is built, of", 1.2),
            ("first-run", "a node of a first run, of", 1.2),
            ("step", "a node of a step, of", 1.2),
            ("new-plan", "a new plan in a graph of", None),
        )
        for size in (20_000, 200_000)
    ],
    Slope("in-process", "a worker of a step, of 50 to of 10", "in-process-10", "in-process-50", 5),
)


def find(groups: Sequence[str], names: Sequence[str]) -> list[Row]:
    """Return the rows of some groups, or the named rows.

    Raises:
        KeyError: for an unknown name.
    """
    by_name = {row.name: row for row in ROWS}
    if names:
        return [by_name[name] for name in names]
    return [row for row in ROWS if row.group in groups]
