"""All passes together: random graphs over one to three devices against numpy, step by step.

A recipe is drawn together with its values: each step builds a node and computes the same with numpy.
What a plan gives must be the same, whatever was fed, fetched and put where, and it must be the
caller's own: nothing that was handed out shares memory with anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorsession import Graph, Operation, Tensor, ops
from actorsession.plan.codegen.bind import BoundPartition
from actorsession.plan.codegen.compile import compile_partition
from actorsession.runtime.resources import Variable
from tests.plan.kit import CPU, Made, Step

SIZE = 4


@dataclass
class Recipe:
    """A graph that grows together with the values it should have."""

    graph: Graph = field(default_factory=Graph)
    tensors: list[Tensor] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    feeds: list[Tensor] = field(default_factory=list)
    fed: list[Any] = field(default_factory=list)
    targets: list[Operation] = field(default_factory=list)

    def add(self, tensor: Tensor, value: Any) -> None:
        self.tensors.append(tensor)
        self.values.append(np.asarray(value))

    def feed(self, tensor: Tensor, value: Any) -> None:
        self.feeds.append(tensor)
        self.fed.append(value)


# What makes a vector of vectors, and how: half of them may share memory with what they read.
WORDS: Sequence[tuple[int, Callable[..., Tensor], Callable[..., Any]]] = (
    (1, ops.negative, np.negative),
    (1, ops.identity, lambda v: v),
    (1, ops.stop_gradient, lambda v: v),
    (1, lambda v: ops.reshape(ops.reshape(v, [2, 2]), [SIZE]), lambda v: v),
    (1, lambda v: v[::-1], lambda v: v[::-1]),
    (1, lambda v: ops.concat([v[1:], v[:1]], 0), lambda v: np.roll(v, -1)),
    (1, lambda v: ops.tile(v[:2], [2]), lambda v: np.tile(v[:2], 2)),
    (1, lambda v: v + ops.reduce_sum(v), lambda v: v + v.sum()),
    (2, ops.add, np.add),
    (2, ops.subtract, np.subtract),
    (2, ops.maximum, np.maximum),
    (2, lambda v, w: ops.transpose(ops.stack([v, w]))[:, 1], lambda v, w: w),
    (2, lambda v, w: ops.add_n([v, w, v]), lambda v, w: v + w + v),
)


@contextmanager
def surroundings(draw: Callable[..., Any], recipe: Recipe, devices: int) -> Iterator[None]:
    """A device and control inputs for the next step, drawn or left out."""
    device: AbstractContextManager[Any] = nullcontext()
    after: list[Tensor] = []
    if draw(st.booleans()):
        device = recipe.graph.device(f"/cpu:{draw(st.integers(0, devices - 1))}")
    if draw(st.integers(0, 3)) == 0:
        after = draw(st.lists(st.sampled_from(recipe.tensors), max_size=2))
    with recipe.graph.as_default(), device, recipe.graph.control_dependencies(after):
        yield


def grow(draw: Callable[..., Any], recipe: Recipe) -> None:
    kind = draw(st.integers(0, 9))
    pick = st.integers(0, len(recipe.tensors) - 1)
    if kind == 0:
        value = numbers(draw)
        recipe.add(ops.constant(value), value)
    elif kind == 1:
        i = draw(pick)
        for part, piece in zip(ops.split(recipe.tensors[i], 2), np.split(recipe.values[i], 2), strict=True):
            recipe.add(ops.concat([part, part], 0), np.tile(piece, 2))
    elif kind == 2:
        change_a_variable(draw, recipe, draw(pick), draw(pick))
    elif kind == 3 and len(recipe.feeds) < 4:
        # From here on the plan takes the fed value for what was computed before.
        tensor = ops.identity(recipe.tensors[draw(pick)])
        recipe.feed(tensor, numbers(draw))
        recipe.add(tensor, recipe.fed[-1])
    else:
        count, build, compute = draw(st.sampled_from(WORDS))
        chosen = [draw(pick) for _ in range(count)]
        recipe.add(build(*(recipe.tensors[i] for i in chosen)), compute(*(recipe.values[i] for i in chosen)))


def change_a_variable(draw: Callable[..., Any], recipe: Recipe, first: int, change: int) -> None:
    """Assign, read, add and read again: the first reading must stay what it was."""
    variable = ops.Variable(np.zeros(SIZE, np.float32))
    graph = recipe.graph
    with graph.control_dependencies([ops.assign(variable, recipe.tensors[first]).op]):
        before = variable.read_value()
    with graph.control_dependencies([before]):
        update = variable.assign_add(recipe.tensors[change]).op
    recipe.add(before, recipe.values[first])
    if draw(st.booleans()):
        with graph.control_dependencies([update]):
            recipe.add(variable.read_value(), recipe.values[first] + recipe.values[change])
    else:
        recipe.targets.append(update)


def numbers(draw: Callable[..., Any]) -> Any:
    return np.array(draw(st.lists(st.integers(-9, 9), min_size=SIZE, max_size=SIZE)), np.float32)


@st.composite
def recipes(draw: st.DrawFn) -> tuple[Recipe, int]:
    """A recipe and the number of devices it is for."""
    recipe, devices = Recipe(), draw(st.integers(1, 3))
    with recipe.graph.as_default():
        for _ in range(draw(st.integers(1, 2))):
            tensor = ops.placeholder("float32", [SIZE])
            recipe.feed(tensor, numbers(draw))
            recipe.add(tensor, recipe.fed[-1])
    for _ in range(draw(st.integers(1, 12))):
        with surroundings(draw, recipe, devices):
            grow(draw, recipe)
    return recipe, devices


def check_own(values: Sequence[Any], others: Sequence[Any]) -> None:
    """Fetched arrays can be written, and share memory with nothing."""
    for i, value in enumerate(values):
        assert value.flags.writeable
        for other in (*values[:i], *others):
            assert not np.shares_memory(value, other)


def constants(made: Made) -> list[Any]:
    return [n.attrs["value"] for part in made.parts for n in part.nodes if n.op == "Const"]


def stored(made: Made) -> list[Any]:
    held = [e.resource for host in made.variables.values() for e in host._entries.values()]
    return [v.read() for v in held if isinstance(v, Variable) and v.initialized]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), recipes())
def test_a_plan_gives_what_numpy_gives_and_gives_it_away(data: st.DataObject, drawn: tuple[Recipe, int]) -> None:
    recipe, devices = drawn
    chosen = data.draw(st.lists(st.integers(0, len(recipe.tensors) - 1), min_size=1, max_size=6))
    made = Made(recipe.graph, [recipe.tensors[i] for i in chosen], recipe.feeds, recipe.targets, devices=devices)
    for traced in (False, True):
        given_ = [value.copy() for value in recipe.fed]
        values = Step(made, given_, traced=traced).run()
        for i, value in zip(chosen, values, strict=True):
            np.testing.assert_array_equal(value, recipe.values[i], str(recipe.tensors[i]))
        check_own(values, [*given_, *constants(made), *stored(made)])
        for value in (*values, *given_):
            value[...] = 77  # the next run must not notice


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(recipes())
def test_what_a_server_lends_is_right_at_the_moment_it_is_lent(drawn: tuple[Recipe, int]) -> None:
    recipe, devices = drawn
    made = Made(recipe.graph, recipe.tensors, recipe.feeds, recipe.targets, devices=devices, own_fetches=False)
    for tensor, value, expected in zip(recipe.tensors, made.run(*recipe.fed), recipe.values, strict=True):
        np.testing.assert_array_equal(value, expected, str(tensor))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(recipes())
def test_partitions_that_travelled_do_the_same(drawn: tuple[Recipe, int]) -> None:
    from actorsession.extend import Partition
    from actorsession.graph import codec

    recipe, devices = drawn
    made = Made(recipe.graph, recipe.tensors, recipe.feeds, recipe.targets, devices=devices)
    made.parts = tuple(Partition.from_wire(codec.unpack(codec.pack(p.to_wire()))) for p in made.parts)
    made.linked = [BoundPartition(compile_partition(part), made.variables[part.device], {}) for part in made.parts]
    for value, expected in zip(made.run(*recipe.fed), recipe.values, strict=True):
        np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_chain_of_thousands_of_nodes_is_planned_and_run(devices: int) -> None:
    """Nothing on the way is recursive."""
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [])
        y = x
        for i in range(3000):
            with graph.device(f"/cpu:{i // 1000 % devices}"):
                y = y + x
    made = Made(graph, [y], [x], devices=devices)
    assert len(made.parts) == devices
    assert made.run(np.float32(1)) == [3001]


def test_a_fan_of_many_arrivals_makes_one_segment_each() -> None:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [])
        with graph.device("/cpu:1"):
            far = [x * float(i) for i in range(50)]
        with graph.device("/cpu:0"):
            near = [-v for v in far]
            total = ops.add_n(near)
    made = Made(graph, [total, *near], [x], devices=2)
    assert len(next(p for p in made.linked if p.device == CPU[0]).segments) == 51
    assert made.run(np.float32(1)) == [-sum(range(50)), *(-i for i in range(50))]
