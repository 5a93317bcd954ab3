from __future__ import annotations

import traceback
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import pytest

from actorsession.errors import InvalidArgumentError, ProtocolError
from actorsession.messages import VOCABULARY, Registry
from tests.rows import for_each


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    left: int
    right: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    pass


def registry_of_pair() -> Registry:
    registry = Registry()
    registry.message("pair", reply="nothing")(Pair)
    registry.message("nothing")(Nothing)
    return registry


def test_the_wire_form_is_the_tag_and_the_fields_in_declared_order() -> None:
    assert registry_of_pair().to_wire(Pair(right=["r"], left=1)) == ["pair", 1, ["r"]]
    assert registry_of_pair().to_wire(Nothing()) == ["nothing"]


def test_a_message_read_from_the_wire_is_frozen_and_equal_to_the_one_written() -> None:
    registry = registry_of_pair()
    got = registry.from_wire(registry.to_wire(Pair(left=1, right=[])))
    assert got == Pair(left=1, right=[])
    with pytest.raises(FrozenInstanceError):
        got.left = 2


def test_a_tag_that_is_taken_is_refused_and_the_first_class_keeps_it() -> None:
    registry = registry_of_pair()
    with pytest.raises(ValueError, match="tag 'pair' of Nothing is already registered by Pair"):
        registry.message("pair")(Nothing)
    assert registry.specs["pair"].cls is Pair


def test_the_reply_class_is_known_even_if_it_is_registered_later() -> None:
    registry = Registry()
    registry.message("pair", reply="nothing")(Pair)
    with pytest.raises(InvalidArgumentError, match="'pair' names reply 'nothing', which is not"):
        registry.reply_of(Pair)
    registry.message("nothing")(Nothing)
    assert registry.reply_of(Pair) is Nothing
    assert registry.reply_of(Nothing) is None


def test_a_class_that_is_no_message_cannot_be_written() -> None:
    with pytest.raises(InvalidArgumentError, match="Pair is not a message"):
        Registry().to_wire(Pair(left=1, right=[]))


@for_each(
    "wire", [None, 3, "pair", b"pair", [], {}, {0: "pair"}, ["pair", 1, []].__iter__], ids=lambda v: type(v).__name__
)
def test_what_is_no_list_is_no_message(wire: Any) -> None:
    with pytest.raises(ProtocolError, match="a message must be a list of a tag and its fields"):
        registry_of_pair().from_wire(wire)


@for_each("tag", ["par", "Pair", "", None, 0, b"pair", [], {}, 1.5], ids=repr)
def test_an_unknown_tag_is_a_protocol_error_that_lists_the_known_ones(tag: Any) -> None:
    with pytest.raises(ProtocolError, match=r"unknown message tag .*; known tags are nothing, pair"):
        registry_of_pair().from_wire([tag, 1, []])


@for_each("count", [0, 1, 3, 100])
def test_missing_and_extra_fields_are_protocol_errors_that_name_the_fields(count: int) -> None:
    with pytest.raises(ProtocolError, match=rf"'pair' has 2 fields \(left, right\), found {count}"):
        registry_of_pair().from_wire(["pair", *[1] * count])


def test_extra_fields_of_a_message_without_fields_are_refused() -> None:
    with pytest.raises(ProtocolError, match="'nothing' has no fields, found 1"):
        registry_of_pair().from_wire(["nothing", None])


@pytest.mark.parametrize("how", [{}, {"frozen": True}, {"slots": True}], ids=str)
def test_a_message_must_be_a_frozen_dataclass_with_slots(how: dict[str, bool]) -> None:
    @dataclass(**how)
    class Loose:
        x: int

    with pytest.raises(TypeError, match="Loose must be a @dataclass"):
        Registry().message("loose")(Loose)


def test_a_message_must_not_have_a_post_init() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Busy:
        x: int

        def __post_init__(self) -> None:
            raise AssertionError

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Heir(Busy):
        y: int

    for cls in (Busy, Heir):
        with pytest.raises(TypeError, match=f"{cls.__name__} has a __post_init__"):
            Registry().message("busy")(cls)


def test_fields_of_a_base_class_travel_too() -> None:
    registry = Registry()

    @registry.message("triple")
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Triple(Pair):
        third: bool

    sent = Triple(left=1, right=["x"], third=True)
    assert registry.to_wire(sent) == ["triple", 1, ["x"], True]
    assert registry.from_wire(["triple", 1, ["x"], True]) == sent


def test_a_traceback_shows_the_line_of_the_generated_reader() -> None:
    with pytest.raises(ProtocolError) as caught:
        registry_of_pair().from_wire(["pair", "x", []])
    lines = "".join(traceback.format_exception(caught.value))
    assert "raise wrong('left', 'int', 'int', f_left)" in lines


def test_the_table_of_messages_cannot_be_written() -> None:
    with pytest.raises(TypeError):
        VOCABULARY.specs["x"] = VOCABULARY.specs["done"]  # type: ignore[index]


def test_every_message_has_fields_that_can_be_read() -> None:
    for spec in VOCABULARY.specs.values():
        spec.generate()  # a TypeError names what is wrong
