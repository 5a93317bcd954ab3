"""``fit``: reports, validation, checkpoints, early stopping, and every way to leave a training."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import math
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession import AsyncSession, Graph, Session
from actorsession.train import fit_progress
from tests.cluster.kit import eventually
from tests.forked_programs import warm_process
from tests.rows import for_each
from tests.train.kit import SlowDisk, names


class Counter:
    """A model whose steps count, and whose loss is what the batches say."""

    def __init__(self) -> None:
        self.said = acts.placeholder(acts.float32, [], name="said")
        self.loss = acts.identity(self.said, name="loss")
        self.count = acts.Variable(0.0, name="count")
        self.train = self.count.assign_add(1.0, name="train")
        self.init = acts.global_variables_initializer()

    def batches(self, *losses: float) -> list[dict[Any, Any]]:
        return [{self.said: loss} for loss in losses]

    def fit(self, session: Any, *losses: float, **options: Any) -> Any:
        """The training on batches of these losses."""
        return acts.train.fit(session, self.train, self.batches(*losses), loss=self.loss, **options)


@pytest.fixture
def model(graph: Graph) -> Counter:
    return Counter()


@contextlib.asynccontextmanager
async def opened(model: Any) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(graph=model.loss.graph) as session, asyncio.timeout(60):
        await session.run(model.init)
        yield session


async def still_usable(session: AsyncSession, model: Counter, steps: int) -> None:
    """The steps before were whole, and the next training goes on from there."""
    assert await session.run(model.count) == steps
    await model.fit(session, 1.0)
    assert await session.run(model.count) == steps + 1


# -- reports ---------------------------------------------------------------------------------------


async def test_each_epoch_has_a_report(model: Counter) -> None:
    async with opened(model) as session:
        result = await model.fit(session, 4, 2, epochs=3)
    assert [(r.epoch, r.step, r.loss) for r in result.reports] == [(1, 2, 3), (2, 4, 3), (3, 6, 3)]
    assert [r.best for r in result.reports] == [True, False, False]
    assert (result.steps, result.best, result.stopped_early) == (6, result.reports[0], False)
    seconds = [r.seconds for r in result.reports]
    assert seconds == sorted(seconds)


async def test_reports_follow_some_steps_and_the_last_one(model: Counter) -> None:
    async with opened(model) as session:
        fitting = model.fit(session, 1, 2, 3, epochs=2, every=4)
        reports = [report async for report in fitting]
    assert [(r.epoch, r.step, r.loss) for r in reports] == [(2, 4, 7 / 4), (2, 6, 2.5)]
    # Progress is called with each report.
    seen: list[acts.train.FitReport] = []
    async with opened(model) as session:
        result = await model.fit(session, 1, epochs=2, progress=seen.append)
    assert tuple(seen) == result.reports


async def test_batches_may_come_from_functions_and_asynchronous_generators(model: Counter) -> None:
    ended = []

    async def stream() -> AsyncIterator[dict[Any, Any]]:
        try:
            for feeds in model.batches(2, 4):
                await asyncio.sleep(0)
                yield feeds
        finally:
            ended.append("stream")

    async with opened(model) as session:
        for batches in (stream, lambda: iter(model.batches(2, 4)), lambda: model.batches(2, 4)):
            fitting = acts.train.fit(session, model.train, batches, loss=model.loss, epochs=2)
            assert [r.loss for r in (await fitting).reports] == [3, 3]
    assert ended == ["stream", "stream"]


async def test_a_step_may_have_no_feeds(graph: Graph) -> None:
    w = acts.Variable(8.0)
    train = w.assign(w / 2)
    async with AsyncSession(graph=graph) as session:
        await session.run(acts.global_variables_initializer())
        await acts.train.fit(session, train, [None] * 3, loss=w)
        assert await session.run(w) == 1.0


def test_a_session_without_await_has_the_same_training(model: Counter, session: Session) -> None:
    session.run(model.init)
    fitting = model.fit(session, 4, 2, epochs=2)
    assert [(r.epoch, r.step, r.loss) for r in fitting] == [(1, 2, 3), (2, 4, 3)]
    assert fitting.run().steps == 4
    assert session.run(model.count) == 8
    assert next(iter(fitting)).step == 2  # the loop is left after the first report
    assert session.run(model.count) == 10


async def test_other_children_of_the_loop_run_between_steps(model: Counter) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with opened(model) as session, asyncio.TaskGroup() as children:
        counting = children.create_task(count())
        await model.fit(session, *[1.0] * 50)
        counting.cancel()
    assert turns >= 50


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def trained(stream: io.StringIO, **options: Any) -> Any:
    """The result of a training with a report for each of two epochs, with a stream as standard error."""
    with Graph().as_default() as graph, Session(graph=graph) as session:
        model = Counter()
        session.run(model.init)
        with contextlib.redirect_stderr(stream):
            return model.fit(session, 4, 2, validation=model.batches(7), epochs=2, **options).run()


REPORTS = ["epoch 1, step 2, loss 3, validation 7 (best)", "epoch 2, step 4, loss 3, validation 7"]


def shown_by(terminal: io.StringIO) -> str:
    """What a terminal was sent, without its control sequences."""
    return re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", terminal.getvalue())


def test_a_terminal_shows_a_bar_with_rate_loss_and_time_left_and_the_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    trained(terminal := Terminal())
    said = shown_by(terminal)
    assert [text for text in REPORTS if text not in said] == []
    assert re.search(r"\u2501+.* step 4 of 4, [\d.,]+ steps/s, loss 2, 0:00 left", said)
    assert said.endswith("\n")


class Begun:
    """A training that has begun."""

    done, loss, rate = 30, 0.25, 3.0
    total: int | None = 60


def test_a_terminal_shows_a_bar_without_rich_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    now = iter([5.0, 5.05, 5.2])
    bar = fit_progress.TextBar(terminal := Terminal(), lambda: next(now))
    for _ in range(3):
        bar.step(Begun())
    bar.report("epoch 1")
    bar.end(Begun())
    numbers = "\u2501" * 12 + "\u2500" * 12 + " step 30 of 60, 3 steps/s, loss 0.25, 0:10 left"
    assert shown_by(terminal) == f"\r{numbers}" * 2 + f"\repoch 1\n\r{numbers}\n"


def test_the_time_that_is_left_does_not_count_the_first_step_which_is_planned() -> None:
    """The first step takes 10 s, the others 0.5 s each, from the 100th on 2 s."""
    pace, seconds, rates = fit_progress.Pace(), 0.0, {}
    for step in range(1, 401):
        seconds += 10.0 if step == 1 else 0.5 if step < 100 else 2.0
        pace.note(step, seconds)
        rates[step] = pace.rate(step, seconds)
    assert (rates[1], rates[2], rates[3], rates[99]) == (0.0, 2.0, 2.0, 2.0)
    assert rates[400] == 0.5


async def test_a_training_that_is_refused_leaves_the_terminal_alone(model: Counter) -> None:
    with Session(graph=model.loss.graph) as session, contextlib.redirect_stderr(Terminal()) as terminal:
        with pytest.raises(RuntimeError, match="use AsyncSession"):
            model.fit(session, 1).run()
        with pytest.raises(RuntimeError, match="use AsyncSession"):
            list(model.fit(session, 1))
    assert terminal.getvalue() == ""


def test_a_file_at_standard_error_gets_a_line_every_ten_seconds() -> None:
    now = iter([5.0, 14.0, 15.0, 24.0, 26.0])
    lines = fit_progress.TimedLines(stream := io.StringIO(), lambda: next(now))
    for _ in range(4):
        lines.step(Begun())
    assert stream.getvalue() == "step 30 of 60, 3 steps/s, loss 0.25, 0:10 left\n" * 2
    assert isinstance(fit_progress.watcher_of(None), fit_progress.TimedLines)  # pytest's own standard error


def test_where_nobody_watches_nothing_is_shown_and_a_stream_gets_a_line_for_each_report() -> None:
    trained(silent := io.StringIO())
    assert silent.getvalue() == ""
    trained(silent, progress=(stream := io.StringIO()))
    assert silent.getvalue() == ""
    assert [line.rsplit(",", 1)[0] for line in stream.getvalue().splitlines()] == REPORTS


def test_a_bar_without_a_known_end_says_how_far_it_is() -> None:
    class Endless(Begun):
        total = None

    assert fit_progress.bar_text(Endless(), 4) == "\u2500" * 4 + " step 30, 3 steps/s, loss 0.25"

    class Half(Begun):
        done, total, rate = 3600, 7200, 1.0

    assert fit_progress.bar_text(Half(), 4).endswith(" step 3600 of 7200, 1 steps/s, loss 0.25, 1:00:00 left")


def test_a_bar_of_a_notebook_escapes_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    bar = fit_progress.NotebookBar()
    monkeypatch.setattr("IPython.display.display", lambda shown, display_id: shown)

    bar.report("epoch <1>")
    bar.step(Begun())
    assert '<progress value="30" max="60"' in bar._repr_html_()
    assert "epoch &lt;1&gt;" in bar._repr_html_()
    assert repr(bar).splitlines()[1:] == ["epoch <1>"]


def test_event_files_have_the_loss_and_the_metric_of_each_report(tmp_path: Path) -> None:
    trained(io.StringIO(), events=tmp_path / "events")
    (path,) = (tmp_path / "events").iterdir()
    events = [event for event in tf.train.summary_iterator(str(path)) if event.summary.value]
    assert [event.step for event in events] == [2, 4]
    values = [{value.tag: value.simple_value for value in event.summary.value} for event in events]
    assert values == [{"loss": 3.0, "validation": 7.0}] * 2


def test_a_result_is_plotted_with_its_loss_and_its_metric() -> None:
    result = trained(io.StringIO())
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert result.plot(axes) is axes
    assert {line.get_label(): list(line.get_ydata()) for line in axes.lines if line.get_label() != "best"} == {
        "loss": [3.0, 3.0],
        "validation": [7.0, 7.0],
    }


WITHOUT_MATPLOTLIB = """
import sys
import actorsession as acts

