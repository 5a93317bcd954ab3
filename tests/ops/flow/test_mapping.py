"""``map_fn``, ``scan``, ``foldl`` and ``foldr``: functions over the items of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from tests.cluster.kit import in_process, soon
from tests.rows import for_each


def run(fetches: Any, feeds: Any = None) -> Any:
    with acts.Session(graph=acts.get_default_graph()) as session:
        return session.run(fetches, feeds)


ITEMS = [1, 2, 3]


# -- map_fn --------------------------------------------------------------------------------------


def test_map_fn_stacks_the_results_for_each_item() -> None:
    found = acts.map_fn(lambda x: x * x, acts.constant(ITEMS))
    assert found.shape.as_list() == [3]
    np.testing.assert_array_equal(run(found), [1, 4, 9])


def test_results_of_another_structure_or_dtype_are_announced() -> None:
    signature = (acts.int32, acts.float32)
    found = acts.map_fn(
        lambda x: (-x, acts.cast(x, acts.float32) / 2.0), acts.constant(ITEMS), fn_output_signature=signature
    )
    assert isinstance(found, tuple)
    np.testing.assert_array_equal(run(found)[0], [-1, -2, -3])
    np.testing.assert_array_equal(run(found)[1], [0.5, 1.0, 1.5])
    with pytest.raises(ValueError, match="different structures"):
        acts.map_fn(lambda x: (x, x), acts.constant(ITEMS))
    with pytest.raises(TypeError, match="int32 is wanted"):
        acts.map_fn(lambda x: acts.cast(x, acts.float32), acts.constant(ITEMS))


def test_items_of_structures_come_in_structures() -> None:
    elems = {"a": acts.constant(ITEMS), "b": [acts.constant([[1], [2], [3]])]}
    found = acts.map_fn(lambda x: x["b"][0] * x["a"], elems, fn_output_signature=acts.int32)
    np.testing.assert_array_equal(run(found), [[1], [4], [9]])
    same = acts.map_fn(lambda x: {"a": x["a"] + 1, "b": x["b"]}, elems)
    np.testing.assert_array_equal(run(same)["a"], [2, 3, 4])


def test_numbers_of_items_may_be_known_only_when_the_step_runs() -> None:
    x = acts.placeholder(acts.float32, [None, 2])
    found = acts.map_fn(lambda row: row * 2.0, x)
    assert found.shape.as_list() == [None, 2]
    np.testing.assert_array_equal(run(found, {x: [[1.0, 2.0]]}), [[2.0, 4.0]])
    assert run(found, {x: np.zeros((0, 2))}).shape == (0, 2)


def test_a_map_inside_a_map_and_inside_a_branch() -> None:
    x = acts.constant([[1.0, 2.0], [3.0, 4.0]])
    inner = acts.map_fn(lambda row: acts.map_fn(lambda v: v + 1.0, row), x)
    chosen = acts.cond(acts.placeholder_with_default(True, []), lambda: acts.map_fn(lambda r: -r, x), lambda: x)
    np.testing.assert_array_equal(run(inner), [[2.0, 3.0], [4.0, 5.0]])
    np.testing.assert_array_equal(run(chosen), [[-1.0, -2.0], [-3.0, -4.0]])


async def test_the_items_of_a_constant_travel_to_another_task() -> None:
    """A list of tensors is made where the constant is, and read where the loop's variable lives."""
    with acts.device("/job:worker/task:1"):
        v = acts.Variable(2.0)
    found = acts.map_fn(lambda x: x * v, acts.constant([1.0, 2.0]))
    async with in_process() as cluster, acts.AsyncSession(cluster.target(), graph=acts.get_default_graph()) as session:
        await soon(session.run(v.initializer))
        np.testing.assert_array_equal(await soon(session.run(found)), [2.0, 4.0])


# -- folds and scans -----------------------------------------------------------------------------


@for_each(
    "fold, initializer, expected", [("foldl", None, 123), ("foldl", 7, 7123), ("foldr", None, 321), ("foldr", 7, 7321)]
)
def test_folds_go_from_one_end_to_the_other(fold: str, initializer: Any, expected: int) -> None:
    found = getattr(acts.flow, fold)(lambda a, x: a * 10 + x, acts.constant(ITEMS), initializer)
    assert run(found) == expected


