"""``python scripts/benchmarks``: the driver, or with a first argument of its own one of its children."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


def _main() -> int:
    # Python put this folder first on the path; the package is found from the one above.
    sys.path[0] = str(_HERE.parent)
    # Last: where the library is installed, that one is measured; a bare checkout does, too.
    sys.path.append(str(_HERE.parent.parent))
    child, *rest = sys.argv[1:] or [""]
    if child not in ("side", "serve"):
        code: int = _module("command").main(sys.argv[1:])
        return code
    # Before anything else is imported: what a child says is for its parent alone.
    out = _module("side").take_stdout()
    if child == "side":
        _module(f"side_{rest[0]}").main(out)
    else:
        _module("server_tensorflow").main(out, rest)
    return 0


def _module(name: str) -> Any:
    return import_module(f"{_HERE.name}.{name}")


if __name__ == "__main__":
    sys.exit(_main())