report = acts.train.FitReport(epoch=1, step=1, loss=1.0, metric=None, best=True, checkpoint=None, seconds=1.0)
result = acts.train.FitResult(reports=(report,), best=report, stopped_early=False)
sys.path.clear()
result.plot()
"""


@pytest.mark.process
def test_without_matplotlib_a_plot_says_what_to_install(tmp_path: Path) -> None:
    with warm_process() as process:
        said = process.run(WITHOUT_MATPLOTLIB, tmp_path).err
    assert said.rstrip().endswith("ImportError: plots need the package matplotlib: pip install 'actorsession[demo]'")


# -- validation and early stopping -----------------------------------------------------------------


async def test_the_metric_is_the_mean_over_the_validation_batches(model: Counter) -> None:
    async with opened(model) as session:
        result = await model.fit(
            session, 9, 9, validation=lambda: iter(model.batches(1, 2, 6)), metric=model.loss * 10.0, epochs=2
        )
        assert [r.metric for r in result.reports] == [30, 30]
        assert await session.run(model.count) == 4
    # The loss is watched without validation.
    async with opened(model) as session:
        result = await model.fit(session, 3, 1, 2, 2, 0, every=1, patience=2)
        assert (result.steps, result.best.step, result.stopped_early) == (4, 2, True)
        assert await session.run(model.count) == 4


# Losses of an epoch each, the patience, and the epochs at which it stops and was best.
SCRIPTS: dict[str, tuple[list[float], int, int, int]] = {
    "worse at once": ([1, 2, 3, 4, 5], 2, 3, 1),
    "better again": ([5, 6, 4, 4, 3, 3, 3, 1], 2, 7, 5),
    "always better": ([5, 4, 3, 2, 1], 1, 5, 5),
    "never better": ([2, 2, 2, 2], 1, 2, 1),
}


@for_each("kind", SCRIPTS)
@for_each("maximize", [False, True])
async def test_training_stops_when_nothing_is_better(kind: str, maximize: bool) -> None:
    """The metric is what the script says at the count of the steps, and the best count comes back."""
    losses, patience, stops, best = SCRIPTS[kind]
    with Graph().as_default():
        model = Counter()
        script = [-loss if maximize else loss for loss in losses]
        metric = acts.gather(acts.constant([0.0, *script]), acts.cast(model.count, acts.int32))
    async with opened(model) as session:
        result = await model.fit(
            session,
            1,
            epochs=len(losses),
            validation=[None],
            metric=metric,
            maximize=maximize,
            patience=patience,
            restore_best=True,
        )
        assert (len(result.reports), result.best.epoch) == (stops, best)
        assert result.stopped_early == (kind != "always better")
        assert await session.run(model.count) == best


async def test_variables_with_one_initial_value_get_their_own_best_values(graph: Graph) -> None:
    initial = acts.constant(1.0)
    v, w = acts.Variable(initial), acts.Variable(initial)
    loss = acts.placeholder(acts.float32, [])
    train = acts.group(v.assign_add(1.0), w.assign_add(2.0))
    async with AsyncSession(graph=graph) as session:
        await session.run(acts.global_variables_initializer())
        await acts.train.fit(session, train, [{loss: 1.0}, {loss: 2.0}], loss=loss, every=1, restore_best=True)
        assert await session.run([v, w]) == [2.0, 3.0]


async def test_checkpoints_are_numbered_by_the_steps_and_restore(model: Counter, tmp_path: Path) -> None:
    saver = acts.train.Saver(max_to_keep=2)
    async with opened(model) as session:
        result = await model.fit(session, 1, 1, 1, every=1, saver=saver, checkpoint=tmp_path / "m")
        assert [r.checkpoint for r in result.reports] == [f"{tmp_path}/m-{n}" for n in (1, 2, 3)]
        assert saver.last_checkpoints == [f"{tmp_path}/m-2", f"{tmp_path}/m-3"]
        await saver.restore_async(session, f"{tmp_path}/m-2")
        assert await session.run(model.count) == 2


def test_a_session_without_await_numbers_by_a_global_step(model: Counter, session: Session, tmp_path: Path) -> None:
    step = acts.train.create_global_step()
    train = acts.group(model.train, step.assign_add(10))
    session.run(acts.global_variables_initializer())
    result = acts.train.fit(
        session, train, model.batches(1), loss=model.loss, epochs=2, checkpoint=str(tmp_path / "m"), global_step=step
    ).run()
    last = acts.train.latest_checkpoint(str(tmp_path))
    assert [r.checkpoint for r in result.reports] == [f"{tmp_path}/m-10", last]
    assert acts.train.load_variable(str(last), "count") == 2


# -- leaving ---------------------------------------------------------------------------------------


async def test_a_training_is_left_by_break(model: Counter) -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[dict[Any, Any]]:
        try:
            while True:
                yield {model.said: 1.0}
        finally:
            closed.set()

    async with opened(model) as session:
        async for report in acts.train.fit(session, model.train, endless, loss=model.loss, every=2):
            if report.step == 4:
                break
        gc.collect()  # the generator of the loop has no reference any more
        await closed.wait()
        await still_usable(session, model, 4)


async def test_a_training_is_left_by_an_exception_of_the_program(model: Counter) -> None:
    def refuse(report: acts.train.FitReport) -> None:
        raise LookupError(f"enough after {report.step}")

    async with opened(model) as session:
        with pytest.raises(LookupError, match="enough after 2"):
            await model.fit(session, 1, 1, progress=refuse)
        await still_usable(session, model, 2)


async def test_a_training_is_cancelled_between_steps(model: Counter) -> None:
    reached: asyncio.Event = asyncio.Event()

    def batches() -> Iterator[dict[Any, Any]]:
        while True:
            yield {model.said: 1.0}
            reached.set()

    async with opened(model) as session:
        training = asyncio.ensure_future(
            acts.train.fit(session, model.train, batches, loss=model.loss).__aiter__().__anext__()
        )
        await reached.wait()
        training.cancel()
        with pytest.raises(asyncio.CancelledError):
            await training
        await still_usable(session, model, int(await session.run(model.count)))


async def test_a_training_is_cancelled_within_a_step(graph: Graph) -> None:
    model = Counter()
    waits = model.loss + acts.FIFOQueue(1, [acts.float32], [[]]).dequeue()
    stepped = asyncio.Event()
    async with opened(model) as session:

        async def train() -> None:
            await acts.train.fit(session, model.train, batches(), loss=waits, progress=lambda _: None)

        async def batches() -> AsyncIterator[dict[Any, Any]]:
            stepped.set()
            yield {model.said: 1.0}

        training = asyncio.ensure_future(train())
        await stepped.wait()
        await eventually(lambda: session.statistics().steps == 1)
        training.cancel()
        with pytest.raises(asyncio.CancelledError):
            await training
        await still_usable(session, model, int(await session.run(model.count)))


async def test_cancelled_checkpoints_are_whole(model: Counter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1. The checkpoint of step 2 is being written. 2. The training is cancelled. 3. The disk goes on."""
    slow = SlowDisk()
    async with opened(model) as session:
        saver = acts.train.Saver()

        async def train() -> None:
            await model.fit(session, 1, 1, saver=saver, checkpoint=tmp_path / "m")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", slow.sync)
            training = asyncio.create_task(train())
            await slow.writing.wait()
            training.cancel()
            slow.go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await training
            await eventually(lambda: names(tmp_path) in ([], ["m-2.safetensors"]))
        if names(tmp_path):
            assert acts.train.load_variable(str(tmp_path / "m-2"), "count") == 2
        await still_usable(session, model, 2)


