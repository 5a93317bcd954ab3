"""The page of a cluster: a server of HTTP that asks its tasks, and the files that a browser shows.

``ClusterPoller`` keeps one link to each task and asks all of them once per interval, while a page is open;
``History`` keeps an hour of rates; ``Guard`` decides who may look; ``views`` make JSON of what tasks answer;
``DashboardServer`` answers the browser with it, by ``aiohttp`` (extra ``dashboard``). ``assets`` has the page.

Read only: nothing here changes a cluster. The command line starts the server, in a process of its own; so do
clusters and ``fit``, by way of the command line.
"""
