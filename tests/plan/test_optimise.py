"""The same step with fewer nodes: what is folded, merged and passed over, and what never is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from actorsession import Graph, NodeDef, Operation, Tensor, get_default_graph, ops, opsets
from actorsession.errors import InvalidArgumentError
from actorsession.extend import OptimiserSettings, RunSignature, StepGraph
from actorsession.graph.node import spec
from actorsession.plan.codegen.bind import BoundPartition
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.partition import partition
from actorsession.plan.passes.optimise import optimise
from actorsession.plan.prune import GraphView, prune
from tests.plan.kit import CPU, Made, call, device_set, node, scalar
from tests.plan.test_passes import Recipe, check_own, constants, recipes
from tests.rows import for_each

BOTH = OptimiserSettings()
FOLDING = OptimiserSettings(do_common_subexpression_elimination=False)
MERGING = OptimiserSettings(do_constant_folding=False)
NEITHER = OptimiserSettings(do_common_subexpression_elimination=False, do_constant_folding=False)


class Optimised(Made):
    """All passes over a graph, this one among them."""

    def __init__(self, *args: Any, options: OptimiserSettings = BOTH, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.before = self.step_graph
        self.step_graph, self.device_of = optimise(self.before, self.device_of, options)
        self.parts = partition(self.step_graph, self.device_of, self.device_set)
        own = kwargs.get("own_fetches", True)
        self.linked = [self._link(part, own) for part in self.parts]

    def ops(self) -> list[str]:
        return [n.op for n in self.step_graph.nodes.values()]


def optimised(
    nodes: Sequence[NodeDef],
    fetches: str = "",
    targets: str = "",
    feeds: str = "",
    where: dict[str, int] | None = None,
    options: OptimiserSettings = BOTH,
) -> StepGraph:
    """The pass over nodes made by hand; nodes that ``where`` leaves out are on the first device."""
    signature = RunSignature(tuple(feeds.split()), tuple(fetches.split()), tuple(targets.split()))
    before = prune(GraphView(nodes), signature)
    after, device_of = optimise(before, {name: CPU[(where or {}).get(name, 0)] for name in before.nodes}, options)
    assert device_of.keys() == after.nodes.keys()
    assert after.feeds == before.feeds
    partition(after, device_of, device_set(3))  # which validates
    return after


def stored(made: Made) -> list[Any]:
    found = []
    for n in made.step_graph.nodes.values():
        if n.op == "VarHandleOp":
            shape = spec(n.attrs["dtype"], n.attrs["shape"])
            host = made.variables[made.device_of[n.name]]
            holder = host.variable(n.attrs["container"], n.attrs["shared_name"] or n.name, shape)
            assert holder.initialized
            found.append(holder.read())
    return found


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


def value_of(graph: StepGraph, name: str) -> Any:
    assert graph.nodes[name].op == "Const"
    return graph.nodes[name].attrs["value"]


# What waits for a feed and so can be neither folded nor merged away.
X = node("x", op="Placeholder")


# -- constant folding ------------------------------------------------------------------------------


def test_a_node_that_reads_constants_becomes_a_constant(graph: Graph) -> None:
    total = ops.constant([1.0, 2.0]) * 3.0 + 1.0
    made = Optimised(graph, [total])
    assert made.ops() == ["Const"]
    found = made.step_graph.nodes[total.op.name]
    np.testing.assert_array_equal(found.attrs["value"], floats(4, 7))
    assert (found.outputs, found.source) == ((spec("float32", [2]),), total.op.source)
    np.testing.assert_array_equal(made.run()[0], [4, 7])


def vector() -> Tensor:
    return ops.placeholder("float32", [2])


def fetched(graph: Graph, build: Callable[[], Tensor | list[Tensor]], options: OptimiserSettings = BOTH) -> Optimised:
    """The plan that fetches what is built in a graph, which is the default one, fed at all its placeholders."""
    fetches = build()
    feeds = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
    return Optimised(graph, list(fetches) if isinstance(fetches, list) else [fetches], feeds, options=options)


def text(*values: str) -> Tensor:
    return ops.constant(list(values) if len(values) > 1 else values[0])


def both_parts(*values: float) -> list[Tensor]:
    """What is computed of the two halves of constants and of a feed."""
    (low, high), x = ops.split(ops.constant(list(values), "float32"), 2), vector()
    return [x + high, x - low]


def waiting_for(build: Callable[[], Tensor]) -> Tensor:
    """What reads a feed and runs after something else."""
    x, before = vector(), build()
    with get_default_graph().control_dependencies([before]):
        return -x


@for_each(
    "build, kinds, value",
    [
        # Folding goes on through whatever has become constant.
        (lambda: vector() + ops.reduce_sum(ops.square(ops.constant([3.0, 4.0]))), "AddV2 Const _Arg", [35, 45]),
        # Constants that nobody reads any more are dropped.
        (lambda: ops.constant(2.0) * ops.constant(3.0), "Const", 6),
        # Each output of a folded node becomes a constant, and equal ones become one.
        (lambda: both_parts(1, 2, 3, 4), "AddV2 Const Const Sub _Arg", [[13, 24], [9, 18]]),
        (lambda: both_parts(1, 2, 1, 2), "AddV2 Const Sub _Arg", [[11, 22], [9, 18]]),
        # A fetched node of several outputs is left as it is.
        (lambda: ops.split(ops.constant([1.0, 2.0]), 2)[1], "Const Const Split", [2]),
        # Shapes that only the values tell are found while folding.
        (lambda: ops.range(ops.constant(2) + 3) * 2, "Const", [0, 2, 4, 6, 8]),
        (lambda: ops.add(text("a"), text("b", "c")), "Const", [b"ab", b"ac"]),
        (lambda: ops.add(text("a"), text("b")), "Const", b"ab"),
        # What has an unknown shape even then is not folded.
        (lambda: ops.where(ops.constant([True, False])), "Const Where", [[0]]),
        # Nobody waits for constants, or for one of several outputs that were folded.
        (lambda: waiting_for(lambda: ops.constant(1.0) + 1.0), "Neg _Arg", [-10, -20]),
        (lambda: waiting_for(lambda: ops.split(ops.constant([1.0, 2.0]), 2)[1]), "Neg _Arg", [-10, -20]),
    ],
)
def test_what_reads_constants_alone_becomes_a_constant(graph: Graph, build: Any, kinds: str, value: Any) -> None:
    made = fetched(graph, build)
    assert " ".join(sorted(made.ops())) == kinds
    results = made.run(*[floats(10, 20)] * len(made.signature.feeds))
    np.testing.assert_array_equal(results if isinstance(value, list) and len(results) > 1 else results[0], value)
    for n in made.step_graph.nodes.values():
        assert n.control_inputs == ()
        assert all(kind.shape.is_fully_defined() for kind in n.outputs) or n.op == "Where"


def test_a_folded_constant_shares_memory_with_nothing(graph: Graph) -> None:
    given_ = np.arange(6, dtype=np.float32)
    view = ops.reshape(ops.constant(given_), [2, 3])
    made = Optimised(graph, [view])
    value = made.step_graph.nodes[view.op.name].attrs["value"]
    assert not np.shares_memory(value, view.op.inputs[0].op.attrs["value"])
    assert not value.flags.writeable
    first, second = made.run()[0], made.run()[0]
    first[...] = 77
    np.testing.assert_array_equal(second, given_.reshape(2, 3))


@for_each("most, kinds", [(3999, ["Const", "Const", "AddV2"]), (4000, ["Const"])])
def test_what_is_larger_than_the_limit_is_not_folded(graph: Graph, most: int, kinds: list[str]) -> None:
    y, settings = ops.constant(np.ones(1000, np.float32)) + 1.0, OptimiserSettings(max_folded_constant_in_bytes=most)
    assert Optimised(graph, [y], options=settings).ops() == kinds


def test_strings_count_for_the_limit_by_number_and_length(graph: Graph) -> None:
    """Eight bytes an element, and two for each of its characters here."""
    y = ops.add(ops.constant(["a", "b"]), ops.constant("c"))
    for most, folded in ((15, False), (19, False), (20, True)):
        settings = OptimiserSettings(max_folded_constant_in_bytes=most)
        assert ("Add" not in Optimised(graph, [y], options=settings).ops()) == folded


def test_strings_that_double_are_folded_while_they_are_short(graph: Graph) -> None:
    """Twelve times is 4 KiB, forty times would be a terabyte."""
    text = ops.constant("a")
    for _ in range(40):
        text = opsets.string_join([text, text])
    made = Optimised(graph, [opsets.string_to_hash_bucket_fast(text, 9)])
    kept = [n.attrs["value"] for n in made.step_graph.nodes.values() if n.op == "Const"]
    assert max(len(s) for value in kept for s in value.flat) <= 2**13
    assert made.ops().count("StringJoin") >= 40 - 13


def test_all_that_is_folded_in_a_plan_has_a_limit_too(graph: Graph) -> None:
    x = ops.placeholder("float32", [250])
    many = [ops.constant(np.full(250, float(k), np.float32)) + 0.5 for k in range(10)]
    settings = OptimiserSettings(max_folded_constant_in_bytes=1000)
    assert Optimised(graph, [x + y for y in many], [x], options=settings).ops().count("AddV2") == 10 + 6


def test_what_takes_long_is_not_folded(graph: Graph) -> None:
    y = call(graph, lambda v: v + 1, ops.constant([1.0, 2.0, 3.0]), op="KitDear").outputs[0]
    assert Optimised(graph, [y]).ops() == ["Const", "KitDear"]
    assert "Sum" in Optimised(graph, [ops.reduce_sum(ops.constant(np.ones(300_000, np.float32)))]).ops()


def test_a_kernel_that_raises_is_left_to_the_step(graph: Graph) -> None:
    def refuse(value: Any) -> Any:
        raise InvalidArgumentError("never")

    bad = call(graph, refuse, ops.constant([1.0, 2.0, 3.0]))
    made = Optimised(graph, [bad.outputs[0]])
    assert made.step_graph.nodes[bad.name].source == bad.source
    with pytest.raises(InvalidArgumentError, match="never"):
        made.run()
    # A kernel that gives another type than announced is left to the step.
    odd = call(graph, lambda v: v.astype(np.float64), ops.constant([1.0, 2.0, 3.0]))
    assert "KitCall" in Optimised(graph, [odd.outputs[0]]).ops()


def test_a_target_is_not_folded(graph: Graph) -> None:
    runs = []

    def run(value: Any) -> Any:
        runs.append(1)
        return value

    made = Optimised(graph, targets=[call(graph, run, ops.constant([1.0, 2.0, 3.0]), op="KitView")])
    assert list(made.ops()) == ["Const", "KitView"]
    made.run()
    assert runs == [1]
    # A node that waits for something is not folded.
    with graph.control_dependencies([ops.Variable(1.0).initializer]):
        y = ops.constant(2.0) * ops.constant(3.0)
    made = Optimised(graph, [y])
    assert "AssignVariableOp" in made.ops()
    assert made.run() == [6]
    assert stored(made) == [1]


def test_a_folded_constant_stays_on_the_device_that_the_user_named(graph: Graph) -> None:
    with graph.device("/cpu:1"):
        y = ops.constant(1.0) + 1.0
    with graph.device("/cpu:0"):
        z = ops.placeholder("float32", []) + y
    made = Optimised(graph, [z], [z.op.inputs[0]], devices=2)
    assert [p.device for p in made.parts] == [CPU[0], CPU[1]]
    assert made.run(np.float32(1)) == [3]
    # That of an op without a device travels no more.
    y = ops.constant(1.0) + 1.0
    with graph.device("/cpu:1"):
        z = ops.placeholder("float32", []) + y
    before, after = (kind(graph, [z], [z.op.inputs[0]], devices=2) for kind in (Made, Optimised))
    count = [sum(n.op == "_Send" for p in made.parts for n in p.nodes) for made in (before, after)]
    assert count[1] == count[0] - 1
    assert after.run(np.float32(1)) == [3]


# -- equal nodes -----------------------------------------------------------------------------------


def test_a_product_with_ones_gives_way_to_the_other_factor(graph: Graph) -> None:
    for dtype in ("float32", "int32", "bfloat16"):
        x, one = ops.placeholder(dtype, [200, 20000]), ops.constant(1, dtype)
        row, whole = ops.reshape(one, [1]), ops.fill([200, 20000], one)
        for y in (x * 1, row * x, x * ops.broadcast_to(one, [200, 20000]), whole * x, ops.tile([[one]], [200, 1]) * x):
            assert Optimised(graph, [ops.negative(y)], [x]).ops() == ["_Arg", "Neg"]


def test_a_product_with_ones_stays_where_it_is_more(graph: Graph) -> None:
    """It is or may be larger, it is fetched, it waits for something, or 1 times infinity is no number."""
    x, some, z = ops.placeholder("float32", [1, 3]), ops.placeholder("float32", [None, 3]), ops.placeholder("complex64")
    ones = ops.fill([2, 3], 1.0)
    with graph.control_dependencies([ops.Variable(1.0).initializer]):
        later = x * 1.0
    for product in (x * ones, some * ones, z * 1.0, later, x * 2.0):
        assert "Mul" in Optimised(graph, [ops.negative(product)], [x, some, z]).ops()
    assert "Mul" in Optimised(graph, [x * 1.0], [x]).ops()
    assert "Mul" in Optimised(graph, [ops.negative(x * 1.0)], [x], options=MERGING).ops()


def test_equal_nodes_become_one(graph: Graph) -> None:
    x = ops.placeholder("float32", [2])
    made = Optimised(graph, [ops.tanh(x * 2.0) + ops.tanh(x * 2.0)], [x])
    assert made.ops() == ["_Arg", "Const", "Mul", "Tanh", "AddV2"]
    np.testing.assert_allclose(made.run(floats(1, 2))[0], 2 * np.tanh([2, 4]), rtol=1e-6)


@for_each(
    "one, other",
    [
        (node("b", "x", op="Neg"), node("c", "x", op="Abs")),
        (node("b", "x", "k", op="Sub"), node("c", "k", "x", op="Sub")),
        (node("b", "x", op="Sum", keep_dims=True), node("c", "x", op="Sum", keep_dims=False)),
        (node("b", "x", op="Neg", after=["s"]), node("c", "x", op="Neg")),
        (node("b", "x", op="Neg"), node("c", "x", op="Neg", outputs=[spec("float32", [3])])),
        (node("b", "x", op="Neg", a=0.0), node("c", "x", op="Neg", a=-0.0)),
        (node("b", "x", op="Neg", a=1), node("c", "x", op="Neg", a=True)),
        (node("b", "x", op="Neg", a={"set"}), node("c", "x", op="Neg", a={"set"})),
        (node("b", op="RandomUniform"), node("c", op="RandomUniform")),
        (node("b", "x", op="Neg"), node("elsewhere", "x", op="Neg")),
    ],
    ids=["op", "order", "attribute", "control", "shape", "sign", "type", "unhashable", "random", "device"],
)
def test_nodes_that_differ_in_anything_stay_two(one: NodeDef, other: NodeDef) -> None:
    nodes = [X, node("k", op="VarHandleOp"), node("s", op="VarHandleOp"), one, other]
    nodes.append(node("y", one.name, other.name, op="AddV2"))
    found = optimised(nodes, "y:0", feeds="x:0", where={"elsewhere": 1}, options=MERGING)
    assert found.nodes["y"].inputs == ((one.name, 0), (other.name, 0))


def test_small_constants_are_equal_by_value_and_large_ones_by_identity() -> None:
    big = np.zeros(1000, np.float32)
    kinds = [spec("float32", [1000])]
    nodes = [
        node("a", op="Const", value=np.float32(1)),
        node("b", op="Const", value=np.float32(1)),
        node("c", op="Const", value=big, outputs=kinds),
        node("d", op="Const", value=big, outputs=kinds),
        node("e", op="Const", value=big.copy(), outputs=kinds),
        X,
        node("y", "x", "a", "b", "c", "d", "e", op="AddN"),
    ]
    found = optimised(nodes, "y:0", feeds="x:0")
    assert [name for name, _ in found.nodes["y"].inputs[1:]] == ["a", "a", "c", "c", "e"]


def test_fetched_duplicates_keep_their_names_and_their_values_apart(graph: Graph) -> None:
    x = vector()
    first, second = x + 1.0, x + 1.0
    made = Optimised(graph, [first, second, second * 2.0], [x])
    assert {first.op.name, second.op.name} <= made.step_graph.nodes.keys()
    values = made.run(floats(1, 2))
    check_own(values, [])
    np.testing.assert_array_equal(values, [[2, 3], [2, 3], [4, 6]])


@for_each(
    "one, other, reader, fetches",
    [
        # Attributes are compared by value.
        (
            {"axes": [1, 2], "value": np.arange(3), "_class": ["loc:@x"]},
            {"value": np.arange(3), "axes": [1, 2]},
            node("y", "a", "b", op="AddV2"),
            "y:0",
        ),
        # Readers of a fetched duplicate read the first.
        ({}, {}, node("y", "a", "b", op="AddV2"), "b:0 y:0"),
        # What runs after a duplicate runs after the first.
        ({}, {}, node("y", "a", op="Abs", after=["b", "a"]), "y:0"),
    ],
)
def test_readers_of_a_duplicate_read_the_first(one: Any, other: Any, reader: NodeDef, fetches: str) -> None:
    nodes = [X, node("a", "x", op="Neg", **one), node("b", "x", op="Neg", **other), reader]
    after = optimised(nodes, fetches, feeds="x:0")
    assert set(after.nodes["y"].inputs) == {("a", 0)}
    assert after.nodes["y"].control_inputs in ((), ("a",))
    assert after.fetches == tuple((name.removesuffix(":0"), 0) for name in fetches.split())
    assert ("b" in after.nodes) == ("b:0" in fetches)


def test_reads_of_a_variable_are_never_one(graph: Graph) -> None:
    state = ops.Variable(1.0)
    before = state.read_value()
    with graph.control_dependencies([before]):
        update = state.assign_add(5.0).op
    with graph.control_dependencies([update]):
        after = state.read_value()
    made = Optimised(graph, [before, after], targets=[state.initializer])
    assert made.ops().count("ReadVariableOp") == [n.op for n in made.before.nodes.values()].count("ReadVariableOp")


def test_equal_nodes_of_several_outputs_become_one(graph: Graph) -> None:
    x = ops.placeholder("float32", [4])
    a, b = ops.split(x, 2)
    c, d = ops.split(x, 2)
    made = Optimised(graph, [a + d, b - c], [x])
    assert made.ops().count("Split") == 1
    total, difference = made.run(floats(1, 2, 3, 4))
    np.testing.assert_array_equal(total, [4, 6])
    np.testing.assert_array_equal(difference, [2, 2])


# -- nodes that only pass on ------------------------------------------------------------------------


def test_an_identity_that_nobody_observes_gives_way_to_what_it_reads() -> None:
    nodes = [X, node("a", "x"), node("b", "a", op="StopGradient"), node("y", "b", op="Neg")]
    found = optimised(nodes, "y:0", feeds="x:0")
    assert list(found.nodes) == ["_arg/x/0", "y"]
    assert found.nodes["y"].inputs == (("_arg/x/0", 0),)
    # What runs after an identity runs after what it reads.
    nodes = [node("s", op="VarHandleOp"), node("v", "s", op="ReadVariableOp"), node("a", "v"), X]
    nodes.append(node("y", "x", op="Neg", after=["a"]))
    assert optimised(nodes, "y:0", feeds="x:0").nodes["y"].control_inputs == ("v",)


@for_each(
    "identity, asked",
    [
        (node("a", "x"), {"fetches": "a:0 y:0"}),
        (node("a", "x"), {"fetches": "y:0", "targets": "a"}),
        (node("a", "x", after=["s"]), {"fetches": "y:0"}),
        (node("a", "x", outputs=[spec("float32", [2])]), {"fetches": "y:0"}),
        (node("a", "x"), {"fetches": "y:0", "where": {"a": 1}}),
        (node("a", "x", op="PlaceholderWithDefault"), {"fetches": "y:0"}),
    ],
    ids=["fetched", "target", "waits", "better-shape", "elsewhere", "placeholder"],
)
def test_an_identity_that_somebody_observes_stays(identity: NodeDef, asked: dict[str, Any]) -> None:
    found = optimised([X, node("s", op="VarHandleOp"), identity, node("y", "a", op="Neg")], feeds="x:0", **asked)
    assert found.nodes["a"].op == identity.op
    assert found.nodes["y"].inputs == (("a", 0),)


def test_a_variable_kept_from_an_array_that_is_read_elsewhere_keeps_its_value(graph: Graph) -> None:
    """Without the Identity the array may be given away only if nobody else reads it."""
    x = ops.placeholder("float32", [2])
    made_here = x * 2.0
    kept = ops.assign(ops.Variable(np.zeros(2, np.float32)), ops.identity(made_here)).op
    with graph.control_dependencies([kept]):
        later = ops.identity(made_here) + 1.0
    made = Optimised(graph, [made_here, later], [x], targets=[kept])
    values = made.run(floats(1, 2))
    check_own(values, stored(made))
    np.testing.assert_array_equal(values, [[2, 4], [3, 5]])


# -- settings, order, size -------------------------------------------------------------------------


def test_each_switch_works_by_itself(graph: Graph) -> None:
    y = (ops.constant(1.0) + 2.0) * (ops.constant(1.0) + 2.0)
    assert Optimised(graph, [y], options=FOLDING).ops() == ["Const"]
    assert Optimised(graph, [y], options=MERGING).ops() == ["Const", "Const", "AddV2", "Mul"]
    made = Optimised(graph, [y], options=NEITHER)
    assert made.step_graph is made.before


def test_a_graph_in_which_nothing_can_be_done_is_the_same_object() -> None:
    before = prune(GraphView([X, node("a", "x", op="Neg"), node("y", "a", op="Abs")]), RunSignature(("x:0",), ("y:0",)))
    places = dict.fromkeys(before.nodes, CPU[0])
    assert optimise(before, places, BOTH) == (before, places)


def test_the_old_graph_is_not_touched(graph: Graph) -> None:
    before = Made(graph, [ops.tanh(ops.constant(1.0)) + ops.tanh(ops.constant(1.0))])
    names = list(before.step_graph.nodes)
    nodes = [n.plain for n in graph.get_operations()]
    optimise(before.step_graph, before.device_of, BOTH)
    assert list(before.step_graph.nodes) == names
    assert [before.step_graph.nodes[n.name] for n in nodes] == nodes


def test_errors_name_the_line_of_the_node_that_stayed(graph: Graph) -> None:
    x = ops.placeholder("int32", [])
    first = x // 0
    second = x // 0
    kept = Optimised(graph, [first + second], [x]).step_graph.nodes[first.op.name]
    assert kept.source == first.op.source != second.op.source


def test_a_chain_of_thousands_of_constants_is_folded_without_recursion(graph: Graph) -> None:
    y = ops.constant(0.0)
    for _ in range(3000):
        y = y + 1.0
    made = Optimised(graph, [y])
    assert made.ops() == ["Const"]
    assert made.run() == [3000]


def feeds_and_targets(recipe: Recipe) -> tuple[list[Tensor], list[Operation]]:
    return recipe.feeds, recipe.targets


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(recipes())
@pytest.mark.parametrize("options", [BOTH, FOLDING, MERGING], ids=["both", "folding", "merging"])
def test_random_graphs_give_the_same_without_the_pass(options: OptimiserSettings, drawn: tuple[Recipe, int]) -> None:
    recipe, devices = drawn
    made = Optimised(recipe.graph, recipe.tensors, *feeds_and_targets(recipe), devices=devices, options=options)
    plain = Made(recipe.graph, recipe.tensors, *feeds_and_targets(recipe), devices=devices)
    assert len(made.step_graph.nodes) <= len(plain.step_graph.nodes)
    for _ in range(2):
        fed = [value.copy() for value in recipe.fed]
        values = made.run(*fed)
        for tensor, value, same in zip(recipe.tensors, values, plain.run(*recipe.fed), strict=True):
            assert value.dtype == same.dtype
            np.testing.assert_array_equal(value, same, str(tensor))
        check_own(values, [*fed, *constants(made), *stored(made)])
        for array in (*values, *fed):
            array[...] = 77  # the next run must not notice


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(recipes())
def test_random_graphs_of_which_only_the_end_is_fetched_give_the_same(drawn: tuple[Recipe, int]) -> None:
    """Here nearly every node may go."""
    recipe, devices = drawn
    made = Optimised(recipe.graph, [recipe.tensors[-1]], *feeds_and_targets(recipe), devices=devices)
    np.testing.assert_array_equal(made.run(*recipe.fed)[0], recipe.values[-1])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(recipes())
def test_a_graph_that_was_optimised_travels(drawn: tuple[Recipe, int]) -> None:
    from actorsession.extend import Partition
    from actorsession.graph import codec

    recipe, devices = drawn
    made = Optimised(recipe.graph, recipe.tensors, *feeds_and_targets(recipe), devices=devices)
    made.linked = [
        BoundPartition(
            compile_partition(Partition.from_wire(codec.unpack(codec.pack(part.to_wire())))),
            made.variables[part.device],
            {},
        )
        for part in made.parts
    ]
    for value, expected in zip(made.run(*recipe.fed), recipe.values, strict=True):
        np.testing.assert_array_equal(value, expected)


def test_scalars_stay_scalars() -> None:
    found = optimised([node("k", op="Const", value=np.array(2, np.float32)), node("y", "k", op="Neg")], "y:0")
    assert value_of(found, "y").shape == ()
    assert found.nodes["y"].outputs == (scalar,)