@for_each("loss", [math.nan, math.inf])
async def test_a_loss_that_is_no_number_is_an_error_with_its_step(loss: float) -> None:
    with Graph().as_default():
        model = Counter()
    async with opened(model) as session:
        with pytest.raises(FloatingPointError, match=rf"the loss is {loss} in step 4 \(epoch 2\): the variables"):
            await acts.train.fit(
                session, model.train, iterated(model.batches(1, 1), model.batches(1, loss)), loss=model.loss, epochs=3
            )
        await still_usable(session, model, 4)


async def test_a_metric_that_is_no_number_is_an_error_with_its_step(model: Counter) -> None:
    async with opened(model) as session:
        with pytest.raises(FloatingPointError, match=r"the metric is nan after step 2 \(epoch 1\)"):
            await model.fit(session, 1, 1, validation=model.batches(1, math.nan))
        await still_usable(session, model, 2)
    # An error of a step ends the training and not the session.
    broken: list[dict[Any, Any]] = [{model.said: 1.0}, {model.said: [1.0, 2.0]}]
    async with opened(model) as session:
        with pytest.raises(ValueError, match="said"):
            await acts.train.fit(session, model.train, broken, loss=model.loss)
        await still_usable(session, model, 1)
    # Batches without feeds are an error.
    once = iter(model.batches(1))
    async with opened(model) as session:
        with pytest.raises(ValueError, match=r"batches has no feeds\. An iterator is used up after one"):
            await acts.train.fit(session, model.train, once, loss=model.loss, epochs=2)
        with pytest.raises(ValueError, match="validation has no feeds"):
            await model.fit(session, 1, validation=[])
        await still_usable(session, model, 2)


