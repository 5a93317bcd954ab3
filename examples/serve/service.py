"""A model that trains in the background and answers requests: the part that knows no web framework.

``with_aiohttp.py`` and ``with_fastapi.py`` serve it over HTTP. The model tells to which of three clouds of
points in the plane a point belongs. To serve a model of your own, change ``build_model``, ``training_batch``
and ``Service.predict``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import actorsession as acts

CENTRES = np.array([[0.0, 2.0], [-2.0, -1.0], [2.0, -1.0]], np.float32)
BATCH = 32
MOST_POINTS = 1000  # of one request
MOST_SECONDS = 86400.0  # that a request may ask for


class BadRequest(Exception):
    """The request makes no sense; the message says why."""


class Unavailable(Exception):
    """The service takes no further request now."""


# The HTTP status that answers an error. Any other error is a fault of the service: 500.
STATUS: Mapping[type[Exception], int] = {
    BadRequest: 400,
    acts.errors.RequestError: 400,
    TimeoutError: 408,  # the body of the request did not come in time
    Unavailable: 503,
    acts.errors.DeadlineExceededError: 504,
}


def status_of(error: Exception) -> int:
    """Return the HTTP status that answers an error."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)


# -- the model ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Model:
    """A graph, and those of its nodes that are fed and fetched."""

    graph: acts.Graph
    points: acts.Tensor  # placeholder, float32 of shape (N, 2)
    labels: acts.Tensor  # placeholder, int64 of shape (N,)
    pause: acts.Tensor  # seconds that a prediction waits; 0 unless it is fed
    weights: acts.Variable
    bias: acts.Variable
    step: acts.Variable  # the number of training steps done
    probabilities: acts.Tensor  # float32 of shape (N, 3)
    train: acts.Tensor  # does one training step; its value is the new number of steps
    initialize: acts.Operation
    saver: acts.train.Saver


async def look_up(points: npt.NDArray[np.float32], pause: npt.NDArray[np.float32]) -> Any:
    """Stand for a database or another service; the step that waits here occupies no thread."""
    await asyncio.sleep(float(pause))
    return points


def build_model() -> Model:
    """Build the graph, which is complete from then on."""
    graph = acts.Graph()
    with graph.as_default():
        points = acts.placeholder(acts.float32, [None, 2], name="points")
        labels = acts.placeholder(acts.int64, [None], name="labels")
        pause = acts.placeholder_with_default(np.float32(0.0), [], name="pause")
        weights = acts.Variable(acts.zeros([2, len(CENTRES)]), name="weights")
        bias = acts.Variable(acts.zeros([len(CENTRES)]), name="bias")

        found = acts.async_py_func(look_up, [points, pause], acts.float32)
        found.set_shape([None, 2])
        probabilities = acts.nn.softmax(acts.matmul(found, weights) + bias)

        losses = acts.nn.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=acts.matmul(points, weights) + bias
        )
        step = acts.train.create_global_step()
        update = acts.train.GradientDescentOptimizer(0.1).minimize(acts.reduce_mean(losses), global_step=step)
        with acts.control_dependencies([update]):
            train = step.read_value()
        model = Model(
            graph=graph,
            points=points,
            labels=labels,
            pause=pause,
            weights=weights,
            bias=bias,
            step=step,
            probabilities=probabilities,
            train=train,
            initialize=acts.global_variables_initializer(),
            saver=acts.train.Saver(max_to_keep=3),
        )
    graph.finalize()
    return model


