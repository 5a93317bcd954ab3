"""Files with wrong bytes in them: read or refused, never anything else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import actorsession as acts
from actorsession import import_graph_def
from actorsession.errors import DataLossError, InvalidArgumentError, NotFoundError
from actorsession.interop import GraphDef, NodeDef, text_format
from tests.interop.kit import DATA

NAMES = ["mlp", "reductions", "slicing", "elementwise", "control_flow"]


def spoiled(data: bytes, choose: random.Random) -> bytes:
    """The bytes with a few of them changed or left out."""
    found = bytearray(data)
    for _ in range(choose.choice([1, 2, 4])):
        at = choose.randrange(len(found))
        if choose.random() < 0.7:
            found[at] = choose.randrange(256)
        else:
            del found[at : at + choose.randrange(4)]
    return bytes(found)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(choose=st.randoms())
def test_a_spoiled_graph_is_imported_or_refused_as_a_whole(name: str, choose: random.Random) -> None:
    data = spoiled((DATA / f"{name}.pb").read_bytes(), choose)
    with acts.Graph().as_default() as graph:
        try:
            import_graph_def(GraphDef.FromString(data))
        except (DataLossError, InvalidArgumentError, NotFoundError, ValueError):
            assert graph.get_operations() == []


@settings(max_examples=40, deadline=None)
@given(choose=st.randoms())
def test_a_spoiled_text_is_read_or_refused(choose: random.Random) -> None:
    text = spoiled((DATA / "training.pbtxt").read_bytes()[:1500], choose)
    try:
        read = text_format.Parse(text, GraphDef())
    except InvalidArgumentError:
        return
    assert text_format.Parse(text_format.MessageToString(read), GraphDef()) == read


@given(st.text("{}<>[]:;,'\"\\\\#-.0x1ef nameopinput\n", max_size=60))
def test_any_text_is_a_node_or_refused(text: str) -> None:
    try:
        read = text_format.Parse(text, NodeDef())
    except InvalidArgumentError:
        return
    assert text_format.Parse(repr(read), NodeDef()) == read
