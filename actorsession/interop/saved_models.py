"""``saved_model.pb``: graphs with their signatures, in TensorFlow's form for serving.

The module holds the message and reads and writes the file. ``compat.v1.saved_model`` builds graphs and
restores values from it. The values of variables are in a separate checkpoint.
"""

from __future__ import annotations

import os
from pathlib import Path

from actorsession.checkpoints.atomic import file_errors, read_regular
from actorsession.checkpoints.seals import open_message, open_text
from actorsession.config.file_roots import path_text
from actorsession.errors import DataLossError, MissingFileError, UnreadableFileError
from actorsession.interop import text_format
from actorsession.interop.exporter import write_message
from actorsession.interop.message import Message

__all__ = ["FILENAME", "TEXT_FILENAME", "SavedModel", "read_saved_model", "write_saved_model"]

FILENAME, TEXT_FILENAME = "saved_model.pb", "saved_model.pbtxt"


class SavedModel(Message):
    """Graphs that share their variables and are distinguished by tags."""

    SCHEMA = """
        1 saved_model_schema_version int64
        2 meta_graphs MetaGraphDef*
    """


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
    raise MissingFileError(
        f"SavedModel file does not exist at: {folder}/{{{TEXT_FILENAME}|{FILENAME}}}"
    )


def write_saved_model(
    model: SavedModel, export_dir: str | os.PathLike[str], as_text: bool = False
) -> str:
    """Write the file into a folder atomically and return its path.

    Raises:
        OpError: if the file system refuses.
    """
    path = Path(path_text(export_dir, "export_dir")) / (TEXT_FILENAME if as_text else FILENAME)
    write_message(model, path, as_text=as_text)
    return str(path)
