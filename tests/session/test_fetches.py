"""Fetches: any structure of tensors, operations, variables and names comes back in the same structure."""

from __future__ import annotations

import dataclasses
import itertools
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, ops
from actorsession.errors import InaccessibleTensorError, InvalidArgumentError
from actorsession.session.fetches import map_fetches
from actorsession.session.request import fetch_key
from tests.rows import for_each

Pair = namedtuple("Pair", ["first", "second"])


@dataclasses.dataclass
class Both:
    left: Any
    right: Any


class ListOfMine(list):
    pass


class DictOfMine(dict):
    pass


class TupleOfMine(tuple):
    pass


class Row(tuple):
    """A tuple that takes its items one by one, like a named tuple."""

    def __new__(cls, *items: Any) -> Row:
        return super().__new__(cls, items)


class View(Mapping):
    """A mapping that is no dict."""

    def __init__(self, items: Any = ()) -> None:
        self.items_ = dict(items)

    def __getitem__(self, key: Any) -> Any:
        return self.items_[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items_)

    def __len__(self) -> int:
        return len(self.items_)


@dataclasses.dataclass
class Field:
    """What an attrs class says of a field; the library knows attrs by this alone."""

    name: str
    init: bool = True
    kw_only: bool = False
    alias: str | None = None


class AttrsLike:
    __attrs_attrs__ = (Field("left"), Field("_right"))

    def __init__(self, left: Any, right: Any) -> None:
        self.left = left
        self._right = right


class AttrsWithKeywords:
    __attrs_attrs__ = (Field("left"), Field("_right", kw_only=True, alias="right"), Field("made", init=False))

    def __init__(self, left: Any, *, right: Any) -> None:
        self.left = left
        self._right = right
        self.made = "by itself"


async def test_a_tensor_gives_its_value(session: Any) -> None:
    np.testing.assert_array_equal(await session.run(ops.constant([1.0, 2.0])), [1, 2])


async def test_a_scalar_comes_back_as_a_numpy_scalar(session: Any) -> None:
    value = await session.run(ops.constant(3.0) * 2.0)
    assert type(value) is np.float32
    assert value == 6


async def test_a_scalar_string_comes_back_as_bytes_and_an_array_as_objects(session: Any) -> None:
    assert await session.run(ops.constant("text")) == b"text"
    array = await session.run(ops.constant(["a", "b"]))
    assert array.dtype == object
    assert list(array) == [b"a", b"b"]


async def test_an_operation_gives_none(session: Any) -> None:
    assert await session.run(ops.no_op()) is None


async def test_names_stand_for_tensors_and_operations(session: Any) -> None:
    x = ops.constant(5, name="x")
    assert await session.run(["x:0", "x"]) == [5, None]
    assert await session.run([b"x:0", np.str_("x:0")]) == [5, 5]
    assert x.name == "x:0"


async def test_a_variable_gives_its_value(session: Any) -> None:
    v = ops.Variable([1.0, 2.0])
    await session.run(v.initializer)
    np.testing.assert_array_equal(await session.run(v), [1, 2])
    np.testing.assert_array_equal(await session.run(v.name), [1, 2])


async def test_structures_keep_their_types(session: Any) -> None:
    a, b = ops.constant(1), ops.constant(2)
    fetched = await session.run(
        {
            "list": [a, [b]],
            "tuple": (a, b),
            "pair": Pair(a, {"deep": b}),
            "ordered": OrderedDict([("z", a), ("a", b)]),
            "data": Both(a, [b]),
            "mine": ListOfMine([a]),
            "empty": [],
            "nothing": {},
        }
    )
    assert fetched == {
        "list": [1, [2]],
        "tuple": (1, 2),
        "pair": Pair(1, {"deep": 2}),
        "ordered": OrderedDict([("z", 1), ("a", 2)]),
        "data": Both(1, [2]),
        "mine": [1],
        "empty": [],
        "nothing": {},
    }
    assert type(fetched["pair"]) is Pair
    assert type(fetched["ordered"]) is OrderedDict
    assert list(fetched["ordered"]) == ["z", "a"]
    assert type(fetched["mine"]) is list  # a list subclass becomes a plain list, as in TensorFlow


async def test_a_defaultdict_keeps_its_factory(session: Any) -> None:
    fetches: defaultdict[str, Any] = defaultdict(int, {"x": ops.constant(1)})
    fetched = await session.run(fetches)
    assert type(fetched) is defaultdict
    assert fetched["x"] == 1
    assert fetched["missing"] == 0


async def test_a_defaultdict_without_factory_stays_one(session: Any) -> None:
    fetched = await session.run(defaultdict(None, {"x": ops.constant(1)}))
    assert type(fetched) is defaultdict
    assert fetched == {"x": 1}


async def test_subclasses_of_dict_and_tuple_keep_their_types(session: Any) -> None:
    a, b = ops.constant(1), ops.constant(2)
    for fetches in (DictOfMine(a=a), TupleOfMine([a, b]), Row(a, b), View({"a": a})):
        fetched = await session.run(fetches)
        assert type(fetched) is type(fetches)
    assert dict(await session.run(View({"a": a, "b": [b]}))) == {"a": 1, "b": [2]}
    assert tuple(await session.run(Row(a, b))) == (1, 2)


async def test_attrs_objects_are_made_anew_with_values(session: Any) -> None:
    a, b = ops.constant(1), ops.constant(2)
    fetched = await session.run(AttrsLike(a, {"deep": b}))
    assert type(fetched) is AttrsLike
    assert (fetched.left, fetched._right) == (1, {"deep": 2})
    fetched = await session.run([AttrsWithKeywords(a, right=b)])
    assert (fetched[0].left, fetched[0]._right, fetched[0].made) == (1, 2, "by itself")


async def test_a_real_attrs_class_is_understood(session: Any) -> None:
    attrs = pytest.importorskip("attrs")
    made = attrs.make_class("Made", {"left": attrs.field(), "_right": attrs.field(kw_only=True)})
    fetched = await session.run(made(ops.constant(1), right=[ops.constant(2)]))
    assert fetched == made(1, right=[2])


class StandIn:
    """Stands for an element of a graph, or a name, until it is told to stand for another."""

    def __init__(self, element: Any) -> None:
        self.element = element

    def _as_graph_element(self) -> Any:
        return self.element


async def test_an_object_may_stand_for_an_element_or_a_name(session: Any) -> None:
    x = ops.constant(1, name="x")
    fetches = [StandIn(x), StandIn(x.op), StandIn("x:0"), StandIn("x"), StandIn(StandIn(x).element)]
    assert await session.run(fetches) == [1, None, 1, None, 1]


async def test_an_object_that_stands_for_something_else_by_now_is_asked_again(session: Any) -> None:
    one, two = ops.constant(1), ops.constant(2)
    standing = StandIn(one)
    assert await session.run([standing]) == [1]
    standing.element = two
    assert await session.run([standing]) == [2]
    assert await session.run([one]) == [1]


@for_each("nothing", [3, None, b"x:0", [1], StandIn("x:0")], ids=lambda value: type(value).__name__)
async def test_an_object_that_stands_for_nothing_is_a_type_error(session: Any, nothing: Any) -> None:
    x = ops.constant(1, name="x")
    with pytest.raises(TypeError, match=r"StandIn\._as_graph_element\(\) returns a Tensor"):
        await session.run([StandIn(nothing)])
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor: StandIn"):
        await session.run(x, {StandIn(nothing): 1})


class Lonely(dict):
    """A mapping that cannot be made from pairs."""

    def __init__(self) -> None:
        super().__init__()


class Twin(Pair):
    """A named tuple that is not made from its fields."""

    def __new__(cls, both: Any) -> Twin:
        return super().__new__(cls, both, both)


