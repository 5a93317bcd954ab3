"""``import_graph_def``: names, inputs from outside, what is returned, and all that is refused or spoilt."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto import graph_pb2

import actorsession as acts
from actorsession import GraphDef as PlainGraphDef
from actorsession import import_graph_def
from actorsession.errors import DataLossError, InvalidArgumentError, NotFoundError
from actorsession.graph.registry import lookup
from actorsession.interop import GraphDef, NodeDef, graph_def_of, protos, text_format
from tests.interop.kit import DATA, FLOAT, PAIR, PLACEHOLDER, graph_def, identity, run_imported
from tests.rows import for_each


def names(graph: acts.Graph) -> list[str]:
    return [op.name for op in graph.get_operations()]


DTYPE = "attr { key: 'dtype' value { type: DT_FLOAT } }"


def attr(name: str, kind: str, value: str) -> str:
    return f"attr {{ key: '{name}' value {{ {kind} {value} }} }}"


def whole(name: str, dims: str) -> str:
    """The number 1 as an int32 constant, repeated over a shape."""
    value = f"tensor {{ dtype: DT_INT32 tensor_shape {{ {dims} }} int_val: 1 }}"
    return f"name: '{name}' op: 'Const' {attr('dtype', 'type', ': DT_INT32')} {attr('value', value, '')}"


@for_each(
    "text, scopes, expected",
    [
        (PAIR, [None], "import/a import/b"),
        (PAIR, [None, None], "import/a import/b import_1/a import_1/b"),
        (PAIR, ["q", "q"], "q/a q/b q_1/a q_1/b"),
        (PAIR, ["q", "q/"], "q/a q/b q/a_1 q/b_1"),
        (PAIR, ["", ""], "a b a_1 b_1"),
        # Names that differ in case are two.
        (PLACEHOLDER + identity("A", "a"), [""], "a A"),
        # Nodes may stand in any order.
        (identity("c", "b") + identity("b", "a:0") + PLACEHOLDER, [""], "a b c"),
    ],
)
def test_what_is_built_stands_in_a_scope(graph: acts.Graph, text: str, scopes: list[str | None], expected: str) -> None:
    for scope in scopes:
        assert import_graph_def(graph_def(text), name=scope) is None
    assert " ".join(names(graph)) == expected
    assert graph.get_operations()[-1].inputs[0].op is graph.get_operations()[-2]


def test_scopes_and_devices_around_apply(graph: acts.Graph) -> None:
    with acts.name_scope("outer"), acts.device("/cpu:1"):
        import_graph_def(graph_def(PAIR + "node { name: 'c' op: 'NoOp' device: '/job:ps' }"))
    assert names(graph) == ["outer/import/a", "outer/import/b", "outer/import/c"]
    a, _, c = graph.get_operations()
    assert (a.device, c.device) == ("/device:CPU:1", "/job:ps/device:CPU:1")
    # Groups of colocation follow the new names.
    group = "attr { key: '_class' value { list { s: 'loc:@a' } } }"
    import_graph_def(graph_def(f"node {{ name: 'b' op: 'NoOp' {group} }} node {{ name: 'a' op: 'NoOp' }}"))
    assert graph.get_operation_by_name("import/b").groups() == ("loc:@import/a",)


# -- inputs and outputs --------------------------------------------------------------------------


def test_colocated_nodes_have_the_device_of_the_first_that_has_one(graph: acts.Graph) -> None:
    """A node that is colocated with itself alone has its own, and so has one in the library's own form."""
    group = "attr {{ key: '_class' value {{ list {{ {} }} }} }}"

    def node(name: str, device: str, *others: str) -> str:
        listed = " ".join(f"s: 'loc:@{other}'" for other in others)
        attr = group.format(listed) if others else ""
        return f"node {{ name: '{name}' op: 'NoOp' device: '{device}' {attr} }}"

    message = graph_def(
        node("own", "/cpu:0", "own")
        + node("bare", "", "bare")
        + node("late", "/cpu:3", "bare", "own")
        + node("lost", "/cpu:3", "bare")
        + node("next", "/cpu:3", "late")
    )
    with graph.device("/cpu:5"):
        import_graph_def(message, name="")
    found = {op.name: op.device for op in graph.get_operations()}
    assert found == {
        "own": "/device:CPU:0",
        "bare": "/device:CPU:5",
        "late": "/device:CPU:5",
        "lost": "/device:CPU:5",
        "next": "/device:CPU:5",
    }
    with acts.Graph().as_default() as again:
        import_graph_def(graph.as_graph_def(), name="")
        assert {op.name: op.device for op in again.get_operations()} == found


