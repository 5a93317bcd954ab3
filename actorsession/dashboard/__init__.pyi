# Written by scripts/generated.py.
"""The page of a cluster: a server of HTTP that asks its tasks, and the files that a browser shows.

``ClusterPoller`` keeps one link to each task and asks all of them once per interval, while a page is open;
``History`` keeps an hour of rates; ``Guard`` decides who may look; ``views`` make JSON of what tasks answer;
``DashboardServer`` answers the browser with it, by ``aiohttp`` (extra ``dashboard``). ``assets`` has the page.

Read only: nothing here changes a cluster. The command line starts the server, in a process of its own; so do
clusters and ``fit``, by way of the command line.
"""

from actorsession.dashboard.guard import Guard as Guard, HEADERS as HEADERS
from actorsession.dashboard.history import History as History, Sample as Sample
from actorsession.dashboard.poller import ClusterPoller as ClusterPoller, TaskState as TaskState
from actorsession.dashboard.server import DashboardServer as DashboardServer
from actorsession.dashboard.step_chain import critical_parts as critical_parts


__all__ = [
"ClusterPoller", "DashboardServer", "Guard", "HEADERS", "History", "Sample", "TaskState",
"critical_parts"
]
