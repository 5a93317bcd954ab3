"""The JSON of a cluster that does not run: as many tasks, steps and nodes as a test wants, and names of any kind.

``serve`` gives it and the files of the page to a browser, with the same policy as the server of the page.
"""

from __future__ import annotations

import contextlib
import mimetypes
import time
from collections import Counter
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any

from aiohttp import web

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>\';alert(1)//\u202e\x1b[31m'


class Synthetic:
    """Answers of a cluster at one moment.

    Args:
        tasks: how many workers.
        nodes: how many nodes the graph of its session has.
        name: a name that is put wherever a user's or a program's text is shown.
    """

    def __init__(self, tasks: int = 4, nodes: int = 200, name: str = "") -> None:
        self.names = [f"/job:worker/task:{index}" for index in range(tasks)]
        self.nodes, self.name = nodes, name
        self.down = False
        self.began = time.time()

    def cluster(self) -> Any:
        """Return the tasks, of which the second works alone and is far away."""
        now = time.time()
        return {
            "name": self.name or "demo",
            "cluster_id": "7c2f",
            "now": now,
            "started": now - 4000,
            "tasks": [self._task(index, task) for index, task in enumerate(self.names)],
        }

    def _task(self, index: int, task: str) -> Any:
        slow = index == 1
        if index == 3:
            return {
                "task": task,
                "address": "tcp://10.0.0.9:2222",
                "state": "silent",
                "fault": self.name or "no answer for 12 s",
            }
        return {
            "task": task,
            "address": f"tcp://10.0.0.{index}:2222",
            "state": "up",
            "fault": "",
            "pid": 4000 + index,
            "version": "0.1.0",
            "uptime": 3961.0,
            "cpu": 1.02 if slow else 0.04,
            "memory": 182_000_000 + index * 1000,
            "peak_memory": 201_000_000,
            "steps": 1,
            "waiting": 0,
            "runs": 1200,
            "rate": 1.6,
            "latency": {"p50": 0.61 if slow else 0.002, "p99": 0.74 if slow else 0.004},
            "errors": index % 3,
            "restarts": 0,
            "loop_lag": 0.0004,
            "round_trip": 0.102 if slow else 0.0002,
            "devices": [
                {
                    "name": f"{task}/device:CPU:0",
                    "type": "CPU",
                    "partitions": 1200,
                    "kernel_seconds": 702.0 if slow else 2.1,
                }
            ],
            "links": [
                {
                    "peer": "/job:worker/task:0",
                    "address": "tcp://10.0.0.0:2222",
                    "bytes_sent": 48_000_000,
                    "bytes_received": 96_000_000,
                    "waiting": 0,
                    "unsent": 0,
                }
            ],
            "snapshot_age": None,
            "findings": [self.name or "kernels took 702 s here, 330 times as long as at the others"] if slow else [],
        }

    def history(self) -> Any:
        """Return an hour."""
        now = time.time()
        times = [now - 3600 + 30 * index for index in range(120)]
        wave = [(index * 7919 % 100) / 100 for index in range(120)]
        tasks = {
            task: {
                "rate": [1.5 + 0.3 * each for each in wave],
                "p50": [0.002 + at * 0.001 for _ in wave],
                "p99": [(0.6 if at == 1 else 0.01) + 0.1 * each for each in wave],
                "cpu": [(0.9 if at == 1 else 0.05) + 0.1 * each for each in wave],
                "memory": [1.8e8 + 1e6 * index + 2e7 * at for index in range(120)],
                "errors": [0 for _ in wave],
                "bytes": [1e5 for _ in wave],
            }
            for at, task in enumerate(self.names)
        }
        return {"interval": 30, "times": times, "tasks": tasks}

    def _step(self, number: int, began: float, took: float) -> Any:
        task = self.names[0]
        return {
            "key": f"{task}/trainer/{number}",
            "step_id": str(number),
            "session": self.name or "trainer",
            "task": self.names[number % min(len(self.names), 30)],
            "kind": "partial" if number % 7 == 3 else "run",
            "began": began,
            "took": took,
            "error": (self.name or "InvalidArgumentError: shapes differ") if number % 11 == 5 else "",
            "feeds": ["x"],
            "fetches": [self.name or "train/loss"],
            "parts": [{"device": f"{task}/device:CPU:0", "began": began, "ended": began + took, "waited": took * 0.8}],
            "transfers": 2,
        }

    def steps(self) -> Any:
        """Return running and last steps."""
        now = time.time()
        last = [self._step(index, now - 0.7 * (60 - index), 0.6 + (index % 9) * 0.02) for index in range(59)]
        return {"running": [self._step(60, now - 0.3, 0.0), self._step(61, now - 2.0, 0.0)], "last": last}

    def step(self, key: str) -> Any:
        """Return one step: a slow op at the second task, with a slow link on both sides."""
        number = int(key.rsplit("/", 1)[1])
        began, took = time.time() - 10, 0.72
        step = {**self._step(number, began, took), "error": ""}
        here, there = (f"{task}/device:CPU:0" for task in self.names[:2])
        slow = self.name or "tower/slow"

        def node(name: str, op: str, at: float, until: float) -> Any:
            return {"name": name, "op": op, "began": began + at, "ended": began + until}

        def transfer(edge: str, source: str, target: str, sent: float, received: float) -> Any:
            key = f"{source};1;{target};{edge};0:0"
            return {
                "key": key,
                "edge": edge,
                "source": source,
                "target": target,
                "bytes": 4096,
                "sent": began + sent,
                "received": began + received,
            }

        def piece(kind: str, where: str, what: str, at: float, until: float) -> Any:
            return {"kind": kind, "where": where, "what": what, "began": began + at, "ended": began + until}

        return {
            **step,
            "partitions": [
                {
                    "device": here,
                    "task": self.names[0],
                    "began": began + 0.001,
                    "ended": began + 0.72,
                    "waited": 0.7,
                    "nodes": [
                        node("x", "Placeholder", 0.001, 0.002),
                        node("MatMul", "MatMul", 0.002, 0.008),
                        node("loss", "Sum", 0.71, 0.719),
                    ],
                },
                {
                    "device": there,
                    "task": self.names[1],
                    "began": began + 0.003,
                    "ended": began + 0.66,
                    "waited": 0.06,
                    "nodes": [node(slow, "PyFunc", 0.06, 0.655)],
                },
            ],
            "transfers": [
                transfer(self.name or "MatMul:0", here, there, 0.008, 0.059),
                transfer(slow, there, here, 0.656, 0.708),
            ],
            "critical": [
                piece("queue", self.names[0], "", 0.0, 0.001),
                piece("work", here, "MatMul", 0.001, 0.008),
                piece("wire", f"{self.names[0]} to {self.names[1]}", "MatMul:0", 0.008, 0.059),
                piece("work", there, slow, 0.059, 0.656),
                piece("wire", f"{self.names[1]} to {self.names[0]}", slow, 0.656, 0.708),
                piece("work", here, "loss", 0.708, 0.72),
            ],
            "fed": {"x": began + 0.0},
            "fetched": {},
        }

    def graph(self) -> Any:
        """Return a graph of layers and as many nodes in them as there are."""
        rows: list[Any] = []
        for index in range(self.nodes):
            layer = index // 25
            scope = f"model/layer_{layer}" if index % 25 else "model"
            name = f"{scope}/{('MatMul', 'Add', 'Relu', 'Const')[index % 4]}_{index}"
            inputs = [f"{rows[-1]['name']}:0"] if rows else []
            if index > 40:
                inputs.append(f"^{rows[index - 37]['name']}")
            rows.append(
                {
                    "name": name,
                    "op": ("MatMul", "Add", "Relu", "Const")[index % 4],
                    "device": f"{self.names[layer % 2]}/device:CPU:0",
                    "inputs": inputs,
                    "shape": [None, 64],
                    "dtype": "float32",
                    "line": self.name or f"train.py:{index}: y = x @ w",
                    "reason": "",
                    "seconds": 0.001 * (index % 25),
                }
            )
        if self.name:
            rows.append(
                {
                    "name": f"{self.name}/y",
                    "op": self.name,
                    "device": self.name,
                    "inputs": [f"{rows[0]['name']}:0"],
                    "shape": None,
                    "dtype": self.name,
                    "line": self.name,
                    "reason": "",
                    "seconds": None,
                }
            )
        return {"nodes": rows, "more": 0}

    def variables(self) -> Any:
        """Return some variables of each task."""
        return [
            {
                "name": f"{self.name}layer_{index}/w",
                "task": task,
                "device": f"{task}/device:CPU:0",
                "container": "",
                "shape": [256, 64 * (index + 1)],
                "dtype": "float32",
                "bytes": 65536 * (index + 1),
            }
            for task in self.names[:50]
            for index in range(6)
        ]

    def variable(self, task: str, name: str) -> Any:
        """Return the values of one."""
        counts = [3, 17, 80, 210, 400, 380, 190, 60, 12, 1]
        return {
            "name": name,
            "task": task,
            "device": f"{task}/device:CPU:0",
            "container": "",
            "shape": [256, 64],
            "dtype": "float32",
            "bytes": 65536,
            "histogram": {"bounds": [-0.5 + 0.1 * edge for edge in range(11)], "counts": counts},
            "min": -0.48,
            "max": 0.47,
            "mean": 0.0031,
            "deviation": 0.13,
            "zeros": 0,
            "infinite": 0,
            "nans": 0,
        }

    def why(self) -> Any:
        """Return a step that waits for a queue that nobody fills."""
        here, there = self.names[:2]
        cause = self.name or f"queue 'jobs' on {there} is empty, and nothing enqueues"
        return {
            "text": f"step 61 waits\n  {cause}",
            "waits": [
                {
                    "step": "61",
                    "session": "trainer",
                    "task": here,
                    "node": self.name or "loss",
                    "device": f"{here}/device:CPU:0",
                    "for": "a value",
                    "key": f"{there};1;{here};dequeue:0",
                    "since": time.time() - 32,
                }
            ],
            "cause": [cause],
            "silent": [{"task": self.names[-1], "fault": "no answer"}],
            "edges": [
                ["loss on worker:0", "dequeue:0 of worker:1", "dequeue:0"],
                ["metrics on worker:0", "dequeue:0 of worker:1", "dequeue:0"],
                ["dequeue:0 of worker:1", self.name or "QueueDequeue on worker:1", "kernel"],
            ],
        }

    def plan(self) -> Any:
        """Return the explanation of the step: what would make it slow, and the code of one part."""
        line = {
            "text": f"v1 = {self.name or 'k0'}(v0)",
            "node": self.name or "MatMul",
            "line": self.name or "train.py:8",
        }
        segment = {"name": "segment_0", "waits": [], "after": [], "lines": [line], "seconds": 0.002, "known": True}
        device = f"{self.names[0]}/device:CPU:0"
        finding = {
            "kind": "to-and-fro",
            "node": self.name or "MatMul",
            "line": "train.py:8",
            "what": self.name or "MatMul crosses to worker:1 and back.",
            "advice": "Put both on one device.",
            "seconds": 0.1,
        }
        return {"partitions": [{"device": device, "nodes": ["MatMul"], "segments": [segment]}], "findings": [finding]}

    def answer(self, path: str, query: str = "") -> Any:
        """Return the answer to a path below ``/api/``, and for a log the place after which its lines are asked for."""
        first, *rest = path.split("/")
        here = self.names[0]
        simple = {
            "cluster": self.cluster,
            "history": self.history,
            "steps": self.steps,
            "variables": self.variables,
            "why": self.why,
            "explain": self.plan,
        }
        if first == "steps" and rest:
            return self.step("/".join(rest))
        if first == "variables" and rest:
            return self.variable("/".join(rest[:-1]), rest[-1])
        if first in simple:
            return simple[first]()
        if first == "graphs":
            return self.graph()
        if first == "logs" and query:
            return {"task": here, "lines": [], "next": 41}
        if first == "logs":
            return {
                "task": here,
                "lines": [f"10:00:0{index % 10} INFO {self.name or 'a line'} {index}" for index in range(40)]
                + ["10:00:12 ERROR it failed"],
                "next": 41,
            }
        if first == "sessions":
            return [
                {
                    "handle": "a1b2",
                    "name": self.name or "trainer",
                    "client": "host 7 train.py",
                    "task": here,
                    "steps": 2,
                    "waiting": 0,
                    "runs": 1200,
                    "partial_runs": 1,
                    "nodes": self.nodes,
                }
            ]
        if first == "queues":
            return [
                {
                    "name": self.name or "jobs",
                    "task": here,
                    "device": f"{here}/device:CPU:0",
                    "size": 0,
                    "capacity": 32,
                    "waiting_enqueues": 0,
                    "waiting_dequeues": 2,
                    "closed": False,
                },
                {
                    "name": "batches",
                    "task": here,
                    "device": f"{here}/device:CPU:0",
                    "size": 21,
                    "capacity": 32,
                    "waiting_enqueues": 0,
                    "waiting_dequeues": 0,
                    "closed": False,
                },
            ]
        if first == "errors":
            return [
                {
                    "when": self.began - 60 * index,
                    "code": ("InvalidArgumentError", "UnavailableError")[index % 2],
                    "message": self.name or f"message {index}\nof two lines",
                    "task": here,
                    "session": "trainer",
                    "step_id": str(index),
                }
                for index in range(12)
            ]
        raise web.HTTPNotFound


