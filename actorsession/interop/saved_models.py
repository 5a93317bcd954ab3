"""``saved_model.pb``: graphs with their signatures, in TensorFlow's form for serving.

The module holds the message and reads and writes the file. ``compat.v1.saved_model`` builds graphs and
restores values from it. The values of variables are in a separate checkpoint.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from actorsession.checkpoints.atomic import file_errors, read_regular
from actorsession.checkpoints.seals import open_message, open_text
from actorsession.config.file_roots import path_text
from actorsession.errors import DataLossError, MissingFileError, UnreadableFileError
from actorsession.graph.dtypes import int64
from actorsession.interop import text_format
from actorsession.interop.exporter import write_message
from actorsession.interop.message import Message
from actorsession.interop.meta_protos import TensorInfo

__all__ = ["FILENAME", "TEXT_FILENAME", "SavedModel", "flat_tensors", "read_saved_model", "write_saved_model"]

FILENAME, TEXT_FILENAME = "saved_model.pb", "saved_model.pbtxt"
# The tensors of a sparse one, and their types; 0 is the type of its values.
_INT64 = int64.as_datatype_enum
_SPARSE_PARTS = {"indices": _INT64, "values": 0, "dense_shape": _INT64}


class SavedModel(Message):
    """Graphs that share their variables and are distinguished by tags."""

    SCHEMA = """
        1 saved_model_schema_version int64
        2 meta_graphs MetaGraphDef*
    """


def flat_tensors(infos: Mapping[str, TensorInfo]) -> dict[str, TensorInfo]:
    """Return the tensors of a signature, in the order of their keys.

    Those of a sparse tensor have keys such as ``words/values``, and those of another value of several
    tensors, such as a ragged one, have numbers: ``words/0``.

    Args:
        infos: the inputs or the outputs of the signature.
    """
    flat: dict[str, TensorInfo] = {}
    for key, info in sorted(infos.items()):
        kind = info.WhichOneof("encoding")
        if kind == "composite_tensor":
            parts = enumerate(info.composite_tensor.components)
            flat |= flat_tensors({f"{key}/{at}": part for at, part in parts})
        elif kind == "coo_sparse":
            for part, dtype in _SPARSE_PARTS.items():
                name = getattr(info.coo_sparse, f"{part}_tensor_name")
                part_info = TensorInfo(name=name, dtype=dtype or info.dtype)
                part_info.tensor_shape.unknown_rank = True
                flat[f"{key}/{part}"] = part_info
        else:
            flat[key] = info
    return flat


def read_saved_model(export_dir: str | os.PathLike[str]) -> SavedModel:
    """Read the saved model of a folder in binary or text form.

    Raises:
        OSError: if the folder holds no such file, or it cannot be read or parsed.
    """
    folder = Path(path_text(export_dir, "export_dir"))
    for name in (FILENAME, TEXT_FILENAME):
        path = folder / name
        if not os.path.isfile(path):
            continue
        with file_errors(f"cannot read {os.fspath(path)!r}"):
            content = read_regular(path)
        try:
            if name == FILENAME:
                return SavedModel.FromString(open_message(content, os.fspath(path)))
            return text_format.Parse(open_text(content, os.fspath(path)), SavedModel())
        except (ValueError, DataLossError) as exc:
            raise UnreadableFileError(f"Cannot parse file {path}: {exc}.") from exc
    raise MissingFileError(f"SavedModel file does not exist at: {folder}/{{{TEXT_FILENAME}|{FILENAME}}}")


def write_saved_model(model: SavedModel, export_dir: str | os.PathLike[str], as_text: bool = False) -> str:
    """Write the file into a folder atomically and return its path.

    Raises:
        OpError: if the file system refuses.
    """
    path = Path(path_text(export_dir, "export_dir")) / (TEXT_FILENAME if as_text else FILENAME)
    write_message(model, path, as_text=as_text)
    return str(path)
