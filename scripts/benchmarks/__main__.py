"""``python scripts/benchmarks``: the driver, or with a first argument of its own one of its children."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _main() -> int:
    # Python put this folder first on the path; the package is found from the one above.
    sys.path[0] = str(_HERE.parent)
    child, *rest = sys.argv[1:] or [""]
    if child == "side":
        import_module(f"{_HERE.name}.side_{rest[0]}").main()
        return 0
    if child == "serve":
        import_module(f"{_HERE.name}.server_tensorflow").main(rest)
        return 0
    code: int = import_module(f"{_HERE.name}.command").main(sys.argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(_main())