def iterated(*epochs: list[Any]) -> Callable[[], Any]:
    """A function that returns the batches of one epoch after the other."""
    left = iter(epochs)
    return lambda: next(left)


# -- refusals --------------------------------------------------------------------------------------


async def test_batches_that_are_no_feeds_are_refused(model: Counter) -> None:
    async with opened(model) as session:
        for batches, said in {
            "a number": (3, "batches is an iterable of feed dicts, .* got int: 3"),
            "one dict": ({model.said: 1.0}, "batches is an iterable of feed dicts, .* got dict"),
            "numbers": ([3], "batches has feed dicts, got int: 3"),
        }.values():
            fitting = acts.train.fit(session, model.train, batches, loss=model.loss)  # type: ignore[arg-type]
            with pytest.raises(TypeError, match=said):
                await fitting
        assert await session.run(model.count) == 0


async def test_each_session_has_its_way_of_training(graph: Graph) -> None:
    model = Counter()
    async with opened(model) as session:
        fitting = model.fit(session, 1)
        with pytest.raises(TypeError, match=r"AsyncSession is run by await fit\(...\) or 'async for"):
            fitting.run()
    with Session(graph=graph) as blocking:
        fitting = model.fit(blocking, 1)
        with pytest.raises(TypeError, match=r"Session is run by fit\(...\).run\(\) or 'for report"):
            await fitting


