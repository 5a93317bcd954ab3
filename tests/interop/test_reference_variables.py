"""Graphs with reference variables: reads and updates happen when TensorFlow does them."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
from actorsession import import_graph_def
from tests.interop.kit import graph_def

FLOAT = "attr { key: 'T' value { type: DT_FLOAT } }"
DTYPE = "attr { key: 'dtype' value { type: DT_FLOAT } }"
VARIABLE = f"node {{ name: 'v' op: 'VariableV2' {DTYPE} attr {{ key: 'shape' value {{ shape {{ }} }} }} }}"


def const(name: str, value: float) -> str:
    tensor = f"tensor {{ dtype: DT_FLOAT tensor_shape {{ }} float_val: {value} }}"
    return f"node {{ name: '{name}' op: 'Const' {DTYPE} attr {{ key: 'value' value {{ {tensor} }} }} }}"


def node(name: str, op: str, *inputs: str, attrs: str = FLOAT) -> str:
    listed = " ".join(f"input: '{i}'" for i in inputs)
    return f"node {{ name: '{name}' op: '{op}' {listed} {attrs} }}"


BASE = VARIABLE + const("one", 1) + const("ten", 10) + node("init", "Assign", "v", "one")


@pytest.fixture
def session() -> Any:
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as made:
        yield made


def test_a_reference_variable_is_assigned_and_read(session: acts.Session) -> None:
    import_graph_def(graph_def(BASE + node("read", "Identity", "v")), name="")
    session.run("init")
    assert session.run("read:0") == 1
    types = {op.name: op.type for op in session.graph.get_operations()}
    assert (types["v"], types["init"]) == ("VariableV2", "Assign")
    # A value is read after what its reader waits for.
    text = BASE + node("add", "AssignAdd", "v", "ten") + node("after", "Identity", "v", "^add")
    import_graph_def(graph_def(text), name="")
    session.run("init")
    assert session.run("after:0") == 11
    # What an update returns is the value after it.
    text = BASE + node("add", "AssignAdd", "v", "ten") + node("twice", "Add", "add", "add")
    import_graph_def(graph_def(text), name="")
    session.run("init")
    assert session.run("twice:0") == 22
    # An update of what an update returns runs after it.
    text = BASE + node("add", "AssignAdd", "v", "ten") + node("take", "AssignSub", "add", "one")
    import_graph_def(graph_def(text + node("end", "Identity", "take")), name="")
    session.run("init")
    assert session.run("end:0") == 10
    # Whether it has a value can be asked.
    text = BASE + node("has", "IsVariableInitialized", "v", attrs=DTYPE)
    import_graph_def(graph_def(text), name="")
    assert session.run("has:0") == False  # noqa: E712 - a numpy bool
    session.run("init")
    assert session.run("has:0") == True  # noqa: E712


def test_an_output_that_is_a_reference_can_be_returned(session: acts.Session) -> None:
    found = import_graph_def(graph_def(BASE), return_elements=["v:0", "init:0", "init"], name="")
    assert found is not None
    value, first, update = found
    assert session.run(first) == 1
    assert session.run(value) == 1
    assert update.name == "init"
    # A reference to no variable is refused.
    text = BASE + node("bad", "AssignAdd", "one", "ten")
    with pytest.raises(ValueError, match="requires that input 0 be a mutable tensor"):
        import_graph_def(graph_def(text))


def test_optimisers_steps_take_the_reference(session: acts.Session) -> None:
    text = BASE + node("step", "ApplyGradientDescent", "v", "one", "ten") + node("r", "Identity", "v", "^step")
    import_graph_def(graph_def(text), name="")
    session.run("init")
    assert session.run("r:0") == -9