def test_control_inputs_are_kept(graph: acts.Graph) -> None:
    import_graph_def(graph_def(PAIR + "node { name: 'c' op: 'NoOp' input: '^b' input: '^a' input: '^b' }"))
    after = graph.get_operation_by_name("import/c").control_inputs
    assert [op.name for op in after] == ["import/b", "import/a"]
    # A long chain in reverse needs no recursion.
    chain = [identity(f"n{k}", f"n{k - 1}" if k else "a") for k in range(3000)]
    import_graph_def(graph_def("".join(reversed(chain)) + PLACEHOLDER), name="")
    assert names(graph)[-1] == "n2999"
    assert import_graph_def(GraphDef(), return_elements=[]) == []


@for_each("key", ["a", "a:0", b"a"])
def test_an_input_comes_from_outside(graph: acts.Graph, key: Any) -> None:
    outside = acts.constant(3.0, name="outside")
    found = import_graph_def(graph_def(PAIR), {key: outside}, ["b:0", "b", "a:0", "a"])
    assert found is not None
    assert found[0].op.inputs[0] is outside
    assert [e.name for e in found] == ["import/b:0", "import/b", "outside:0", "import/a"]


@for_each(
    "text, given, expected",
    [
        # A value becomes a constant.
        (PAIR, {"a": 1.0}, "import/_inputs/Const import/a import/b"),
        # An input from outside cuts a cycle.
        (identity("a", "b") + identity("b", "a"), {"b:0": None}, "outside import/a import/b"),
        # A mapping that nobody reads is fine.
        (PAIR, {"b": None}, "outside import/a import/b"),
    ],
)
def test_values_from_outside_replace_nodes(graph: acts.Graph, text: str, given: dict[str, Any], expected: str) -> None:
    mapping = {key: value or acts.constant(1.0, name="outside") for key, value in given.items()}
    import_graph_def(graph_def(text), mapping)
    assert " ".join(names(graph)) == expected


def test_a_control_input_comes_from_outside(graph: acts.Graph) -> None:
    outside = acts.constant(1.0, name="outside")
    import_graph_def(graph_def(PAIR + "node { name: 'c' op: 'NoOp' input: '^a' }"), {"^a": outside})
    assert graph.get_operation_by_name("import/c").control_inputs == (outside.op,)
    with pytest.raises(ValueError, match=r"not in graph_def: zz, a:3, \^yy"):
        import_graph_def(graph_def(PAIR), {"zz": outside, "a:3": outside, "^yy": outside})


