"""The hello: what a valid one holds, and what is made of a peer's."""

from __future__ import annotations

from dataclasses import replace

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transports.peers import PS
from transports import SUPPORTED, Hello, ProtocolError
from transports.hello import MAX_NAME, negotiate_version

names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=MAX_NAME)


@given(
    st.builds(
        Hello,
        cluster_id=names | st.just(""),
        task=names,
        incarnation=st.integers(0, 2**64 - 1),
        pid=st.integers(0, 2**32 - 1),
        pulse=names | st.just(""),
        wire_versions=st.lists(st.integers(1, 255), min_size=1, max_size=255).map(tuple),
    )
)
def test_a_hello_survives_the_wire(hello: Hello) -> None:
    received = msgpack.unpackb(msgpack.packb(hello.to_wire()))
    assert Hello.from_wire(received) == hello


WRONG_FIELDS = [
    ("cluster_id", None),
    ("cluster_id", "x" * (MAX_NAME + 1)),
    ("task", ""),
    ("task", b"bytes"),
    ("task", "two\nlines"),
    ("task", "\x1b[2J"),
    ("incarnation", -1),
    ("incarnation", 2**64),
    ("incarnation", True),
    ("pid", 1.5),
    ("pulse", None),
    ("pulse", "x" * (MAX_NAME + 1)),
    ("wire_versions", ()),
    ("wire_versions", "1"),
    ("wire_versions", (0,)),
    ("wire_versions", (256,)),
    ("wire_versions", (1, "2")),
    ("wire_versions", (1,) * 256),
]


@pytest.mark.parametrize(("field", "value"), WRONG_FIELDS)
def test_a_wrong_field_is_our_error_here_and_the_peers_when_it_came(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"must be|empty|at most"):
        replace(PS, **{field: value})  # type: ignore[arg-type]
    with pytest.raises(ProtocolError, match=r"the peer's hello is malformed"):
        Hello.from_wire(PS.to_wire() | {field: value})


@pytest.mark.parametrize("field", list(PS.to_wire()))
def test_a_missing_field_is_named(field: str) -> None:
    message = {name: value for name, value in PS.to_wire().items() if name != field}
    with pytest.raises(ProtocolError, match=f"lacks {field}"):
        Hello.from_wire(message)


def test_fields_of_a_newer_peer_are_ignored() -> None:
    assert Hello.from_wire(PS.to_wire() | {"colour": "green"}) == PS


@pytest.mark.parametrize(
    ("ours", "theirs", "agreed"), [((1,), (1,), 1), ((1, 2, 3), (2, 1), 2), ((3, 1), (1, 3, 2), 3), ((1,), (2,), None)]
)
def test_the_highest_common_version_is_taken(
    ours: tuple[int, ...], theirs: tuple[int, ...], agreed: int | None
) -> None:
    assert negotiate_version(ours, theirs) == agreed
    assert negotiate_version(theirs, ours) == agreed


def test_a_hello_speaks_what_this_package_speaks() -> None:
    assert PS.wire_versions == SUPPORTED
