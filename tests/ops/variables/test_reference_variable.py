"""Reference variables: their operations, and the moment at which their values are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.graph.dtypes import reference_dtype
from actorsession.ops import raw
from actorsession.ops.variables.reference_nodes import REFERENCE_TYPES
from tests.rows import refused


def made(value: Any = (1.0, 2.0), name: str = "v") -> Any:
    return ops.Variable(list(value), name=name, use_resource=False)


def started(session: acts.Session) -> None:
    session.run(ops.global_variables_initializer())


def test_its_operations_are_those_of_tensorflow_1(session: acts.Session) -> None:
    v = made()
    types = {op.name: (op.type, [t.name for t in op.inputs]) for op in session.graph.get_operations()}
    assert types == {
        "v/initial_value": ("Const", []),
        "v": ("VariableV2", []),
        "v/Assign": ("Assign", ["v:0", "v/initial_value:0"]),
        "v/read": ("Identity", ["v:0"]),
    }
    assert v.value().name == "v/read:0"
    assert v.dtype is reference_dtype(acts.float32)
    assert (v.dtype.name, v.dtype.base_dtype) == ("float32_ref", acts.float32)
    assert all(op.groups() == ("loc:@v",) for op in (v.initializer, v.value().op))


def test_an_update_gives_the_reference_again(session: acts.Session) -> None:
    v = made()
    changed = ops.assign_add(ops.assign(v, [5.0, 6.0]), [1.0, 1.0])
    assert (changed.op.type, changed.dtype.name) == ("AssignAdd", "float32_ref")
    assert changed.op.inputs[0].op.type == "Assign"
    started(session)
    np.testing.assert_array_equal(session.run(changed), [6, 7])
    np.testing.assert_array_equal(session.run(changed * 2), [12, 14])


def test_a_value_is_that_of_the_moment_at_which_it_is_used(session: acts.Session) -> None:
    v = made()
    before = v * 1.0
    with session.graph.control_dependencies([before]):
        update = v.assign_add([10.0, 10.0])
    with session.graph.control_dependencies([update]):
        after = ops.identity(v)
    beside = update + v
    started(session)
    old, new, both = session.run([before, after, beside])
    np.testing.assert_array_equal(old, [1, 2])
    np.testing.assert_array_equal(new, [11, 12])
    np.testing.assert_array_equal(both, [22, 24])


# Where the variable is, its readers, and what uses them; no device is the client's.
DEVICES = [
    ("/cpu:1", None, None),
    ("/cpu:1", "/cpu:2", None),
    ("/cpu:1", None, "/cpu:2"),
    ("/cpu:1", "/cpu:2", "/cpu:0"),
]
TASKS = [
    ("/job:worker/task:1", None, None),
    ("/job:worker/task:1", "/job:worker/task:0", None),
    ("/job:worker/task:1/cpu:0", "/job:worker/task:1/cpu:1", "/job:worker/task:0"),
]


def reads_elsewhere(graph: acts.Graph, places: Sequence[str | None]) -> tuple[Any, Any]:
    """All ways to read a variable that stands on another device, with what they give."""
    owner, reader, user = places
    with graph.device(owner):
        v, w = made(), made((5.0, 6.0), "w")
    with graph.device(reader):
        no, yes = raw.RefSwitch(v._ref(), acts.placeholder_with_default(True, []))
        read = v.read_value()
        with graph.control_dependencies([read]):
            changed = v.assign_add([1.0, 1.0])
        with graph.control_dependencies([changed]):
            late = v.read_value()
        beside = {
            "copy": ops.identity(v._ref()),
            "known": v.is_initialized(),
            "first": v.initialized_value(),
            "switch": ops.identity(yes),
            "merge": raw.RefMerge([no, yes])[0] * 2.0,
            "select": raw.RefSelect(1, [v._ref(), w._ref()]) + 1.0,
            "branch": ops.cond(yes[0] > 0.0, v.read_value, lambda: v * 2.0),
        }
    with graph.device(user):
        beside["use"] = read * 2.0
        after = {"late": late, "use": late * v.read_value(), "changed": changed}
    wanted = {
        "copy": [1, 2],
        "known": True,
        "first": [1, 2],
        "switch": [1, 2],
        "merge": [2, 4],
        "select": [6, 7],
        "branch": [1, 2],
        "use": [2, 4],
    }
    return [beside, after], [wanted, {"late": [2, 3], "use": [4, 9], "changed": [2, 3]}]


@pytest.mark.parametrize("places", DEVICES, ids=str)
def test_a_read_on_another_device_gets_the_value(places: Sequence[str | None]) -> None:
    with acts.Graph().as_default() as graph:
        fetches, wanted = reads_elsewhere(graph, places)
        with acts.Session(graph=graph, config=acts.ConfigProto(device_count={"CPU": 3})) as session:
            started(session)
            for fetched, values in zip(fetches, wanted, strict=True):
                np.testing.assert_equal(session.run(fetched), values)


@pytest.mark.process
def test_a_read_in_another_process_gets_the_value() -> None:
    with acts.LocalCluster({"worker": 2}, devices=2) as cluster:
        for places in TASKS:
            with acts.Graph().as_default() as graph, acts.Session(cluster.target("worker"), graph) as session:
                fetches, wanted = reads_elsewhere(graph, places)
                started(session)
                for fetched, values in zip(fetches, wanted, strict=True):
                    np.testing.assert_equal(session.run(fetched), values)


def test_a_read_beside_something_on_another_device_gets_the_value() -> None:
    """Colocation and soft placement put it there, whatever the two ask for."""
    with acts.Graph().as_default() as graph:
        with graph.device("/cpu:1"):
            v = made()
        with graph.device("/cpu:2"):
            other = ops.constant(1.0)
        with graph.colocate_with(other.op):
            beside = ops.identity(v._ref())
        config = acts.ConfigProto(device_count={"CPU": 3}, allow_soft_placement=True)
        with acts.Session(graph=graph, config=config) as session:
            started(session)
            np.testing.assert_array_equal(session.run(beside), [1, 2])


def test_a_fetched_variable_is_read_when_the_step_is_over(session: acts.Session) -> None:
    v = made()
    started(session)
    value, _ = session.run([v, v.assign_add([1.0, 1.0]).op])
    np.testing.assert_array_equal(value, [2, 3])


@pytest.mark.parametrize("key", ["v:0", "object"])
def test_feeding_a_variable_feeds_its_reads(session: acts.Session, key: str) -> None:
    v = made()
    doubled = v * 2.0
    started(session)
    fed = session.run(doubled, {v if key == "object" else key: [7.0, 8.0]})
    np.testing.assert_array_equal(fed, [14, 16])
    np.testing.assert_array_equal(session.run(doubled), [2, 4])


def test_a_fed_variable_cannot_be_changed(session: acts.Session) -> None:
    v = made()
    update = v.assign([0.0, 0.0])
    with pytest.raises(acts.errors.InvalidArgumentError, match="takes a reference to a variable"):
        session.run(update, {v: [7.0, 8.0]})


def test_the_shape_may_change_if_it_is_not_checked(session: acts.Session) -> None:
    v = made()
    refused(lambda: v.assign([1.0, 2.0, 3.0]), ValueError, "shape")
    started(session)
    longer = ops.assign(v, [1.0, 2.0, 3.0], validate_shape=False)
    assert longer.shape.as_list() == [3]
    np.testing.assert_array_equal(session.run(longer), [1, 2, 3])
    np.testing.assert_array_equal(session.run(v), [1, 2, 3])


def test_loops_and_branches_read_and_change_it(session: acts.Session) -> None:
    v = made()

    def body(i: Any) -> Any:
        with session.graph.control_dependencies([v.assign_add([1.0, 1.0])]):
            return i + 1

    loop = ops.while_loop(lambda i: i < 3, body, [0])
    chosen = ops.cond(ops.constant(True), lambda: v * 10.0, lambda: v + 0.0)
    slope = ops.gradients(ops.reduce_sum(chosen * v), v)[0]
    started(session)
    session.run(loop)
    np.testing.assert_array_equal(session.run(v), [4, 5])
    np.testing.assert_array_equal(session.run(chosen), [40, 50])
    np.testing.assert_array_equal(session.run(slope), [80, 100])


def test_an_update_in_a_branch_can_be_updated_again(session: acts.Session) -> None:
    v, chosen = made(), acts.placeholder("bool", [])

    def halved_and_more() -> Any:
        half = ops.assign(v, v * 0.5)
        return ops.group(ops.scatter_add(ops.assign_add(half, [1.0, 1.0]), [1], [8.0]))

    step = acts.cond(chosen, halved_and_more, lambda: ops.group(ops.assign_sub(v, [0.5, 0.5])))
    started(session)
    session.run(step, {chosen: True})
    assert session.run(v).tolist() == [1.5, 10.0]
    session.run(step, {chosen: False})
    assert session.run(v).tolist() == [1.0, 9.5]


def test_initial_values_that_depend_on_other_variables_are_guarded(session: acts.Session) -> None:
    v = made()
    twice = ops.Variable(v * 2.0, name="twice", use_resource=False)
    again = ops.Variable(twice.initialized_value() + v, name="again", use_resource=False)
    session.run(again.initializer)
    np.testing.assert_array_equal(session.run(again), [3, 6])
    refused(lambda: session.run(twice), acts.errors.FailedPreconditionError)


def test_what_is_no_reference_cannot_be_changed(session: acts.Session) -> None:
    with pytest.raises(TypeError, match="requires that input 0 be a mutable tensor"):
        raw.Assign(ops.constant(1.0), ops.constant(2.0))


def test_whether_it_has_a_value_can_be_asked(session: acts.Session) -> None:
    v = made()
    asked = ops.is_variable_initialized(v)
    assert (asked.op.type, session.run([asked, asked])) == ("IsVariableInitialized", [False, False])
    started(session)
    assert session.run(asked)


def test_a_part_is_assigned_and_a_counter_counts(session: acts.Session) -> None:
    v, n = made(), ops.Variable(0, name="n", use_resource=False)
    part, count = v[1].assign(9.0), n.count_up_to(2)
    assert (part.op.type, count.op.type) == ("StridedSliceAssign", "CountUpTo")
    started(session)
    np.testing.assert_array_equal(session.run(part), [1, 9])
    assert [session.run(count), session.run(count)] == [0, 1]
    refused(lambda: session.run(count), acts.errors.OutOfRangeError)


def test_every_type_that_takes_references_stands_for_one_that_takes_handles() -> None:
    for handled, name in REFERENCE_TYPES.items():
        known = acts.graph.registry.lookup(name)
        assert (known.stands_for, known.references > 0) == (handled, True)


OPTIMISERS = """
    Adadelta Adagrad AdagradDA Adam Ftrl GradientDescent Momentum ProximalAdagrad ProximalGradientDescent RMSProp