def training_batch(step: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return the points and labels of a training step.

    They follow from its number alone, so a service that was restarted learns what it would have learned.
    """
    random = np.random.default_rng(step)
    labels = random.integers(len(CENTRES), size=BATCH)
    noise = random.normal(scale=0.5, size=(BATCH, 2))
    return (CENTRES[labels] + noise).astype(np.float32), labels


# -- the service -------------------------------------------------------------------------------------


class Service:
    """One session, its training, and the counters of its requests.

    Args:
        folder: where the checkpoints are.
        steps: how many training steps to do from the start on.
        save_every: the number of training steps from one checkpoint to the next.
        deadline: the most seconds that a request may take to arrive, and then to be computed.
        limit: the most requests under way; further ones are refused.
    """

    def __init__(self, folder: Path, *, steps: int, save_every: int, deadline: float, limit: int) -> None:
        self.model = build_model()
        # The deadline holds for every call that has no timeout of its own, such as those of the saver.
        config = acts.ConfigProto(operation_timeout_in_ms=round(deadline * 1000))
        self.session = acts.AsyncSession(graph=self.model.graph, config=config)
        self.folder = folder
        self.save_every = save_every
        self.deadline = deadline
        self.limit = limit
        self.ready = False
        self.draining = False
        self.training = False
        self.step = 0
        self.goal = steps
        self._saved = -1  # the step of the last checkpoint
        self._wake = asyncio.Event()  # something has changed for the training
        self._idle = asyncio.Event()  # no request is under way
        self._idle.set()
        self.in_flight = 0
        self.requests = 0
        self.predictions = 0
        self.cancelled = 0
        self.errors: Counter[str] = Counter()
        self.seconds_sum = 0.0
        self.seconds: deque[float] = deque(maxlen=1000)  # of the last requests

    # -- life ------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Restore the last checkpoint, get ready and train; at the end save a last checkpoint."""
        async with self.session:
            await self._restore()
            for feeds in ([self.model.points], [self.model.points, self.model.pause]):
                await self.session.warm_up([self.model.probabilities, self.model.step], feeds)
            await self.session.warm_up(self.model.train, [self.model.points, self.model.labels])
            async with asyncio.TaskGroup() as children:
                children.create_task(self._keep_training())
                self.ready = True
                yield
                self._stop()
            await self._save()

    async def drain(self) -> None:
        """Refuse new requests, stop the training, and wait until the requests under way are answered."""
        self._stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2 * self.deadline):  # to arrive, and to be computed
                await self._idle.wait()

    def _stop(self) -> None:
        self.ready = False
        self.draining = True
        self._wake.set()

    async def _restore(self) -> None:
        state = acts.train.get_checkpoint_state(str(self.folder))
        if state is None:
            await self.session.run(self.model.initialize)
            return
        # So that old checkpoints are removed as if the service had never ended.
        self.model.saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        await self.model.saver.restore_async(self.session, state.model_checkpoint_path)
        self.step = self._saved = int(await self.session.run(self.model.step))
        self.goal += self.step

    async def _save(self) -> None:
        if self._saved != self.step:
            prefix = str(self.folder / "model")
            # The graph is built by this program, so it need not be saved.
            await self.model.saver.save_async(self.session, prefix, global_step=self.step, write_meta_graph=False)
            self._saved = self.step

    async def _keep_training(self) -> None:
        while not self.draining:
            self._wake.clear()
            self.training = self.step < self.goal
            if self.training:
                await self._train_once()
            else:
                await self._save()
                await self._wake.wait()
        self.training = False

    async def _train_once(self) -> None:
        points, labels = training_batch(self.step)
        feeds = {self.model.points: points, self.model.labels: labels}
        self.step = int(await self.session.run(self.model.train, feeds))
        if self.step % self.save_every == 0:
            await self._save()
        await asyncio.sleep(0)  # a short step does not leave the loop, and requests wait there

    # -- requests --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def admit(self) -> Iterator[None]:
        """Let a request in and count it.

        Raises:
            Unavailable: if the service is about to end, or has too many requests under way.
        """
        self.requests += 1
        begin = time.perf_counter()
        try:
            if self.draining:
                raise Unavailable("the service is about to end")
            if self.in_flight >= self.limit:
                raise Unavailable(f"{self.in_flight} requests are under way: try again later")
            self.in_flight += 1
            self._idle.clear()
            try:
                yield
            finally:
                self.in_flight -= 1
                if not self.in_flight:
                    self._idle.set()
        except Exception as error:
            self.errors[type(error).__name__] += 1
            raise
        finally:
            self.seconds.append(time.perf_counter() - begin)
            self.seconds_sum += self.seconds[-1]

    async def read(self, body: Awaitable[bytes]) -> dict[str, Any]:
        """Wait for the body of a request, which must be a JSON object."""
        async with asyncio.timeout(self.deadline):
            text = await body
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadRequest(f"the body is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise BadRequest("the body must be a JSON object")
        return found

    async def predict(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer ``{"points": [[x, y], ...]}`` with labels, probabilities and the step of the model.

        ``timeout`` in the body shortens the deadline; ``pause`` makes the step wait. Cancelling the call
        cancels the step.
        """
        feeds: dict[Any, Any] = {self.model.points: points_in(body)}
        timeout = min(number_in(body, "timeout", self.deadline), self.deadline)
        if "pause" in body:
            feeds[self.model.pause] = number_in(body, "pause", 0.0)
        self.predictions += 1
        fetches = [self.model.probabilities, self.model.step]
        try:
            probabilities, step = await self.session.run(fetches, feeds, timeout=timeout)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return {
            "labels": probabilities.argmax(axis=1).tolist(),
            "probabilities": probabilities.tolist(),
            "step": int(step),
        }

    async def train(self, body: dict[str, Any]) -> dict[str, Any]:
        """Do as many training steps from now on as ``{"steps": n}`` says; 0 stops the training."""
        steps = body.get("steps")
        if type(steps) is not int or steps < 0:
            raise BadRequest(f"steps must be an integer of at least 0, got {steps!r:.100}")
        self.goal = self.step + steps
        self._wake.set()
        return {"step": self.step, "goal": self.goal}

    async def parameters(self) -> dict[str, Any]:
        """Return the variables of the model."""
        weights, bias, step = await self.session.run(
            [self.model.weights, self.model.bias, self.model.step], timeout=self.deadline
        )
        return {"weights": weights.tolist(), "bias": bias.tolist(), "step": int(step)}

    # -- what a machine that watches asks for ----------------------------------------------------

    def health(self) -> dict[str, Any]:
        """Return whether the process lives, whether requests are welcome, and how far the training is."""
        return {"live": True, "ready": self.ready, "training": self.training, "step": self.step, "saved": self._saved}

    def metrics(self) -> str:
        """Return all counters, and those of the session, in the text format of Prometheus."""
        quantiles = (0.5, 0.9, 0.99)
        values = np.quantile(self.seconds, quantiles) if self.seconds else [float("nan")] * 3
        latency = {f'{{quantile="{q}"}}': v for q, v in zip(quantiles, values, strict=True)}
        latency |= {"_sum": self.seconds_sum, "_count": self.requests - self.in_flight}
        errors = {f'{{class="{name}"}}': count for name, count in self.errors.items()}
        families = [
            ("serve_requests_total", "counter", "Requests, refused ones too", {"": self.requests}),
            ("serve_requests_in_flight", "gauge", "Requests under way", {"": self.in_flight}),
            ("serve_request_seconds", "summary", "Time from admission to answer", latency),
            ("serve_errors_total", "counter", "Requests that failed, by class", errors),
            ("serve_predictions_total", "counter", "Predictions begun", {"": self.predictions}),
            ("serve_cancelled_total", "counter", "Predictions cancelled", {"": self.cancelled}),
            ("serve_training_step", "gauge", "Training steps done", {"": self.step}),
        ]
        own = "".join(
            f"# HELP {name} {text}.\n# TYPE {name} {kind}\n"
            + "".join(f"{name}{labels} {value:.9g}\n" for labels, value in samples.items())
            for name, kind, text, samples in families
        )
        return own + self.session.statistics().prometheus()


def points_in(body: dict[str, Any]) -> npt.NDArray[np.float32]:
    """Return the points of a request, checked."""
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused below
            points = np.asarray(body["points"], np.float32)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise BadRequest('the body needs "points": a list of [x, y]') from None
    if points.ndim != 2 or points.shape[1] != 2 or len(points) > MOST_POINTS:
        raise BadRequest(f"points must be at most {MOST_POINTS} pairs, got shape {points.shape}")
    if not np.isfinite(points).all():
        raise BadRequest("points must be finite numbers")
    return points


def number_in(body: dict[str, Any], name: str, default: float) -> float:
    """Return a number of seconds in a request, checked."""
    found = body.get(name, default)
    if type(found) not in (int, float) or not 0 < found <= MOST_SECONDS:
        raise BadRequest(f"{name} must be above 0 and at most {MOST_SECONDS}, got {found!r:.100}")
    return float(found)


# -- the program -------------------------------------------------------------------------------------


def read_options() -> argparse.Namespace:
    """Read the options of the command line, the same for every web framework."""
    parser = argparse.ArgumentParser(description="Serve a model that trains in the background.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0: any free port")
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder of the model")
    parser.add_argument("--steps", type=int, default=10_000, help="training steps from the start")
    parser.add_argument("--save-every", type=int, default=1000, help="steps between checkpoints")
    parser.add_argument("--deadline", type=float, default=10.0, help="seconds for a request")
    parser.add_argument("--limit", type=int, default=256, help="most requests under way")
    return parser.parse_args()


def service_from(options: argparse.Namespace) -> Service:
    """Make the service that the command line describes."""
    return Service(
        options.checkpoints,
        steps=options.steps,
        save_every=options.save_every,
        deadline=options.deadline,
        limit=options.limit,
    )


def stop_signal() -> asyncio.Event:
    """Return an event that SIGTERM and Ctrl-C set."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop
