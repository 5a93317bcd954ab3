"""Fetches: any structure of tensors, operations, variables and names comes back in the same structure."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest

import actorsession.ops as ops
from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph

Pair = namedtuple("Pair", ["first", "second"])


@dataclasses.dataclass
class Both:
    left: Any
    right: Any


class ListOfMine(list):
    pass


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


async def test_an_operation_whose_output_is_fed_cannot_be_a_target(session: Any) -> None:
    x = ops.placeholder("float32", [])
    with pytest.raises(InvalidArgumentError, match="is fed"):
        await session.run(x.op, {x: 1.0})


async def test_an_empty_list_needs_no_step(session: Any) -> None:
    ops.constant(1)
    assert await session.run([]) == []


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        ("nowhere:0", ValueError),
        ("x:y", ValueError),
        ("x:7", ValueError),
        (1, TypeError),
        (None, TypeError),
        (np.zeros(2), TypeError),
        ({1, 2}, TypeError),
        ([1.5], TypeError),
    ],
)
async def test_bad_fetches_are_refused_with_tensorflows_classes(
    session: Any, bad: Any, kind: type[Exception]
) -> None:
    ops.constant(1, name="x")
    with pytest.raises(kind, match="fetch argument"):
        await session.run(bad)


async def test_an_element_of_another_graph_is_refused(session: Any) -> None:
    ops.constant(1)
    other = Graph()
    with other.as_default():
        stranger = ops.constant(1)
    with pytest.raises(ValueError, match="another"):
        await session.run(stranger)


async def test_an_empty_graph_says_so(session: Any) -> None:
    with pytest.raises(RuntimeError, match="graph is empty"):
        await session.run([])


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
    total, difference = ops.add(a, b, name="total"), ops.subtract(a, b, name="difference")
    assert await face.run([total, difference], {a: 5, b: 3}) == [8, 2]
    assert await face.run([difference, total], {b: 3, a: 5}) == [2, 8]
    assert await face.run([total, difference], {b: 3, a: 5}) == [8, 2]
    statistics = face.session.statistics().cache
    assert (statistics.plans, statistics.misses) == (1, 1)
    assert statistics.sorted_hits == 2
