"""``tf.summary``: summaries of a step, and the event files that boards such as TensorBoard read."""

from __future__ import annotations

from typing import Any

from actorsession.compat.v1.graphs import get_default_graph
from actorsession.compat.v1.summary_writers import FileWriter, FileWriterCache
from actorsession.interop.event_protos import (
    Event,
    SessionLog,
    Summary,
    SummaryDescription,
    TaggedRunMetadata,
)
from actorsession.json_text import read_json_object
from actorsession.opsets.summaries.functions import (
    audio,
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)

__all__ = [
    "Event", "FileWriter", "FileWriterCache", "SessionLog", "Summary", "SummaryDescription",
    "TaggedRunMetadata", "all_v2_summary_ops", "audio", "get_summary_description", "histogram",
    "image", "initialize", "merge", "merge_all", "scalar", "tensor_summary", "text",
]  # fmt: skip


def get_summary_description(node_def: Any) -> SummaryDescription:
    """Return the description that a ``TensorSummary`` node carries.

    Args:
        node_def: the node as a message.

    Raises:
        ValueError: for a node of another type.
    """
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    said = node_def.attr["description"].s
    found = read_json_object(said or b"{}", "the description")
    return SummaryDescription(type_hint=found.get("typeHint", found.get("type_hint")))


def all_v2_summary_ops() -> list[Any]:
    """Return the operations of the default graph that write summaries themselves."""
    return list(get_default_graph().get_collection("_SUMMARY_V2"))


def initialize(graph: Any = None, session: Any = None) -> None:
    """Create the files of the writers that steps write to; see ``tf.contrib.summary``.

    Args:
        graph: the graph to write; none if omitted.
        session: the session; the default session if omitted.

    Raises:
        RuntimeError: if there is no such writer.
        ValueError: without a session.
    """
    from actorsession.compat.v1.contrib import summary

    summary.initialize(graph, session)
