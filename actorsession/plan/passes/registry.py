"""Graph passes: changes to a graph between building and compilation, in TensorFlow's groups.

This module holds the registry of passes. A session uses those that are registered when it is made and runs
each group at its place, in the order of their phases:

- ``PRE_PLACEMENT``: nodes that were added to the graph, before they are placed.
- ``POST_PLACEMENT``: the placed step graph of one run signature. The built-in pass ``order_collectives`` is
  here, in phase 0.
- ``POST_REWRITE_FOR_EXEC``: the same again, in runs whose nodes are not observed one by one. The built-in
  passes ``functionalize`` and ``optimise`` are here, in phase 0, and ``group_control_edges``, in phase 1.
- ``POST_PARTITIONING``: the partitions of the step.

Register with ``register_pass``, or as an entry point of group ``actorsession.graph_passes`` that gives a
``GraphPass``. The result of a pass is checked before it is used, see ``checks``. Sessions and masters call
this.
"""

from __future__ import annotations

import enum
import functools
import itertools
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.config import SessionOptions
from actorsession.entry_points import Plugins
from actorsession.errors import InvalidArgumentError
from actorsession.graph.function import FunctionDef, named_functions
from actorsession.graph.node import NodeDef
from actorsession.plan.abandonment import check_wanted
from actorsession.plan.collectives import hint_collectives, order_collectives
from actorsession.plan.control_flow.functionalize import functionalize
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.partition import Partition
from actorsession.plan.passes.checks import check_partitions, checked_nodes, checked_step
from actorsession.plan.passes.control_edges import group_control_edges
from actorsession.plan.passes.optimise import OptimiserSettings, optimise
from actorsession.plan.prune import GraphView, StepGraph
from actorsession.records import dataclass
from actorsession.registrations import scoped
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.plan.explain.trail import PlanTrail

__all__ = [
    "ENTRY_POINTS",
    "GraphPass",
    "PassContext",
    "PassGroup",
    "PassRunner",
    "PassStatistics",
    "PlacedGraph",
    "register_pass",
    "registered_passes",
    "unregister_pass",
]

ENTRY_POINTS = "actorsession.graph_passes"
_log = logging.getLogger("actorsession.plan.passes.registry")
_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")


class PassGroup(enum.Enum):
    """The time at which a pass runs; the order is that of planning."""

    PRE_PLACEMENT = "PRE_PLACEMENT"
    POST_PLACEMENT = "POST_PLACEMENT"
    POST_REWRITE_FOR_EXEC = "POST_REWRITE_FOR_EXEC"
    POST_PARTITIONING = "POST_PARTITIONING"


@dataclass(frozen=True, slots=True)
class PlacedGraph:
    """The nodes of a step with their devices.

    Attributes:
        graph: the nodes, producers first.
        device_of: full device name of each node.
    """

    graph: StepGraph
    device_of: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PassContext:
    """Information for a pass beside the graph that it changes: TensorFlow's ``GraphOptimizationPassOptions``.

    Attributes:
        devices: the session's devices.
        settings: the session's optimiser settings.
        known: the whole graph as far as it is registered.
        session_handle: name of the session, unique; by it a pass may keep state of its own from call to call.
        session_options: target and settings of the session. At a master the target is the address that the
            client connected to, and the settings are without the files of ``rpc_options``.
        added: the nodes that are being added to the graph, in passes before placement; else empty.
        note: takes the name of a node and words that say what the pass did to it or why it left it alone, which
            ``session.explain`` shows; ``None`` unless the plan is explained.
    """

    devices: DeviceSet
    settings: OptimiserSettings
    known: Mapping[str, NodeDef]
    session_handle: str
    session_options: SessionOptions
    added: Mapping[str, NodeDef]
    note: Callable[[str, str], None] | None = None

    @property
    def function_library(self) -> Mapping[str, FunctionDef]:
        """The functions of the graph by name, collected anew; see ``named_functions``.

        A call has its function as attribute ``f``, so a pass changes what a call does by replacing the node.
        """
        return named_functions(itertools.chain(self.known.values(), self.added.values()))