@dataclasses.dataclass
class Longer:
    left: Any
    needed: dataclasses.InitVar[int]


async def test_a_container_that_cannot_be_made_again_is_named(session: Any) -> None:
    x = ops.constant(1)
    lonely = Lonely()
    lonely["x"] = x
    for fetches in (lonely, Twin(x), Longer(x, 1), {"deep": [Twin(x)]}):
        with pytest.raises(TypeError, match=r"no (Lonely|Twin|Longer) can be made of what it fetched"):
            await session.run(fetches)


@for_each("empty", [[], (), {}, [[]], {"a": []}, Pair([], ()), OrderedDict(), DictOfMine()], ids=repr)
async def test_empty_containers_give_empty_containers_without_a_step(session: Any, empty: Any) -> None:
    ops.constant(1)
    fetched = await session.run(empty)
    assert fetched == empty
    assert type(fetched) is type(empty)


async def test_duplicates_are_computed_once_and_are_equal(session: Any) -> None:
    drawn = ops.random_normal([4])
    first, second, again = await session.run([drawn, drawn, [drawn]])
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, again[0])


async def test_two_reads_in_one_step_agree_and_another_step_draws_anew(session: Any) -> None:
    drawn = ops.random_uniform([8])
    doubled = drawn * 2.0
    value, double = await session.run([drawn, doubled])
    np.testing.assert_allclose(value * 2, double)
    assert not np.array_equal(value, await session.run(drawn))


async def test_only_what_the_fetches_need_runs(session: Any) -> None:
    unneeded = ops.placeholder("float32", [])
    needed = ops.constant(1.0) + 1.0
    assert unneeded.consumers() == []
    assert await session.run(needed) == 2


async def test_fetching_a_fed_tensor_gives_the_fed_value_as_an_array(session: Any) -> None:
    x = ops.placeholder("float32", [])
    value = await session.run(x, {x: 3})
    assert isinstance(value, np.ndarray)
    assert value.shape == ()
    assert value.dtype == np.float32
    both = await session.run([x, x + 1.0], {x: 3})
    assert both == [3, 4]


async def test_fetching_a_fed_string_gives_what_was_fed(session: Any) -> None:
    x = ops.placeholder("string")
    for fed in ("text", b"bytes", ["a", b"b"], np.array(["a", "b"]), np.array([b"a"])):
        value = await session.run(x, {x: fed})
        assert value.dtype == object
        assert value.tolist() == np.array(fed, object).tolist()
    given, same = await session.run([x, ops.identity(x)], {x: ["a", b"b"]})
    assert given.tolist() == ["a", b"b"]
    assert same.tolist() == [b"a", b"b"]


async def test_a_value_that_is_fed_and_fetched_is_the_callers_own(session: Any) -> None:
    x = ops.placeholder("float32", [3])
    fed = np.arange(3, dtype=np.float32)
    alone = await session.run(x, {x: fed})
    with_step, _ = await session.run([x, x + 1.0], {x: fed})
    for value in (alone, with_step):
        assert not np.shares_memory(value, fed)
        value[:] = -1
    np.testing.assert_array_equal(fed, [0, 1, 2])


async def test_fetching_only_fed_tensors_needs_no_step(make_session: Any) -> None:
    face = make_session()
    x = ops.placeholder("float32", [])
    assert await face.run([x, {"x": x}], {x: 3}) == [3, {"x": 3}]
    assert face.session.statistics().cache.plans == 0


async def test_an_operation_whose_output_is_fed_cannot_be_a_target(session: Any) -> None:
    x = ops.placeholder("float32", [])
    with pytest.raises(InvalidArgumentError, match="is fed"):
        await session.run(x.op, {x: 1.0})


async def test_the_operation_of_another_fed_tensor_runs_as_a_target(session: Any) -> None:
    v = ops.Variable(0.0)
    counted = v.assign_add(1.0)
    with counted.graph.control_dependencies([counted]):
        y = ops.constant(2.0) * 3.0
    await session.run(v.initializer)
    assert await session.run([y.op, y], {y: 7}) == [None, 7]
    assert await session.run(v) == 1


