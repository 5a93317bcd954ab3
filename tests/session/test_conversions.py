"""Classes of a program's own as fetches and feed keys."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import actorsession as acts
from actorsession import IndexedSlices, SparseTensor, Tensor, ops, opsets
from actorsession.errors import InvalidArgumentError
from actorsession.session.feeds import flatten_feed_keys
from tests.rows import for_each


class Squared:
    """A tensor and its square, of which sessions see the square."""

    def __init__(self, tensor: Any) -> None:
        self.square = ops.square(tensor)


class CubedToo(Squared):
    pass


class OnlyFetched:
    def __init__(self, *parts: Any) -> None:
        self.parts = parts


@pytest.fixture(autouse=True)
def registered(registrations: None) -> None:
    acts.plugins.register_session_run_conversion_functions(
        Squared,
        lambda squared: ([squared.square], lambda values: ("squared", values[0])),
        lambda squared, value: [(squared.square, value)],
        lambda squared: [squared.square],
    )
    acts.plugins.register_session_run_conversion_functions(
        OnlyFetched, lambda group: (group.parts, lambda values: tuple(values))
    )


async def test_an_object_of_a_registered_class_is_fetched_as_its_functions_say(session: Any) -> None:
    squared = Squared(ops.constant(3.0))
    assert await session.run(squared) == ("squared", 9)
    assert await session.run({"a": [squared, squared.square]}) == {"a": [("squared", 9), 9]}


async def test_objects_of_a_subclass_are_converted_alike(session: Any) -> None:
    assert await session.run(CubedToo(ops.constant(2.0))) == ("squared", 4)


async def test_parts_may_be_names_operations_and_variables(session: Any) -> None:
    v = ops.Variable(2.0)
    x = ops.constant(1.0, name="x")
    assert await session.run(OnlyFetched(v.initializer)) == (None,)
    assert await session.run(OnlyFetched("x:0", x.op, v)) == (1, None, 2)


async def test_an_object_that_stands_for_nothing_gives_none(session: Any) -> None:
    ops.constant(1)
    assert await session.run([OnlyFetched()]) == [None]


async def test_a_part_that_can_never_be_fetched_is_a_type_error(session: Any) -> None:
    ops.constant(1)
    with pytest.raises(TypeError, match="stands for 7 of type int"):
        await session.run(OnlyFetched(7))


async def test_an_object_is_asked_anew_in_each_run(session: Any) -> None:
    group = OnlyFetched(ops.constant(1))
    assert await session.run([group]) == [(1,)]
    group.parts = (ops.constant(2), ops.constant(3))
    assert await session.run([group]) == [(2, 3)]


async def test_an_object_of_a_registered_class_is_a_feed_key(session: Any) -> None:
    x = ops.placeholder("float32", [])
    squared = Squared(x)
    assert await session.run(squared.square + 1.0, {squared: 5}) == 6
    assert await session.run(squared.square + x, {(squared, x): (5, 2)}) == 7


async def test_an_object_without_feed_function_is_no_key(session: Any) -> None:
    x = ops.constant(1.0)
    with pytest.raises(TypeError, match="no feed_function was registered for OnlyFetched"):
        await session.run(x, {OnlyFetched(x): 1})
    with pytest.raises(TypeError, match="feed_function_for_partial_run"):
        flatten_feed_keys([OnlyFetched(x)])


def test_keys_of_a_partial_run_are_the_tensors_that_will_be_fed(graph: Any) -> None:
    x, y = ops.placeholder("float32"), ops.placeholder("float32")
    squared = Squared(x)
    sparse = opsets.sparse_placeholder("float32")
    slices = IndexedSlices(y, ops.constant([0]))
    whole = IndexedSlices(y, ops.constant([0]), ops.constant([3]))
    keys = flatten_feed_keys([x, squared, (y, "name:0"), sparse, slices, whole])
    assert keys == [
        x,
        squared.square,
        y,
        "name:0",
        sparse.indices,
        sparse.values,
        sparse.dense_shape,
        y,
        slices.indices,
        y,
        whole.indices,
        whole.dense_shape,
    ]


@for_each("known", [Squared, SparseTensor, IndexedSlices, Tensor, str, object])
def test_registering_a_known_class_is_refused(known: Any) -> None:
    with pytest.raises(ValueError, match="cannot be registered"):
        acts.plugins.register_session_run_conversion_functions(known, lambda x: ([], lambda values: None))


def test_registering_what_is_no_class_is_refused() -> None:
    with pytest.raises(TypeError, match="tensor_type is a class"):
        acts.plugins.register_session_run_conversion_functions("Squared", lambda x: ([], lambda v: None))  # type: ignore[arg-type]


async def test_a_subclass_may_have_a_conversion_of_its_own(session: Any) -> None:
    acts.plugins.register_session_run_conversion_functions(
        CubedToo, lambda c: ([c.square], lambda values: ("cubed", values[0]))
    )
    x = ops.constant(2.0)
    assert await session.run([CubedToo(x), Squared(x)]) == [("cubed", 4), ("squared", 4)]


async def test_registering_the_base_of_a_known_class_is_refused(session: Any) -> None:
    acts.plugins.register_session_run_conversion_functions(CubedToo, lambda c: ([c.square], lambda values: values[0]))

    class Base:
        pass

    class Derived(Base):
        pass

    acts.plugins.register_session_run_conversion_functions(Derived, lambda d: ([], lambda values: None))
    with pytest.raises(ValueError, match="sessions know Derived already"):
        acts.plugins.register_session_run_conversion_functions(Base, lambda b: ([], lambda values: None))


async def test_an_error_of_a_conversion_reaches_the_caller(session: Any) -> None:
    counter = itertools.count()

    class Fails:
        pass

    def contract(values: list[Any]) -> Any:
        next(counter)
        raise InvalidArgumentError("no value today")

    x = ops.constant(1.0)
    acts.plugins.register_session_run_conversion_functions(Fails, lambda f: ([x], contract))
    with pytest.raises(InvalidArgumentError, match="no value today"):
        await session.run(Fails())
    assert next(counter) == 1
    assert await session.run(x) == 1