@dataclass(frozen=True, slots=True)
class GraphPass:
    """A pass.

    Attributes:
        name: unique name.
        group: when it runs.
        phase: passes of a group run in the order of their phases, and within a phase by name.
        function: from the object that the group changes and a ``PassContext`` to its replacement: a mapping
            of nodes by name for ``PRE_PLACEMENT``, a sequence of ``Partition`` for ``POST_PARTITIONING``, a
            ``PlacedGraph`` otherwise. It must not change its arguments.
    """

    name: str
    group: PassGroup
    phase: int
    function: Callable[[Any, PassContext], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassStatistics:
    """Statistics of a pass in a session.

    Attributes:
        name: of the pass.
        group: when it runs.
        phase: its place in the group.
        runs: how often it ran.
        changes: how often its result differed from its input.
        seconds: total running time.
    """

    name: str
    group: str
    phase: int
    runs: int = 0
    changes: int = 0
    seconds: float = 0.0


# -- the registry --------------------------------------------------------------------------------


def _built_in(
    name: str,
    group: PassGroup,
    phase: int,
    change: Callable[[StepGraph, Mapping[str, str], PassContext], tuple[StepGraph, Mapping[str, str]]],
    enabled: Callable[[PassContext], bool],
) -> GraphPass:
    """Return a pass that changes placed graphs where the settings ask for it."""

    def function(placed: PlacedGraph, context: PassContext) -> PlacedGraph:
        if not enabled(context):
            return placed
        graph, device_of = change(placed.graph, placed.device_of, context)
        return placed if graph is placed.graph else PlacedGraph(graph, device_of)

    return GraphPass(name, group, phase, function)


_BUILT_IN = (
    _built_in(
        "order_collectives",
        PassGroup.POST_PLACEMENT,
        0,
        lambda graph, device_of, context: order_collectives(graph, device_of),
        lambda context: context.session_options.config.experimental.collective_deterministic_sequential_execution,
    ),
    _built_in(
        "hint_collectives",
        PassGroup.POST_PLACEMENT,
        1,
        lambda graph, device_of, context: (hint_collectives(graph, "nccl"), device_of),
        lambda context: context.session_options.config.experimental.collective_nccl,
    ),
    _built_in(
        "functionalize",
        PassGroup.POST_REWRITE_FOR_EXEC,
        0,
        lambda graph, device_of, context: functionalize(graph, device_of, context.note),
        lambda context: context.settings.do_functionalization,
    ),
    _built_in(
        "optimise",
        PassGroup.POST_REWRITE_FOR_EXEC,
        0,
        lambda graph, device_of, context: optimise(graph, device_of, context.settings, context.note),
        lambda context: True,
    ),
    _built_in(
        "group_control_edges",
        PassGroup.POST_REWRITE_FOR_EXEC,
        1,
        lambda graph, device_of, context: group_control_edges(graph, device_of),
        lambda context: context.settings.do_control_edge_grouping,
    ),
)
_LOCK = threading.Lock()
_PASSES: dict[str, GraphPass] = scoped({made.name: made for made in _BUILT_IN})


def register_pass(group: PassGroup | str, phase: int, name: str | None = None) -> Callable[[_F], _F]:
    """Register the decorated function as a pass of every session that is made from now on.

    Args:
        group: when it runs.
        phase: its place in the group; the built-in passes have 0 and 1.
        name: its name; the function's if left out.

    Raises:
        ValueError: if there is no such group.
        KeyError: if the name is taken.
    """
    when = PassGroup(group)

    def register(function: _F) -> _F:
        _add(GraphPass(name or function.__name__, when, phase, function))
        return function

    return register


def _add(graph_pass: GraphPass) -> None:
    with _LOCK:
        if graph_pass.name in _PASSES:
            raise KeyError(f"a graph pass named {graph_pass.name!r} is already registered")
        _PASSES[graph_pass.name] = graph_pass


def unregister_pass(name: str) -> None:
    """Remove a pass, for sessions that are made from now on.

    Raises:
        KeyError: if there is none of that name.
    """
    with _LOCK:
        del _PASSES[name]


def registered_passes() -> tuple[GraphPass, ...]:
    """Return all passes, those of other distributions included, in the order in which they run."""
    _PLUGINS.load()
    with _LOCK:
        passes = list(_PASSES.values())
    order = list(PassGroup)
    return tuple(sorted(passes, key=lambda p: (order.index(p.group), p.phase, p.name)))


def _use(entry: object, graph_pass: object) -> None:
    """Register a pass of another distribution."""
    if not isinstance(graph_pass, GraphPass):
        raise TypeError(f"an entry point of {ENTRY_POINTS} is a GraphPass, got {graph_pass!r:.100}")
    _add(graph_pass)


_PLUGINS = Plugins(ENTRY_POINTS, _use)


# -- running -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Entry:
    made: GraphPass
    trusted: bool
    runs: int = 0
    changes: int = 0
    seconds: float = 0.0


class PassRunner:
    """The passes of one session, which are those that are registered when it is made.

    The caller holds the lock under which plans are made.

    Args:
        settings: the session's optimiser settings.
        handle: name of the session.
        options: target and settings of the session.
    """

    def __init__(self, settings: OptimiserSettings, handle: str, options: SessionOptions) -> None:
        self._settings = settings
        self._handle = handle
        self._options = options
        passes = registered_passes()
        # One list, in which a group is looked up when something is planned: open sessions keep it.
        self._entries = [_Entry(p, p in _BUILT_IN) for group in PassGroup for p in passes if p.group is group]

    def _passes(self, *groups: PassGroup) -> list[_Entry]:
        """Return the passes of some groups, in the order in which they run."""
        return [entry for entry in self._entries if entry.made.group in groups]

    def new_nodes(self, nodes: Sequence[NodeDef], view: GraphView, devices: DeviceSet) -> Sequence[NodeDef]:
        """Return the replacement of nodes that were added to a graph.

        Raises:
            InvalidArgumentError: if a pass breaks the graph; the message names it.
        """
        entries = self._passes(PassGroup.PRE_PLACEMENT)
        if not entries:
            return nodes
        result: Mapping[str, NodeDef] = {node.name: node for node in nodes}
        for entry in entries:
            context = self._context(view, devices, result)
            result = self._run(entry, result, context, functools.partial(checked_nodes, view))
        return tuple(result.values())

    def _context(
        self,
        view: Mapping[str, NodeDef],
        devices: DeviceSet,
        added: Mapping[str, NodeDef] = MappingProxyType({}),
        trail: PlanTrail | None = None,
    ) -> PassContext:
        note = None if trail is None else trail.note
        return PassContext(devices, self._settings, view, self._handle, self._options, added, note)

    def placed(
        self,
        graph: StepGraph,
        device_of: dict[str, str],
        view: Mapping[str, NodeDef],
        devices: DeviceSet,
        *,
        optimised: bool,
        trail: PlanTrail | None = None,
    ) -> tuple[StepGraph, dict[str, str]]:
        """Return the replacement of a placed step graph.

        Args:
            graph: the nodes that the run needs.
            device_of: full device name of each node.
            view: the whole graph.
            devices: the session's devices.
            optimised: whether nodes may be folded and merged.
            trail: notes what each pass does; the statistics do not count such a planning.

        Raises:
            InvalidArgumentError: if a pass breaks the graph; the message names it.
        """
        optimising = [PassGroup.POST_REWRITE_FOR_EXEC] if optimised else []
        entries = self._passes(PassGroup.POST_PLACEMENT, *optimising)
        result = PlacedGraph(graph, device_of)
        context = self._context(view, devices, trail=trail)

        def check(before: PlacedGraph, after: Any) -> PlacedGraph:
            if not isinstance(after, PlacedGraph):
                raise InvalidArgumentError(f"must return a PlacedGraph, got {after!r:.100}")
            nodes = checked_step(before.graph, after.graph, after.device_of, devices.by_name)
            return PlacedGraph(nodes, after.device_of)

        for entry in entries:
            result = self._run(entry, result, context, check, counted=trail is None)
            if trail is not None:
                trail.reached(entry.made.name, result.graph)
        return result.graph, dict(result.device_of)

    def partitions(
        self,
        parts: Sequence[Partition],
        view: Mapping[str, NodeDef],
        devices: DeviceSet,
        trail: PlanTrail | None = None,
    ) -> tuple[Partition, ...]:
        """Return the replacement of the partitions of a step.

        Raises:
            InvalidArgumentError: if a pass breaks a partition; the message names it.
        """
        result = tuple(parts)
        context = self._context(view, devices, trail=trail)
        for entry in self._passes(PassGroup.POST_PARTITIONING):
            result = self._run(entry, result, context, check_partitions, counted=trail is None)
        return result

    def _run(
        self, entry: _Entry, before: _T, context: PassContext, check: Callable[[_T, Any], _T], *, counted: bool = True
    ) -> _T:
        check_wanted()
        graph_pass = entry.made
        began = current_host().clock.perf_counter()
        try:
            after = graph_pass.function(before, context)
            changed = after is not before
            if changed and not entry.trusted:
                after = check(before, after)
        except InvalidArgumentError as exc:
            raise InvalidArgumentError(
                f"graph pass {graph_pass.name!r} ({graph_pass.group.value}, phase {graph_pass.phase}): {exc.message}"
            ) from exc
        except Exception as exc:
            exc.add_note(f"in graph pass {graph_pass.name!r} ({graph_pass.group.value}, phase {graph_pass.phase})")
            raise
        seconds = current_host().clock.perf_counter() - began
        if counted:
            entry.runs, entry.seconds = entry.runs + 1, entry.seconds + seconds
            entry.changes += changed
        _log.debug(
            "graph pass %r (%s, phase %d): %s, %.3f ms",
            graph_pass.name,
            graph_pass.group.value,
            graph_pass.phase,
            "changed" if changed else "as it was",
            seconds * 1e3,
        )
        result: _T = after
        return result

    def statistics(self) -> tuple[PassStatistics, ...]:
        """Return the statistics of each pass, in the order in which they run."""
        return tuple(
            PassStatistics(
                name=entry.made.name,
                group=entry.made.group.value,
                phase=entry.made.phase,
                runs=entry.runs,
                changes=entry.changes,
                seconds=entry.seconds,
            )
            for entry in self._entries
        )
