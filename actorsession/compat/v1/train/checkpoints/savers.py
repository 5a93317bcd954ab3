"""Savers whose files are TensorFlow's, and functions that read such files.

``actorsession.train.Saver`` writes values and graph in the library's own forms. TensorFlow programs expect
its V2 checkpoints, and beside them a ``MetaGraphDef`` from which ``import_meta_graph`` recreates the graph
and the saver. Checkpoints of either form are restored.
"""

from __future__ import annotations

import os
import re
from typing import Any

from actorsession import interop, train
from actorsession.checkpoints import CheckpointReader
from actorsession.compat.v1.compat import as_text
from actorsession.compat.v1.graphs.graph import Graph, get_default_graph
from actorsession.compat.v1.logging import get_logger
from actorsession.config.file_roots import path_text
from actorsession.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    MissingFileError,
    NotFoundError,
    OpError,
    RequestValueError,
    UnreadableFileError,
)
from actorsession.interop import text_format
from actorsession.interop.training_protos import within_scope
from actorsession.ops import GraphKeys
from actorsession.train.saveable import saveables_of
from actorsession.train.saver_arguments import is_symbolic

__all__ = ["Saver", "export_meta_graph", "import_meta_graph"]

_log = get_logger()

_LACKING = re.compile(r"has no tensor '([^']+)'")
_OTHER_SHAPE = re.compile(r"has shape \[.*\] in the checkpoint")


