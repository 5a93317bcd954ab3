"""``acts.collective``: reductions, gathers and broadcasts of a group, their gradients, and the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.errors import InvalidArgumentError
from tests.rows import for_each, refused

SIZE = 3
DEVICES = acts.ConfigProto(device_count={"CPU": SIZE})
VALUES = np.array([[1, -2, 3, 4, 5, 6], [2, 2, -1, 0, 9, 1], [5, 0, 0, -4, 1, 2]], np.float32)


def members(build: Callable[[int, Any], Any]) -> tuple[list[Any], list[Any]]:
    """A fed value on each device, and what is built of it there."""
    fed, made = [], []
    for i in range(SIZE):
        with acts.device(f"/cpu:{i}"):
            fed.append(acts.placeholder_with_default(VALUES[i], [6]))
            made.append(build(i, fed[-1]))
    return fed, made


def run(fetches: Any) -> Any:
    with acts.Session(config=DEVICES) as session:
        return session.run(fetches)


REDUCTIONS: dict[str, Any] = {
    "sum": VALUES.sum(0),
    "mean": VALUES.mean(0),
    "prod": VALUES.prod(0),
    "min": VALUES.min(0),
    "max": VALUES.max(0),
}


@for_each("op", REDUCTIONS)
def test_reductions(op: str) -> None:
    group = acts.collective.Group(SIZE)
    _, totals = members(lambda i, x: acts.collective.all_reduce(x, group, op))
    _, parts = members(lambda i, x: acts.collective.reduce_scatter(x, group, op))
    found = run([totals, parts])
    for i in range(SIZE):
        np.testing.assert_allclose(found[0][i], REDUCTIONS[op], rtol=1e-6)
        np.testing.assert_allclose(found[1][i], REDUCTIONS[op][2 * i : 2 * i + 2], rtol=1e-6)


def test_gathers_exchanges_and_broadcasts() -> None:
    group = acts.collective.Group(SIZE)
    _, all_values = members(lambda i, x: acts.collective.all_gather(x, group))
    _, exchanged = members(lambda i, x: acts.collective.all_to_all(x, group))
    _, told = members(lambda i, x: acts.collective.broadcast(x, group, sends=i == 1))
    found = run([all_values, exchanged, told])
    for i in range(SIZE):
        np.testing.assert_array_equal(found[0][i], VALUES.reshape(-1))
        np.testing.assert_array_equal(found[1][i], VALUES[:, 2 * i : 2 * i + 2].reshape(-1))
        np.testing.assert_array_equal(found[2][i], VALUES[1])
    assert told[0].shape.as_list() == [6]


# A collective of x, and the same of the values of all members with numpy.
DIFFERENTIABLE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (lambda i, x, group: acts.collective.all_reduce(x, group), lambda i, values: values.sum(0)),
    "mean": (lambda i, x, group: acts.collective.all_reduce(x, group, "mean"), lambda i, values: values.mean(0)),
    "gather": (lambda i, x, group: acts.collective.all_gather(x, group), lambda i, values: values.reshape(-1)),
    "scatter": (
        lambda i, x, group: acts.collective.reduce_scatter(x, group),
        lambda i, values: values.sum(0)[2 * i : 2 * i + 2],
    ),
    "scattered mean": (
        lambda i, x, group: acts.collective.reduce_scatter(x, group, "mean"),
        lambda i, values: values.mean(0)[2 * i : 2 * i + 2],
    ),
    "exchange": (
        lambda i, x, group: acts.collective.all_to_all(x, group),
        lambda i, values: values[:, 2 * i : 2 * i + 2].reshape(-1),
    ),
    "broadcast": (lambda i, x, group: acts.collective.broadcast(x, group, sends=i == 2), lambda i, values: values[2]),
}


@for_each("case", DIFFERENTIABLE)
def test_gradients_are_those_of_the_sum_of_all_members_losses(case: str) -> None:
    build, compute = DIFFERENTIABLE[case]
    group = acts.collective.Group(SIZE)
    rng = np.random.default_rng(7)

    def loss_of(i: int, values: Any) -> float:
        found = compute(i, values)
        return float(((found + 1.0) * weights[i][: len(found)]).sum())

    weights = rng.normal(size=(SIZE, 18))
    grads = []
    fed, made = members(lambda i, x: build(i, x, group))
    for i in range(SIZE):
        with acts.device(f"/cpu:{i}"):
            weight = np.float32(weights[i][: made[i].shape.as_list()[0]])
            loss = acts.reduce_sum((made[i] + 1.0) * weight)
            grads += acts.gradients(loss, fed[i])
    found = np.stack(run(grads))
    values: Any = VALUES.astype(np.float64)
    step = 1e-3
    for place in np.ndindex(values.shape):
        moved = [values.copy(), values.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        up, down = (sum(loss_of(i, v) for i in range(SIZE)) for v in moved)
        assert found[place] == pytest.approx((up - down) / (2 * step), abs=1e-4)


def test_a_reduction_without_a_gradient_says_so() -> None:
    group = acts.collective.Group(1)
    x = acts.placeholder("float32", [2])
    refused(lambda: acts.gradients(acts.collective.all_reduce(x, group, "max"), x), LookupError, "CollectiveReduceV2")


def test_nobody_passes_a_barrier_before_all_have_come() -> None:
    group = acts.collective.Group(SIZE)
    seen: list[str] = []

    def note(what: str) -> Any:
        return acts.py_func(lambda: seen.append(what) or np.float32(0), [], "float32")  # type: ignore[func-returns-value]

    done = []
    for i in range(SIZE):
        with acts.device(f"/cpu:{i}"):
            with acts.control_dependencies([note("before")]):
                met = acts.collective.barrier(group)
            with acts.control_dependencies([met]):
                done.append(note("after"))
    run(done)
    assert seen == ["before"] * SIZE + ["after"] * SIZE


# -- keys ----------------------------------------------------------------------------------------


def test_groups_are_numbered_by_graph_and_instances_by_member() -> None:
    first, second = acts.collective.Group(2), acts.collective.Group(3)
    with acts.Graph().as_default():
        other = acts.collective.Group(2)
    assert (first.key, second.key, other.key, repr(second)) == (1, 2, 1, "<Group '2' size=3>")
    with acts.device("/cpu:0"):
        nodes = [acts.collective.all_reduce(1.0, first, "max") for _ in range(2)]
    with acts.device("/cpu:1"):
        nodes.append(acts.collective.all_reduce(1.0, first, "max"))
    found = [acts.get_static_value(node.op.inputs[3]) for node in nodes]
    assert found == [1, 2, 1]


@pytest.mark.parametrize(
    ("size", "timeout", "told"),
    [(0, 0.0, "at least 1, got 0"), (-1, 0.0, "at least 1, got -1"), (2, -1.0, "or more, got -1.0")],
)
def test_a_group_of_nobody_is_refused(size: int, timeout: float, told: str) -> None:
    refused(lambda: acts.collective.Group(size, timeout=timeout), InvalidArgumentError, told)


def test_an_unknown_reduction_is_refused() -> None:
    for reduction in (acts.collective.all_reduce, acts.collective.reduce_scatter):
        with pytest.raises(InvalidArgumentError, match=r"\['max', 'mean', .*\], got 'average'"):
            reduction(1.0, acts.collective.Group(1), "average")
