"""Dataclasses made quickly: they are what the standard library makes of the same class."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from actorsession import records
from tests.rows import for_each

Decorate = Callable[..., Any]
BOTH = for_each("dataclass", [records.dataclass, dataclasses.dataclass])


def point(dataclass: Decorate, **options: Any) -> Any:
    @dataclass(**options)
    class Point:
        x: int
        y: int = 2
        rest: list[int] = dataclasses.field(default_factory=list, compare=False, repr=False)
        note: str = dataclasses.field(default="none", init=False)

        @property
        def total(self) -> int:
            return self.x + self.y

    return Point


OPTIONS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True, "eq": False},
    {"slots": True, "repr": False},
]


@for_each("options", OPTIONS)
def test_each_does_what_the_standard_one_does(options: dict[str, Any]) -> None:
    ours, theirs = (point(d, **options) for d in (records.dataclass, dataclasses.dataclass))
    seen = []
    for kind in (ours, theirs):
        one, same, other = kind(x=1), kind(x=1, rest=[7]), kind(x=3, y=4)
        facts = {
            "values": [(p.x, p.y, p.rest, p.note, p.total) for p in (one, same, other)],
            "equal": (one == same, one == other, one == (1, 2)),
            "hashable": kind.__hash__ is not None,
            "hashes": options.get("frozen") and "eq" not in options and hash(one) == hash(same),
            "repr": None if "repr" in options else repr(other),
            "slots": hasattr(one, "__dict__"),
            "match": kind.__match_args__,
            "fields": [(f.name, f.init, f.kw_only, f.default) for f in dataclasses.fields(kind)],
            "signature": [(p.name, p.kind) for p in inspect.signature(kind).parameters.values()],
            "required": [
                p.name for p in inspect.signature(kind).parameters.values() if p.default is inspect.Parameter.empty
            ],
            "replaced": dataclasses.replace(other, y=9).y,
            "as dict": dataclasses.asdict(other),
            "copied": copy.deepcopy(other).x,
        }
        seen.append(facts)
    assert seen[0] == seen[1]


@BOTH
def test_each_default_of_a_factory_is_a_new_one(dataclass: Decorate) -> None:
    kind = point(dataclass)
    assert kind(1).rest is not kind(1).rest


@BOTH
@for_each("slots", [False, True])
def test_fields_of_a_frozen_one_are_neither_assigned_nor_deleted(dataclass: Decorate, slots: bool) -> None:
    made = point(dataclass, frozen=True, slots=slots)(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        made.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del made.x
    assert made.x == 1


@BOTH
def test_wrong_arguments_are_type_errors_that_name_them(dataclass: Decorate) -> None:
    kind = point(dataclass, frozen=True, slots=True)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        kind()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        kind(1, z=3)


@BOTH
def test_what_a_class_defines_itself_is_kept(dataclass: Decorate) -> None:
    @dataclass(frozen=True, slots=True)
    class Own:
        x: int

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("negative")

        def __repr__(self) -> str:
            return "mine"

        def __hash__(self) -> int:
            return 7

    assert (repr(Own(1)), hash(Own(1)), Own(1) == Own(1)) == ("mine", 7, True)
    with pytest.raises(ValueError, match="negative"):
        Own(-1)


@BOTH
def test_a_class_that_holds_itself_has_a_repr_that_ends(dataclass: Decorate) -> None:
    made = point(dataclass)(1)
    made.x = made
    assert "x=...," in repr(made)


@BOTH
def test_classes_inherit_fields_and_constructors(dataclass: Decorate) -> None:
    base = point(dataclass)

    @dataclass()
    class More(base):  # type: ignore[misc, valid-type]
        z: int = 5

    class Plain(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__(8)

    assert (More(1).z, More(1, 2, [], 6).z, Plain().x) == (5, 6, 8)
    assert list(inspect.signature(Plain).parameters) == []
    assert list(inspect.signature(More).parameters) == ["x", "y", "rest", "z"]


@records.dataclass(frozen=True, slots=True)
class Kept:
    """At module level, where pickle finds it."""

    x: int
    y: str = "y"


def test_a_frozen_one_with_slots_is_copied_and_pickled() -> None:
    assert copy.copy(Kept(1)) == Kept(1)
    assert pickle.loads(pickle.dumps(Kept(1, "z"))) == Kept(1, "z")  # noqa: S301 - our own bytes


def test_whether_one_is_frozen_is_known() -> None:
    frozen, plain = point(records.dataclass, frozen=True), point(records.dataclass)
    assert (records.is_frozen(frozen), records.is_frozen(plain)) == (True, False)
    assert records.is_frozen(point(dataclasses.dataclass, frozen=True))
    assert not records.is_frozen(int)
