"""What a test may leave behind: nothing. The comparison is ``actorsession.testing.leaks``, which users have too.

That file imports the standard library alone, and is loaded here by its path: the package under test is neither
imported by the check nor needed for it. The processes of ``template`` stay, and are left out.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.template import PROCESSES

if TYPE_CHECKING:
    from actorsession.testing import leaks
else:
    _FILE = Path(__file__).parent.parent / "actorsession/testing/leaks.py"
    _spec = importlib.util.spec_from_file_location("tests.shared_leaks", _FILE)
    leaks = sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(leaks)

__all__ = ["Holdings", "end_processes", "pending_tasks", "take_holdings", "wait_for_release"]

Holdings = leaks.Holdings
end_processes = leaks.end_processes
pending_tasks = leaks.pending_tasks
take_holdings = functools.partial(leaks.take_holdings, PROCESSES)
wait_for_release = functools.partial(leaks.wait_for_release, take=take_holdings)
