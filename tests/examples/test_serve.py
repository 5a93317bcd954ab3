"""The service of examples/serve, in both its forms: real processes on loopback, real clients."""

from __future__ import annotations

import asyncio
import json
import math
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest

import actorsession as acts
from tests.cluster.kit import PATIENCE
from tests.cluster.script import ROOT, environment
from tests.examples.kit import Serving, served

pytestmark = pytest.mark.process

FORMS = ["aiohttp", "fastapi"]

# A request of these tests ends when the test says so, never by the deadline of the service.
DEADLINE = 10 * PATIENCE

# More training steps than any test waits for.
ENDLESS = 10**9


def words(form: str, folder: Path, **options: object) -> list[str]:
    """The command line of a service."""
    program = ROOT / "examples" / "serve" / f"with_{form}.py"
    given = {"port": 0, "checkpoints": folder, "deadline": DEADLINE, **options}
    return [
        *(sys.executable, "-W", "error", str(program)),
        *(f"--{name.replace('_', '-')}={value}" for name, value in given.items()),
    ]


def serving(form: str, folder: Path, **options: object) -> AbstractContextManager[Serving]:
    """A service in a form, whose checkpoints are in a folder."""
    return served(words(form, folder, **options), folder, environment())


class Client:
    """A client of one service, with any number of connections."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, path: str) -> tuple[int, Any]:
        async with self._session.get(path) as response:
            return response.status, await response.json()

    async def post(self, path: str, body: object) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self._session.post(path, data=data) as response:
            return response.status, await response.json()

    async def text_of_metrics(self) -> str:
        async with self._session.get("/metrics") as response:
            assert response.status == 200
            assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            return await response.text()

    async def metrics(self) -> dict[str, float]:
        lines = (await self.text_of_metrics()).splitlines()
        samples = [line.rpartition(" ") for line in lines if not line.startswith("#")]
        return {name: float(value) for name, _, value in samples}

    async def until(self, name: str, condition: Callable[[float], bool]) -> dict[str, float]:
        """Waits until a metric meets a condition."""
        async with asyncio.timeout(PATIENCE):
            while not condition((seen := await self.metrics())[name]):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return seen

    async def until_health(self, condition: Callable[[Any], bool]) -> Any:
        """Waits until the service says of itself what is wanted."""
        async with asyncio.timeout(PATIENCE):
            while not condition(seen := (await self.get("/health"))[1]):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return seen


@asynccontextmanager
async def client_of(server: Serving) -> AsyncIterator[Client]:
    # A connection for each request: so a client that leaves is one that closes its connection.
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    limit = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(server.url, connector=connector, timeout=limit) as session:
        yield Client(session)


class HalfSent:
    """A request of which the service has the head and half of the body."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rest: bytes) -> None:
        self._reader, self._writer, self._rest = reader, writer, rest

    @staticmethod
    async def post(server: Serving, body: object) -> HalfSent:
        data = json.dumps(body).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"POST /predict HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: {len(data)}"
        writer.write(f"{head}\r\n\r\n".encode() + data[:5])
        return HalfSent(reader, writer, data[5:])

    async def leave(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def send_rest(self) -> None:
        self._writer.write(self._rest)
        await self._writer.drain()

    async def answer(self) -> tuple[int, Any]:
        async with asyncio.timeout(PATIENCE):
            answer = await self._reader.read()
        await self.leave()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)


def probabilities(parameters: Any, points: Any) -> Any:
    """What a model with these parameters answers, by numpy."""
    logits = np.asarray(points) @ np.asarray(parameters["weights"]) + np.asarray(parameters["bias"])
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def last_checkpoint(folder: Path) -> dict[str, Any]:
    """The parameters in the last checkpoint."""
    prefix = acts.train.latest_checkpoint(str(folder))
    assert prefix is not None
    with acts.train.load_checkpoint(prefix) as reader:
        names = {"weights": "weights", "bias": "bias", "step": "global_step"}
        found = {key: reader.get_tensor(name).tolist() for key, name in names.items()}
    assert prefix == f"{folder}/model-{found['step']}"
    return found


def errors_in(metrics: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if name.startswith("serve_errors_total")}


# -- a service that many tests use -------------------------------------------------------------------


