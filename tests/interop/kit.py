"""What the tests of this room share: graphs in text, and files that TensorFlow made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import actorsession as acts
from actorsession import import_graph_def
from actorsession.interop import GraphDef, text_format

DATA = Path(__file__).parent / "data"

FLOAT = "attr { key: 'T' value { type: DT_FLOAT } }"
PLACEHOLDER = "node { name: 'a' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"
PAIR = f"{PLACEHOLDER} node {{ name: 'b' op: 'Identity' input: 'a' {FLOAT} }}"


def graph_def(text: str) -> GraphDef:
    return text_format.Parse(text, GraphDef())


def identity(name: str, *inputs: str) -> str:
    listed = " ".join(f"input: '{i}'" for i in inputs)
    return f"node {{ name: '{name}' op: 'Identity' {listed} {FLOAT} }}"


def run_imported(message: GraphDef, fetches: list[str], feeds: dict[str, Any] | None = None) -> list[Any]:
    """Imports a graph into a new one and runs it there."""
    with acts.Graph().as_default() as graph:
        import_graph_def(message, name="")
        with acts.Session(graph=graph) as session:
            found: list[Any] = session.run(fetches, feeds)
            return found


def stored(name: str) -> tuple[GraphDef, dict[str, Any], dict[str, Any]]:
    """A frozen graph, what to feed it, and what TensorFlow fetched."""
    message = GraphDef.FromString((DATA / f"{name}.pb").read_bytes())
    with np.load(DATA / f"{name}.npz") as found:
        values = {key: found[key] for key in found.files}
    feeds = {f"{key[5:]}:0": value for key, value in values.items() if key.startswith("feed_")}
    return message, feeds, {f"{key[6:]}:0": value for key, value in values.items() if key.startswith("fetch_")}
