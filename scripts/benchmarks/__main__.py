"""``python scripts/benchmarks``: runs the driver or, depending on the first argument, a child process."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


def _main() -> int:
    # Python put this folder first on the path, but the package is found from its parent.
    sys.path[0] = str(_HERE.parent)
    # Last, so that an installed library is measured; otherwise the checkout is.
    sys.path.append(str(_HERE.parent.parent))
    child, *rest = sys.argv[1:] or [""]
    if child not in ("side", "serve"):
        code: int = _module("command").main(sys.argv[1:])
        return code
    name, *arguments = rest
    if child == "side" and arguments and hasattr(os, "sched_setaffinity"):
        # Before numpy and the peers are imported, which count the cores; children inherit it.
        os.sched_setaffinity(0, {int(arguments[0])})
    # Before any other import, because only the parent may read a child's standard output.
    out = _module("side").take_stdout()
    if child == "side":
        _module(f"side_{name}").main(out)
    else:
        _module(f"server_{name}").main(out, arguments)
    return 0


def _module(name: str) -> Any:
    return import_module(f"{_HERE.name}.{name}")


if __name__ == "__main__":
    sys.exit(_main())
