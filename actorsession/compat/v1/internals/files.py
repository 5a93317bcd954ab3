"""``tensorflow.python.lib.io.file_io`` and ``platform.resource_loader``, on top of ``tf.gfile``."""

from __future__ import annotations

import os
import sys
from typing import Any

from actorsession.compat.v1 import gfile
from actorsession.compat.v1.gfile import Copy as copy
from actorsession.compat.v1.gfile import DeleteRecursively as delete_recursively
from actorsession.compat.v1.gfile import Exists as file_exists
from actorsession.compat.v1.gfile import GFile as FileIO
from actorsession.compat.v1.gfile import Glob as get_matching_files
from actorsession.compat.v1.gfile import IsDirectory as is_directory
from actorsession.compat.v1.gfile import ListDirectory as list_directory
from actorsession.compat.v1.gfile import MakeDirs as recursive_create_dir
from actorsession.compat.v1.gfile import MkDir as create_dir
from actorsession.compat.v1.gfile import Remove as delete_file
from actorsession.compat.v1.gfile import Rename as rename
from actorsession.compat.v1.gfile import Stat as stat
from actorsession.compat.v1.gfile import Walk as walk
from actorsession.config.file_roots import path_text

__all__ = [
    "FileIO", "atomic_write_string_to_file", "copy", "copy_v2", "create_dir", "create_dir_v2",
    "delete_file", "delete_file_v2", "delete_recursively", "delete_recursively_v2", "file_exists",
    "file_exists_v2", "filecmp", "get_data_files_path", "get_matching_files",
    "get_matching_files_v2", "get_path_to_datafile", "is_directory", "is_directory_v2",
    "list_directory", "list_directory_v2", "load_resource", "read_file_to_string",
    "recursive_create_dir", "recursive_create_dir_v2", "rename", "rename_v2", "stat", "stat_v2",
    "walk", "write_string_to_file",
]  # fmt: skip

copy_v2, create_dir_v2, delete_file_v2 = copy, create_dir, delete_file
delete_recursively_v2, file_exists_v2 = delete_recursively, file_exists
get_matching_files_v2, is_directory_v2 = get_matching_files, is_directory
list_directory_v2, recursive_create_dir_v2 = list_directory, recursive_create_dir
rename_v2, stat_v2 = rename, stat


def read_file_to_string(filename: str, binary_mode: bool = False) -> str | bytes:
    """Return what is in a file.

    Args:
        filename: the file.
        binary_mode: whether to return bytes.

    Raises:
        NotFoundError: if there is no such file.
    """
    with gfile.GFile(filename, "rb" if binary_mode else "r") as file:
        content: str | bytes = file.read()
    return content


def write_string_to_file(filename: str, file_content: str | bytes) -> None:
    """Write a file as a whole: others see it as it was, or all of it."""
    content = file_content.encode() if isinstance(file_content, str) else file_content
    gfile.write_file(path_text(filename), lambda file: file.write(content))


def atomic_write_string_to_file(filename: str, contents: str | bytes, overwrite: bool = True) -> None:
    """Write a file as ``write_string_to_file`` does.

    Raises:
        AlreadyExistsError: if it exists and is not to be overwritten.
    """
    gfile.check_free(path_text(filename), overwrite)
    write_string_to_file(filename, contents)


def filecmp(filename_a: str, filename_b: str) -> bool:
    """Return whether two files have the same content."""
    return read_file_to_string(filename_a, True) == read_file_to_string(filename_b, True)


def get_data_files_path() -> str:
    """Return the folder of the file that calls this."""
    return os.path.dirname(os.path.abspath(_caller()))


def get_path_to_datafile(path: str) -> str:
    """Return the path of a file beside that which calls this."""
    return os.path.join(os.path.dirname(os.path.abspath(_caller())), path)


def load_resource(path: str) -> Any:
    """Return the bytes of a file beside that which calls this.

    Raises:
        OSError: if it cannot be read.
    """
    with open(os.path.join(os.path.dirname(os.path.abspath(_caller())), path), "rb") as file:
        return file.read()


def _caller() -> str:
    """The file of the program that called the function that calls this."""
    return sys._getframe(2).f_code.co_filename
