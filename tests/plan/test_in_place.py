"""Results that are written over inputs, sums that are formed bit by bit, and values that are sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Tensor, ops
from actorsession.plan.codegen.fusion import LEAST as BLOCKS_ABOVE
from tests.plan.kit import Made, Step, call

THREE = np.array([1, 2, 3], np.float32)


@pytest.fixture
def x(graph: Graph) -> Tensor:
    return ops.placeholder("float32", [3], name="x")


def written_over(made: Made) -> list[str]:
    """The lines that write to an array which is there already."""
    return [line for line in made.source() if re.match(r"[oj]\d+\(", line)]


def check(graph: Graph, y: Tensor, x: Tensor, expected: Any, *, over: int) -> Made:
    """That ``y`` is as expected, is made with ``over`` results in place, and leaves what is fed alone."""
    made, fed = Made(graph, [y], [x]), THREE.copy()
    np.testing.assert_array_equal(made.run(fed)[0], expected)
    np.testing.assert_array_equal(fed, THREE)
    assert len(written_over(made)) == over
    return made


# -- over an input ---------------------------------------------------------------------------------


def test_a_chain_works_in_the_one_array_that_its_first_op_makes(graph: Graph, x: Tensor) -> None:
    y = ops.tanh((x * 2.0 + x) / x)
    source = check(graph, y, x, np.tanh(np.float32(3)), over=3).source()
    assert source[1:] == ["v2 = (v0 * c1)", "o3(v2, v0, v2)", "o4(v2, v0, v2)", "del v0", "o5(v2, v2)", "return (v2, )"]
    # The right operand can be written over as well.
    y = x - ops.exp(x * 0.0)
    check(graph, y, x, THREE - 1, over=2)


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda x: x + 1.0, id="what-is-fed"),
        pytest.param(lambda x: ops.constant([1.0, 2.0, 3.0]) + x, id="a-constant"),
        pytest.param(lambda x: ops.reshape(x, [3]) + 1.0, id="a-view"),
        pytest.param(lambda x: ops.cast(x * 2.0 > 1.0, "float32"), id="another-dtype"),
        pytest.param(lambda x: ops.reduce_sum(x, 0, keepdims=True) + x, id="a-smaller-one"),
        pytest.param(lambda x: ops.reduce_sum(x) + 1.0, id="a-scalar"),
        pytest.param(lambda x: ops.maximum(x * 2.0, x), id="an-op-that-wants-an-array-of-its-own"),
    ],
)
def test_nothing_else_is_written_over(graph: Graph, x: Tensor, build: Callable[[Tensor], Tensor]) -> None:
    made = Made(graph, [build(x)], [x])
    assert written_over(made) == []
    made.run(THREE)


def test_what_others_get_as_well_stays_as_it_is(graph: Graph, x: Tensor) -> None:
    y = x * 2.0
    first, second = y + 1.0, y + 2.0
    made = Made(graph, [first, second], [x])
    assert written_over(made) == []
    assert [v.tolist() for v in made.run(THREE)] == [[3, 5, 7], [4, 6, 8]]
    y = x * 2.0
    z = y + 1.0
    made = Made(graph, [y, z], [x])
    assert [v.tolist() for v in made.run(THREE)] == [[2, 4, 6], [3, 5, 7]]
    # A value that is read twice by one node stays as it is.
    y = x * 2.0
    z = y * y
    check(graph, z, x, 4 * THREE * THREE, over=0)
    # A view of an array keeps it from being written over.
    y = call(graph, np.negative, x).outputs[0]
    view = call(graph, lambda v: v[::-1], y, op="KitView").outputs[0]
    z = y + 1.0
    both = view + z
    check(graph, both, x, -THREE[::-1] - THREE + 1, over=1)  # z may be, y not
    with graph.device("/cpu:0"):
        y = x * 2.0
        z = y + 1.0
        with graph.device("/cpu:1"):
            there = -y
    made = Made(graph, [z, there], [x], devices=2)
    assert [v.tolist() for v in made.run(THREE)] == [[3, 5, 7], [-2, -4, -6]]


def test_without_known_shapes_only_scalars_beside_it_let_an_array_be_written_over(graph: Graph) -> None:
    x = ops.placeholder("float32", [None])
    made = Made(graph, [call(graph, np.negative, x * 2.0 + 1.0, shapes=([None],)).outputs[0] + x], [x])
    assert len(written_over(made)) == 1
    assert made.run(THREE)[0].tolist() == [-2, -3, -4]


def test_a_loop_changes_none_of_its_variables(graph: Graph, x: Tensor) -> None:
    _, y = ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0 + 1.0), [ops.constant(0), x])
    made, fed = Made(graph, [y + x], [x]), THREE.copy()
    for _ in range(2):
        np.testing.assert_array_equal(made.run(fed)[0], 8 * THREE + 7 + THREE)
    np.testing.assert_array_equal(fed, THREE)


def test_traced_code_shows_the_values_as_they_were_made(graph: Graph, x: Tensor) -> None:
    step = Step(Made(graph, [-(x * 2.0 + 1.0)], [x]), [THREE], traced=True)
    step.run()
    assert len(step.parts[0].notes) == 3


# -- sums ------------------------------------------------------------------------------------------


def made_sum(graph: Graph, terms: list[Tensor], x: Tensor, **extra: Any) -> Made:
    return Made(graph, [ops.add_n(terms, name="sum"), *extra.get("more", ())], [x])


def terms_of(graph: Graph, x: Tensor, count: int = 4) -> list[Tensor]:
    return [call(graph, lambda v, k=k: v * k, x).outputs[0] for k in range(1, count + 1)]


def test_each_term_of_a_sum_is_added_when_it_is_made(graph: Graph, x: Tensor) -> None:
    made = made_sum(graph, terms_of(graph, x), x)
    assert made.source()[1:] == [
        "v1 = k1(v0)",
        "v2 = k2(v0)",
        "j5(v1, v2, v1)",
        "del v2",
        "v3 = k3(v0)",
        "j5(v1, v3, v1)",
        "del v3",
        "v4 = k4(v0)",
        "del v0",
        "j5(v1, v4, v1)",
        "del v4",
        "return (v1, )",
    ]
    assert made.run(THREE)[0].tolist() == [10, 20, 30]


def test_terms_are_added_in_the_order_of_the_sum_whenever_they_are_made(graph: Graph, x: Tensor) -> None:
    terms = [call(graph, lambda v, k=k: v * np.float32(k), x).outputs[0] for k in (1e8, 1, -1e8)]
    made = made_sum(graph, [terms[0], terms[2], terms[1]], x)
    assert made.run(THREE)[0].tolist() == [1, 2, 3]  # 1e8 + 1 is 1e8
    assert made_sum(graph, terms, x).run(THREE)[0].tolist() == [0, 0, 0]


def test_terms_that_others_read_are_added_and_not_added_to(graph: Graph, x: Tensor) -> None:
    terms = terms_of(graph, x)
    found = made_sum(graph, terms, x, more=terms).run(THREE)
    assert [v.tolist() for v in found] == [[10, 20, 30], *[(THREE * k).tolist() for k in (1, 2, 3, 4)]]
    # A term may stand in a sum twice and come from outside.
    (y,) = terms_of(graph, x, 1)
    fed = THREE.copy()
    assert made_sum(graph, [x, y, y, x], x).run(fed)[0].tolist() == [4, 8, 12]
    np.testing.assert_array_equal(fed, THREE)


@pytest.mark.parametrize("count", [1, 2])
def test_sums_of_few_are_left_to_their_kernel(graph: Graph, x: Tensor, count: int) -> None:
    made = made_sum(graph, terms_of(graph, x, count), x)
    assert written_over(made) == []
    assert made.run(THREE)[0].tolist() == [sum(range(count + 1)) * k for k in (1, 2, 3)]


def test_a_sum_of_what_has_no_known_shape_says_what_does_not_fit(graph: Graph, x: Tensor) -> None:
    made = made_sum(graph, [call(graph, np.negative, x, shapes=([None],)).outputs[0] for _ in range(3)], x)
    assert written_over(made) == []
    assert made.run(THREE)[0].tolist() == [-3, -6, -9]


def test_a_sum_is_noted_once_with_its_value(graph: Graph, x: Tensor) -> None:
    step = Step(made_sum(graph, terms_of(graph, x), x), [THREE], traced=True)
    step.run()
    assert [(name, v.tolist()) for name, v in step.parts[0].notes if name == "sum"] == [("sum", [10, 20, 30])]


def doubled(value: Any) -> Any:
    return value * 2


def of_op(graph: Graph, x: Tensor, op: str, count: int = 1) -> list[Tensor]:
    return [call(graph, doubled, x, op=op).outputs[0] for _ in range(count)]


# What is summed of a placeholder of 1, 2, 3, and the lines between the first and the last.
TERMS: dict[str, tuple[Callable[[Graph, Tensor], list[Tensor]], list[str]]] = {
    "alone": (
        lambda graph, x: of_op(graph, x, "KitTerm", 3),
        ["v4 = s1(None, v0)", "v4 = s2(v4, v0)", "v4 = s3(v4, v0)", "del v0"],
    ),
    "two": (lambda graph, x: of_op(graph, x, "KitTerm", 2), ["v3 = s1(None, v0)", "v3 = s2(v3, v0)", "del v0"]),
    "by twos": (
        lambda graph, x: of_op(graph, x, "KitTerms", 3),
        ["v4 = s1(None, v0, v0)", "v4 = s3(v4, v0)", "del v0"],
    ),
    "of two kinds": (
        lambda graph, x: [*of_op(graph, x, "KitTerms"), *of_op(graph, x, "KitTerm"), *of_op(graph, x, "KitTerms")],
        ["v4 = s1(None, v0)", "v4 = s2(v4, v0)", "v4 = s3(v4, v0)", "del v0"],
    ),
    "after what is made for it": (
        lambda graph, x: [*of_op(graph, x, "KitCall"), *of_op(graph, x, "KitTerm")],
        ["v1 = k1(v0)", "v1 = s2(v1, v0)", "del v0"],
    ),
    "after what others have": (
        lambda graph, x: [x, *of_op(graph, x, "KitTerm")],
        ["v2 = own(v0)", "v2 = s1(v2, v0)", "del v0"],
    ),
    "before it": (
        lambda graph, x: [*of_op(graph, x, "KitTerm"), *of_op(graph, x, "KitCall")],
        ["v3 = s1(None, v0)", "v2 = k2(v0)", "del v0", "j3(v3, v2, v3)", "del v2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TERMS)
@pytest.mark.parametrize("traced", [False, True])
def test_what_is_a_term_of_a_sum_alone_is_added_without_a_result_of_its_own(
    graph: Graph, x: Tensor, case: str, traced: bool
) -> None:
    build, lines = TERMS[case]
    terms = build(graph, x)
    made, fed = made_sum(graph, terms, x), THREE.copy()
    assert made.source()[1:-1] == lines
    step = Step(made, [fed], traced=traced)
    np.testing.assert_array_equal(step.run()[0], sum(THREE if term is x else doubled(THREE) for term in terms))
    np.testing.assert_array_equal(fed, THREE)
    # A trace has the value of each node.
    noted = {name for name, _ in step.parts[0].notes}
    assert noted == ({term.op.name for term in terms if term is not x} | {"sum"} if traced else set())


def test_a_term_that_others_read_has_a_result_of_its_own(graph: Graph, x: Tensor) -> None:
    terms = of_op(graph, x, "KitTerm", 3)
    made = made_sum(graph, terms, x, more=[terms[1], *[-terms[2]]])
    assert [line.partition(" = ")[2][:2] for line in lines(made, r"= [ks].*v0")] == ["s1", "k2", "k3"]
    assert [v.tolist() for v in made.run(THREE)] == [[6, 12, 18], [2, 4, 6], [-2, -4, -6]]


SIZE = 2**13  # of float32: the least that is worth sharing


def placeholder(*shape: int | None) -> Tensor:
    return ops.placeholder("float32", shape)


def lines(made: Made, pattern: str) -> list[str]:
    return [line for line in made.source() if re.search(pattern, line)]


@pytest.mark.parametrize("view", [lambda x: x, ops.identity, lambda x: ops.reshape(x, [2, -1])])
@pytest.mark.parametrize("sent", [True, False])
def test_a_read_that_is_sent_lends(graph: Graph, view: Callable[[Tensor], Tensor], sent: bool) -> None:
    made = Made(graph, [view(ops.Variable(np.arange(SIZE, dtype=np.float32)).value())], own_fetches=not sent)
    assert len(lines(made, r"\.lend\(\)")) == sent
    assert len(lines(made, r"\.read\(\)")) == (not sent)


def test_a_read_that_only_feeds_a_computation_does_not_lend(graph: Graph) -> None:
    assert not lines(Made(graph, [ops.Variable(np.zeros(SIZE, np.float32)).value() + 1.0], own_fetches=False), "lend")


BUILDS: dict[str, Callable[[Tensor], Tensor]] = {
    "ufunc": lambda x: x + 1.0,
    "chain": lambda x: ops.tanh(x * 2.0) - x,
    "other-function": lambda x: ops.maximum(x, 0.5),
    "product": lambda x: ops.matmul(ops.reshape(x, [-1, 1]), ops.reshape(x, [1, -1])[:, :64]),
    "transposed-product": lambda x: ops.matmul(ops.reshape(x, [64, -1]), ops.reshape(x, [64, -1]), transpose_a=True),
}


@pytest.mark.parametrize("name", BUILDS)
def test_a_large_result_that_is_sent_is_written_to_a_new_array(graph: Graph, name: str) -> None:
    x = placeholder(SIZE)
    y = BUILDS[name](x)
    fed = np.linspace(-1, 1, SIZE, dtype=np.float32)
    plain, sent = Made(graph, [y], [x]), Made(graph, [y], [x], own_fetches=False)
    assert not lines(plain, r"= empty\(")
    assert len(lines(sent, r"= empty\(")) == 1
    np.testing.assert_array_equal(sent.run(fed)[0], plain.run(fed)[0])


def test_blocks_are_written_to_a_new_array_too(graph: Graph) -> None:
    x = placeholder(2 * BLOCKS_ABOVE)
    y = ops.tanh(x * 2.0 + x) - x
    fed = np.linspace(-1, 1, 2 * BLOCKS_ABOVE, dtype=np.float32)
    sent = Made(graph, [y], [x], own_fetches=False)
    assert lines(sent, r"Blockwise\(.*, \[0\]\)$")
    np.testing.assert_array_equal(sent.run(fed)[0], Made(graph, [y], [x]).run(fed)[0])


SMALL: dict[str, Callable[[], tuple[Tensor, Tensor]]] = {
    "few-bytes": lambda: ((x := placeholder(SIZE - 1)), x + 1.0),
    "unknown-size": lambda: ((x := placeholder(None)), x + 1.0),
    "no-such-function": lambda: ((x := placeholder(SIZE)), ops.cumsum(x)),
}


@pytest.mark.parametrize("name", SMALL)
def test_other_results_are_made_as_usual(graph: Graph, name: str) -> None:
    x, y = SMALL[name]()
    assert not lines(Made(graph, [y], [x], own_fetches=False), r"= empty\(")
