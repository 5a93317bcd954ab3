"""``python -m scripts.differentials``: runs the driver, or a child process for the argument ``side``."""

from __future__ import annotations

import sys
from importlib import import_module


def _main() -> int:
    child = sys.argv[1:2] == ["side"]
    module = import_module(".side" if child else ".command", __package__)
    code: int = module.main(sys.argv[2:] if child else sys.argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(_main())
