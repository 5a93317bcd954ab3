"""``tf.saved_model.loader``: builds the graphs of saved models and restores their variables.

It reads the models of TensorFlow 1 programs and those of ``builder``. The values are in a checkpoint in
TensorFlow's format or this library's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from actorsession.compat.v1.saved_model import constants
from actorsession.compat.v1.train.checkpoints.savers import import_meta_graph
from actorsession.config.file_roots import path_text
from actorsession.interop import MetaGraphDef
from actorsession.interop.meta_protos import AssetFileDef
from actorsession.interop.saved_models import SavedModel, read_saved_model

__all__ = ["load", "maybe_saved_model_directory"]


def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Return whether a folder contains the file of a saved model."""
    names = (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT)
    folder = path_text(export_dir, "export_dir")
    return any(os.path.isfile(os.path.join(folder, name)) for name in names)


def load(
    sess: Any, tags: Iterable[str], export_dir: Any, import_scope: str | None = None, **saver_kwargs: Any
) -> MetaGraphDef:
    """Build a graph of a saved model in the session's graph, and restore its variables.

    Args:
        sess: a session.
        tags: exactly the tags of the graph.
        export_dir: the folder of the saved model.
        import_scope: a name scope in which to build the graph.
        saver_kwargs: further arguments of ``import_meta_graph``.

    Returns:
        The graph's message with its signatures, whose tensors ``get_tensor_from_tensor_info`` returns.

    Raises:
        OSError: if there is no saved model in the folder.
        RuntimeError: if the model has no graph with these tags.
        OpError: as for ``Saver.restore``.
    """
    folder = Path(path_text(export_dir, "export_dir"))
    meta_graph = _tagged(read_saved_model(folder), tags)
    with sess.graph.as_default():
        saver = import_meta_graph(meta_graph, import_scope=import_scope, **saver_kwargs)
        if saver is not None:
            prefix = folder / constants.VARIABLES_DIRECTORY / constants.VARIABLES_FILENAME
            saver.restore(sess, str(prefix))
        before = f"{import_scope}/" if import_scope else ""
        feeds = {before + key: path for key, path in _assets(meta_graph, folder).items()}
        first = _first(meta_graph)
        if first is not None:
            sess.run(sess.graph.get_operation_by_name(before + first), feeds)
    return meta_graph


def _tagged(model: SavedModel, tags: Iterable[str]) -> MetaGraphDef:
    asked = set(tags)
    for each in model.meta_graphs:
        if set(each.meta_info_def.tags) == asked:
            meta_graph: MetaGraphDef = each
            return meta_graph
    said = str(sorted(asked))[1:-1]
    there = [sorted(each.meta_info_def.tags) for each in model.meta_graphs]
    raise RuntimeError(
        f"MetaGraphDef associated with tags {said} could not be found in SavedModel, with available tags {there}"
    )


def _assets(graph: MetaGraphDef, folder: Path) -> dict[str, str]:
    """Return the paths of the asset files of a graph, by the name of the tensor that holds each."""
    listed = [*graph.asset_file_def]
    if not listed and constants.ASSETS_KEY in graph.collection_def:
        packed = graph.collection_def[constants.ASSETS_KEY].any_list.value
        listed = [AssetFileDef.FromString(each.value) for each in packed]
    place = folder / constants.ASSETS_DIRECTORY
    return {each.tensor_info.name: str(place / os.path.basename(each.filename)) for each in listed}


def _first(graph: MetaGraphDef) -> str | None:
    """Return the name of the operation that runs after the variables are restored, if there is one."""
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if key in graph.collection_def:
            names = graph.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(f"Expected exactly one op in {key!r}, got {list(names)}")
            return str(names[0])
    return None
