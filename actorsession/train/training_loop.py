"""``fit``: a training loop with reports, validation, checkpoints and early stopping.

The loop is an asynchronous generator of reports: between two of them nothing is open and nothing runs, so a
program may leave it there (``break``), and a cancellation or an error ends it in the step that it strikes.
The session is the caller's and stays usable in every case. A saver's files are whole or absent.

The loop exists once. For a ``Session`` the same generator is driven in the caller's thread, also in the cell of
a notebook: there, nothing that it awaits ever suspends.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import time
import warnings
from asyncio import sleep
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Iterator, Mapping, Sized
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import numpy as np

from actorsession.actors.loops import in_thread
from actorsession.drawing.shown import ShownValue
from actorsession.durations import checked_seconds
from actorsession.extras import require
from actorsession.ops.graph_keys import GraphKeys
from actorsession.opsets.summaries.event_files import EventFileWriter
from actorsession.opsets.summaries.fields import double_field, sized, tagged
from actorsession.process_bound import ProcessBound
from actorsession.protobuf.wire import length_field
from actorsession.records import dataclass
from actorsession.session.blocking import complete
from actorsession.train.fit_progress import Pace, Watcher, watcher_of
from actorsession.train.saver import Saver

if TYPE_CHECKING:
    from actorsession.drawing.sheet import Sheet

__all__ = ["Fit", "FitReport", "FitResult", "fit"]

# The fields of an event.
_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5

Feeds: TypeAlias = "Mapping[Any, Any] | None"
SomeBatches: TypeAlias = "Iterable[Feeds] | AsyncIterable[Feeds]"
Batches: TypeAlias = "SomeBatches | Callable[[], SomeBatches]"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitReport:
    """What ``fit`` reports after some steps of training.

    Attributes:
        epoch: number of the epoch, from 1.
        step: number of steps so far, in all epochs.
        loss: mean of the loss over the steps since the last report.
        metric: mean of the metric over the validation batches; ``None`` without validation.
        best: whether the metric, or the loss without validation, is better than in all earlier reports.
        checkpoint: prefix of the checkpoint that was written; ``None`` if there is none.
        seconds: seconds since the training began.
    """

    epoch: int
    step: int
    loss: float
    metric: float | None
    best: bool
    checkpoint: str | None
    seconds: float

    def __str__(self) -> str:
        parts = [f"epoch {self.epoch}", f"step {self.step}", f"loss {self.loss:.6g}"]
        if self.metric is not None:
            parts.append(f"validation {self.metric:.6g}{' (best)' if self.best else ''}")
        return ", ".join([*parts, f"{self.seconds:.1f} s"])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FitResult(ShownValue):
    """What a training that ended by itself has done.

    Attributes:
        reports: all reports.
        best: the report with the best metric, or the best loss without validation.
        stopped_early: whether the training ended because nothing improved for ``patience`` reports.
    """

    reports: tuple[FitReport, ...]
    best: FitReport
    stopped_early: bool

    @property
    def steps(self) -> int:
        """The number of steps in all epochs."""
        return self.reports[-1].step

    def plot(self, axes: Any = None) -> Any:
        """Draw the loss, and the metric where there was validation, over the steps.

        Args:
            axes: the axes of matplotlib to draw into; those of a new figure if left out.

        Returns:
            The axes.

        Raises:
            ImportError: without the package matplotlib.
        """
        require("matplotlib", "demo", "plots need the package matplotlib")
        if axes is None:
            from matplotlib import pyplot

            _, axes = pyplot.subplots()
        steps = [report.step for report in self.reports]
        axes.plot(steps, [report.loss for report in self.reports], marker=".", label="loss")
        if self.best.metric is not None:
            axes.plot(steps, [report.metric for report in self.reports], marker=".", label="validation")
        axes.axvline(self.best.step, linestyle=":", color="grey", label="best")
        axes.set_xlabel("step")
        axes.legend()
        return axes

    def _sheet(self) -> Sheet:
        from actorsession.drawing.chart import curves
        from actorsession.drawing.sheet import Sheet, Table

        def draw(name: str) -> str:
            points = [(report.step, getattr(report, name)) for report in self.reports]
            return curves({name: [point for point in points if point[1] is not None]}, name, "step")

        last = self.reports[-1]
        facts = {"best": self.best, "last": last, "stopped early": "yes" if self.stopped_early else None}
        headings = ("epoch", "step", "loss", "validation", "seconds", "checkpoint")
        rows = [
            (one.epoch, one.step, f"{one.loss:.6g}", one.metric, f"{one.seconds:.1f}", one.checkpoint or "")
            for one in self.reports
        ]
        names = ["loss"] if last.metric is None else ["loss", "metric"]
        drawings = {name: partial(draw, name) for name in names}
        return Sheet(f"FitResult of {self.steps} steps", facts, [Table("reports", headings, rows, 0)], drawings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """The arguments of ``fit``."""

    session: Any
    train_op: Any
    batches: Batches
    loss: Any
    epochs: int
    every: int | None
    validation: Batches | None
    metric: Any
    maximize: bool
    saver: Saver | None
    checkpoint: str | None
    global_step: Any
    patience: int | None
    restore_best: bool
    progress: Callable[[FitReport], object] | TextIO | None
    events: str | None
    timeout: float | None
    dashboard: bool


def fit(
    session: Any,
    train_op: Any,
    batches: Batches,
    *,
    loss: Any,
    epochs: int = 1,
    every: int | None = None,
    validation: Batches | None = None,
    metric: Any = None,
    maximize: bool = False,
    saver: Saver | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    global_step: Any = None,
    patience: int | None = None,
    restore_best: bool = False,
    progress: Callable[[FitReport], object] | TextIO | None = None,
    events: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    dashboard: bool = False,
) -> Fit:
    """Return a training that runs ``train_op`` once for each batch.

    ``await fit(...)`` trains to the end; ``async for report in fit(...)`` reports on the way and may be left
    with ``break``. For a ``Session`` it is ``fit(...).run()`` and ``for report in fit(...)``. The variables
    must have values, and keep those that they have when the training is left.

    Args:
        session: an ``AsyncSession`` or a ``Session``, in this process or remote.
        train_op: what to run in each step.
        batches: the feeds of each step: an iterable of dicts (or of ``None`` for no feeds), which may be
            asynchronous for an ``AsyncSession``; or a function that returns one for each epoch.
        loss: a scalar tensor that each step evaluates too.
        epochs: how often the batches are gone through.
        every: steps between two reports; a report follows each epoch if left out.
        validation: feeds of the batches on which ``metric`` is evaluated for each report, in the forms of
            ``batches``.
        metric: a scalar tensor whose mean over the validation batches is reported; ``loss`` if left out.
        maximize: whether a larger metric is better.
        saver: writes the checkpoints; a ``Saver()`` of all variables if left out.
        checkpoint: prefix of the checkpoint that is written for each report, to which the number of the step
            is appended; none is written if left out.
        global_step: a variable or tensor that numbers the checkpoints; the steps of this training if left
            out.
        patience: the number of reports in a row without a better metric, or a better loss without
            validation, after which the training stops.
        restore_best: whether the variables get the values of the best report back when the training ends by
            itself. The best values are kept in the memory of this process.
        progress: called with each report; or a text stream, which gets a line for each. If left out, a terminal
            at standard error and the cell of a notebook show a bar with rate, loss and the time that is left; a
            file there gets these as a line every ten seconds.
        events: a folder for event files, which TensorBoard shows: the loss and the metric of each report.
        timeout: the limit of each step in seconds; that of the session's config if left out.

        dashboard: whether a page shows what runs the session while it trains, as ``actorsession dashboard`` does; its
            link is printed. Needs the extra ``dashboard``. A session of this process shows its last steps if its
            settings keep some (``ConfigProto.kept_steps``).

    Raises:
        TypeError: if ``session`` is no session or ``batches`` are of another type.
        ValueError: for numbers below 1, or arguments that contradict each other; while training, for batches
            without a single one.
        FloatingPointError: while training, for a loss or a metric that is not finite.
    """
    _check_arguments(session, loss, validation, metric, maximize)
    for name, number in {"epochs": epochs, "every": every, "patience": patience}.items():
        if number is not None and (not isinstance(number, int) or number < 1):
            raise ValueError(f"{name} is a number of 1 or more, got {number!r}")
    if timeout is not None:
        timeout = checked_seconds("timeout", timeout)
    if checkpoint is None and (saver is not None or global_step is not None):
        raise ValueError("saver and global_step are for checkpoints: checkpoint=... is missing")
    if checkpoint is not None and saver is None:
        with session.graph.as_default():
            saver = Saver()
    return Fit(
        _Settings(
            session=session,
            train_op=train_op,
            batches=batches,
            loss=loss,
            epochs=epochs,
            every=every,
            validation=validation,
            metric=loss if metric is None else metric,
            maximize=maximize,
            saver=saver,
            checkpoint=None if checkpoint is None else os.fspath(checkpoint),
            global_step=global_step,
            patience=patience,
            restore_best=restore_best,
            progress=progress,
            events=None if events is None else os.fspath(events),
            timeout=timeout,
            dashboard=dashboard,
        )
    )


def _check_arguments(session: Any, loss: Any, validation: Any, metric: Any, maximize: bool) -> None:
    if not callable(getattr(session, "run", None)) or not hasattr(session, "graph"):
        raise TypeError(f"fit takes a session, got {type(session).__name__}: {session!r:.100}")
    for name, scalar in {"loss": loss, "metric": metric}.items():
        rank = getattr(getattr(scalar, "shape", None), "rank", None)
        if rank not in (None, 0):
            raise ValueError(f"{name} is a scalar tensor, got shape {scalar.shape}: {scalar!r}")
    if validation is None and (metric is not None or maximize):
        raise ValueError("metric and maximize are for validation batches: validation=... is missing")


class Fit(ProcessBound):
    """A training that has not begun; see ``fit``.

    Each ``await``, loop or ``run`` begins a training of its own, which goes on from the values that the
    variables have.
    """

    _used = True

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings
        self._used = False

    def __aiter__(self) -> AsyncGenerator[FitReport, None]:
        return self._begin(awaited=True).reports()

    def __await__(self) -> Generator[Any, None, FitResult]:
        return self._begin(awaited=True).finish().__await__()

    def __iter__(self) -> Iterator[FitReport]:
        reports = self._begin(awaited=False).reports()
        try:
            while True:
                try:
                    yield complete(anext(reports))
                except StopAsyncIteration:
                    return
        finally:
            # Wherever the loop is left, which may be in a coroutine.
            with contextlib.suppress(StopIteration):
                reports.aclose().send(None)

    def run(self) -> FitResult:
        """Train to the end in a ``Session``, and return the result."""
        return complete(self._begin(awaited=False).finish())

    def _begin(self, *, awaited: bool) -> _Training:
        session, self._used = self._settings.session, True
        if inspect.iscoroutinefunction(session.run) is not awaited:
            ways = ("await fit(...)", "async for"), ("fit(...).run()", "for")
            end, each = ways[awaited]
            raise TypeError(
                f"the training of a session of type {type(session).__name__} is run by {end} or "
                f"'{each} report in fit(...)'"
            )
        return _Training(self._settings, awaited)

    def __del__(self) -> None:
        if not self._used:
            self._used = True
            warnings.warn("the training that fit() returned was never run", RuntimeWarning, 2)


class _Training:
    """One run of a training.

    Args:
        settings: the arguments of ``fit``.
        awaited: whether the session is an ``AsyncSession``.
    """

    def __init__(self, settings: _Settings, awaited: bool) -> None:
        self._of, self._awaited = settings, awaited
        self._variables = settings.session.graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
        self._began = time.monotonic()
        self._epoch = self._step = 0
        self._losses: list[float] = []
        self._best: FitReport | None = None
        self._best_values: list[Any] = []
        self._without_better = 0
        self._stopped_early = False
        self._per_epoch: int | None = len(settings.batches) if isinstance(settings.batches, Sized) else None
        self.loss = math.nan
        self._watcher, self._pace = Watcher(), Pace()
        self._events: EventFileWriter | None = None

    @property
    def done(self) -> int:
        """The number of steps so far."""
        return self._step

    @property
    def total(self) -> int | None:
        """The number of all steps; ``None`` in a first epoch of unknown length."""
        return None if self._per_epoch is None else self._per_epoch * self._of.epochs

    @property
    def rate(self) -> float:
        """Steps per second; 0 while that is not known."""
        return self._pace.rate(self._step, self._seconds())

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    async def finish(self) -> FitResult:
        """Train to the end."""
        async with contextlib.aclosing(self.reports()) as reports:
            kept = tuple([report async for report in reports])
        assert self._best is not None, "the first report is the best so far"
        return FitResult(reports=kept, best=self._best, stopped_early=self._stopped_early)

    def reports(self) -> AsyncGenerator[FitReport, None]:
        """Train, and yield the reports on the way."""
        return self._shown_reports() if self._of.dashboard else self._watched_reports()

    async def _shown_reports(self) -> AsyncGenerator[FitReport, None]:
        """Train while a page shows what runs the session."""
        from actorsession.cluster.launch.session_page import SessionPage  # which most trainings do without

        page = SessionPage(self._of.session)
        await self._apart(page.start)
        try:
            async with contextlib.aclosing(self._watched_reports()) as reports:
                async for report in reports:
                    yield report
        finally:
            await self._apart(page.close)

    async def _watched_reports(self) -> AsyncGenerator[FitReport, None]:
        """Train while a bar or a file has the progress, if one does."""
        if self._of.events is not None:
            self._events = EventFileWriter(self._of.events)
        if not callable(self._of.progress):
            self._watcher = watcher_of(self._of.progress)
        try:
            async with contextlib.aclosing(self._reports()) as reports:
                async for report in reports:
                    yield report
        finally:
            self._watcher.end(self)
            if self._events is not None:
                self._events.close()

    async def _apart(self, work: Callable[[], None]) -> None:
        """Do what blocks, in a thread where there is an event loop."""
        if self._awaited:
            await in_thread(work)
        else:
            work()

    async def _reports(self) -> AsyncGenerator[FitReport, None]:
        of = self._of
        for self._epoch in range(1, of.epochs + 1):
            async with _opened("batches", of.batches, self._awaited) as each:
                async for feeds in each:
                    await self._train(feeds)
                    if of.every is not None and self._step % of.every == 0:
                        yield await self._report()
                        if self._stopped_early:
                            break
            self._per_epoch = self._step // self._epoch
            if self._losses and (of.every is None or self._epoch == of.epochs):
                yield await self._report()
            if self._stopped_early:
                break
        if of.restore_best:
            await self._restore_best()

    async def _train(self, feeds: Feeds) -> None:
        _, loss = await self._run([self._of.train_op, self._of.loss], feeds)
        self._step += 1
        value = _number("loss", loss)
        if not math.isfinite(value):
            raise FloatingPointError(
                f"the loss is {value} in step {self._step} (epoch {self._epoch}): the variables may hold no "
                "numbers any more. A smaller learning rate, clip_by_global_norm of the gradients or "
                "debugging.check_numerics may help; a checkpoint from before can be restored"
            )
        self._losses.append(value)
        self.loss = value
        self._pace.note(self._step, self._seconds())
        self._watcher.step(self)

    async def _report(self) -> FitReport:
        of, loss = self._of, math.fsum(self._losses) / len(self._losses)
        self._losses = []
        metric = None if of.validation is None else await self._validate(of.validation)
        report = FitReport(
            epoch=self._epoch,
            step=self._step,
            loss=loss,
            metric=metric,
            best=self._is_best(loss if metric is None else metric),
            checkpoint=None if of.checkpoint is None else await self._save(of.checkpoint),
            seconds=self._seconds(),
        )
        self._without_better += 1
        if report.best:
            self._best, self._without_better = report, 0
            if of.restore_best:
                self._best_values = await self._run(self._variables, None)
        self._stopped_early = of.patience is not None and self._without_better >= of.patience
        if self._events is not None:
            self._events.write(_event(report))
            self._events.flush()
        if callable(of.progress):
            of.progress(report)
        self._watcher.report(str(report))
        return report

    def _is_best(self, value: float) -> bool:
        if self._best is None:
            return True
        best = self._best.loss if self._best.metric is None else self._best.metric
        return value > best if self._of.maximize else value < best

    async def _validate(self, batches: Batches) -> float:
        async with _opened("validation", batches, self._awaited) as each:
            values = [_number("metric", await self._run(self._of.metric, feeds)) async for feeds in each]
        mean = sum(values) / len(values)
        if not math.isfinite(mean):
            raise FloatingPointError(
                f"the metric is {mean} after step {self._step} (epoch {self._epoch}): it is no finite number "
                "on at least one of the validation batches"
            )
        return mean

    async def _save(self, prefix: str) -> str | None:
        of = self._of
        assert of.saver is not None, "fit makes one"
        step = self._step if of.global_step is None else of.global_step
        save = of.saver.save_async if self._awaited else of.saver.save
        saved: str | None = await _result(save(of.session, prefix, global_step=step))
        return saved

    async def _restore_best(self) -> None:
        waiting = list(zip(self._variables, self._best_values, strict=True))
        while waiting:
            # An initial value is fed once in a run, and a program may give two variables the same one.
            now = {variable.initializer.inputs[1]: (variable, value) for variable, value in waiting}
            ops = [variable.initializer for variable, _ in now.values()]
            await self._run(ops, {initial: value for initial, (_, value) in now.items()})
            assigned = {id(variable) for variable, _ in now.values()}
            waiting = [pair for pair in waiting if id(pair[0]) not in assigned]

    async def _run(self, fetches: Any, feeds: Feeds) -> Any:
        if self._awaited:
            # A short step does not suspend: the loop's other children get a turn here, and so does a
            # cancellation.
            await sleep(0)
        limit = {} if self._of.timeout is None else {"timeout": self._of.timeout}
        return await _result(self._of.session.run(fetches, feeds, **limit))


def _event(report: FitReport) -> bytes:
    """Return the event of a report: its loss, and its metric as ``validation``."""
    values = {b"loss": report.loss, b"validation": report.metric}
    summary = b"".join(tagged(tag, 0, float(number)) for tag, number in values.items() if number is not None)
    return double_field(_WALL_TIME, time.time()) + sized(_STEP, report.step) + length_field(_SUMMARY, summary)


async def _result(called: Any) -> Any:
    """Return the result of a method of either kind of session."""
    return await called if inspect.isawaitable(called) else called


def _number(what: str, value: Any) -> float:
    if np.size(value) != 1:
        raise ValueError(f"{what} is a scalar tensor, got a value of shape {np.shape(value)}")
    return float(np.asarray(value).item())


@contextlib.asynccontextmanager
async def _opened(what: str, batches: Batches, awaited: bool) -> AsyncGenerator[AsyncGenerator[Feeds, None], None]:
    """Open batches for one epoch; an iterable that a function made is closed with them."""
    source: Any = batches() if callable(batches) else batches
    if not isinstance(source, (Iterable, AsyncIterable)) or isinstance(source, Mapping):
        raise TypeError(
            f"{what} is an iterable of feed dicts, or a function that returns one, got "
            f"{type(source).__name__}: {source!r:.100}"
        )
    if isinstance(source, AsyncIterable) and not awaited:
        raise TypeError(f"{what} is asynchronous, which takes an AsyncSession: {source!r:.100}")
    async with contextlib.AsyncExitStack() as stack:
        if callable(batches):
            if isinstance(source, AsyncGenerator):
                await stack.enter_async_context(contextlib.aclosing(source))
            elif isinstance(source, Generator):
                stack.enter_context(contextlib.closing(source))
        yield await stack.enter_async_context(contextlib.aclosing(_each(what, source)))


async def _each(what: str, source: Any) -> AsyncGenerator[Feeds, None]:
    """Yield the feeds of an iterable of either kind, at least one."""
    empty = True
    if isinstance(source, AsyncIterable):
        async for feeds in source:
            empty = False
            yield _checked(what, feeds)
    else:
        for feeds in source:
            empty = False
            yield _checked(what, feeds)
    if empty:
        raise ValueError(
            f"{what} has no feeds. An iterator is used up after one epoch: pass a list, or a function that "
            "returns a new iterator each time"
        )


def _checked(what: str, feeds: Any) -> Feeds:
    if feeds is None or isinstance(feeds, Mapping):
        return feeds
    raise TypeError(f"{what} has feed dicts, got {type(feeds).__name__}: {feeds!r:.100}")
