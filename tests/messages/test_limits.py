"""What one message may make its receiver hold: lists and maps, nesting, and how errors speak of it."""

from __future__ import annotations

import tracemalloc

import msgpack
import pytest

from actorsession import GraphDef, NodeDef
from actorsession.errors import ProtocolError
from actorsession.extend import Partition
from actorsession.graph import codec
from actorsession.messages import decode
from tests.rows import for_each


@pytest.mark.parametrize("byte", [b"\x90", b"\x80"], ids=["lists", "maps"])
def test_a_message_of_empty_containers_is_refused_before_they_fill_the_memory(byte: bytes) -> None:
    """One byte each on the wire and some sixty in memory: 16 MiB would become a GiB.

    A sixteenth of that here, with a sixteenth of the limit; tracing takes its time.
    """
    count = 2**20
    data = b"\xdd" + count.to_bytes(4, "big") + byte * count
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match=r"at most \d+ lists and maps"):
            codec.unpack(data, max_containers=2**18)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2**20 * 8 + 2**18 * 80


def test_a_large_graph_has_far_fewer_lists_and_maps_than_are_allowed() -> None:
    nodes = tuple(
        NodeDef(
            name=f"layer_{i // 10}/operation_with_a_usual_name_{i}",
            op="AddV2",
            inputs=((f"layer_{i // 10}/x", 0), ("y", 1)),
            control_inputs=("z",),
            attrs={"T": 1, "shape": [1, 2]},
            source=f"program.py:{i}",
        )
        for i in range(20_000)
    )
    graph = GraphDef(nodes)
    data = graph.to_bytes()
    assert len(data) > codec._COUNT_ABOVE  # or they would not be counted
    assert GraphDef.from_bytes(data) == graph


@for_each("depth", [1025, 5000, 100_000])
@for_each("opening", [b"\x91", b"\x81\xa1k"], ids=["lists", "maps"])
def test_nesting_has_a_limit(opening: bytes, depth: int) -> None:
    with pytest.raises(ProtocolError, match=r"nest|too deeply|Unpack|StackError"):
        decode(opening * depth + b"\xc0")


def test_what_nests_as_deep_as_allowed_is_told_of_in_a_few_words() -> None:
    value: object = []
    for _ in range(900):
        value = [value]
    for read in (GraphDef.from_wire, NodeDef.from_wire, Partition.from_wire):
        with pytest.raises(ProtocolError) as caught:
            read(value)
        assert len(caught.value.message) < 500


def test_what_is_long_is_told_of_in_a_few_words() -> None:
    for value in (["x" * 10**6] * 50, {"k" * 10**6: 1}, b"b" * 10**6):
        with pytest.raises(ProtocolError) as caught:
            decode(msgpack.packb(value))
        assert len(caught.value.message) < 500
