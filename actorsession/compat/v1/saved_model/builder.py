"""``tf.saved_model.builder``: writes graphs with their signatures, for ``loader`` to read.

Everything is in TensorFlow's format, including the checkpoint with the values of variables. So TensorFlow can
load it, provided that it has the operation types of the graph.
"""

from __future__ import annotations

import filecmp
import itertools
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from actorsession.checkpoints import file_errors, write_whole
from actorsession.compat.v1.saved_model import constants
from actorsession.compat.v1.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from actorsession.compat.v1.saved_model.signature_def_utils import predict_signature_def
from actorsession.compat.v1.saved_model.tag_constants import SERVING
from actorsession.compat.v1.saved_model.tensor_infos import build_tensor_info
from actorsession.compat.v1.train.checkpoints.savers import Saver
from actorsession.config.file_roots import path_text
from actorsession.errors import FolderInUseError
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.interop import MetaGraphDef
from actorsession.interop.meta_protos import AssetFileDef, SignatureDef, TensorInfo
from actorsession.interop.saved_models import SavedModel, write_saved_model
from actorsession.ops import GraphKeys
from actorsession.process_bound import ProcessBound

__all__ = ["SavedModelBuilder", "simple_save"]

_ANY = "type.googleapis.com/tensorflow.AssetFileDef"


