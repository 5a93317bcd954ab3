"""``MetaGraphDef``: a graph with its collections, as ``.meta`` files hold it.

``collections`` converts the collections. A collection that cannot be written is left out, with a warning in
the log.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from actorsession.checkpoints.atomic import file_errors, read_regular
from actorsession.checkpoints.seals import open_message, open_text
from actorsession.collector import pause_collector
from actorsession.config.file_roots import path_text
from actorsession.errors import DataLossError, MissingFileError, NotFoundError
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.op_signatures import REQUIRED, tensorflow_signature
from actorsession.interop import protos, text_format
from actorsession.interop.attributes import attr_proto
from actorsession.interop.collections import (
    collection_proto,
    is_restored_by_function,
    restore_collection,
    without_scope,
)
from actorsession.interop.exporter import graph_def_of, write_message
from actorsession.interop.importer import import_graph_def
from actorsession.interop.meta_scope import UNBOUND, bound_map, scoped_graph_def
from actorsession.ops import GraphKeys, Variable
from actorsession.records import dataclass

__all__ = ["ImportedMetaGraph", "export_meta_graph", "import_meta_graph", "read_meta_graph"]

_log = logging.getLogger(__name__)

_VERSION = "2.21.0"  # the release of TensorFlow whose signatures are written


# -- export --------------------------------------------------------------------------------------


def export_meta_graph(
    filename: str | os.PathLike[str] | None = None,
    meta_info_def: protos.MetaGraphDef.MetaInfoDef | None = None,
    graph_def: Any = None,
    saver_def: protos.SaverDef | None = None,
    collection_list: list[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    clear_devices: bool = False,
    export_scope: str | None = None,
    *,
    strip_default_attrs: bool = False,
    clear_extraneous_savers: bool = False,
    unbound: str | None = UNBOUND,
) -> protos.MetaGraphDef:
    """Return a graph with its collections as a message, and write it to a file if one is named.

    Args:
        filename: the path of the file.
        meta_info_def: the initial value of the message's field of that name.
        graph_def: the graph in TensorFlow's form; derived from ``graph`` if omitted.
        saver_def: the names of a saver's operations.
        collection_list: names of the collections to write; all if omitted.
        as_text: whether to write the file in the text form.
        graph: the graph; the default graph if omitted.
        clear_devices: whether to drop the requested devices of nodes.
        export_scope: a name scope; only elements below it are written, with the scope stripped from their
            names.
        strip_default_attrs: whether attributes of nodes that have their defaults are left out.
        clear_extraneous_savers: whether the collection of savers is left out.
        unbound: the collection that lists what nodes below ``export_scope`` read from outside, if any.

    Raises:
        ValueError: for a graph that has no such form.
    """
    graph = get_default_graph() if graph is None else graph
    meta_graph = protos.MetaGraphDef()
    if meta_info_def is not None:
        meta_graph.meta_info_def.CopyFrom(meta_info_def)
    meta_graph.meta_info_def.tensorflow_version = _VERSION
    if graph_def is None:
        # In place, because a copy of all nodes takes longer than to write them.
        graph_def = graph_def_of(graph, add_shapes=True, into=None if export_scope else meta_graph.graph_def)
    if export_scope:
        graph_def, outside = scoped_graph_def(graph_def, export_scope)
        if outside and unbound is not None:
            listed = meta_graph.collection_def[unbound].bytes_list.value
            listed.extend([name.encode() for name in outside])
    meta_graph.graph_def.CopyFrom(graph_def)
    if clear_devices:
        _clear_devices(meta_graph.graph_def)
    if strip_default_attrs:
        _strip_defaults(meta_graph.graph_def)
        meta_graph.meta_info_def.stripped_default_attrs = True
    _list_ops(meta_graph)
    if saver_def is not None:
        meta_graph.saver_def.CopyFrom(saver_def)
    keys = graph.get_all_collection_keys() if collection_list is None else collection_list
    for key in keys:
        if clear_extraneous_savers and key == GraphKeys.SAVERS:
            continue
        values = [v for v in graph.get_collection(key) if _is_below(v, export_scope)]
        try:
            if values:
                meta_graph.collection_def[key].CopyFrom(collection_proto(key, values, export_scope))
        except (TypeError, ValueError) as exc:
            meta_graph.collection_def.pop(key, None)
            _log.warning("collection %r cannot be exported: %s", key, exc)
    if filename is not None:
        write_message(meta_graph, filename, as_text=as_text)
    return meta_graph


def _is_below(value: Any, scope: str | None) -> bool:
    """Return whether an element of a collection is exported with a scope: it has no name, or one below it."""
    name = value if isinstance(value, str) else getattr(value, "name", None)
    return not scope or not isinstance(name, str) or name.startswith(f"{scope.rstrip('/')}/")


def _clear_devices(graph_def: protos.GraphDef) -> None:
    for node in graph_def.node:
        node.device = ""


def _strip_defaults(graph_def: protos.GraphDef) -> None:
    """Leave out attributes that readers fill in."""
    for node in graph_def.node:
        signature = tensorflow_signature(node.op)
        for name, attr in signature.attrs.items() if signature is not None else ():
            if name in node.attr and attr.default not in (REQUIRED, None):
                try:
                    default = attr_proto(attr.default, attr.type)
                except (TypeError, ValueError):
                    continue  # a default that only this library writes otherwise
                if node.attr[name] == default:
                    del node.attr[name]


def _list_ops(meta_graph: protos.MetaGraphDef) -> None:
    """List the operation types that the graph uses, for readers that check them."""
    del meta_graph.meta_info_def.stripped_op_list.op[:]
    for op in sorted({node.op for node in meta_graph.graph_def.node}):
        meta_graph.meta_info_def.stripped_op_list.op.add(name=op)


# -- import --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ImportedMetaGraph:
    """The result of an import of a meta graph.

    Attributes:
        meta_graph_def: the message that was read.
        import_scope: the name scope in which the graph was built; empty for none.
        variables: the variables that were restored, by their names in the file.
        elements: the operations and tensors that were asked for.
    """

    meta_graph_def: protos.MetaGraphDef
    import_scope: str
    variables: Mapping[str, Variable]
    elements: Sequence[Any] | None = None

    @property
    def saver_def(self) -> protos.SaverDef | None:
        """The names of the operations of the graph's saver, if it has one."""
        present = self.meta_graph_def.HasField("saver_def")
        return self.meta_graph_def.saver_def if present else None


