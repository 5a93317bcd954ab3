"""Rows of the op table from elsewhere, which bring their signature along."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession import float32, int32
from actorsession.extend import many, one, op, same
from actorsession.graph import registry
from actorsession.graph.op_signatures import signature_of, tensorflow_signature
from tests.nodes import make
from tests.ops.interpreter import source
from tests.rows import refused


def test_a_type_with_a_signature_of_its_own_is_checked_as_those_of_the_table(registrations: None) -> None:
    assert signature_of("Scaled") is None
    op("Scaled x:T -> y:T | by:float=2.0 T:type{f}", same, kernel=lambda ctx: abs)
    node = one("Scaled", [source(float32, (3,))], {"by": 3.0}, None)
    assert (node.dtype, node.op.attrs["by"], node.shape.as_list()) == (float32, 3.0, [3])
    assert make("Scaled", [source(float32)]).attrs["by"] == 2.0
    assert one("Scaled", [[1.0, 2.0]], {"by": 3.0}, "n").op.name == "n"
    refused(lambda: make("Scaled", [source(int32)]), TypeError, "Scaled takes floating types; got int32")
    assert tensorflow_signature("Scaled") is None


def test_marks_and_lists_of_a_signature_are_understood(registrations: None) -> None:
    op("Many x:T*N -> y:T*N z:int32 | N:int T:type | stateful", infer=_many, kernel=lambda ctx: abs)
    found = many("Many", [[source(float32), source(float32)]], {}, None)
    assert [len(found.y), found.z.dtype] == [2, int32]
    assert registry.lookup("Many").stateful


def _many(ctx: Any) -> Any:
    from actorsession.extend import TensorSpec

    return [*ctx.inputs, TensorSpec(int32, ctx.inputs[0].shape)]


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("Neg x:T -> y:T | T:type", KeyError),
        ("Gone x:T", ValueError),
        ("Gone x:T -> y:T", ValueError),
        ("Gone x:float32*N -> y:float32", ValueError),
        ("a.b x:int32 -> y:int32", ValueError),
    ],
)
def test_a_row_that_is_none_registers_nothing(row: str, error: type[Exception], registrations: None) -> None:
    refused(lambda: op(row, same, abs), error, "has a signature already: Neg x" if error is KeyError else "is no")
    assert signature_of("Gone") is None
    assert not registry.is_registered("Gone")


def test_a_name_that_is_taken_keeps_what_it_has(registrations: None) -> None:
    mine = registry.register(registry.OpDef(name="Mine", infer=_many, kernel=lambda ctx: abs))
    refused(lambda: op("Mine x:T -> y:T | T:type", same, abs), KeyError, "'Mine' is registered already")
    assert signature_of("Mine") is None
    assert registry.lookup("Mine") is mine


def test_a_type_without_any_signature_says_what_is_missing(registrations: None) -> None:
    op("Bare", same, abs)
    refused(lambda: make("Bare", [source(float32)]), ValueError, "op 'Bare' has no signature; register it with a row")
