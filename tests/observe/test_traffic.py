"""Adding up what the links of a cluster have carried."""

from __future__ import annotations

from typing import Any

from actorsession.cluster import ServerStatistics
from actorsession.cluster.server.statistics import CLIENT
from actorsession.observe import Traffic, traffic
from actorsession.rpc import LinkStatistics

PS = "/job:ps/replica:0/task:0"
WORKER = "/job:worker/replica:0/task:0"


def link(peer: str, **counters: int) -> LinkStatistics:
    nothing: dict[str, Any] = dict.fromkeys(LinkStatistics.__slots__, 0)
    return LinkStatistics(**(nothing | {"peer": peer, "address": "", "over": None} | counters))


def server(task: str, *links: LinkStatistics) -> ServerStatistics:
    nothing: dict[str, Any] = dict.fromkeys(ServerStatistics.__slots__, 0)
    return ServerStatistics(**(nothing | {"task": task, "links": links}))


def test_a_link_between_tasks_counts_once_at_each_end_for_what_that_end_sent() -> None:
    servers = [
        server(PS, link(WORKER, tells_sent=3, bytes_sent=100, bytes_received=40)),
        server(WORKER, link(PS, tells_received=3, bytes_sent=40, bytes_received=100)),
    ]
    assert traffic(servers) == Traffic(messages=3, nbytes=140)
    mine = link(WORKER, calls_sent=2, bytes_sent=100, bytes_received=8)
    assert traffic([server(WORKER)], mine) == Traffic(messages=4, nbytes=108)
    servers = [server(WORKER, link(CLIENT, calls_received=2, tells_sent=1, bytes_sent=50))]
    assert traffic(servers) == Traffic(messages=0, nbytes=0)
    assert traffic([server(PS, link(WORKER, frames_sent=4, bytes_sent=16))]) == Traffic(0, 16)


def test_a_call_is_two_messages_counted_where_it_was_made() -> None:
    servers = [
        server(PS, link(WORKER, calls_received=5, bytes_sent=10)),
        server(WORKER, link(PS, calls_sent=5, bytes_sent=20)),
    ]
    assert traffic(servers) == Traffic(messages=10, nbytes=30)


def test_what_work_has_moved_is_the_difference() -> None:
    assert Traffic(12, 900) - Traffic(5, 400) == Traffic(7, 500)
