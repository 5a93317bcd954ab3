"""The functions of ``tf.summary`` that make no summary operation."""

from __future__ import annotations

from typing import Any

from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.interop.event_protos import SummaryDescription
from actorsession.json_text import read_json_object

__all__ = ["all_v2_summary_ops", "get_summary_description", "initialize"]


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
    description = read_json_object(said or b"{}", "the description")
    return SummaryDescription(type_hint=description.get("typeHint", description.get("type_hint")))


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
