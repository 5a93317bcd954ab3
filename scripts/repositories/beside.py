"""Runs a program for TensorFlow 1 with TensorFlow 2, whose ``compat.v1`` is found as ``tensorflow``.

It runs in a Python that has TensorFlow, and imports nothing of this project for that reason. There is no
``contrib`` there; a program that needs it ends with an error.
"""

from __future__ import annotations

import os
import runpy
import sys


def _main() -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    sys.modules["tensorflow"] = tf
    arguments = sys.argv[1:]
    module = arguments[0] == "-m"
    sys.argv[:] = arguments[module:]
    sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.abspath(sys.argv[0]))
    if module:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _main()