async def test_an_empty_list_needs_no_step(session: Any) -> None:
    ops.constant(1)
    assert await session.run([]) == []


@for_each(
    "bad, kind",
    [
        ("nowhere:0", ValueError),
        ("x:y", ValueError),
        ("x:7", ValueError),
        ("x:", ValueError),
        ("x:0:0", ValueError),
        ("^x", ValueError),
        ("", ValueError),
        (b"nowhere:0", ValueError),
        (b"\xff", ValueError),
        (1, TypeError),
        (None, TypeError),
        ([None], TypeError),
        ({"a": None}, TypeError),
        (True, TypeError),
        (object(), TypeError),
        (iter([]), TypeError),
        (range(0), TypeError),
        (frozenset(), TypeError),
        ({"a": 1}.values(), TypeError),
        (Both, TypeError),
        (AttrsLike, TypeError),
        (np.zeros(2), TypeError),
        ({1, 2}, TypeError),
        ([1.5], TypeError),
    ],
)
async def test_bad_fetches_are_refused_with_tensorflows_classes(session: Any, bad: Any, kind: type[Exception]) -> None:
    ops.constant(1, name="x")
    with pytest.raises(kind, match="Argument `fetch`"):
        await session.run(bad)


async def test_an_element_of_another_graph_is_refused(session: Any) -> None:
    ops.constant(1)
    with Graph().as_default():
        stranger, variable = ops.constant(1), ops.Variable(1)
    for fetches in (stranger, stranger.op, variable, [stranger], {"a": (stranger,)}):
        with pytest.raises(ValueError, match="another"):
            await session.run(fetches)


async def test_an_unfetchable_operation_and_its_tensors_are_refused(session: Any) -> None:
    x = ops.constant(1.0, name="x")
    y = x + 1.0
    assert await session.run([x, y]) == [1, 2]
    x.graph.prevent_fetching(x.op)
    assert not x.graph.is_fetchable(x)
    assert not x.graph.is_fetchable(x.op)
    assert x.graph.is_fetchable(y)
    for fetches in (x, x.op, "x:0", "x", [x, y], {"deep": [x]}):
        with pytest.raises(InaccessibleTensorError, match="marked as not fetchable"):
            await session.run(fetches)
    assert await session.run(y) == 2  # which runs it all the same
    assert issubclass(InaccessibleTensorError, ValueError)


async def test_an_empty_graph_says_so(session: Any) -> None:
    with Graph().as_default():
        stranger = ops.constant(1)
    cases: list[Any] = [([], None), (stranger, None), ("x:0", {"x:0": 1})]
    for fetches, feeds in cases:
        with pytest.raises(RuntimeError, match=r"graph is empty.*Each thread.*Session\(graph=graph\)"):
            await session.run(fetches, feeds)


async def test_a_closed_session_refuses_fetches(session: Any) -> None:
    x = ops.constant(1)
    await session.close()
    cases: list[Any] = [x, [], "nowhere:0"]
    for fetches in cases:
        with pytest.raises(RuntimeError, match="closed Session"):
            await session.run(fetches)


async def test_fetched_arrays_are_the_callers_own_and_writable(session: Any) -> None:
    fed = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = ops.placeholder("float32", [2, 3])
    v = ops.Variable(np.ones(3, np.float32))
    c = ops.constant([7.0, 8.0])
    y = x + 1.0
    fetches = [x, ops.identity(x), ops.transpose(x), x[0], v, v.value(), c, ops.identity(c), y]
    fetches += [ops.reshape(y, [3, 2]), ops.identity(y)]
    await session.run(v.initializer)
    values = await session.run(fetches, {x: fed})
    for i, value in enumerate(values):
        assert value.flags.writeable
        assert not np.shares_memory(value, fed)
        for other in values[i + 1 :]:
            assert not np.shares_memory(value, other)
    expected = [np.array(v) for v in values]
    for value in values:
        value[...] = -1
    for value, before in zip(await session.run(fetches, {x: fed}), expected, strict=True):
        np.testing.assert_array_equal(value, before)


