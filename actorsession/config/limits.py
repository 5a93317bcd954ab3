"""Limits that apply where the caller sets none, so that every wait and every queue is bounded."""

from __future__ import annotations

from actorsession.config.environment import environment_number
from actorsession.errors import ResourceExhaustedError

__all__ = [
    "CONNECT_TIMEOUT",
    "DEFAULT_STEP_TIMEOUT",
    "MAX_GRAPH_NODES",
    "MAX_GRAPH_NODES_VARIABLE",
    "MAX_INFLIGHT_BYTES",
    "MAX_INFLIGHT_STEPS",
    "MAX_SERVER_STEPS",
    "check_graph_size",
    "check_run_size",
    "max_graph_nodes",
    "whose_limit",
]

# Seconds to reach a master or create a session when the caller sets no limit: long enough for a cluster
# whose processes are still being started, short enough for an interactive user to wait.
CONNECT_TIMEOUT = 30.0
# Seconds for one step when the caller sets no limit. A link detects a lost peer in seconds; this limit
# bounds what no link can detect.
DEFAULT_STEP_TIMEOUT = 600.0
# Steps of one session that are in flight at once. Each costs some 10 KB, without its tensors, in each
# process that takes part; and no machine does more work with more of them.
MAX_INFLIGHT_STEPS = 1000
# Bytes of tensors that steps in flight hold, per session: enough to keep a 10 Gbit link busy for 200 ms.
MAX_INFLIGHT_BYTES = 256 * 2**20
# Steps of all sessions of one master that are in flight at once: 100 MB, and ten clients without limits.
MAX_SERVER_STEPS = 10 * MAX_INFLIGHT_STEPS

# Nodes of one graph of a cluster, with those of functions: a process keeps some 2 KB of each and takes some
# 100 us to plan it, so this is 1 GB and a minute. The largest graphs that were seen have a tenth of them.
MAX_GRAPH_NODES = 500_000
MAX_GRAPH_NODES_VARIABLE = "ACTORSESSION_MAX_GRAPH_NODES"
# Names of feeds, fetches and targets of one run of a cluster: they are hashed and sorted on event loops, in
# some 20 ms.
MAX_RUN_NAMES = 2**16
_MAX_RUN_NAMES_VARIABLE = "ACTORSESSION_MAX_RUN_NAMES"


def max_graph_nodes() -> int:
    """Return how many nodes one graph of a cluster, or one function, may have."""
    given = environment_number(MAX_GRAPH_NODES_VARIABLE)
    return given if given > 0 else MAX_GRAPH_NODES


def check_run_size(names: int) -> None:
    """Check the number of names of a run before anything is done with them.

    Args:
        names: the number of its feeds, fetches and targets together.

    Raises:
        ResourceExhaustedError: if there are too many.
    """
    if names <= MAX_RUN_NAMES:  # nearly all, and the environment takes a microsecond
        return
    most = max(environment_number(_MAX_RUN_NAMES_VARIABLE), MAX_RUN_NAMES)
    if names > most:
        raise ResourceExhaustedError(
            f"the run has {names} feeds, fetches and targets, and the limit is {most}: pack tensors, group "
            f"targets, or run several steps. The environment variable {_MAX_RUN_NAMES_VARIABLE} raises it, "
            "here and at the servers"
        )


def check_graph_size(nodes: int, what: str = "the graph", times: int = 1) -> None:
    """Check the number of nodes of a graph before anything is done with them.

    Args:
        nodes: the number, with the nodes of functions: those of one that is called twice count twice.
        what: what has these nodes, for the message.
        times: how many times the limit it may have.

    Raises:
        ResourceExhaustedError: if there are more than ``max_graph_nodes()``.
    """
    most = times * max_graph_nodes()
    if nodes > most:
        raise ResourceExhaustedError(
            f"{what} has {nodes} nodes, those inside functions, loops and branches included, and the limit "
            f"is {most}. The environment variable {MAX_GRAPH_NODES_VARIABLE} raises it, here and at the "
            "servers; each call of a function counts all of its nodes again, where a loop needs them once"
        )


def whose_limit(run_in_ms: int, session_in_ms: int) -> str:
    """Return whose limit a step has and how long it is, as words for errors.

    Args:
        run_in_ms: ``RunOptions.timeout_in_ms``; 0 for none.
        session_in_ms: ``ConfigProto.operation_timeout_in_ms``; 0 for none.
    """
    if run_in_ms:
        return f"the run's limit of {run_in_ms / 1000:g} s"
    if session_in_ms:
        return f"the session's limit of {session_in_ms / 1000:g} s (operation_timeout_in_ms)"
    return f"the default limit of {DEFAULT_STEP_TIMEOUT:g} s"
