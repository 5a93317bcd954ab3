"""``tf.contrib.testing``: what tests of training programs look at: summaries that were written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from actorsession.compat.v1 import train
from actorsession.compat.v1.summary import writers as _writers
from actorsession.interop.event_protos import Summary

__all__ = [
    "FakeSummaryWriter",
    "assert_summary",
    "latest_event_file",
    "latest_events",
    "latest_summaries",
    "simple_values_from_events",
    "to_summary_proto",
]


def assert_summary(expected_tags: Iterable[str], expected_simple_values: dict[str, float], summary_proto: Any) -> None:
    """Check which values a summary has.

    Args:
        expected_tags: the tags of all of them.
        expected_simple_values: the numbers of some, to two decimals.
        summary_proto: the summary.

    Raises:
        ValueError: if there are others.
        AssertionError: if a number is another.
    """
    values = {value.tag: value.simple_value for value in summary_proto.value}
    for tag in set(values) & set(expected_simple_values):
        np.testing.assert_almost_equal(values[tag], expected_simple_values[tag], 2, tag)
    if set(expected_tags) != set(values):
        raise ValueError(f"Expected tags {sorted(expected_tags)}, got {sorted(values)}.")


def to_summary_proto(summary_str: bytes) -> Any:
    """Return a summary from its bytes."""
    return Summary.FromString(summary_str)


def latest_event_file(base_dir: str) -> str | None:
    """Return the path of the last file of events in a folder; ``None`` if there is none."""
    names = sorted(name for name in os.listdir(base_dir) if name.startswith("events."))
    return os.path.join(base_dir, names[-1]) if names else None


def latest_events(base_dir: str) -> list[Any]:
    """Return the events of the last file in a folder."""
    path = latest_event_file(base_dir)
    return [] if path is None else list(train.summary_iterator(path))


def latest_summaries(base_dir: str) -> list[Any]:
    """Return those events of the last file in a folder that are summaries."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Iterable[Any], tags: Iterable[str]) -> dict[str, float]:
    """Return the numbers under some tags in events.

    Raises:
        ValueError: if what is under a tag is no number.
    """
    selected, numbers = set(tags), {}
    for event in events:
        for value in event.summary.value if event.HasField("summary") else ():
            if value.tag in selected:
                if not value.HasField("simple_value"):
                    raise ValueError(f"{value.tag} is no number")
                numbers[value.tag] = value.simple_value
    return numbers


class FakeSummaryWriter:
    """Keeps what a ``FileWriter`` would write.

    Args:
        logdir: the folder.
        graph: the graph.
    """

    _replaced_summary_writer: ClassVar[Any] = None

    @classmethod
    def install(cls) -> None:
        """Make ``FileWriterCache`` give such writers.

        Raises:
            ValueError: if it does already.
        """
        if cls._replaced_summary_writer is not None:
            raise ValueError("FakeSummaryWriter already installed.")
        cls._replaced_summary_writer = _writers.FileWriter
        _writers.FileWriter = cls  # type: ignore[assignment, misc]

    @classmethod
    def uninstall(cls) -> None:
        """Undo ``install``.

        Raises:
            ValueError: if it was not called.
        """
        if cls._replaced_summary_writer is None:
            raise ValueError("FakeSummaryWriter not installed.")
        _writers.FileWriter = cls._replaced_summary_writer  # type: ignore[misc]
        cls._replaced_summary_writer = None

    def __init__(self, logdir: str, graph: Any = None, **kwargs: Any) -> None:
        self._logdir, self._graph = logdir, graph
        self._summaries: dict[Any, list[Any]] = {}
        self._added_graphs: list[Any] = []
        self._added_meta_graphs: list[Any] = []
        self._added_session_logs: list[Any] = []
        self._added_run_metadata: dict[str, Any] = {}

    @property
    def _waiting_graph(self) -> Any:
        return self._graph

    @_waiting_graph.setter
    def _waiting_graph(self, graph: Any) -> None:  # ``FileWriterCache`` gives the graph so
        self._graph = graph

    @property
    def summaries(self) -> dict[Any, list[Any]]:
        """The summaries by step."""
        return self._summaries

    def get_logdir(self) -> str:
        """Return the folder."""
        return self._logdir

    def assert_summaries(
        self,
        test_case: Any,
        expected_logdir: str | None = None,
        expected_graph: Any = None,
        expected_summaries: dict[Any, dict[str, float]] | None = None,
        expected_added_graphs: Any = None,
        expected_added_meta_graphs: Any = None,
        expected_session_logs: Any = None,
    ) -> None:
        """Check what was written.

        Args:
            test_case: the test.
            expected_logdir: the folder.
            expected_graph: the graph.
            expected_summaries: by step, the numbers by tag, without ``global_step/sec``.
            expected_added_graphs: the graphs.
            expected_added_meta_graphs: the graphs as messages.
            expected_session_logs: the logs of sessions.
        """
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)  # noqa: PT009
        if expected_graph is not None:
            test_case.assertIs(expected_graph, self._graph)  # noqa: PT009
        for step, expected in (expected_summaries or {}).items():
            test_case.assertIn(step, self._summaries)  # noqa: PT009
            values = [value for each in self._summaries[step] for value in each.value]
            numbers = {v.tag: v.simple_value for v in values if v.tag != "global_step/sec"}
            test_case.assertEqual(expected, numbers)  # noqa: PT009
        for added, actual in (
            (expected_added_graphs, self._added_graphs),
            (expected_added_meta_graphs, self._added_meta_graphs),
            (expected_session_logs, self._added_session_logs),
        ):
            if added is not None:
                test_case.assertEqual(list(added), actual)  # noqa: PT009

    def add_summary(self, summ: Any, current_global_step: Any = None) -> None:
        """Keep a summary."""
        summary = to_summary_proto(summ) if isinstance(summ, bytes) else summ
        self._summaries.setdefault(current_global_step, []).append(summary)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Keep a graph."""
        self._added_graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Keep a graph as a message."""
        self._added_meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Keep a log of a session."""
        self._added_session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Keep the report of a run."""
        self._added_run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def reopen(self) -> None:
        """Do nothing."""