@pytest.fixture(scope="module", params=FORMS)
def server(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("checkpoints")
    with serving(request.param, folder, steps=300, save_every=100) as found:
        yield found
        assert found.end(signal.SIGTERM) == 0


async def test_two_hundred_clients_get_the_answers_of_the_model(server: Serving) -> None:
    points = np.random.default_rng(1).normal(scale=2.0, size=(200, 5, 2)).round(3)
    async with client_of(server) as client:
        await client.post("/train", {"steps": 0})
        await client.until_health(lambda seen: not seen["training"])
        _, parameters = await client.get("/model")
        answers = await asyncio.gather(*(client.post("/predict", {"points": own.tolist()}) for own in points))
    for (status, answer), own in zip(answers, points, strict=True):
        assert (status, answer["step"]) == (200, parameters["step"])
        wanted = probabilities(parameters, own)
        np.testing.assert_allclose(answer["probabilities"], wanted, rtol=1e-4, atol=1e-6)
        assert answer["labels"] == np.argmax(answer["probabilities"], axis=1).tolist()


async def test_what_was_trained_is_in_the_checkpoint(server: Serving) -> None:
    async with client_of(server) as client:
        status, told = await client.post("/train", {"steps": 150})
        assert (status, told["goal"]) == (202, told["step"] + 150)
        await client.until_health(lambda seen: seen["saved"] == told["goal"])
        _, parameters = await client.get("/model")
        _, answer = await client.post("/predict", {"points": [[0, 2], [-2, -1], [2, -1]]})
    assert last_checkpoint(server.folder) == parameters
    assert parameters["step"] == told["goal"]
    assert answer["labels"] == [0, 1, 2]


async def test_clients_that_leave_are_cancelled_and_all_else_goes_on(server: Serving) -> None:
    """1. The service trains, and ten clients wait for answers that would come after an hour. 2. They leave.
    3. Their steps are cancelled. 4. Training goes on, and others are answered."""
    slow = {"points": [[0, 2]], "pause": 3600}
    async with client_of(server) as client:
        before = await client.metrics()
        await client.post("/train", {"steps": ENDLESS})
        waiting = [asyncio.create_task(client.post("/predict", slow)) for _ in range(10)]
        begun = before["serve_predictions_total"] + 10
        await client.until("serve_predictions_total", lambda count: count == begun)
        for child in waiting:
            child.cancel()
        assert all(isinstance(e, asyncio.CancelledError) for e in await together(waiting))
        cancelled = before["serve_cancelled_total"] + 10
        after = await client.until("serve_cancelled_total", lambda count: count == cancelled)
        step = after["serve_training_step"]
        await client.until("serve_training_step", lambda count: count > step)
        status, answer = await client.post("/predict", {"points": [[0, 2], [2, -1]]})
        assert (status, answer["labels"]) == (200, [0, 2])
        await client.post("/train", {"steps": 0})
        idle = await client.until("serve_requests_in_flight", lambda count: count == 0)
        assert errors_in(idle) == errors_in(before)


async def test_a_client_that_leaves_before_its_body_has_come_is_no_error(server: Serving) -> None:
    async with client_of(server) as client:
        before = await client.metrics()
        requests = [await HalfSent.post(server, {"points": [[0, 2]]}) for _ in range(3)]
        await client.until("serve_requests_in_flight", lambda count: count == 3)
        for request in requests:
            await request.leave()
        after = await client.until("serve_requests_in_flight", lambda count: count == 0)
        assert errors_in(after) == errors_in(before)
        assert after["serve_predictions_total"] == before["serve_predictions_total"]


async def together(children: list[asyncio.Task[Any]]) -> list[Any]:
    async with asyncio.timeout(PATIENCE):
        return await asyncio.gather(*children, return_exceptions=True)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/predict", b"{", "the body is not JSON"),
        ("/predict", b"\xff", "the body is not JSON"),
        ("/predict", b"[" * 10**5, "the body is not JSON"),
        ("/predict", [1], "the body must be a JSON object"),
        ("/predict", {}, 'the body needs "points"'),
        ("/predict", {"points": [[1, 2], [3]]}, 'the body needs "points"'),
        ("/predict", {"points": [["one", 2]]}, 'the body needs "points"'),
        ("/predict", {"points": [1, 2]}, "must be at most 1000 pairs, got shape (2,)"),
        ("/predict", {"points": [[0, 0]] * 1001}, "got shape (1001, 2)"),
        ("/predict", {"points": [[math.nan, 2]]}, "must be finite numbers"),
        ("/predict", {"points": [[1e300, 2]]}, "must be finite numbers"),
        ("/predict", {"points": [[10**400, 2]]}, 'the body needs "points"'),
        ("/predict", {"points": [[1, 2]], "timeout": 0}, "timeout must be above 0"),
        ("/predict", {"points": [[1, 2]], "timeout": 10**400}, "and at most 86400.0"),
        ("/predict", {"points": [[1, 2]], "pause": "long"}, "pause must be above 0"),
        ("/train", {"steps": -1}, "steps must be an integer of at least 0"),
        ("/train", {}, "got None"),
    ],
)
async def test_a_bad_request_is_answered_with_the_reason(path: str, body: object, said: str, server: Serving) -> None:
    name = 'serve_errors_total{class="BadRequest"}'
    async with client_of(server) as client:
        before = await client.metrics()
        status, answer = await client.post(path, body)
        after = await client.metrics()
    assert status == 400
    assert said in answer["error"]
    assert after[name] == before.get(name, 0) + 1


async def test_a_step_that_takes_longer_than_its_deadline_is_a_504(server: Serving) -> None:
    name = 'serve_errors_total{class="DeadlineExceededError"}'
    async with client_of(server) as client:
        before = await client.metrics()
        status, answer = await client.post("/predict", {"points": [[0, 2]], "pause": 3600, "timeout": 0.05})
        after = await client.metrics()
    assert status == 504
    assert "exceeded the run's limit of 0.05 s" in answer["error"]
    assert after[name] == before.get(name, 0) + 1


