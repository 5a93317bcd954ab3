"""``python -m scripts.differentials``: the driver, or a child process for ``side`` and ``whole-side``."""

from __future__ import annotations

import sys
from importlib import import_module


def _main() -> int:
    child = {"side": ".side", "whole-side": ".whole_side"}.get("".join(sys.argv[1:2]))
    module = import_module(child or ".command", __package__)
    code: int = module.main(sys.argv[2:] if child else sys.argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(_main())