def test_a_fold_may_make_another_structure_than_it_takes() -> None:
    found = acts.flow.foldl(
        lambda a, x: (a[0] + x[0] * x[1], a[1] + 1),
        (acts.constant(ITEMS), acts.constant([2, 2, 2])),
        initializer=(0, 0),
    )
    assert run(found) == (12, 3)


def test_a_scan_keeps_everything_on_the_way() -> None:
    elems = acts.constant(ITEMS)
    found = [
        acts.flow.scan(lambda a, x: a + x, elems),
        acts.flow.scan(lambda a, x: a + x, elems, initializer=10),
        acts.flow.scan(lambda a, x: a + x, elems, reverse=True),
        acts.flow.scan(lambda a, x: a + x, elems, initializer=10, reverse=True),
    ]
    assert [list(v) for v in run(found)] == [[1, 3, 6], [11, 13, 16], [6, 5, 3], [16, 15, 13]]
    assert found[0].shape.as_list() == [3]


def test_a_scan_over_structures() -> None:
    found = acts.flow.scan(lambda a, x: (a[0] + x, a[1] - x), acts.constant(ITEMS), initializer=(0, 0))
    np.testing.assert_array_equal(run(found), [[1, 3, 6], [-1, -3, -6]])
    with pytest.raises(ValueError, match="different structures"):
        acts.flow.scan(lambda a, x: (a, a), acts.constant(ITEMS))


# -- gradients -----------------------------------------------------------------------------------


def test_gradients_go_through_all_of_them() -> None:
    x, w = acts.constant([1.0, 2.0, 3.0]), acts.constant(2.0)
    made = {
        "map": acts.map_fn(lambda v: v * v * w, x),
        "fold": acts.flow.foldl(lambda a, v: a * v * w, x),
        "back": acts.flow.foldr(lambda a, v: a * v * w, x),
        "scan": acts.flow.scan(lambda a, v: a * v * w, x),
    }
    expected = {
        "map": ([4.0, 8.0, 12.0], 14.0),
        "fold": ([24.0, 12.0, 8.0], 24.0),
        "back": ([24.0, 12.0, 8.0], 24.0),
        "scan": ([29.0, 14.0, 8.0], 26.0),
    }
    for name, (of_x, of_w) in expected.items():
        found = run(acts.gradients(made[name], [x, w]))
        np.testing.assert_allclose(found[0], of_x, err_msg=name)
        np.testing.assert_allclose(found[1], of_w, err_msg=name)


def test_second_gradients_go_through_a_map() -> None:
    x = acts.constant([1.0, 2.0])
    (first,) = acts.gradients(acts.map_fn(lambda v: v**3.0, x), x)
    np.testing.assert_allclose(run(acts.gradients(first, x))[0], [6.0, 12.0])


@pytest.mark.parametrize("name", ["map_fn", "scan", "foldl"])
def test_without_back_prop_nothing_flows(name: str) -> None:
    x = acts.constant([1.0, 2.0])
    function = (lambda v: v * v) if name == "map_fn" else (lambda a, v: a * v)
    made = getattr(acts.flow, name)(function, x, back_prop=False)
    assert acts.gradients(made, x) == [None]


def test_shapes_of_results_are_known_unless_they_may_differ() -> None:
    x = acts.ones([3, 2])
    for name, function in (("map_fn", lambda v: v * 2.0), ("scan", lambda a, v: a + v)):
        for inferred, known in ((True, acts.TensorShape([3, 2])), (False, acts.TensorShape(None))):
            made = getattr(acts.flow, name)(function, x, infer_shape=inferred)
            assert str(made.shape) == str(known)


# -- refusals ------------------------------------------------------------------------------------


@for_each("name", ["map_fn", "scan", "foldl", "foldr"])
def test_what_has_no_items_is_refused(name: str) -> None:
    of = getattr(acts.flow, name)
    with pytest.raises(TypeError, match=f"{name}: fn must be callable"):
        of(3, acts.constant(ITEMS))
    with pytest.raises(ValueError, match=f"{name}: elems must be tensors of rank 1"):
        of(lambda *v: v[0], acts.constant(3))
    with pytest.raises(ValueError, match=f"{name}: elems must hold a tensor"):
        of(lambda *v: v[0], [])
    with pytest.raises(ValueError, match="different numbers of items"):
        of(lambda *v: v[0], (acts.constant(ITEMS), acts.constant([1])))
