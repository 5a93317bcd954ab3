"""``tensorflow`` in processes that a program under ``run-tf1`` starts: it installs the alias there.

Under its path in this package, where tools that look at every package import it, it does nothing.
"""

from __future__ import annotations

import importlib
import os
import sys

if __name__ == "tensorflow":
    from actorsession.compat.alias import DEVICE, install_alias
    from actorsession.compat.older_names import restore_older_names
    from actorsession.compat.v1.graphs.behavior import disable_v2_behavior
    from actorsession.extend import prefer_device_type

    install_alias()
    restore_older_names()
    disable_v2_behavior()
    if os.environ.get(DEVICE):
        prefer_device_type(os.environ[DEVICE])
    del sys.modules[__name__]
    # The import system returns what stands under this name when this module has run.
    importlib.import_module(__name__)
