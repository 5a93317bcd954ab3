"""Runs the training of fizyr/keras-retinanet, whose module in Cython is compiled when it is imported."""

from __future__ import annotations

import sys

import numpy as np
import pyximport

pyximport.install(setup_args={"include_dirs": np.get_include()}, language_level=3)

from keras_retinanet.bin import train  # noqa: E402

train.main(sys.argv[1:])
