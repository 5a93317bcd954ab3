"""Who may hold the memory of a value: the reasoning behind every copy that is not made."""

from __future__ import annotations

from actorsession import Graph, NodeDef
from actorsession.extend import Partition
from actorsession.graph.node import spec
from actorsession.plan.codegen.use_def import Ref, UseDef
from actorsession.plan.partition import RECV, SEND
from actorsession.plan.prune import ARG
from tests.plan.kit import CPU, call, node
from tests.rows import for_each


def flow(*nodes: NodeDef, fetches: tuple[str, ...] = ()) -> UseDef:
    refs = tuple((i, name, 0) for i, name in enumerate(fetches))
    return UseDef(Partition(CPU[0], nodes, refs))


def ref(of: UseDef, name: str) -> Ref:
    return next(i for i, n in enumerate(of.nodes) if n.name == name), 0


FEED = node("x", op=ARG, index=0, outputs=(spec("float32", [3]),))
ARRIVAL = node("r", op=RECV, key="k", outputs=(spec("float32", [3]),))
K = node("k", op="Const", value=1.0)
SUM = node("y", "x", "x", op="AddV2", outputs=(spec("float32", [3]),))


def test_nodes_are_numbers_and_values_are_pairs() -> None:
    made = flow(FEED, K, SUM, node("z", "y", after=["k"]), fetches=("z",))
    assert made.inputs == [(), (), ((0, 0), (0, 0)), ((2, 0),)]
    assert made.before == [(), (), (0, 0), (2, 1)]
    assert made.uses == {(0, 0): 2, (2, 0): 1}
    assert made.fetches == ((0, (3, 0)),)
    assert made.outside == [True, False, False, False]
    assert made.once == [False, True, False, False]
    made = flow(FEED, K, node("y", "x", "k", op="AddV2"))
    context = made.context(2)
    assert context.inputs == (spec("float32", [3]), spec("float32", ()))
    assert context.constant(0) is None
    assert context.constant(1) == 1.0
    assert context.device == CPU[0]


def test_what_an_op_makes_in_this_step_is_owned() -> None:
    made = flow(FEED, SUM)
    assert made.owned(ref(made, "y"))
    # What is made once for a plan is not owned even if it aliases nothing.
    graph = Graph()
    made = flow(call(graph, lambda: None, op="KitOnce", name="o").plain)
    assert made.once == [True]
    assert not made.owned((0, 0))


@for_each(
    "maker, why",
    [
        (FEED, "the caller has it"),
        (ARRIVAL, "its sender may have it"),
        (node("i", "x"), "an identity is its input"),
        (K, "the plan has it"),
    ],
)
def test_what_somebody_else_may_have_is_not(maker: NodeDef, why: str) -> None:
    nodes = (maker,) if maker is FEED else (FEED, maker)
    made = flow(*nodes)
    assert not made.owned(ref(made, maker.name)), why


def test_what_is_sent_may_be_held_after_the_step() -> None:
    one = node("one", "y")
    assert flow(FEED, SUM, one).has_one_use((1, 0))
    assert not flow(FEED, SUM, node("two", "y", "y", op="AddV2")).has_one_use((1, 0))
    assert not flow(FEED, SUM, one, node("two", "y")).has_one_use((1, 0))
    assert not flow(FEED, SUM, one, fetches=("y",)).has_one_use((1, 0))
    # What is sent may be held after the step.
    send = node("s", "y", op=SEND, key="k", outputs=())
    assert flow(FEED, SUM, send, fetches=("y",)).is_held((1, 0))
    # So may a view of it where anything is sent.
    view, send = node("v", "y"), node("s", "v", op=SEND, key="k", outputs=())
    assert flow(FEED, SUM, view, send, fetches=("y",)).is_held((1, 0))
    assert not flow(FEED, SUM, view, fetches=("y",)).is_held((1, 0))
    # What is only read is held by nobody.
    send = node("s", "z", op=SEND, key="k", outputs=())
    made = flow(FEED, SUM, node("z", "y", "y", op="AddV2"), send, fetches=("y", "z"))
    assert not made.is_held((1, 0))
    assert made.is_held((2, 0))


def test_rank_0_is_known_or_not() -> None:
    shapes = {"s": (), "v": (3,), "u": None}
    made = flow(*[node(n, op=ARG, index=0, outputs=(spec("int8", s),)) for n, s in shapes.items()])
    assert [made.is_scalar((i, 0)) for i in range(3)] == [True, False, False]
