"""Savers whose ``.meta`` files are TensorFlow's, and what reads such files.

``actorsession.train.Saver`` writes the graph in the library's own form; programs for TensorFlow expect a
``MetaGraphDef`` there, from which ``import_meta_graph`` makes graph and saver again.
"""

from __future__ import annotations

import logging
from typing import Any

from actorsession import interop, train
from actorsession.compat.v1.graphs import Graph, get_default_graph
from actorsession.interop.training_protos import within_scope
from actorsession.ops import GraphKeys

__all__ = ["Saver", "export_meta_graph", "import_meta_graph"]

_log = logging.getLogger("actorsession.compat")


class Saver(train.Saver):
    """``actorsession.train.Saver``, with TensorFlow's messages for saver and graph; arguments as there."""

    def _write_graph(self, path: str, graph: Any) -> None:
        try:
            interop.export_meta_graph(path, saver_def=self.saver_def, graph=graph)
        except ValueError as exc:
            # The checkpoint itself is whole, and restores into any program that builds the same variables.
            _log.warning("the graph is not written to %r: %s", path, exc)

    @property
    def saver_def(self) -> Any:
        """The names of its nodes as a message; nothing before they are built."""
        return interop.saver_to_proto(self._def)

    def as_saver_def(self) -> Any:
        """As ``saver_def``."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """As ``saver_def``, for the nodes of a scope.

        Args:
            export_scope: a name scope to leave off all names.
        """
        return interop.saver_to_proto(self._def, export_scope)

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """A saver of nodes that are in the graph already.

        Args:
            saver_def: their names.
            import_scope: a name scope to put before them.
        """
        return Saver(saver_def=within_scope(saver_def, import_scope))

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: list[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> interop.MetaGraphDef:
        """Write the default graph with this saver; arguments as ``tf.train.export_meta_graph``."""
        return export_meta_graph(
            filename, saver_def=self.saver_def, collection_list=collection_list, as_text=as_text,
            export_scope=export_scope, clear_devices=clear_devices,
        )  # fmt: skip


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: list[str] | None = None,
    as_text: bool = False,
    graph: Any = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> interop.MetaGraphDef:
    """A graph with its collections as a message, and in a file if one is named.

    Args:
        filename: the file.
        meta_info_def: who made it, to start from.
        graph_def: the graph as a message; made of ``graph`` if left out.
        saver_def: where the operations of a saver are.
        collection_list: names of the collections to write, all if left out.
        as_text: whether the file has the text form.
        graph: the graph; the default graph if left out.
        export_scope: a name scope: only what is below it is written, and without it in the names.
        clear_devices: whether nodes forget the devices that were asked for.
        clear_extraneous_savers: accepted for TensorFlow's sake.
        strip_default_attrs: accepted for TensorFlow's sake.
        save_debug_info: accepted for TensorFlow's sake.
        kwargs: accepted for TensorFlow's sake.

    Raises:
        ValueError: for a graph that has no such form.
    """
    said = interop.saver_to_proto(saver_def)
    return interop.export_meta_graph(
        filename, meta_info_def, graph_def, said, collection_list, as_text,
        graph if graph is not None else get_default_graph(), clear_devices, export_scope,
    )  # fmt: skip


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Build a stored graph in the default graph, with its collections.

    Args:
        meta_graph_or_file: a ``MetaGraphDef``, or the path of a ``.meta`` file.
        clear_devices: whether the devices that were asked for are left out.
        import_scope: a name scope to build it in.
        kwargs: ``input_map``, tensors to read instead of outputs of the graph, as for ``import_graph_def``;
            any others are accepted for TensorFlow's sake.

    Returns:
        A saver for its variables: that of the file, else a new one; nothing without variables.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if the graph cannot be imported.
        NotFoundError: for operation types that are not registered.
    """
    found = interop.import_meta_graph(
        meta_graph_or_file, clear_devices, import_scope, kwargs.get("input_map")
    )
    if found.saver_def is not None:
        return Saver(saver_def=within_scope(found.saver_def, found.import_scope))
    graph: Graph = get_default_graph()
    if graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        return Saver()
    _log.info("no saver is made: the graph has no variables")
    return None
