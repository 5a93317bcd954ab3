"""The table of signatures: how a row reads, and what is checked and derived by it."""

from __future__ import annotations

import pytest

import actorsession as acts
from actorsession.extend import REQUIRED
from actorsession.graph.op_signatures import check_types, opsets, output_types, signature_of, tensorflow_signature
from actorsession.graph.registry import lookup
from actorsession.ops.op_modules import OP_MODULES
from tests.rows import for_each

FLOAT, DOUBLE, INT = acts.float32, acts.float64, acts.int32


def test_a_row_has_inputs_outputs_and_attributes() -> None:
    found = signature_of("ConcatV2")
    assert found is not None
    values, axis = found.inputs
    assert (values.name, values.type, values.number) == ("values", "T", "N")
    assert (axis.name, axis.type) == ("axis", "Tidx")
    assert found.attrs["Tidx"].default is INT
    assert found.attrs["N"].default is REQUIRED
    assert dict(found.stored) == {}  # all of them follow from the inputs
    handle = signature_of("VarHandleOp")
    assert handle is not None
    assert handle.stateful
    assert "debug_name" in handle.attrs
    assert "debug_name" not in handle.stored
    assert handle.stored["shape"].rank is None
    assert handle.attrs["shape"].default is REQUIRED
    assert signature_of("ReducedShape") is not None
    assert tensorflow_signature("ReducedShape") is None
    assert signature_of("Spam") is None


def test_every_operation_type_has_a_row_in_the_opset_of_its_folder() -> None:
    opset_of = {name: opset for opset, names in opsets().items() for name in names}
    assert set(OP_MODULES) <= set(opset_of)
    for name, module in OP_MODULES.items():
        *_, folder, _file = module.split(".")
        assert opset_of[name] == ("core" if folder == "ops" else folder)


@pytest.mark.parametrize("name", ["Sum", "QueueEnqueueV2", "RandomUniform"])
def test_an_operation_type_has_the_attributes_and_state_of_its_row(name: str) -> None:
    signature = signature_of(name)
    assert signature is not None
    assert lookup(name).attrs == signature.stored
    assert lookup(name).stateful == signature.stateful


@pytest.mark.parametrize(
    ("op", "dtypes", "said"),
    [
        ("Neg", [acts.string], r"Neg takes signed integers, floating types, complex types; got string$"),
        ("AddV2", [FLOAT, DOUBLE], "AddV2 takes inputs of one dtype; got float32, float64: cast one of them"),
        ("AddV2", [acts.string, FLOAT], "AddV2 takes .* as x; got string"),
    ],
)
def test_element_types_that_a_row_does_not_name_are_refused(op: str, dtypes: list[acts.DType], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        check_types(op, tuple(dtypes), {})


def test_another_number_of_inputs_is_refused() -> None:
    with pytest.raises(ValueError, match="AddV2 takes the inputs x, y; got 1"):
        check_types("AddV2", (FLOAT,), {})
    check_types("Neg", (FLOAT,), {})
    check_types("AddV2", (DOUBLE, DOUBLE), {})
    check_types("Unheard", (acts.string,), {})


@for_each(
    "op, dtypes, attrs, wanted",
    [
        ("AddV2", [DOUBLE, DOUBLE], {}, [DOUBLE]),
        ("Less", [DOUBLE, DOUBLE], {}, [acts.bool_]),
        ("Cast", [DOUBLE], {"DstT": INT}, [INT]),
        ("TopKV2", [DOUBLE, INT], {"index_type": acts.int64}, [DOUBLE, acts.int64]),
        ("Unpack", [FLOAT], {"num": 3}, [FLOAT] * 3),
        ("IdentityN", [FLOAT, INT], {}, [FLOAT, INT]),
        ("NoOp", [], {}, []),
    ],
)
def test_the_element_types_of_outputs_follow(
    op: str, dtypes: list[acts.DType], attrs: dict[str, object], wanted: list[acts.DType]
) -> None:
    assert list(output_types(op, tuple(dtypes), attrs)) == wanted