@for_each(
    "arguments, error, words",
    [
        ({"input_map": {"a": 1.0}, "name": ""}, ValueError, "needs a name"),
        ({"return_elements": ["zz"]}, ValueError, "node 'zz', which is not in graph_def"),
        ({"return_elements": ["b:3"]}, ValueError, "output 3 of node 'b', whose number of outputs is 1"),
        ({"return_elements": [3]}, TypeError, "return_elements must be strings, got 3"),
        ({"return_elements": "b"}, TypeError, "must be a list of names"),
        ({"return_elements": ["b:x"]}, ValueError, "must be 'node', 'node:index'"),
        ({"input_map": {3: 1.0}}, TypeError, "keys of input_map must be strings"),
        ({"input_map": 3}, TypeError, "must be a mapping"),
        *(({"graph_def": value}, TypeError, "graph_def must be a GraphDef") for value in ("spam", None, 3)),
        ({"input_map": {"a": 1}}, ValueError, "passed int32 from Const:0, expected float32"),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_built(
    graph: acts.Graph, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        import_graph_def(**{"graph_def": graph_def(PAIR), **arguments})

    assert names(graph) == []


# -- what is refused -----------------------------------------------------------------------------


@for_each(
    "text, words",
    [
        (identity("b", "a"), "node 'b': unknown input node 'a'"),
        ("node { name: 'b' op: 'NoOp' input: '^a' }", "node 'b': unknown control input 'a'"),
        (PAIR + identity("c", "b:4"), "reads output 4 of node 'b', whose number of outputs is 1"),
        (PAIR + identity("c", "b:x"), "an input must be 'node', 'node:index'"),
        (PAIR + PAIR, "node 'a' is not unique: 2 nodes"),
        (PAIR + identity("c", "^a", "b"), "control inputs must come after all data inputs"),
        (PAIR + identity("c", "b", "b"), "it has 2 inputs, which do not match Identity"),
        ("node { name: 'a' op: 'Placeholder' }", "has no attribute 'dtype'"),
        (PLACEHOLDER + "node { name: 'b' op: 'Identity' input: 'a' }", "has no attribute 'T'"),
        (PLACEHOLDER + identity("b", "a").replace("FLOAT", "INT32"), "from import/a:0, expected int32"),
        (identity("a", "b") + identity("b", "a"), "2 nodes form a cycle: a <- b"),
        (identity("a", "a"), "1 nodes form a cycle"),
        ("node { name: 'a b' op: 'NoOp' }", "a name must match"),
        ("node { name: '_a' op: 'NoOp' }", "a name must match"),
        ("node { name: '' op: 'NoOp' }", "a name must match"),
        (
            "node { name: 'b' op: 'NoOp' attr { key: '_class' value { list { s: 'loc:@z' } } } }",
            "colocated with the unknown node 'z'",
        ),
        ("versions { min_consumer: 99999 }", "requires a reader of version 99999"),
        ("versions { bad_consumers: 2474 }", "forbids readers of version 2474"),
        ("versions { producer: -1 }", "was written by version -1"),
        (PLACEHOLDER.replace("DT_FLOAT", "DT_INT4"), "attribute 'dtype': element type 29"),
        (PLACEHOLDER + "node { name: 'm' op: 'Sum' input: 'a' input: 'a' " + FLOAT + "}", "expected int32"),
        (
            "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
            "'value' value { tensor { dtype: DT_FLOAT tensor_content: 'abc' } } } }",
            "node 'c' .Const., attribute 'value': a float32 tensor of shape",
        ),
        ("node { name: 'a' op: 'NoOp' device: '/nonsense' }", "cannot be imported"),
        (PLACEHOLDER.replace("type: DT_FLOAT", "i: 1"), "attribute 'dtype' must be of type type, got i"),
        (
            "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } "
            "attr { key: 'value' value { s: 'x' } } }",
            "attribute 'value' must be of type tensor, got s",
        ),
    ],
)
def test_what_is_no_graph_is_refused_and_leaves_nothing(graph: acts.Graph, text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        import_graph_def(graph_def(text))
    assert names(graph) == []


def test_all_unknown_types_are_named_once_with_their_number(graph: acts.Graph) -> None:
    text = "".join(f"node {{ name: 'n{k}' op: '{op}' }}" for k, op in enumerate(["Spam", "NoOp", "Egg", "Spam", "F"]))
    function = "library { function { signature { name: 'F' } } }"
    with pytest.raises(NotFoundError) as caught:
        import_graph_def(graph_def(text + function))
    assert caught.value.message == ("operation types that are not registered here: 'Egg' (1 node), 'Spam' (2 nodes)")
    # Attributes that nobody knows are left out.
    extra = attr("spam", "i", ": 3") + attr("_kept", "i", ": 4") + "attr { key: 'x' value {} } }"
    import_graph_def(graph_def(PLACEHOLDER[:-1] + extra), name="")
    attrs = graph.get_operation_by_name("a").attrs
    assert ("spam" in attrs, attrs["_kept"]) == (False, 4)
    # Small files do not make large constants.
    consts = [f"node {{ {whole(f'c{k}', 'dim { size: 200000000 }')} }}" for k in range(9)]
    with pytest.raises(InvalidArgumentError, match="constants in short form take"):
        import_graph_def(graph_def("".join(consts)))


def test_shapes_that_cannot_work_leave_nothing_behind(graph: acts.Graph) -> None:
    with acts.Graph().as_default() as source:
        acts.matmul(acts.placeholder(acts.float32, [2, 3]), acts.ones([3, 2]), name="m")
        message = graph_def_of(source)
    outside = acts.ones([7, 7], name="outside")
    with pytest.raises(ValueError, match=r"node 'm' \(MatMul\) cannot be imported"):
        import_graph_def(message, {"Placeholder": outside})
    assert names(graph) == ["outside"]


def test_an_empty_graph_is_empty_again_after_an_import_that_failed(graph: acts.Graph) -> None:
    """Nodes before the one that fails were built in it already; their names are free again."""
    with acts.Graph().as_default() as source:
        acts.while_loop(lambda i: i < 3, lambda i: i + 1, [acts.constant(0)], name="loop")
        acts.matmul(acts.constant([[1.0, 2.0]]), acts.constant([[3.0], [4.0]]), name="last")
        message = graph_def_of(source)
    broken = message.copy()
    broken.node[-1].attr["transpose_a"].b = True
    with pytest.raises(ValueError, match="node 'last'"):
        import_graph_def(broken)
    assert (names(graph), len(graph.nodes), graph.version) == ([], 0, 0)
    with pytest.raises(ValueError, match="'no', which is not in graph_def"):
        import_graph_def(message, None, ["no"])
    assert (names(graph), len(graph.nodes), graph.version) == ([], 0, 0)
    import_graph_def(message)
    with acts.Session(graph=graph) as session:
        np.testing.assert_array_equal(session.run("import/last:0"), [[11.0]])


def test_a_setting_that_is_unknown_here_is_refused_unless_it_is_the_default(graph: acts.Graph) -> None:
    text = f"node {{ name: 'm' op: 'MatMul' input: 'a' input: 'a' {FLOAT} %s }}"
    import_graph_def(graph_def(PLACEHOLDER + text % attr("grad_a", "b", ": true")))  # a hint
    policy = attr("bad_indices_policy", "s", ": '%s'")
    types = attr("T", "type", ": DT_FLOAT") + attr("Tindices", "type", ": DT_INT32")
    scatter = (
        PLACEHOLDER + f"node {{ {whole('i', 'dim { size: 1 }')} }} node {{ {whole('s', 'dim { size: 1 }')} }}"
        f"node {{ name: 'g' op: 'ScatterNd' input: 'i' input: 'a' input: 's' {types} {policy} }}"
    )
    import_graph_def(graph_def(scatter % ""))
    if "bad_indices_policy" not in lookup("ScatterNd").attrs:
        with pytest.raises(ValueError, match="'bad_indices_policy' is 'IGNORE'; only"):
            import_graph_def(graph_def(scatter % "IGNORE"))


# -- sources and types ---------------------------------------------------------------------------


def test_other_forms_are_taken_too_with_what_they_say_of_shapes(graph: acts.Graph) -> None:
    import_graph_def(graph_pb2.GraphDef.FromString(graph_def(PAIR).SerializeToString()))
    assert names(graph) == ["import/a", "import/b"]
    with acts.Graph().as_default() as source:
        acts.identity(acts.placeholder(acts.float32, [2], name="a"), name="b")
    found = import_graph_def(source.as_graph_def(), return_elements=["b:0"], name="ours")
    assert found is not None
    assert (found[0].name, found[0].shape.as_list()) == ("ours/b:0", [2])

    # Static shapes that the file knows are kept.
    shapes = "attr { key: '_output_shapes' value { list { shape { dim { size: 3 } } } } } }"
    found = import_graph_def(graph_def(PLACEHOLDER[:-1] + shapes), return_elements=["a:0"])
    assert found is not None
    assert found[0].shape.as_list() == [3]
    # An attribute without a value has its default.
    message = graph_def(PLACEHOLDER)
    message.node[0].attr["shape"].SetInParent()
    import_graph_def(message, name="")
    assert graph.get_tensor_by_name("a:0").shape.rank is None
    message.node[0].attr["dtype"].Clear()
    with pytest.raises(ValueError, match="attribute 'dtype' must be of type type, got None"):
        import_graph_def(message, name="again")
    # Defaults of who wrote the graph are left out.
    ops = protos.OpList()
    attr = ops.op.add(name="GatherNd").attr.add(name="bad_indices_policy", type="string")
    attr.default_value.s = b"IGNORE"
    before = len(names(graph))
    import_graph_def(graph_def(PAIR), producer_op_list=ops)
    assert len(names(graph)) == before + 2


def test_older_and_newer_names_of_types_are_understood() -> None:
    shape = attr("shape", "shape", "{ unknown_rank: true }")
    types = "".join([attr(name, "type", ": DT_FLOAT") for name in ("Ta", "Tb", "Tout")])
    gathered = attr("Tparams", "type", ": DT_FLOAT") + attr("Tindices", "type", ": DT_INT32")
    nodes = [
        f"name: 'x' op: 'PlaceholderV2' {DTYPE} {shape}",
        whole("n", ""),
        whole("v", "dim { size: 1 }"),
        f"name: 'p' op: 'BatchMatMulV3' input: 'x' input: 'x' {types}",
        f"name: 'j' op: 'Concat' input: 'n' input: 'x' input: 'x' {FLOAT} {attr('N', 'i', ': 2')}",
        f"name: 'g' op: 'Gather' input: 'x' input: 'v' {gathered}",
    ]
    text = "".join([f"node {{ {node} }}" for node in nodes])
    value = np.arange(4, dtype=np.float32).reshape(2, 2)
    found = run_imported(graph_def(text), ["p:0", "j:0", "g:0"], {"x:0": value})
    np.testing.assert_array_equal(found[0], value @ value)
    np.testing.assert_array_equal(found[1], np.concatenate([value, value], 1))
    np.testing.assert_array_equal(found[2], value[1:])


def test_a_handle_from_outside_says_what_it_holds(graph: acts.Graph) -> None:
    """The read has neither dtype nor shape in the file's own words: they come from the variable."""
    with acts.Graph().as_default() as source:
        acts.identity(acts.Variable([1.0, 2.0], name="v").value(), name="out")
        message = graph_def_of(source)
    mine = acts.Variable([5.0, 6.0], name="mine")
    found = import_graph_def(message, {"v:0": mine.handle}, ["out:0"])
    assert found is not None
    assert found[0].shape.as_list() == [2]
    with acts.Session(graph=graph) as session:
        session.run(mine.initializer)
        assert session.run(found[0]).tolist() == [5.0, 6.0]


@for_each(
    "attrs",
    [{"value": "text"}, {}, {"value": np.float32(1), "_class": [b"loc:@c"]}],
    ids=["text", "nothing", "groups of bytes"],
)
def test_a_plain_graph_with_attributes_of_other_types_is_refused(attrs: dict[str, Any]) -> None:
    with acts.Graph().as_default() as graph:
        acts.constant(1.0, name="c")
    (node,) = graph.as_graph_def().nodes
    with acts.Graph().as_default(), pytest.raises(ValueError, match=r"node 'c' \(Const\) has"):
        import_graph_def(PlainGraphDef((replace(node, attrs=attrs),)))


NAMES = ["mlp", "reductions", "slicing", "elementwise", "control_flow"]


def spoiled(data: bytes, choose: random.Random) -> bytes:
    """The bytes with a few of them changed or left out."""
    found = bytearray(data)
    for _ in range(choose.choice([1, 2, 4])):
        at = choose.randrange(len(found))
        if choose.random() < 0.7:
            found[at] = choose.randrange(256)
        else:
            del found[at : at + choose.randrange(4)]
    return bytes(found)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(choose=st.randoms())
def test_a_spoiled_graph_is_imported_or_refused_as_a_whole(name: str, choose: random.Random) -> None:
    data = spoiled((DATA / f"{name}.pb").read_bytes(), choose)
    with acts.Graph().as_default() as graph:
        try:
            import_graph_def(GraphDef.FromString(data))
        except (DataLossError, InvalidArgumentError, NotFoundError, ValueError):
            assert graph.get_operations() == []


@settings(max_examples=40, deadline=None)
@given(choose=st.randoms())
def test_a_spoiled_text_is_read_or_refused(choose: random.Random) -> None:
    text = spoiled((DATA / "training.pbtxt").read_bytes()[:1500], choose)
    try:
        read = text_format.Parse(text, GraphDef())
    except InvalidArgumentError:
        return
    assert text_format.Parse(text_format.MessageToString(read), GraphDef()) == read


@given(st.text("{}<>[]:;,'\"\\\\#-.0x1ef nameopinput\n", max_size=60))
def test_any_text_is_a_node_or_refused(text: str) -> None:
    try:
        read = text_format.Parse(text, NodeDef())
    except InvalidArgumentError:
        return
    assert text_format.Parse(repr(read), NodeDef()) == read