async def test_the_order_of_fetches_and_feeds_finds_the_same_plan(make_session: Any) -> None:
    face = make_session()
    a, b = ops.placeholder("float32", [], name="a"), ops.placeholder("float32", [], name="b")
    values = {ops.add(a, b, name="total"): 8, ops.subtract(a, b, name="difference"): 2, ops.multiply(a, b): 15}
    # Of two fetches another order is its own inverse, of three it need not be.
    for fetches in itertools.permutations(values):
        for feeds in ({a: 5, b: 3}, {b: 3, a: 5}):
            assert await face.run(fetches, feeds) == tuple(values[fetch] for fetch in fetches)
            assert await face.run([fetches[0], *fetches], feeds) == [values[f] for f in (fetches[0], *fetches)]
    statistics = face.session.statistics().cache
    assert (statistics.plans, statistics.misses) == (1, 1)
    assert statistics.sorted_hits == 11


# -- what is remembered ----------------------------------------------------------------------------
async def test_structures_made_anew_in_each_run_find_the_same_request(make_session: Any) -> None:
    face = make_session()
    a, b, v = ops.constant(1), ops.constant(2), ops.Variable(3)
    await face.run(v.initializer)
    makers: list[Callable[[], Any]] = [
        lambda: a,
        lambda: [a, "x:0", v],
        lambda: (a, [b, (a,)]),
        lambda: {"a": a, "b": [b, {"c": a}]},
        lambda: OrderedDict([("a", a)]),
        lambda: Pair(a, [b]),
    ]
    ops.constant(0, name="x")
    for make in makers:
        before = len(face.session._requests)
        first, second = await face.run(make()), await face.run(make())
        assert first == second
        assert type(first) is type(second)
        assert len(face.session._requests) == before + 1


def test_structures_that_differ_have_different_keys(graph: Graph) -> None:
    a, b = ops.constant(1), ops.constant(2)
    different = [
        a, a.op, "a", [a], (a,), [[a]], [(a,)], ([a],), {"a": a}, {"b": a}, {"a": [a]}, {"a": (a,)},
        {"a": a, "b": b}, {"b": b, "a": a}, {"a": b, "b": a}, OrderedDict(a=a), Pair(a, b),
        (a, b), [a, b], [], (), {}, [[]], [{}],
    ]  # fmt: skip
    keys = [fetch_key(fetches) for fetches in different]
    assert None not in keys
    assert len(set(keys)) == len(different)


@for_each(
    "fetches",
    [{1: "x:0"}, defaultdict(int), DictOfMine(), ListOfMine(), View(), AttrsLike(1, 2), [set()]],
    ids=lambda fetches: type(fetches).__name__,
)
def test_other_structures_have_no_key_and_are_taken_apart_each_time(fetches: Any) -> None:
    assert fetch_key(fetches) is None


# -- values that are wrapped -----------------------------------------------------------------------
def test_a_wrapper_is_applied_once_to_the_value_of_its_tensor(graph: Graph) -> None:
    a, b = ops.constant(1), ops.constant(2)
    wrapped: list[Any] = []

    def keep(value: Any) -> Any:
        wrapped.append(value)
        return "kept", value

    def wrap(tensor: Any) -> Any:
        return keep if tensor is a else None

    plan = map_fetches(graph, {"x": [a, b], "again": a}, wrap)
    assert plan.tensors == (a, b)
    values = (1, 2)
    assert plan.build(values) == {"x": [("kept", 1), 2], "again": ("kept", 1)}
    assert wrapped == [1]
    assert plan.build(values)["again"] == ("kept", 1)
    assert values == (1, 2)
