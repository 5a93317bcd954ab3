"""Graphs whose ``as_graph_def`` returns TensorFlow's ``GraphDef``.

``actorsession.Graph.as_graph_def`` returns the library's own plain data. A graph that a program gets through
a TensorFlow name is a ``Graph`` of this module. The default graph may have been created elsewhere; it is
converted when it is requested here, and stays the same object.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from actorsession import interop
from actorsession.compat.v1.graphs import behavior
from actorsession.compat.v1.graphs.devices import DeviceSpec
from actorsession.graph import graph as ours
from actorsession.graph.scopes import device_under, scope_of
from actorsession.interop.attributes import attr_of
from actorsession.interop.signatures import GRAPH_DEF_VERSION

__all__ = ["Graph", "adopt_fallback", "get_default_graph", "reset_default_graph"]

# The attributes of the blocks that ``Graph._attr_scope`` makes.
_ATTRIBUTES: ContextVar[Mapping[Any, Mapping[str, Any]] | None] = ContextVar("actorsession_attributes", default=None)
# The operations that those of ``Graph._original_op`` blocks stand for.
_ORIGINALS: ContextVar[Mapping[Any, Any] | None] = ContextVar("actorsession_originals", default=None)


class Graph(ours.Graph):
    """``actorsession.Graph`` for programs that serialise it in TensorFlow's form."""

    # No attributes of its own, so that the class of an ``actorsession.Graph`` object can be changed to this
    # one.

    shown_prefix = "tf."
    keeps_devices = True

    @property
    def reference_variables(self) -> bool:  # type: ignore[override]
        """Whether variables are reference variables by default, which ``enable_resource_variables`` ends."""
        return not behavior.resource_variables_enabled()

    @property
    def building_function(self) -> bool:
        """Whether this is the graph of a function: never, as functions are built in the graph around them."""
        return False

    def as_graph_def(  # type: ignore[override]
        self, from_version: int | None = None, add_shapes: bool = False, use_pybind11_proto: bool = False
    ) -> interop.GraphDef:
        """Return the graph as TensorFlow's message.

        Args:
            from_version: how many operations to omit, counted from the first built.
            add_shapes: whether nodes carry the static shapes of their outputs, as ``_output_shapes``.
            use_pybind11_proto: accepted for compatibility and ignored.

        Raises:
            ValueError: for a node that has no such form.
        """
        return interop.graph_def_of(self, after=from_version or 0, add_shapes=add_shapes)

    def create_op(self, *args: Any, **kwargs: Any) -> Any:
        """Add an operation under the present scopes; see ``actorsession.Graph.create_op``."""
        op = self._created(*args, **kwargs)
        originals = _ORIGINALS.get()
        if originals is not None and originals.get(self) is not None:
            op._original_op = originals[self]
        return op

    def _created(self, *args: Any, **kwargs: Any) -> Any:
        more = _ATTRIBUTES.get()
        if more is not None and self in more:
            arguments = inspect.signature(ours.Graph.create_op).bind(self, *args, **kwargs).arguments
            arguments["attrs"] = {**more[self], **(arguments.get("attrs") or {})}
            return super().create_op(**{name: v for name, v in arguments.items() if name != "self"})
        return super().create_op(*args, **kwargs)

    @contextlib.contextmanager
    def _attr_scope(self, attr_map: Mapping[str, Any]) -> Iterator[None]:
        """Make a block whose operations have further attributes, whose names begin with an underscore.

        Args:
            attr_map: the attributes, as messages; ``None`` for one that is not to be set any more.
        """
        before = _ATTRIBUTES.get() or {}
        now = {**before.get(self, {}), **{k: v and attr_of(v) for k, v in attr_map.items()}}
        kept = {name: value for name, value in now.items() if value is not None}
        token = _ATTRIBUTES.set({**before, self: kept})
        try:
            yield
        finally:
            _ATTRIBUTES.reset(token)

    @contextlib.contextmanager
    def _original_op(self, op: Any) -> Iterator[None]:
        """Make a block whose operations stand for another one, which they have as ``_original_op``."""
        token = _ORIGINALS.set({**(_ORIGINALS.get() or {}), self: op})
        try:
            yield
        finally:
            _ORIGINALS.reset(token)

    def standing_for(self, op: Any) -> contextlib.AbstractContextManager[object]:
        """Return a block whose operations have another one as ``_original_op``."""
        return self._original_op(op)

    def _apply_device_functions(self, op: Any) -> None:
        """Tell an object, which need be no operation, the device that one would have that is built here.

        Args:
            op: the object; its ``_set_device`` gets a ``DeviceSpec``, but not outside all device blocks.
        """
        scope = scope_of(self)
        if scope.devices:
            spec = DeviceSpec.from_string(device_under(scope, op, self.keeps_devices))
            op._set_device(spec)

    def _unsafe_unfinalize(self) -> None:
        """Allow changes again."""
        self.unfinalize()

    @property
    def graph_def_versions(self) -> interop.VersionDef:
        """The version of the writer of graphs, as a message."""
        return interop.VersionDef(producer=GRAPH_DEF_VERSION)


def get_default_graph() -> Any:
    """Return the innermost default graph of this thread, or the thread's own graph."""
    return as_compat_graph(ours.get_default_graph())


def reset_default_graph() -> None:
    """Drop the thread's own graph, so that the next use starts an empty one.

    Raises:
        AssertionError: inside an ``as_default`` block.
    """
    ours.reset_default_graph()
    get_default_graph()


def adopt_fallback() -> None:
    """Make the thread's own graph one of this module, for a program that is about to build in it."""
    if not ours.default_graphs().is_entered():
        get_default_graph()


def as_compat_graph(graph: Any) -> Any:
    """Return the graph, converted in place to the ``Graph`` of this module."""
    if type(graph) is ours.Graph:
        graph.__class__ = Graph
    return graph