def read_meta_graph(filename: str | os.PathLike[str]) -> protos.MetaGraphDef:
    """Read a meta graph from a file in binary or text form.

    Raises:
        FileNotFoundError: if the file does not exist.
        OpError: if it cannot be read.
        InvalidArgumentError: if it is in neither form.
        DataLossError: if it does not have the checksum that it was written with.
    """
    try:
        with file_errors(f"cannot read {filename!r}"):
            content = open_message(read_regular(filename), path_text(filename))
    except NotFoundError as exc:
        raise MissingFileError(exc.message) from exc
    try:
        with pause_collector():
            return protos.MetaGraphDef.FromString(content)
    except DataLossError:
        text = open_text(content, path_text(filename))
        return text_format.Parse(text, protos.MetaGraphDef())


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    input_map: Mapping[Any, Any] | None = None,
    *,
    return_elements: Iterable[Any] | None = None,
    unbound: str | None = UNBOUND,
    restores: Callable[[str], bool] = lambda key: True,
) -> ImportedMetaGraph:
    """Build a meta graph in the default graph, with its collections.

    Args:
        meta_graph_or_file: the message, or the path of a file.
        clear_devices: whether to drop the requested devices of nodes.
        import_scope: a name scope in which to build the graph.
        input_map: tensors to read instead of outputs of the graph, as for ``import_graph_def``.
        return_elements: names of operations and tensors of the graph to return.
        unbound: the collection that lists the inputs which ``input_map`` must name.
        restores: which of the other collections are restored, by their names.

    Returns:
        The restored objects. The caller creates a saver from ``saver_def``.

    Raises:
        ValueError: if the graph cannot be imported.
        NotFoundError: for operation types that are not registered.
    """
    message = meta_graph_or_file
    if not isinstance(message, protos.MetaGraphDef):
        message = read_meta_graph(message)
    graph_def = message.graph_def
    if clear_devices:
        graph_def = graph_def.copy()
        _clear_devices(graph_def)
    graph = get_default_graph()
    if import_scope and not import_scope.endswith("/"):
        name, scope = import_scope, graph.unique_name(import_scope, mark_as_used=False)
    else:
        scope = (import_scope or graph.get_name_scope()).rstrip("/")
        name = f"{scope}/" if scope else ""
    producer = message.meta_info_def.stripped_op_list
    mapped = bound_map(message, input_map, unbound)
    elements = import_graph_def(graph_def, mapped, return_elements, name, producer_op_list=producer)
    # Variables first: other collections may hold them by name.
    keys = sorted(message.collection_def, key=lambda key: (not is_restored_by_function(key), key))
    keys = [key for key in keys if key != unbound and restores(key)]
    before = {id(v) for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES)}
    for key in keys:
        restore_collection(key, message.collection_def[key], graph, scope)
    restored = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    new_variables = {without_scope(v.name, scope): v for v in restored if id(v) not in before}
    return ImportedMetaGraph(message, scope, new_variables, elements)
