"""Addresses: what parses, what does not, and what the error says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transports import Address, parse_address


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("tcp://127.0.0.1:7000", Address(scheme="tcp", host="127.0.0.1", port=7000)),
        ("tcp://localhost:0", Address(scheme="tcp", host="localhost", port=0)),
        ("tcp://[::1]:65535", Address(scheme="tcp", host="::1", port=65535)),
        ("tcp://ps-0.cluster:80", Address(scheme="tcp", host="ps-0.cluster", port=80)),
        ("unix:///run/ps 0.sock", Address(scheme="unix", path="/run/ps 0.sock")),
        ("inproc://ps:0", Address(scheme="inproc", name="ps:0")),
        ("inproc:///job:ps/task:0", Address(scheme="inproc", name="/job:ps/task:0")),
        ("lane://h:1", Address(scheme="lane", host="h", port=1)),
        ("lane:///dev/shm/x", Address(scheme="lane", path="/dev/shm/x")),
        ("lane://anything", Address(scheme="lane", name="anything")),
    ],
)
def test_an_address_parses_to_its_parts_and_back(text: str, parts: Address) -> None:
    assert parse_address(text) == parts
    assert str(parts) == text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no scheme"),
        ("127.0.0.1:7000", "did you mean tcp://127.0.0.1:7000"),
        ("tcp:127.0.0.1:7000", "no scheme"),
        ("://x:1", "not an address scheme"),
        ("TCP://x:1", "not an address scheme"),
        ("tcp://", "ends after its scheme"),
        ("tcp://host", "takes host:port"),
        ("tcp://host:1/path", "takes host:port"),
        ("tcp://::1:7000", "in brackets"),
        ("tcp://:7000", "host is empty"),
        ("tcp://[]:7000", "host is empty"),
        ("tcp://host:", "port '' is not a number"),
        ("tcp://host:http", "port 'http' is not a number"),
        ("tcp://host:+7", "is not a number"),
        ("tcp://host:7_0", "is not a number"),
        ("tcp://host:٣", "is not a number"),
        ("tcp://host:65536", "port 65536 is not a number from 0 to 65535"),
        ("tcp://user@host:1", "not valid in a host name"),
        ("tcp://ho st:1", "not valid in a host name"),
        ("unix://relative/path", "is not absolute"),
        ("unix:///nul\0", "control characters"),
        ("inproc://line\nbreak", "control characters"),
    ],
)
def test_what_is_no_address_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r"is not an address") as caught:
        parse_address(text)
    assert complaint in str(caught.value)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"host": "h"},
        {"port": 1},
        {"host": "h", "port": 1, "path": "/p"},
        {"path": "/p", "name": "n"},
        {"name": "n"},
    ],
)
def test_parts_that_are_not_one_tcp_address_are_refused(parts: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"are given|takes a host:port|no port|empty"):
        Address(scheme="tcp", **parts)  # type: ignore[arg-type]


@given(text=st.text(min_size=1), scheme=st.sampled_from(["tcp", "unix", "inproc", "other"]))
def test_whatever_parses_also_prints_and_parses_again(scheme: str, text: str) -> None:
    try:
        address = parse_address(f"{scheme}://{text}")
    except ValueError:
        return
    assert parse_address(str(address)) == address