def test_asynchronous_batches_need_an_asynchronous_session(model: Counter, session: Session) -> None:
    async def stream() -> AsyncIterator[dict[Any, Any]]:
        yield {model.said: 1.0}

    fitting = acts.train.fit(session, model.train, stream, loss=model.loss)
    with pytest.raises(TypeError, match="batches is asynchronous, which takes an AsyncSession"):
        fitting.run()
    # A training that is never run is warned of.
    never_run = [model.fit(session, 1)]
    with pytest.warns(RuntimeWarning, match="was never run"):
        never_run.clear()


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no epochs": ({"epochs": 0}, ValueError, "epochs is a number of 1 or more, got 0"),
    "no steps": ({"every": 0}, ValueError, "every is a number of 1 or more, got 0"),
    "half a patience": ({"patience": 0.5}, ValueError, "patience is a number of 1 or more"),
    "a metric alone": ({"maximize": True}, ValueError, "validation=... is missing"),
    "a number alone": ({"global_step": 3}, ValueError, "checkpoint=... is missing"),
    "no session": ({"session": 3}, TypeError, "fit takes a session, got int: 3"),
    "a loss that is no scalar": ({"loss": "vector"}, ValueError, r"loss is a scalar tensor, got shape \(2,\)"),
}


@for_each("what", REFUSED)
def test_wrong_arguments_are_refused_before_anything_runs(what: str) -> None:
    given, error, said = REFUSED[what]
    with Graph().as_default() as graph, Session(graph=graph) as session:
        model = Counter()
        known = {"session": session, "train_op": model.train, "batches": [], "loss": model.loss}
        if given.get("loss"):
            given = {"loss": acts.constant([1.0, 2.0])}
        with pytest.raises(error, match=said):
            _ = acts.train.fit(**{**known, **given})


