"""Prints how much samples of carpedm20/DCGAN-tensorflow are like the digits that they were asked for.

The likeness is the correlation of a sample with the mean of its digit, both without the mean of all digits:
0 for what has learnt nothing of the digits, or makes all of them alike, and 1 for the means themselves.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

_SIDE = 28


def _read(kind: str) -> tuple[np.ndarray, np.ndarray]:
    images = np.fromfile(f"data/mnist/{kind}-images-idx3-ubyte", np.uint8)[16:]
    labels = np.fromfile(f"data/mnist/{kind}-labels-idx1-ubyte", np.uint8)[8:]
    return images.reshape(-1, _SIDE, _SIDE), labels


images, labels = _read("train")
every = np.concatenate([labels, _read("t10k")[1]])
np.random.RandomState(547).shuffle(every)  # as the program does
means = np.stack([images[labels == digit].mean(0) for digit in range(10)])
means -= means.mean(0)
for path in sorted(Path(sys.argv[1]).glob("train_*.png")):
    grid = np.asarray(Image.open(path), float)
    across = len(grid) // _SIDE
    samples = grid.reshape(across, _SIDE, across, _SIDE).swapaxes(1, 2).reshape(-1, _SIDE, _SIDE)
    samples -= samples.mean(0)
    asked = means[every[: len(samples)]]
    alike = [np.corrcoef(one.ravel(), digit.ravel())[0, 1] for one, digit in zip(samples, asked, strict=True)]
    print(f"{path.name}: likeness {np.mean(alike):.3f}")
