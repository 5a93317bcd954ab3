"""The specification of debugged runs of local sessions, run again over a master.

The graph's nodes go to one task after the other; both faces are used, one by direct calls to the master and
one over the wire. ``test_debugger`` shows what only a cluster can show.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.cluster.kit import in_process
from tests.cluster.master_access import Way
from tests.cluster.remote_adapters import FACES, fixtures_of, specified
from tests.session import test_debugger

KINDS = [("inproc", "AsyncSession"), ("wire", "Session")]

# What sessions of one process have and others do not, or what is shown in another way in test_debugger.
LOCAL = {
    "names the devices of a local session": [
        "test_a_watched_tensor_is_dumped_with_all_that_is_known_of_it",
        "test_a_state_hears_of_run_graphs_values_and_end",
        "test_a_break_on_another_device_names_it_and_the_tensor_that_came_there",
        "test_the_step_breaks_at_the_first_node_that_makes_one_and_a_healthy_one_does_not",
    ],
    "has loops, which are on one device": [
        "test_inside_a_loop_the_node_of_the_body_is_named",
        "test_a_watch_inside_a_loop_is_refused_with_what_can_be_watched",
        "test_inside_branches_and_nested_loops_the_innermost_node_is_named",
        "test_checks_inside_a_loop_change_no_value",
    ],
    "has devices of its own": [
        "test_each_device_shows_its_own_nodes_and_what_several_read_is_dumped_once",
        "test_the_graph_of_each_device_is_told",
    ],
    "counts in the process of the session what each task counts for itself": [
        "test_runs_of_the_session_and_of_the_plan_are_counted_and_graphs_told_once",
        "test_a_directory_that_cannot_be_made_is_a_failure_of_its_sink_alone",
        "test_the_limit_of_the_disk_counts_until_it_is_reset",
        "test_what_is_beyond_the_limit_of_the_run_is_counted_and_not_kept",
    ],
    "looks into a local session": [
        "test_nothing_is_heard_after_the_end",
        "test_on_an_event_loop_values_are_taken_in_the_kernel_pool",
    ],
    "runs nodes of one device in their order, and none after a break": [
        "test_what_was_assigned_before_the_break_stays_and_nothing_after_it_runs",
        "test_a_variable_that_went_wrong_earlier_is_found_where_it_is_read",
    ],
    "orders values by the order of the nodes of one device": [
        "test_all_nodes_are_watched_feeds_and_constants_included",
        "test_several_debug_ops_look_at_one_tensor",
    ],
}

SPECIFIED = specified(test_debugger, LOCAL)
globals().update(SPECIFIED | fixtures_of(test_debugger))


def test_the_specification_is_run_again() -> None:
    assert len(SPECIFIED) >= 25


@pytest.fixture(params=KINDS, ids="-".join)
async def way_and_face(request: Any) -> AsyncIterator[tuple[Way, Any]]:
    name, face = request.param
    async with in_process({"ps": 1, "worker": 2}) as cluster:
        made = Way(cluster, over_wire=name == "wire")
        yield made, FACES[face]
        await made.until_empty()
