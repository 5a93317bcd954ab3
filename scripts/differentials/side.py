"""One side: runs programs with one library and writes a record of each as a line of JSON.

The driver starts it with ``python -m scripts.differentials side LIBRARY SEED OUT ROWS``, with the names of
programs on standard input; ``ROWS`` is the file of the table's rows that are to run. The
line ``{"began": name}`` is written before each program, so that a program that kills the process can be
identified.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from . import rows
from .families import programs
from .numbers import reseed
from .record import record

__all__ = ["OURS", "THEIRS", "face", "main"]

OURS, THEIRS = "actorsession", "tensorflow"


def main(arguments: Sequence[str]) -> int:
    """Run the programs that standard input names.

    Args:
        arguments: the library, the seed, the file to write, and the file of rows.

    Returns:
        The exit code.
    """
    library, seed, path, of_rows = arguments
    reseed(int(seed))
    known = {program.name: program for program in programs() + rows.programs(of_rows)}
    warnings.simplefilter("ignore")
    tf = face(library)
    with open(path, "w", encoding="utf-8") as out:
        _write(out, {"about": _about(library, tf)})
        for name in sys.stdin.read().split():
            program = known[name]
            _write(out, {"began": name})
            _write(out, _record(program, tf))
    return 0


def face(library: str) -> Any:
    """Return ``compat.v1`` of a library, in the form that programs are given."""
    if library == OURS:
        return import_module("actorsession.compat.v1")
    # Set before the import, which otherwise prints messages and looks for GPUs.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    tf: Any = import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    # ``tf.nn`` has the cells only with a matching Keras; this import works without one.
    tf.nn.rnn_cell = import_module("tensorflow.python.keras.layers.legacy_rnn.rnn_cell_impl")
    return tf


def _about(library: str, tf: Any) -> str:
    if library == OURS:
        return f"actorsession {import_module('actorsession').__version__}"
    return f"TensorFlow {import_module('tensorflow').__version__}"


def _record(program: Any, tf: Any) -> dict[str, Any]:
    try:
        return record(program, tf)
    except Exception as error:
        return {"name": program.name, "broken": f"{type(error).__name__}: {error}"}


def _write(out: Any, line: dict[str, Any]) -> None:
    out.write(json.dumps(line) + "\n")
    out.flush()
