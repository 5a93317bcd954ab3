"""``python scripts/benchmarks``: runs the driver or, depending on the first argument, a child process."""

from __future__ import annotations

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
    # Before any other import, because only the parent may read a child's standard output.
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