"""


@pytest.mark.parametrize("name", OPTIMISERS.split())
@pytest.mark.parametrize("is_sparse", [False, True])
def test_optimisers_change_both_kinds_alike(name: str, is_sparse: bool) -> None:
    found = []
    for is_resource in (False, True):
        with acts.Graph().as_default() as graph:
            v = ops.Variable([[1.0, 2.0], [3.0, 4.0]], name="v", use_resource=is_resource)
            step = ops.Variable(np.int64(0), name="step", trainable=False, use_resource=is_resource)
            args = [0.1, step] if name == "AdagradDA" else [0.1, 0.9] if name == "Momentum" else [0.1]
            optimizer = getattr(acts.train, f"{name}Optimizer")(*args)
            rows = ops.gather(v, [1, 1]) if is_sparse else v
            train = optimizer.minimize(ops.reduce_sum(rows * rows), step)
            with acts.Session(graph=graph) as session:
                started(session)
                for _ in range(3):
                    session.run(train)
                found.append(session.run([v, step]))
            slots = [optimizer.get_slot(v, slot) for slot in optimizer.get_slot_names()]
            assert all(acts.as_dtype(slot.dtype) is acts.float32 for slot in slots)
            assert all(slot.op.type == v.op.type for slot in slots)
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1] == 3


def test_a_fed_variable_is_fed_to_loops_and_branches(session: acts.Session) -> None:
    v = made()
    loop = ops.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + v), [0, ops.constant([0.0, 0.0])])
    change = ops.cond(ops.constant(True), lambda: v.assign_add([1.0, 1.0]), lambda: v + 0.0)
    started(session)
    np.testing.assert_array_equal(session.run(loop)[1], [3, 6])
    np.testing.assert_array_equal(session.run(loop, {v: [5.0, 6.0]})[1], [15, 18])
    refused(lambda: session.run(change, {v: [5.0, 6.0]}), acts.errors.InvalidArgumentError, "is fed cannot be changed")


def test_a_temporary_variable_lasts_as_long_as_its_step(session: acts.Session) -> None:
    reference: Any = raw.TemporaryVariable(shape=[2], dtype=acts.float32, var_name="sum")
    once: Any = ops.assign_add(reference, [1.0, 2.0])
    added = ops.assign_add(once, [10.0, 20.0])
    total = raw.DestroyTemporaryVariable(added, var_name="sum")
    for _ in range(2):
        np.testing.assert_array_equal(session.run(total), [11, 22])


def test_it_is_true_as_an_object_and_has_no_length(session: acts.Session) -> None:
    v = made()
    assert v
    assert not hasattr(v, "__len__")
    refused(lambda: len(v), TypeError, "has no len")
    refused(lambda: len(v * 1.0), TypeError, "no length while the graph is built")
    assert ops.zeros_like(v, False).dtype.name == "float32"


def test_the_shape_may_change_in_a_loop_if_it_is_not_checked(session: acts.Session) -> None:
    v = made()

    def body(i: Any) -> Any:
        with session.graph.control_dependencies([ops.assign(v, [1.0, 2.0, 3.0], validate_shape=False)]):
            return i + 1

    loop = ops.while_loop(lambda i: i < 1, body, [0])
    started(session)
    session.run(loop)
    np.testing.assert_array_equal(session.run(v), [1, 2, 3])
    refused(lambda: session.run(v.initializer), acts.errors.InvalidArgumentError, r"lhs shape= \[3\] rhs shape= \[2\]")
