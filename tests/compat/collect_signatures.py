"""Writes down how TensorFlow's functions and classes are called; run with a Python that has TensorFlow.

    PYTHON tests/compat/collect_signatures.py > tests/compat/signatures.json

One line for each public name of ``tensorflow.compat.v1``: its parameters with their defaults as text, ``*``
and ``**`` in front of those that take what is left. Names without a signature (modules, dtypes) have
``null``.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import types
from typing import Any

# By name: the checks of this project run where there is no TensorFlow, and this where there is nothing of it.
tf: Any = importlib.import_module("tensorflow.compat.v1")
parameters: Any = importlib.import_module("signature_text").parameters

# Rooms of TensorFlow that this project has no counterpart of.
SKIPPED = {
    "autodiff", "autograph", "data", "debugging", "distribute", "estimator", "experimental",
    "feature_column", "keras", "layers", "lite", "lookup", "mixed_precision", "mlir", "profiler",
    "quantization", "ragged", "raw_ops", "resource_loader", "sysconfig", "tpu", "types",
    "user_ops", "xla", "audio", "config", "saved_model", "compat", "io", "python_io",
    "version", "flags", "app",
}  # fmt: skip


def cells() -> types.ModuleType:
    """``tf.nn.rnn_cell``, which ``tf`` itself has only beside a Keras of the same age."""
    room = types.ModuleType("rnn_cell")
    within = "tensorflow.python.keras.layers.legacy_rnn"
    found = importlib.import_module(f"{within}.rnn_cell_impl")
    bases = importlib.import_module(f"{within}.rnn_cell_wrapper_impl")
    for name in dir(found):
        if name.endswith(("Cell", "Wrapper", "StateTuple")) and name != "LayerRNNCell":
            # The arguments of a wrapper stand in the class that it is made of.
            setattr(room, name, getattr(bases, f"{name}Base", getattr(found, name)))
    return room


def collect(room: types.ModuleType, prefix: str, depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name in sorted(dir(room)):
        if name.startswith("_") or (not prefix and name in SKIPPED):
            continue
        try:
            found = getattr(room, name)
        except Exception:
            continue
        if inspect.ismodule(found):
            if (depth and name != "experimental") or name == "rnn_cell":
                out |= collect(found, f"{prefix}{name}.", depth - 1)
        elif callable(found) and not isinstance(found, tf.DType):
            out[prefix + name] = parameters(found)
        else:
            out[prefix + name] = None
    return out


def main() -> None:
    tf.nn.rnn_cell = cells()
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in collect(tf, "", 1).items()]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
