"""Runs the cells of a notebook one after the other, in one namespace, without lines for IPython."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib import pyplot

# As in a notebook, where what is to be shown need not be an argument of a known name.
pyplot.show = lambda *_, **__: None
path = Path(sys.argv[1])
sys.path.insert(0, str(path.parent.resolve()))
names = {"__name__": "__main__", "display": print}
for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        lines = [line for line in cell["source"] if not line.lstrip().startswith(("%", "!"))]
        exec("".join(lines), names)  # noqa: S102 - a notebook is text to be executed
