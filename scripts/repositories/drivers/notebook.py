"""Runs the cells of a notebook one after the other as a module, without lines for IPython."""

from __future__ import annotations

import builtins
import importlib
import json
import sys
from pathlib import Path

from matplotlib import pyplot

# As in a notebook, where what is to be shown need not be an argument of a known name.
pyplot.show = lambda *_, **__: None
vars(builtins)["display"] = print
path = Path(sys.argv[1])
cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
lines = []
for cell in cells:
    if cell["cell_type"] == "code":
        lines += [line for line in cell["source"] if not line.lstrip().startswith(("%", "!"))]
        lines.append("\n")
(path.parent / "cells_of_notebook.py").write_text("".join(lines), encoding="utf-8")
sys.path.insert(0, str(path.parent.resolve()))
importlib.import_module("cells_of_notebook")
