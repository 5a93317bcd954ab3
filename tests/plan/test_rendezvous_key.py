"""Rendezvous keys: built by one function, parsed by one, and nothing else is a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.errors import InvalidArgumentError
from actorsession.plan.rendezvous_key import RendezvousKey, build_key, parse_key
from tests.rows import for_each

SRC = "/job:worker/replica:0/task:1/device:CPU:0"
DST = "/job:ps/replica:0/task:0/device:CPU:3"
KEY = f"{SRC};0000000000001ed2;{DST};edge_7_x:0;2:5"


def test_a_key_reads_as_documented() -> None:
    assert build_key(SRC, 0x1ED2, DST, "edge_7_x:0", 2, 5) == KEY
    assert build_key(SRC, 1, DST, "e").endswith(";e;0:0")
    assert parse_key(KEY) == RendezvousKey(KEY, SRC, 0x1ED2, DST, "edge_7_x:0", 2, 5)
    key = parse_key(KEY)
    assert key.src_task == "/job:worker/replica:0/task:1"
    assert key.dst_task == "/job:ps/replica:0/task:0"
    # A restarted device makes other keys.
    assert build_key(SRC, 1, DST, "e") != build_key(SRC, 2, DST, "e")


def test_older_spellings_of_devices_are_full_names_too() -> None:
    """The example of TensorFlow's own documentation, less a blank in its edge's name."""
    text = "/job:mnist/replica:1/task:2/CPU:0;0000000000001ed2;/job:mnist/replica:1/task:2/GPU:0;var0;26:0"
    key = parse_key(text)
    assert (key.text, key.frame_id, key.edge_name) == (text, 26, "var0")
    assert key.src_task == key.dst_task == "/job:mnist/replica:1/task:2"


@given(
    incarnation=st.integers(0, 2**64 - 1),
    edge=st.text(st.characters(exclude_characters=";"), min_size=1),
    frame=st.integers(0, 2**62),
    iteration=st.integers(0, 2**62),
)
def test_what_was_built_is_parsed_back(incarnation: int, edge: str, frame: int, iteration: int) -> None:
    key = parse_key(build_key(SRC, incarnation, DST, edge, frame, iteration))
    assert (key.src_device, key.src_incarnation, key.dst_device) == (SRC, incarnation, DST)
    assert (key.edge_name, key.frame_id, key.iter_id) == (edge, frame, iteration)


@for_each(
    "text",
    [
        "",
        ";;;;",
        KEY.replace(";edge_7_x:0", ""),
        f"{KEY};more",
        KEY.replace("edge_7_x:0", ""),
        KEY.replace(SRC, ""),
        KEY.replace(SRC, "/job:worker/task:1"),
        KEY.replace(SRC, "/job:worker/replica:0/task:1/device:CPU:*"),
        KEY.replace(SRC, "nonsense"),
        KEY.replace(DST, "/device:CPU:0"),
        KEY.replace("0000000000001ed2", "1ed2"),
        KEY.replace("0000000000001ed2", "0000000000001ED2"),
        KEY.replace("0000000000001ed2", "000000000000000000001ed2"),
        KEY.replace("0000000000001ed2", "00000000000zzzzz"),
        KEY.replace("2:5", "2"),
        KEY.replace("2:5", "2:5:1"),
        KEY.replace("2:5", "-2:5"),
        KEY.replace("2:5", "2:5\n"),
        KEY.replace("2:5", "\u0662:5"),
    ],
)
def test_anything_else_is_an_invalid_argument(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"invalid rendezvous key .* the form is 'src_device;"):
        parse_key(text)


@given(st.text(alphabet=";/:jobtaskreplicdvCPU0123 ", max_size=80))
def test_any_text_is_a_key_or_an_invalid_argument(text: str) -> None:
    try:
        key = parse_key(text)
    except InvalidArgumentError:
        return
    assert key.text == text