LABELS = r'\{[a-z]+="[^"\\\n]+"(?:,[a-z]+="[^"\\\n]+")*\}'
SAMPLE = re.compile(rf"([a-z_]+)(?:{LABELS})? (?:NaN|\d+(?:\.\d+)?(?:e[-+]\d+)?)")
SUFFIXES = {"summary": ("", "_sum", "_count"), "counter": ("",), "gauge": ("",)}
SUFFIXES |= {"histogram": ("_bucket", "_sum", "_count")}


async def test_the_metrics_are_in_the_format_of_prometheus(server: Serving) -> None:
    async with client_of(server) as client:
        await client.post("/predict", {"points": [[0, 2]]})
        await client.post("/predict", {})
        text = await client.text_of_metrics()
    assert text.endswith("\n")
    families: list[str] = []
    allowed: tuple[str, ...] = ()
    for line in text.splitlines():
        if described := re.fullmatch(r"# HELP ([a-z_]+) .+\.", line):
            families.append(described[1])
            allowed = ()
        elif typed := re.fullmatch(r"# TYPE ([a-z_]+) (summary|histogram|counter|gauge)", line):
            assert typed[1] == families[-1]
            assert typed[1].endswith("_total") == (typed[2] == "counter")
            allowed = tuple(typed[1] + suffix for suffix in SUFFIXES[typed[2]])
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample is not None, line
            assert sample[1] in allowed
    assert len(set(families)) == len(families)
    names = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(set(names)) == len(names)
    assert {"serve_requests_total", "actorsession_session_runs_total", 'serve_request_seconds{quantile="0.99"}'} <= {
        *names
    }


# -- services that end -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
async def test_a_killed_service_goes_on_from_its_last_checkpoint(form: str, tmp_path: Path) -> None:
    with serving(form, tmp_path, steps=ENDLESS, save_every=20) as first:
        async with client_of(first) as client:
            seen = await client.until_health(lambda seen: seen["saved"] >= 100)
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
    saved = last_checkpoint(tmp_path)
    assert saved["step"] >= seen["saved"]

    with serving(form, tmp_path, steps=0) as second:
        async with client_of(second) as client:
            assert (await client.get("/model")) == (200, saved)
            status, told = await client.get("/health")
            assert (status, told["step"]) == (200, saved["step"])
            await client.post("/train", {"steps": 1})
            await client.until_health(lambda seen: seen["saved"] == saved["step"] + 1)
        assert second.end(signal.SIGTERM) == 0
    assert last_checkpoint(tmp_path)["step"] == saved["step"] + 1
    # Old ones are removed, also after a restart; but for the one that was being saved or removed at the kill.
    assert len([*tmp_path.glob("model-*.safetensors")]) in (3, 4)


@pytest.mark.parametrize("form", FORMS)
async def test_sigterm_ends_a_service_when_those_under_way_are_answered(form: str, tmp_path: Path) -> None:
    """1. Four requests are under way, as many as the service takes, so a fifth is refused. 2. One of them
    gets as far as its step. 3. SIGTERM. 4. A new request is refused. 5. The other three send the rest of
    their bodies. 6. All four are answered, and the process ends with a checkpoint of what answered them."""
    points = [[0.5, 2.5], [-2.0, -1.5], [1.0, 1.0]]
    body = {"points": points, "pause": 0.5}
    with serving(form, tmp_path, steps=ENDLESS, save_every=ENDLESS, limit=4) as server:
        async with client_of(server) as client:
            requests = [await HalfSent.post(server, body) for _ in range(4)]
            await client.until("serve_requests_in_flight", lambda count: count == 4)
            status, answer = await client.post("/predict", body)
            assert (status, answer["error"]) == (503, "4 requests are under way: try again later")
            await requests[0].send_rest()
            await client.until("serve_predictions_total", lambda count: count == 1)

            server.process.send_signal(signal.SIGTERM)
            told = await client.until_health(lambda seen: not seen["ready"] and not seen["training"])
            assert told["live"]
            status, answer = await client.post("/predict", body)
            assert (status, answer["error"]) == (503, "the service is about to end")

            for request in requests[1:]:
                await request.send_rest()
            answers = [await request.answer() for request in requests]
        out, err = server.process.communicate(timeout=PATIENCE)
    assert (server.process.returncode, out, err) == (0, "", "")
    assert [status for status, _ in answers] == [200] * 4
    saved = last_checkpoint(tmp_path)
    for _, answer in answers[1:]:
        assert answer["step"] == saved["step"]
        wanted = probabilities(saved, points)
        np.testing.assert_allclose(answer["probabilities"], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_a_service_that_cannot_save_ends_with_the_error(form: str, tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.touch()
    done = subprocess.run(
        words(form, no_folder, steps=10, save_every=10),
        env=environment(),
        text=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert "actorsession.errors.FailedPreconditionError: cannot read" in done.stderr
