"""The pictures of the pages, each made by the library from a session that does what the page tells.

``python -m scripts.pictures`` renews those in ``docs/pictures``, which are there for readers of the repository;
the documentation site has new ones at each build. Names are those of the files.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import actorsession as acts
from actorsession.cli.tour import tour_graph
from actorsession.config import TransferStats
from actorsession.drawing import Picture
from actorsession.drawing.chart import Lane, Link, Span, lanes
from actorsession.plan.explain.picture import picture

NAMES = (
    *("notebook-graph", "notebook-fit", "tour-local-plan", "tour-local-time"),
    *("tour-workers-plan", "tour-workers-time", "tour-partial-plan", "tour-partial-time"),
)
_FEED = [[1.0, 2.0, 3.0, 4.0]]
_TRACED = acts.RunOptions(trace_level=acts.RunOptions.FULL_TRACE)


def pictures() -> dict[str, str]:
    """Return the text of each picture by its name; takes seconds, and starts two processes."""
    drawn = dict(_of_a_notebook())
    with acts.LocalCluster({"worker": 2}) as cluster:
        target = cluster.target("worker")
        drawn |= dict([*_of_a_step("local", ""), *_of_a_step("workers", target), *_of_calls(target)])
    return {name: drawn[name] for name in NAMES}


def _opened(target: str) -> acts.Session:
    tasks = ("/job:worker/task:0", "/job:worker/task:1") if target else ()
    session = acts.Session(target, graph=tour_graph(*tasks))
    session.run("init")
    return session


def _of_a_step(name: str, target: str) -> Iterator[tuple[str, str]]:
    feeds = {"x:0": _FEED, "factor:0": 2.0}
    report = acts.RunMetadata()
    with _opened(target) as session:
        explanation = session.explain("answer:0", feeds)
        for _ in range(3):  # the first run plans, and the second measures
            session.run("answer:0", feeds, options=_TRACED, run_metadata=report)
    assert report.step_stats is not None
    yield f"tour-{name}-plan", explanation.to_svg()
    yield f"tour-{name}-time", report.step_stats.to_svg()


def _of_calls(target: str) -> Iterator[tuple[str, str]]:
    """Yield the plan of a partial run, by the call that lets a node run, and its time."""
    with _opened(target) as session:
        first = session.explain("hidden:0", ["x:0"])
        both = session.explain(["hidden:0", "answer:0"], ["x:0", "factor:0"])
        fetches, feeds = ["hidden:0", "answer:0"], ["x:0", "factor:0"]
        for _ in range(2):  # the first one plans
            times = [time.time()]
            handle = session.partial_run_setup(fetches, feeds)
            times.append(time.time())
            session.partial_run(handle, "hidden:0", {"x:0": _FEED})
            times.append(time.time())
            session.partial_run(handle, "answer:0", {"factor:0": 2.0})
            times.append(time.time())
        records = [one for one in session.last_steps() if one.kind == "partial"]
    record = max(records, key=lambda one: one.began)
    names = ("setup", "first call", "second call")
    calls = tuple(Span(*ends, name, name) for ends, name in zip(pairwise(times), names, strict=True))
    early = {node.name for node in first.nodes} | {"x:0"}
    plan = picture(both)
    boxes = [replace(box, kind="first call" if box.label in early else "second call") for box in plan.boxes]
    caption = "A partial run: the call after which each node can run"
    yield "tour-partial-plan", Picture(tuple(boxes), plan.arrows, caption).svg()
    parts = [Lane(one.device, (Span(one.began, one.ended, "part"),)) for one in record.parts]
    ends: dict[str, dict[str, TransferStats]] = {}
    for end in record.transfers:
        ends.setdefault(end.key, {})[end.kind] = end
    links = [
        Link(pair["send"].device, pair["send"].time, pair["recv"].device, pair["recv"].time, key)
        for key, pair in ends.items()
        if len(pair) == 2
    ]
    yield "tour-partial-time", lanes([Lane("client", calls), *parts], links, "A partial run in time")


def _of_a_notebook() -> Iterator[tuple[str, str]]:
    graph = acts.Graph()
    with graph.as_default():
        x = acts.placeholder("float32", [None, 8], name="x")
        labels = acts.placeholder("int32", [None], name="labels")
        value = acts.layers.Dense(16, activation=acts.nn.relu)(x)
        logits = acts.layers.Dense(4)(value)
        losses = acts.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = acts.reduce_mean(losses, name="loss")
        yield "notebook-graph", graph.to_svg()
        train = acts.train.GradientDescentOptimizer(0.5).minimize(loss)
        start = acts.global_variables_initializer()
    with acts.Session(graph=graph) as session:
        session.run(start)
        feeds = {x: [[float(n == m % 8) for n in range(8)] for m in range(16)], labels: [n % 4 for n in range(16)]}
        result = acts.train.fit(session, train, [feeds] * 100, loss=loss, every=5, progress=lambda report: None).run()
    yield "notebook-fit", result.to_svg()


def write_pictures(folder: Path) -> None:
    """Write all pictures into a folder, which is made if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pictures().items():
        (folder / f"{name}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pictures(Path(__file__).resolve().parent.parent / "docs" / "pictures")
