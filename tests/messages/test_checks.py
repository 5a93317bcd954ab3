from __future__ import annotations

from dataclasses import dataclass, make_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.errors import ProtocolError
from actorsession.messages import Registry, Tensor
from actorsession.messages.checks import describe
from tests.messages.strategies import same, values_for
from tests.rows import for_each

# annotation -> values that fit as they are
ANNOTATIONS: list[Any] = [
    int, float, str, bytes, bool, Tensor, Any, list[int], list[Any], list[list[str]],
    dict[str, Any], dict[str, int], dict[str, list[bool]], tuple[int, ...], tuple[str, int],
    list[tuple[str, float]], dict[str, tuple[int, ...]], int | None, list[str] | None,
    Tensor | None, tuple[int, str] | None, list[int | None],
]  # fmt: skip

# annotation, a value that does not fit, what the error says was expected and found
MISFITS: list[tuple[Any, Any, str]] = [
    (int, "3", "expected int, found str '3'"),
    (int, True, "expected int, found bool True"),
    (int, 3.0, "expected int, found float 3.0"),
    (int, None, "expected int, found NoneType None"),
    (float, "3", "expected float, found str"),
    (float, True, "expected float, found bool"),
    (str, b"x", "expected str, found bytes"),
    (bytes, "x", "expected bytes, found str"),
    (bool, 1, "expected bool, found int 1"),
    (Tensor, [1], "expected Tensor, found list"),
    (Tensor | None, 1, "expected Tensor | None, found int 1"),
    (list[int], {}, "expected list[int], found dict"),
    (list[int], [1, "2"], "expected int, found str '2'"),
    (list[list[str]], [[], ["a", 1]], "expected str, found int 1"),
    (dict[str, Any], [], "expected dict[str, Any], found list"),
    (dict[str, Any], {1: 2}, "expected str, found int 1"),
    (dict[str, int], {"a": "b"}, "expected int, found str 'b'"),
    (tuple[int, ...], 3, "expected tuple[int, ...], found int"),
    (tuple[int, ...], ["a"], "expected int, found str"),
    (tuple[str, int], ["a"], "expected tuple[str, int], found list"),
    (tuple[str, int], [1, 1], "expected str, found int"),
    (list[tuple[str, float]], [["a", "b"]], "expected float, found str"),
    (int | None, "x", "expected int, found str"),
    (list[str] | None, [None], "expected str, found NoneType"),
]


def registry_with_field(hint: Any) -> tuple[Registry, type[Any]]:
    """A registry of one message, tag ``m``, with one field ``x``."""
    registry = Registry()
    cls = make_dataclass("M", [("x", hint)], frozen=True, slots=True, kw_only=True)
    return registry, registry.message("m")(cls)


def as_decoded(value: Any) -> Any:
    """What msgpack would make of a value: lists for tuples."""
    if isinstance(value, (list, tuple)):
        return [as_decoded(item) for item in value]
    if isinstance(value, dict):
        return {key: as_decoded(item) for key, item in value.items()}
    return np.asarray(value) if isinstance(value, np.generic) else value


@pytest.mark.parametrize("hint", ANNOTATIONS, ids=describe)
@given(data=st.data())
def test_a_value_that_fits_its_annotation_is_read_as_it_was(hint: Any, data: st.DataObject) -> None:
    registry, cls = registry_with_field(hint)
    value = data.draw(values_for(hint))
    assert same(cls(x=value), registry.from_wire(["m", as_decoded(value)]))


@for_each("hint, value, words", MISFITS, ids=[f"{describe(h)}-{v!r}" for h, v, _ in MISFITS])
def test_a_value_that_does_not_fit_is_a_protocol_error_that_says_both(hint: Any, value: Any, words: str) -> None:
    registry, _ = registry_with_field(hint)
    with pytest.raises(ProtocolError) as caught:
        registry.from_wire(["m", value])
    assert f"field 'x' is declared {describe(hint)}; " in str(caught.value)
    assert words in str(caught.value)


def test_an_int_is_read_as_the_float_that_was_declared() -> None:
    registry, _ = registry_with_field(list[float])
    (_, first), second = ["m", [1, 2.5]], registry.from_wire(["m", [1, 2.5]])
    assert [type(x) for x in second.x] == [float, float]
    assert second.x == first


@for_each("hint", [int | str, set[int], complex, list[int | str], tuple[int | str, ...]], ids=str)
def test_an_annotation_that_does_not_travel_is_refused_when_it_is_first_used(hint: Any) -> None:
    registry, cls = registry_with_field(hint)
    refused = pytest.raises(TypeError, match=r"field 'x': a message cannot declare .*valid are int")
    with refused:
        registry.to_wire(cls(x=1))
    with refused:
        registry.from_wire(["m", 1])


def test_a_huge_hostile_value_is_shown_shortened() -> None:
    registry, _ = registry_with_field(int)
    with pytest.raises(ProtocolError) as caught:
        registry.from_wire(["m", "x" * 10_000_000])
    assert len(str(caught.value)) < 300


def test_fields_may_have_the_names_that_the_generated_code_uses() -> None:
    registry = Registry()

    @registry.message("m")
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Awkward:
        wire: int
        made: str
        type: list[int]
        new: float
        wrong: int | None

    sent = Awkward(wire=1, made="a", type=[2], new=3.0, wrong=None)
    assert registry.from_wire(registry.to_wire(sent)) == sent
