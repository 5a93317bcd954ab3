"""Sessions that accept TensorFlow's settings; the rest is ``actorsession.Session``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import actorsession.session as ours
from actorsession import interop
from actorsession.compat.v1.graphs import as_compat_graph, get_default_graph
from actorsession.compat.v1.settings import as_settings
from actorsession.config import ConfigProto
from actorsession.graph.graph import Graph
from actorsession.session.callables import Callable
from actorsession.session.targets import is_local

__all__ = ["InteractiveSession", "Session"]


class Session(ours.Session):
    """``actorsession.Session`` with mutable settings.

    Args:
        target: as for ``actorsession.Session``; ``grpc://`` means ``tcp://``.
        graph: the graph to run; the default graph if omitted.
        config: settings.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        graph = get_default_graph() if graph is None else as_compat_graph(graph)
        super().__init__(target, graph, as_settings(config))

    def _make_callable_from_options(self, callable_options: Any) -> Callable:
        """Prepare a run that a ``CallableOptions`` describes; see ``make_callable_from_options``."""
        return self.make_callable_from_options(as_settings(callable_options))

    @property
    def graph_def(self) -> interop.GraphDef:
        """The graph as TensorFlow's message, with shapes if ``graph_options.infer_shapes`` is set."""
        return _graph_def(self)


class InteractiveSession(ours.InteractiveSession):
    """``actorsession.InteractiveSession`` with mutable settings.

    As in TensorFlow, only the nodes that a run needs are placed, so an invalid device elsewhere in a notebook
    does no harm.

    Args:
        target: as for ``Session``.
        graph: as for ``Session``.
        config: as for ``Session``.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        get_default_graph()  # converts the default graph, which the session may use
        settings = as_settings(config)
        if (
            isinstance(target, str)
            and is_local(target)
            and (settings is None or isinstance(settings, ConfigProto))
        ):
            settings = _placing_what_runs(settings or ConfigProto())
        super().__init__(target, None if graph is None else as_compat_graph(graph), settings)

    def _make_callable_from_options(self, callable_options: Any) -> Callable:
        """Prepare a run that a ``CallableOptions`` describes; see ``make_callable_from_options``."""
        return self.make_callable_from_options(as_settings(callable_options))

    @property
    def graph_def(self) -> interop.GraphDef:
        """The graph as TensorFlow's message, with shapes if ``graph_options.infer_shapes`` is set."""
        return _graph_def(self)


def _placing_what_runs(config: ConfigProto) -> ConfigProto:
    return replace(config, graph_options=replace(config.graph_options, place_pruned_graph=True))


def _graph_def(session: Any) -> interop.GraphDef:
    shapes = session._config.graph_options.infer_shapes
    return interop.graph_def_of(session.graph, add_shapes=shapes)
