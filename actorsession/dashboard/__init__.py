"""The page of a cluster: a server of HTTP that asks its tasks, and the files that a browser shows.

``ClusterPoller`` keeps one link to each task and asks all of them once per interval, while a page is open;
``History`` keeps an hour of rates; ``Guard`` decides who may look; ``views`` make JSON of what tasks answer;
``DashboardServer`` answers the browser with it, by ``aiohttp`` (extra ``dashboard``). ``assets`` has the page.

Read only: nothing here changes a cluster. The command line starts the server, in a process of its own; so do
clusters and ``fit``, by way of the command line.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

# The names by module; see ``lazy_names``. The stub beside this file is made from it.
_NAMES = {
    ".guard": "HEADERS Guard",
    ".history": "History Sample",
    ".poller": "ClusterPoller TaskState",
    ".server": "DashboardServer",
    ".step_chain": "critical_parts",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
