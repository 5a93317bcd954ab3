"""``python -m actorsession``: the same as the ``actorsession`` command."""

from __future__ import annotations

import sys

from actorsession.cli import main

if __name__ == "__main__":
    sys.exit(main())
