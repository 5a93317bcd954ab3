"""Rows of the op table: what is checked by the signature while a node is built, and rows from elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession import bool_, float32, int32, int64, string
from actorsession.extend import many, one, op, same
from actorsession.graph import registry
from actorsession.graph.dtypes import resource
from actorsession.graph.op_signatures import signature_of, tensorflow_signature
from actorsession.ops import raw
from tests.nodes import make
from tests.ops.interpreter import source


def test_an_input_of_a_fixed_type_has_that_type() -> None:
    with pytest.raises(TypeError, match="Switch takes bool as pred; got int32"):
        raw.Switch(source(float32), source(int32))


def test_an_input_of_a_fixed_rank_has_that_rank() -> None:
    with pytest.raises(ValueError, match=r"Switch takes a scalar as pred; got shape \(2,\)"):
        raw.Switch(source(float32), source(bool_, (2,)))
    assert raw.Switch(source(float32, (3,)), source(bool_, None))[0].shape == (3,)


def test_each_input_of_a_list_is_checked() -> None:
    attrs: dict[str, Any] = {"Nsparse": 1, "Ndense": 0, "sparse_types": [int64], "dense_shapes": []}
    texts = [source(string, ()), source(string, ())]
    assert len(make("ParseExample", [*texts, source(string, ())], attrs).outputs) == 3
    with pytest.raises(TypeError, match="ParseExample takes string as sparse_keys; got int32"):
        make("ParseExample", [*texts, source(int32, ())], attrs)


def test_another_number_of_inputs_is_refused() -> None:
    with pytest.raises(ValueError, match="Switch takes the inputs data, pred; got 1"):
        make("Switch", [source(float32)])


def test_what_tensorflow_calls_a_reference_is_a_handle() -> None:
    barrier = raw.Barrier(component_types=[float32])
    assert barrier.dtype is resource
    with pytest.raises(TypeError, match="takes a resource handle as handle; got string"):
        raw.BarrierReadySize(source(string, ()))


def test_a_list_has_only_the_types_that_the_table_names() -> None:
    handle = raw.VarHandleOp(dtype=float32, shape=())
    with pytest.raises(TypeError, match=r"PyFunc takes .*; got resource"):
        raw.PyFunc([handle], token="f", Tout=[])


# -- types that bring their signature along --------------------------------------------------------


def test_a_type_with_a_signature_of_its_own_is_checked_as_those_of_the_table(registrations: None) -> None:
    assert signature_of("Scaled") is None
    op("Scaled x:T -> y:T | by:float=2.0 T:type{f}", same, kernel=lambda ctx: abs)
    node = one("Scaled", [source(float32, (3,))], {"by": 3.0}, None)
    assert (node.dtype, node.op.attrs["by"]) == (float32, 3.0)
    assert node.shape == (3,)
    assert make("Scaled", [source(float32)]).attrs["by"] == 2.0
    assert one("Scaled", [[1.0, 2.0]], {"by": 3.0}, "n").op.name == "n"
    with pytest.raises(TypeError, match="Scaled takes floating types; got int32"):
        make("Scaled", [source(int32)])
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
    with pytest.raises(error, match="has a signature already: Neg x" if error is KeyError else "is no"):
        op(row, same, abs)
    assert signature_of("Gone") is None
    assert not registry.is_registered("Gone")


def test_a_name_that_is_taken_keeps_what_it_has(registrations: None) -> None:
    mine = registry.register(registry.OpDef(name="Mine", infer=_many, kernel=lambda ctx: abs))
    with pytest.raises(KeyError, match="'Mine' is registered already"):
        op("Mine x:T -> y:T | T:type", same, abs)
    assert signature_of("Mine") is None
    assert registry.lookup("Mine") is mine


def test_a_type_without_any_signature_says_what_is_missing(registrations: None) -> None:
    op("Bare", same, abs)
    with pytest.raises(ValueError, match="op 'Bare' has no signature; register it with a row"):
        make("Bare", [source(float32)])
