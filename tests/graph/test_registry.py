"""The table of operation types."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import actorsession as acts
from actorsession.extend import NOT_DIFFERENTIABLE, REQUIRED, OpDef, registered_ops, registration_scope
from actorsession.extend import register_op as register
from actorsession.graph.op_signatures import check_types, opsets, output_types, signature_of, tensorflow_signature
from actorsession.graph.registry import defer, is_registered, lookup
from actorsession.ops.op_modules import OP_MODULES
from tests.graph.kit import join, leaf
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("registrations")


def made(name: str) -> OpDef:
    return OpDef(name=name, infer=lambda ctx: (), kernel=lambda ctx: lambda: None)


def test_what_was_registered_is_found() -> None:
    op = made("Thing")
    assert not is_registered("Thing")
    assert register(op) is op
    assert is_registered("Thing")
    assert lookup("Thing") is op
    register(made("Another"))
    assert {"Another", "Thing"} <= {*registered_ops()}
    assert list(registered_ops()) == sorted(registered_ops())
    with pytest.raises(ValueError, match=r"'Matmul' is not registered; did you mean MatMul, "):
        lookup("Matmul")
    with pytest.raises(ValueError, match=f"'Zzz' is not registered; {len(registered_ops())} ops are registered"):
        lookup("Zzz")


def test_a_name_is_given_once() -> None:
    first = register(made("Thing"))
    with pytest.raises(KeyError, match="'Thing' is registered already"):
        register(made("Thing"))
    assert lookup("Thing") is first


def test_a_type_whose_module_is_not_imported_is_when_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "late_ops.py").write_text(
        "from tests.graph.test_registry import made\n"
        "from actorsession.graph.registry import register\n"
        "register(made('Late'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with registration_scope():
        defer({"Late": "late_ops"})
        assert is_registered("Late")
        assert "Late" in registered_ops()
        with pytest.raises(KeyError, match="'Late' is registered already"):
            register(made("Late"))
        assert "late_ops" not in sys.modules
        try:
            assert lookup("Late") is lookup("Late")
            assert "late_ops" in sys.modules
        finally:
            sys.modules.pop("late_ops", None)
    assert not is_registered("Late"), "the scope forgets a type of a module that is imported later"
    assert "Late" not in registered_ops()


def test_nothing_flows_through_an_op_that_is_not_differentiable() -> None:
    from actorsession import Graph

    graph = Graph()
    assert NOT_DIFFERENTIABLE(join(graph, leaf(graph), leaf(graph)).op, None) == [None, None]


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