# -- models ----------------------------------------------------------------------------------------


def moons(count: int, seed: int) -> tuple[Any, Any]:
    """Points of two interleaved half circles ``[count, 2]``, and which of the two they are from."""
    rng = np.random.default_rng(seed)
    which = np.arange(count) % 2
    angle = rng.uniform(0, np.pi, count)
    x = np.where(which, 1 - np.cos(angle), np.cos(angle))
    points = np.stack([x, np.where(which, 0.5 - np.sin(angle), np.sin(angle))], 1) + rng.normal(0, 0.1, (count, 2))
    return points.astype(np.float32), which.astype(np.int32)


class Moons:
    """A network of layers that tells two moons apart."""

    def __init__(self) -> None:
        acts.set_random_seed(3)
        self.points = acts.placeholder(acts.float32, [None, 2], name="points")
        self.labels = acts.placeholder(acts.int32, [None], name="labels")
        logits = acts.layers.dense(acts.layers.dense(self.points, 16, activation=acts.tanh), 2)
        losses = acts.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=logits)
        self.loss = acts.reduce_mean(losses)
        hit = acts.equal(acts.argmax(logits, 1, output_type=acts.int32), self.labels)
        self.accuracy = acts.reduce_mean(acts.cast(hit, acts.float32))
        self.train = acts.train.AdamOptimizer(0.02).minimize(self.loss)
        self.init = acts.global_variables_initializer()
        self.seen, self.held_out = moons(400, 0), moons(200, 1)

    def batches(self) -> Iterator[dict[Any, Any]]:
        points, labels = self.seen
        for first in range(0, len(points), 40):
            part = slice(first, first + 40)
            yield {self.points: points[part], self.labels: labels[part]}

    def arguments(self) -> dict[str, Any]:
        points, labels = self.held_out
        held_out = [{self.points: points, self.labels: labels}]
        return {
            "loss": self.loss,
            "epochs": 60,
            "validation": held_out,
            "metric": self.accuracy,
            "maximize": True,
            "patience": 15,
            "restore_best": True,
        }


async def test_it_tells_two_moons_apart(graph: Graph) -> None:
    model = Moons()
    async with opened(model) as session:
        arguments = model.arguments()
        result = await acts.train.fit(session, model.train, model.batches, **arguments)
        assert result.best.metric is not None
        assert result.best.metric >= 0.97
        (feeds,) = arguments["validation"]
        assert await session.run(model.accuracy, feeds) == pytest.approx(result.best.metric)


def test_it_tells_two_moons_apart_in_a_session_without_await(graph: Graph, session: Session) -> None:
    model = Moons()
    session.run(model.init)
    result = acts.train.fit(session, model.train, model.batches, **model.arguments()).run()
    assert result.best.metric is not None
    assert result.best.metric >= 0.97


@pytest.mark.process
async def test_a_worker_process_trains(graph: Graph, tmp_path: Path) -> None:
    """With validation, checkpoints and the best weights; the session is left by ``break`` once."""
    model = Moons()
    saver = acts.train.Saver()
    async with acts.LocalCluster({"worker": 1}) as cluster, AsyncSession(cluster.target("worker", 0), graph) as session:
        await session.run(model.init)
        arguments = {**model.arguments(), "epochs": 40}
        async for report in acts.train.fit(session, model.train, model.batches, **arguments):
            if report.epoch == 2:
                break
        result = await acts.train.fit(
            session, model.train, model.batches, **arguments, saver=saver, checkpoint=tmp_path / "m", every=100
        )
        assert result.best.metric is not None
        assert result.best.metric >= 0.97
        (feeds,) = arguments["validation"]
        assert await session.run(model.accuracy, feeds) == pytest.approx(result.best.metric)
        last = acts.train.latest_checkpoint(str(tmp_path))
        assert last == result.reports[-1].checkpoint
        await saver.restore_async(session, last)
        found = await session.run(model.accuracy, feeds)
        assert found == pytest.approx(result.reports[-1].metric)