class Saver(train.Saver):
    """``actorsession.train.Saver`` with TensorFlow's checkpoints, and its messages for saver and graph.

    The arguments are those of ``actorsession.train.Saver``.
    """

    _bundle = True

    def save(self, sess: Any, save_path: str, global_step: Any = None, *args: Any, **kwargs: Any) -> str | None:
        """Write a checkpoint; see ``actorsession.train.Saver.save``.

        Args:
            sess: a session in which the variables are initialised.
            save_path: prefix of the files.
            global_step: step number, or a tensor or variable of it; here also the name of its tensor, and of
                any element type: 3.7 counts as 3.
            args: the further arguments of that.
            kwargs: likewise.

        Raises:
            ValueError: if the folder is not one, or there is no such tensor, besides the errors of that.
        """
        if isinstance(global_step, (str, bytes)):
            name, global_step = global_step, sess.run(as_text(global_step))
            if global_step is None:
                raise TypeError(f"global_step names the operation {name!r}, which is no number")
        elif is_symbolic(global_step) and not sess.graph.as_graph_element(global_step).dtype.is_integer:
            global_step = int(sess.run(global_step))
        try:
            return super().save(sess, save_path, global_step, *args, **kwargs)
        except (FailedPreconditionError, NotFoundError) as exc:
            if os.path.isdir(os.path.dirname(path_text(save_path))):
                raise
            raise RequestValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from exc

    def restore(self, sess: Any, save_path: str | None) -> None:
        """Restore the variables from a checkpoint, also from one of ``tf.train.Checkpoint``.

        The arguments are those of ``actorsession.train.Saver.restore``.

        Raises:
            ValueError: if there is no such checkpoint.
            NotFoundError: if it lacks a variable; the message has TensorFlow's words beside ours.
            InvalidArgumentError: if a variable has another shape there; likewise.
        """
        if save_path is None:
            raise RequestValueError("Can't load save_path when it is None.")
        try:
            super().restore(sess, save_path)
        except NotFoundError as exc:
            keys = _keys_of_objects(save_path)
            named = {each.name: each for each in saveables_of(self._var_list)} if keys else {}
            if not keys or not set(named) <= set(keys):
                if lacking := _LACKING.search(exc.message):
                    exc.message = f"Key {lacking[1]} not found in checkpoint: {exc.message}"
                raise
            by_key = {keys[name]: each.op for name, each in named.items()}
            Saver(by_key, reshape=self._reshape).restore(sess, save_path)
        except InvalidArgumentError as exc:
            if _OTHER_SHAPE.search(exc.message):
                exc.message = f"Assign requires shapes of both tensors to match: {exc.message}"
            raise

    def _write_graph(self, path: str, graph: Any) -> None:
        try:
            interop.export_meta_graph(path, saver_def=self.saver_def, graph=graph)
        except ValueError as exc:
            # The checkpoint is complete, and can be restored into any program that builds the same variables.
            _log.warning("cannot write the graph to %r: %s", path, exc)

    @property
    def saver_def(self) -> Any:
        """The names of its nodes as a message; ``None`` before they are built."""
        return interop.saver_to_proto(self._def)

    def as_saver_def(self) -> Any:
        """Return ``saver_def``."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return ``saver_def`` for the nodes of a scope.

        Args:
            export_scope: a name scope to strip from all names.
        """
        return interop.saver_to_proto(self._def, export_scope)

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """Return a saver of nodes that are in the graph already.

        Args:
            saver_def: the names of the nodes.
            import_scope: a name scope to put before the names.
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
        """Return the default graph with this saver as a message, and write it to a file if one is named.

        The arguments are those of ``tf.train.export_meta_graph``.
        """
        return export_meta_graph(
            filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
        )


def _keys_of_objects(path: Any) -> dict[str, str]:
    """Return the keys of values by the names of their variables, if a checkpoint is one of objects."""
    # Imported here because most programs never read one.
    from actorsession.compat.v1.train.checkpoints.objects import names_to_keys, read_description

    try:
        with CheckpointReader(path) as reader:
            message = read_description(reader)
    except OpError:
        return {}
    return {} if message is None else names_to_keys(message)


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
    """Return a graph with its collections as a message, and write it to a file if one is named.

    Args:
        filename: the path of the file.
        meta_info_def: the initial value of the message's field of that name.
        graph_def: the graph as a message; derived from ``graph`` if omitted.
        saver_def: the names of a saver's operations.
        collection_list: names of the collections to write; all if omitted.
        as_text: whether to write the file in the text form.
        graph: the graph; the default graph if omitted.
        export_scope: a name scope; only elements below it are written, with the scope stripped from their
            names.
        clear_devices: whether to drop the requested devices of nodes.
        clear_extraneous_savers: whether the collection of savers is left out.
        strip_default_attrs: whether attributes of nodes that have their defaults are left out.
        save_debug_info: accepted for compatibility and ignored.
        kwargs: accepted for compatibility and ignored.

    Raises:
        ValueError: for a graph that has no such form.
    """
    said = interop.saver_to_proto(saver_def)
    return interop.export_meta_graph(
        filename,
        meta_info_def,
        graph_def,
        said,
        collection_list,
        as_text,
        graph if graph is not None else get_default_graph(),
        clear_devices,
        export_scope,
        strip_default_attrs=strip_default_attrs,
        clear_extraneous_savers=clear_extraneous_savers,
    )


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Build a stored graph in the default graph, with its collections.

    Args:
        meta_graph_or_file: a ``MetaGraphDef``, or the path of a ``.meta`` file.
        clear_devices: whether to drop the requested devices of nodes.
        import_scope: a name scope in which to build the graph.
        kwargs: ``input_map``, tensors to read instead of outputs of the graph, as for ``import_graph_def``;
            any others are accepted for compatibility and ignored.

    Returns:
        A saver for the variables: that of the file, else a new one; ``None`` without variables.

    Raises:
        OSError: if there is no such file, or it holds something else.
        OpError: if it cannot be read.
        ValueError: if the graph cannot be imported.
        NotFoundError: for operation types that are not registered.
    """
    message = meta_graph_or_file
    if not isinstance(message, interop.MetaGraphDef):
        try:
            message = interop.read_meta_graph(message)
        except FileNotFoundError as exc:
            raise MissingFileError(f"File {meta_graph_or_file} does not exist.") from exc
        except text_format.ParseError as exc:
            raise UnreadableFileError(f"Cannot parse file {meta_graph_or_file}: {exc}.") from exc
    imported = interop.import_meta_graph(message, clear_devices, import_scope, kwargs.get("input_map"))
    if imported.saver_def is not None:
        return Saver(saver_def=within_scope(imported.saver_def, imported.import_scope))
    graph: Graph = get_default_graph()
    if graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        return Saver()
    _log.info("there is no saver, because the graph has no variables")
    return None