class Restless(Synthetic):
    """A cluster of which every second answer has one more line before the others, and whose step runs."""

    def __init__(self) -> None:
        super().__init__()
        self._asked: Counter[str] = Counter()

    def answer(self, path: str, query: str = "") -> Any:
        """Return the next answer to a path."""
        answer = super().answer(path, query)
        self._asked[path] += 1
        if path.startswith("steps/"):
            return {**answer, "took": 0.0}
        if self._asked[path] % 2:
            return answer
        if path == "cluster":
            answer["tasks"][0]["findings"] = ["its event loop is late"]
        elif path == "why":
            answer["cause"].insert(0, "another")
        elif path == "steps":
            answer["last"].append(self._step(200, time.time() - 9, 9.0))
        elif path == "sessions":
            answer.append({**answer[0], "handle": "c3d4", "name": "a longer name of a session", "runs": 9999})
        elif path == "variables":
            answer.append({**answer[0], "name": "largest", "bytes": 10**9})
        elif path == "queues":
            answer.append({**answer[0], "name": "a queue"})
        elif path == "errors":
            answer.append({**answer[1], "when": self.began + 1})
        return answer


@contextlib.asynccontextmanager
async def serve(cluster: Synthetic) -> AsyncIterator[str]:
    """Serve the page with the answers of a cluster, and give its address."""
    assets = resources.files("actorsession.dashboard") / "assets"

    async def file(request: web.Request) -> web.StreamResponse:
        name = request.match_info.get("name", "index.html")
        body = (assets / name).read_bytes()
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return web.Response(body=body, content_type=kind, headers={"Content-Security-Policy": POLICY})

    async def answer(request: web.Request) -> web.StreamResponse:
        if cluster.down:
            assert request.transport is not None
            request.transport.close()
        return web.json_response(cluster.answer(request.match_info["path"], request.query.get("after", "")))

    app = web.Application()
    app.router.add_get("/", file)
    app.router.add_get("/assets/{name:.+}", file)
    app.router.add_get("/api/{path:.+}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()