class SavedModelBuilder(ProcessBound):
    """A builder that writes graphs, the values of their variables and files into a folder.

    Args:
        export_dir: the folder, which is created.

    Raises:
        AssertionError: if the folder is not empty; the error is an ``AlreadyExistsError`` as well.
        OpError: if it cannot be made.
    """

    def __init__(self, export_dir: Any) -> None:
        self._folder = Path(path_text(export_dir, "export_dir"))
        with file_errors(f"cannot make the folder {os.fspath(self._folder)!r}"):
            if self._folder.exists() and any(self._folder.iterdir()):
                raise FolderInUseError(
                    f"Export directory {self._folder} already exists, and isn't empty. Please choose a "
                    "different export directory, or delete all the contents of the specified directory."
                )
            self._folder.mkdir(parents=True, exist_ok=True)
        self._model = SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        self._has_variables = False
        self._assets: dict[str, Path] = {}  # the source of each file, by its name in the folder

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Iterable[Tensor] | None = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the session's graph, and write the values of its variables.

        Args:
            sess: the session.
            tags: the tags of the graph.
            signature_def_map: signatures by key.
            assets_collection: constants with the paths of files that belong to the graph. The files are
                copied. When ``main_op`` runs after loading, the constants hold the paths of the copies.
            legacy_init_op: like ``main_op``.
            clear_devices: whether to drop the requested devices of nodes.
            main_op: an operation that runs after the variables are restored.
            strip_default_attrs: whether attributes of nodes that have their defaults are left out.
            saver: the saver of the variables; a new one if omitted.

        Raises:
            AssertionError: if the values have been written already, or a signature is incomplete.
            TypeError: if ``main_op`` is not an operation.
            ValueError: if the graph, which was loaded, has one already.
            OpError: as for ``Saver.save``.
        """
        if self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        (self._folder / constants.VARIABLES_DIRECTORY).mkdir(exist_ok=True)
        with sess.graph.as_default():
            meta_graph = self._message(
                tags,
                signature_def_map,
                assets_collection,
                main_op or legacy_init_op,
                clear_devices,
                saver,
                strip_default_attrs,
            )
            if meta_graph.HasField("saver_def"):
                self._write_values(sess, Saver(saver_def=meta_graph.saver_def))
        self._model.meta_graphs.adopt(meta_graph)
        self._has_variables = True

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Iterable[Tensor] | None = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the default graph, whose variables have the values that were written before.

        The arguments and errors are those of ``add_meta_graph_and_variables``.

        Raises:
            AssertionError: if no values have been written.
        """
        if not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        meta_graph = self._message(
            tags,
            signature_def_map,
            assets_collection,
            main_op or legacy_init_op,
            clear_devices,
            saver,
            strip_default_attrs,
        )
        self._model.meta_graphs.adopt(meta_graph)

    def save(
        self,
        as_text: bool = False,
        experimental_image_format: bool = False,
        experimental_image_writer_options: Any = None,
    ) -> bytes:
        """Write the file with all graphs and return its path.

        Args:
            as_text: whether to write the text form.
            experimental_image_format: accepted for compatibility and ignored.
            experimental_image_writer_options: accepted for compatibility and ignored.
        """
        return os.fsencode(write_saved_model(self._model, self._folder, as_text))

    def _write_values(self, sess: Any, saver: Saver) -> None:
        """Write the values of the variables as a checkpoint in TensorFlow's format."""
        prefix = self._folder / constants.VARIABLES_DIRECTORY / constants.VARIABLES_FILENAME
        saver.save(sess, str(prefix), write_meta_graph=False, write_state=False)

    def _message(
        self,
        tags: Iterable[str],
        signatures: Mapping[str, SignatureDef] | None,
        assets: Iterable[Tensor] | None,
        first: Any,
        clear_devices: bool,
        saver: Saver | None,
        strip_default_attrs: bool,
    ) -> MetaGraphDef:
        """Return the default graph as a message, with its tags, signatures and assets."""
        _check_signatures(signatures or {})
        name = getattr(first, "name", None)
        if first is not None and not isinstance(name, str):
            raise TypeError(f"main_op needs to be an Operation: {first!r:.100}")
        saver = saver or Saver(sharded=True, allow_empty=True)
        meta_graph = saver.export_meta_graph(clear_devices=clear_devices, strip_default_attrs=strip_default_attrs)
        meta_graph.meta_info_def.tags.extend(tags)
        for key, signature in (signatures or {}).items():
            meta_graph.signature_def[key].CopyFrom(signature)
        if name is not None:
            if get_default_graph().get_collection(constants.MAIN_OP_KEY):
                raise ValueError(
                    f"Graph already contains one or more main ops under the collection {constants.MAIN_OP_KEY}."
                )
            meta_graph.collection_def[constants.MAIN_OP_KEY].node_list.value.append(name)
        for tensor in assets or ():
            self._add_asset(meta_graph, tensor)
        return meta_graph

    def _add_asset(self, meta_graph: MetaGraphDef, tensor: Tensor) -> None:
        value = get_static_value(tensor)
        path = value.item() if getattr(value, "shape", None) == () else value
        if not isinstance(path, bytes):
            raise ValueError(f"Invalid asset file path tensor: {tensor!r}")
        asset = AssetFileDef(
            filename=self._copy_asset(Path(os.fsdecode(path))),
            tensor_info=TensorInfo(name=build_tensor_info(tensor).name),
        )
        meta_graph.asset_file_def.add().CopyFrom(asset)
        listed = meta_graph.collection_def[constants.ASSETS_KEY].any_list.value
        listed.add(type_url=_ANY, value=asset.SerializeToString())

    def _copy_asset(self, source: Path) -> str:
        """Copy a file into the folder, unless it is there, and return its name there.

        Files of one name are told apart by a number, as in TensorFlow.
        """
        names = itertools.chain([source.name], (f"{source.name}_{number}" for number in itertools.count(1)))
        name = next(
            each for each in names if each not in self._assets or filecmp.cmp(source, self._assets[each], shallow=False)
        )
        if self._assets.setdefault(name, source) is source:
            place = self._folder / constants.ASSETS_DIRECTORY / name
            with source.open("rb") as opened:
                write_whole(os.fspath(place), lambda file: shutil.copyfileobj(opened, file))
        return name


def _check_signatures(signatures: Mapping[str, SignatureDef]) -> None:
    for key, signature in signatures.items():
        for infos in (signature.inputs, signature.outputs):
            for name, info in infos.items():
                parts = info.composite_tensor.components or [info]
                if any(each.WhichOneof("encoding") is None or not each.dtype for each in parts):
                    raise AssertionError(
                        f"signature {key!r} has no tensor or no dtype for {name!r}; create its value "
                        "with build_tensor_info"
                    )


def simple_save(session: Any, export_dir: Any, inputs: Any, outputs: Any, legacy_init_op: Any = None) -> None:
    """Write the session's graph with one signature, for serving.

    Args:
        session: the session.
        export_dir: the folder.
        inputs: the feeds, by key.
        outputs: the fetches, by key.
        legacy_init_op: an operation that runs after the variables are restored.

    Raises:
        AssertionError: if the folder is not empty; the error is an ``AlreadyExistsError`` as well.
        OpError: if it cannot be made.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        [SERVING],
        {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=get_default_graph().get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
