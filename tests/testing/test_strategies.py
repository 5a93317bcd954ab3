"""What strategies draw is of the shape, type and size that they promise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import DType, Graph, Session, ops
from actorsession.testing import Schedule, strategies
from actorsession.testing.strategies import arrays, dtypes, fault_schedules, feeds, shapes


@given(data=st.data(), dtype=dtypes(strings=True), shape=shapes())
def test_arrays_are_of_their_type_and_shape_and_can_be_fed(
    data: st.DataObject, dtype: DType, shape: tuple[int, ...]
) -> None:
    value = data.draw(arrays(dtype, shape, bound=3))
    assert value.shape == shape
    assert value.dtype == (object if dtype.name == "string" else dtype.np_dtype)
    if dtype.is_numeric:
        assert np.abs(value.astype(complex)).max(initial=0) <= 3 * 2**0.5
    with Session(graph=Graph()) as session, session.graph.as_default():
        x = ops.placeholder(dtype, shape)
        assert np.array_equal(session.run(ops.identity(x), {x: value}), value)


@given(data=st.data())
def test_feeds_of_a_step_have_one_batch(data: st.DataObject) -> None:
    with Graph().as_default():
        xs = [ops.placeholder("float32", shape) for shape in ([None, 2], [None], [3, None], [])]
    fed = data.draw(feeds(xs, max_size=5))
    assert list(fed) == xs
    assert all(x.shape.is_compatible_with(fed[x].shape) for x in xs)
    assert fed[xs[0]].shape[0] == fed[xs[1]].shape[0] in range(1, 6)


def test_feeds_of_unknown_rank_are_refused(graph: Graph) -> None:
    with pytest.raises(ValueError, match="'x:0' cannot be drawn: its rank is unknown"):
        feeds([ops.placeholder("float32", None, name="x")])


def test_a_missing_hypothesis_is_an_error_that_names_the_extra(uninstall: Callable[[str], None]) -> None:
    uninstall("hypothesis")
    with pytest.raises(ImportError, match=r"pip install 'actorsession\[testing\]'"):
        strategies.graphs()


@given(fault_schedules({"worker": 3}, most=4, seconds=2.0, kinds=["crash", "part"]))
def test_schedules_have_faults_of_the_cluster_and_a_text_form(schedule: Schedule) -> None:
    assert len(schedule) <= 4
    for fault in schedule:
        assert fault.kind in ("crash", "part")
        assert fault.at <= 2.0
        assert {fault.whom, fault.other} <= {"", "client", "worker-0", "worker-1", "worker-2"}
    assert Schedule.parse(str(schedule)) == schedule


def test_an_unknown_kind_of_fault_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kinds of faults: \\['flood'\\]"):
        fault_schedules(kinds=["flood"])
