"""``python -m actorsession``: the same as the ``actorsession`` command."""

from __future__ import annotations

import gc
import sys

from actorsession.collector import pause_collector

with pause_collector():
    from actorsession.cli import main

if __name__ == "__main__":
    code = main()
    # The process is over: the interpreter would traverse everything that was imported, which takes 100 ms.
    gc.freeze()
    sys.exit(code)
