"""What holds for every test: two event loops, nothing left behind, reproducible examples.

An ``async def test_...`` runs on uvloop as it is used in production, or on the stock loop with the checks of
its debug mode, which fail a call from the wrong thread and say where a coroutine that was never awaited comes
from: on both where loops are the subject, else on one of them, always the same. ``--all`` runs each on both,
and the tests of ``WHOLE`` and those that are marked ``whole`` beside the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import importlib.util
import os
import signal
import sys
import threading
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextvars import Context
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVarTuple

import hypothesis
import pytest

from tests import default_device
from tests.leaks import Holdings, end_processes, pending_tasks, take_holdings, wait_for_release
from tests.ports import HoldPorts, held_ports
from tests.template import cold_starts, install

if TYPE_CHECKING:
    from collections.abc import Generator

# OpenBLAS reads it at the first import of numpy, here and in the programs that tests start. Its idle threads
# would spin for a tenth of a second each time, on cores that other tests need.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

hypothesis.settings.register_profile("short", derandomize=True, deadline=None, max_examples=15)
hypothesis.settings.register_profile("whole", derandomize=True, deadline=None, max_examples=50)
hypothesis.settings.register_profile("search", deadline=None, max_examples=1000)

_Arguments = TypeVarTuple("_Arguments")

LoopContext = dict[str, Any]
LoopFactory = Callable[[], asyncio.AbstractEventLoop]

_HERE = Path(__file__).parent

WHOLE = (
    "checkpoints/test_every_loss.py",
    "compat/test_whole_programs.py",
    "dashboard/test_pages_cluster.py",
    "dashboard/test_pages_presses.py",
    "dashboard/test_pages_views.py",
    "dashboard/test_process.py",
    "demo",
    "engines",
    "examples",
    "observe/test_perfetto.py",
    "test_bench.py",
    "test_crash_points.py",
    "test_differential.py",
    "test_docs.py",
    "test_docs_commands.py",
    "test_docs_errors.py",
    "test_error_catalogue.py",
    "test_famous.py",
    "test_interchange.py",
    "test_pages.py",
    "test_questions.py",
    "test_readme.py",
    "test_scripts.py",
    "test_tour.py",
    "test_wheel.py",
    "testing/test_examples.py",
    "testing/test_many_seeds.py",
)
"""Files and folders of tests of what is built of the packages (demo, pages, scripts, engines, the wheel), of the
page in a browser, and of what the others show for some cases, for all: seeds, crash points, whole programs.

They run with ``--all``, and when a file or folder of them is named on the command line."""

LOOPS_ARE_THE_SUBJECT = ("actors", "rpc", "runtime", "transports", "test_conftest.py", "test_template.py")
"""Files and folders whose async tests always run on both loops."""

STARTS_ARE_THE_SUBJECT = (
    "cluster/test_code_path.py",
    "cluster/test_ends_of_programs.py",
    "cluster/test_interpreter.py",
    "compat/test_names.py",
    "graph/test_extension.py",
    "ops/test_blas_threads.py",
    "test_cli.py",
    "test_conftest.py",
    "test_entry_points.py",
    "test_extending.py",
    "test_lazy_names.py",
    "test_public_api.py",
    "test_standard_streams.py",
)
"""Files and folders of tests whose processes are started as ever, and not from a template."""

install()

pytest_plugins = ["actorsession_pytest"]

_HELD_BEFORE = pytest.StashKey[Holdings]()
FRESH_SEED = "fresh seed"
"""The property of a test that has drawn a seed of its own."""
_TIMED_OUT_LOOPS: list[tuple[asyncio.AbstractEventLoop, BaseException]] = []

# Frames that a warning of a coroutine that was never awaited shows.
_ORIGIN_DEPTH = 3

# After a timeout; cancelled children that are not lost end at once.
_SECONDS_TO_ABANDON = 1.0


class CheckedEventLoop(asyncio.SelectorEventLoop):
    """The stock loop with the checks of its debug mode, without its notes.

    Debug mode also keeps the whole stack of each task, future and callback from where it was made, which
    doubled the time of a test. ``pytest --asyncio-debug`` keeps them, for a failure that needs them.
    """

    def __init__(self) -> None:
        super().__init__()
        # A callback may be slow on a loaded machine, and tests that count warnings would count that too.
        self.slow_callback_duration = float("inf")
        self._thread: int | None = None

    def run_forever(self) -> None:
        depth = sys.get_coroutine_origin_tracking_depth()
        sys.set_coroutine_origin_tracking_depth(max(depth, _ORIGIN_DEPTH))
        self._thread = threading.get_ident()
        try:
            super().run_forever()
        finally:
            self._thread = None
            sys.set_coroutine_origin_tracking_depth(depth)

    def call_soon(
        self, callback: Callable[[*_Arguments], object], *args: *_Arguments, context: Context | None = None
    ) -> asyncio.Handle:
        self._check_caller()
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*_Arguments], object], *args: *_Arguments, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self._check_caller()
        return super().call_at(when, callback, *args, context=context)

    def _check_caller(self) -> None:
        if self._thread is not None and self._thread != threading.get_ident():
            raise RuntimeError("Non-thread-safe operation invoked on an event loop other than the current one")


def _loop_classes() -> Mapping[str, LoopFactory]:
    classes: dict[str, LoopFactory] = {"asyncio": CheckedEventLoop}
    if importlib.util.find_spec("uvloop") is not None:
        import uvloop

        # libuv opens a pipe at its first loop and keeps it for the life of the process; let that
        # happen before the first test counts descriptors.
        uvloop.new_event_loop().close()
        classes["uvloop"] = uvloop.new_event_loop
    return classes


def _ending_at_timeouts(new_loop: LoopFactory) -> LoopFactory:
    """Let a factory's loops end when pytest-timeout says so.

    pytest-timeout raises from a signal handler. When that strikes while the loop runs a callback,
    or waits inside uvloop, the loop takes it for the callback's error, logs it and waits on for
    ever.
    """

    def factory() -> asyncio.AbstractEventLoop:
        loop = new_loop()
        loop.set_exception_handler(_stop_at_timeout)
        return loop

    return factory


class Overdue(BaseException):
    """The time of a test is over whose examples Hypothesis makes.

    pytest-timeout's own error would be a failure of the example that happened to run, and Hypothesis would
    look for a smaller one that fails, with no timeout any more.
    """


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item: pytest.Item) -> Generator[None, Any, Any]:
    """End a test of Hypothesis's with an error that is none of an example."""
    set_ = yield
    ring = signal.getsignal(signal.SIGALRM)
    if callable(ring) and hypothesis.is_hypothesis_test(getattr(item, "obj", None)):

        def end(number: int, frame: FrameType | None) -> None:
            try:
                ring(number, frame)
            except pytest.fail.Exception as error:
                raise Overdue(str(error)) from None

        signal.signal(signal.SIGALRM, end)
    return set_


def _stop_at_timeout(loop: asyncio.AbstractEventLoop, context: LoopContext) -> None:
    outcome = context.get("exception")
    if isinstance(outcome, (pytest.fail.Exception, Overdue)):
        _TIMED_OUT_LOOPS.append((loop, outcome))
        loop.stop()
    else:
        loop.default_exception_handler(context)


LOOP_FACTORIES = {name: _ending_at_timeouts(cls) for name, cls in _loop_classes().items()}


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, LoopFactory]:
    """Run async tests on both loops where loops are the subject, or everything is asked for; else on one.

    In tests of processes the other side of each link has a loop of its own, and starting it takes most of the
    time. Of what runs on one loop half runs on either, each always on the same.
    """
    process = item.get_closest_marker("process") is not None
    if not process and (config.getoption("all") or _is_in(item.path, LOOPS_ARE_THE_SUBJECT)):
        return LOOP_FACTORIES
    names = sorted(LOOP_FACTORIES)
    name = names[zlib.crc32(item.nodeid.encode()) % len(names)]
    return {name: LOOP_FACTORIES[name]}


# Objects after which the collector looks at the young ones: 700 by default. Tests end with what they made,
# and those that wait for a collection ask for it, so most of its work was to no purpose.
gc.set_threshold(10_000, 10, 10)


def pytest_collection() -> None:
    """Let the collector rest while modules and tests are loaded, all of which stay."""
    gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--all`` and ``--device``."""
    parser.addoption(
        "--all",
        action="store_true",
        help=f"run everything: {' '.join(WHOLE)}, what is marked whole, and each async test on both loops",
    )
    parser.addoption(
        "--device",
        metavar="TYPE",
        help="a device type, such as TORCH_CPU, that sessions of this process prefer to the CPU",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let Hypothesis draw more examples where everything is asked for, and sessions prefer a device type."""
    profile = "whole" if config.getoption("all") else "short"
    hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))
    if device_type := config.getoption("device"):
        from actorsession.errors import OpError

        try:
            default_device.choose(device_type)
        except OpError as error:
            raise pytest.UsageError(f"--device {device_type}: {error.message}") from error


@pytest.fixture(scope="session")
def whole(pytestconfig: pytest.Config) -> bool:
    """Whether everything is asked for, also what the short suite looks at here and there."""
    return bool(pytestconfig.getoption("all"))


@functools.cache
def _is_in(path: Path, places: tuple[str, ...]) -> bool:
    """Whether a file of tests is one of some files, or in one of some folders."""
    inner = f"{path}/".removeprefix(f"{_HERE}/")  # asked for each test, which pathlib would take longer for
    return inner.startswith(tuple(f"{place}/" for place in places))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the tests of ``WHOLE``, unless they are asked for."""
    if config.getoption("all") or not _is_in(collection_path, WHOLE):
        return None
    named = [(config.invocation_params.dir / word.split("::")[0]).resolve() for word in config.args]
    asked = any(_is_in(path, WHOLE) and collection_path.is_relative_to(path) for path in named)
    return None if asked else True


# Seconds of a core that a test is likely to take, by its marks: medians of the whole suite, rounded.
_SECONDS = {"slow": 2.0, "process": 0.4}
_USUAL_SECONDS = 0.02


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked ``whole``, and begin with the files that are likely to take longest, those beside this
    one, which read all others, before all.

    Workers take one file after the other, so a long one at the end would leave cores idle.
    """
    if not config.getoption("all") and not any("[" in word for word in config.args):
        left_out = [item for item in items if item.get_closest_marker("whole") is not None]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.get_closest_marker("whole") is None]
    seconds: defaultdict[Path, float] = defaultdict(float)
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        seconds[item.path] += next((_SECONDS[name] for name in _SECONDS if name in marks), _USUAL_SECONDS)
    items.sort(key=lambda item: (item.path.parent != _HERE, -seconds[item.path], item.path))


def pytest_collection_finish() -> None:
    """Keep the collected tests, and what little is garbage by then, out of every garbage collection."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def registrations() -> Iterator[None]:
    """Forget at the end of a test what it registers."""
    from actorsession.extend import registration_scope

    with registration_scope():
        yield


@pytest.fixture
def product_threads() -> Iterator[Callable[[int], None]]:
    """Return a function that sets how many threads products of numpy take in the test."""
    from actorsession.ops.blas_threads import loaded_libraries

    before = [(library, library.get()) for library in loaded_libraries()]
    if not before:
        pytest.skip("numpy's BLAS is no OpenBLAS here")

    def set_number(number: int) -> None:
        for library, _ in before:
            library.set(number)

    yield set_number
    for library, number in before:
        library.set(number)


@pytest.fixture
def uninstall(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return a function after which a package cannot be imported in the test."""
    from actorsession.extras import is_installed

    def remove(package: str) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        is_installed.cache_clear()

    yield remove
    is_installed.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def signals_are_what_a_terminal_gives() -> Iterator[None]:
    """Take Ctrl-C and its kind, also where whoever started the suite ignores them.

    A shell that runs it in the background has it ignore SIGINT and SIGQUIT, and ``nohup`` SIGHUP. What is
    ignored stays so in every program that is started from here, so each test that presses Ctrl-C would wait
    in vain; what is caught or has its default has its default there.
    """
    wanted: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGQUIT: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    ignored = [number for number in wanted if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, wanted[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(scope="module", autouse=True)
def takes_its_garbage_along() -> Iterator[None]:
    """Collect what the tests of a module made, so that no later test stands still for it."""
    yield
    _forget_garbage()


def _forget_garbage() -> None:
    """Collect, and put what pytest keeps (items, reports) where no later collection walks over it.

    They are some half a million objects, which a full collection walks for a second or more on a loaded
    machine, while the loop of the test that is running stands still.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def leaves_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a child, a descriptor, a thread or a process behind.

    The look back happens in ``pytest_runtest_teardown``, once all fixtures of the test and its loop
    are gone; this is the look ahead, taken when the fixtures of wider scope already stand.
    """
    request.node.stash[_HELD_BEFORE] = take_holdings()
    if request.node.get_closest_marker("asyncio") is not None:
        request.getfixturevalue("leaves_no_child_pending")
    on_interrupt = signal.getsignal(signal.SIGINT)
    yield
    if signal.getsignal(signal.SIGINT) != on_interrupt:
        signal.signal(signal.SIGINT, on_interrupt)
        pytest.fail("the test has left another handler of SIGINT", pytrace=False)


@pytest.fixture
async def leaves_no_child_pending() -> AsyncIterator[None]:
    """Fail an async test that leaves children on its loop, before the loop cancels them."""
    yield
    children = sorted(repr(child) for child in await pending_tasks())
    if children:
        pytest.fail(_report("children on the loop", children), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Start processes as ever where starts are the subject; no test finds nodes of another in its default graph."""
    with cold_starts() if _is_in(item.path, STARTS_ARE_THE_SUBJECT) else contextlib.nullcontext():
        try:
            return (yield)
        finally:
            if "actorsession.graph" in sys.modules:  # tests of the scripts need none of it
                sys.modules["actorsession.graph"].reset_default_graph()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Report the timeout that stopped a loop, not the stopped loop."""
    _TIMED_OUT_LOOPS.clear()
    try:
        with _no_gc_callbacks(item):
            yield
    except RuntimeError:
        if not _TIMED_OUT_LOOPS:
            raise
        loop, outcome = _TIMED_OUT_LOOPS.pop()
        loop.run_until_complete(_abandon_children())
        raise outcome from None


@contextlib.contextmanager
def _no_gc_callbacks(item: pytest.Item) -> Iterator[None]:
    """Takes Hypothesis's gc callback out of tests that are not its own.

    An interrupt that arrives during a collection is raised in the first Python code after it; where that
    is a callback the interpreter ignores it, and the test that pressed Ctrl-C waits in vain.
    """
    callbacks = [] if hypothesis.is_hypothesis_test(getattr(item, "obj", None)) else gc.callbacks[:]
    for callback in callbacks:
        gc.callbacks.remove(callback)
    try:
        yield
    finally:
        gc.callbacks.extend(callbacks)


@pytest.fixture
def hold_ports() -> Iterator[HoldPorts]:
    """Ports of loopback that belong to the test until its end, for servers that it starts later."""
    with contextlib.ExitStack() as stack:
        yield lambda count: stack.enter_context(held_ports(count))


@pytest.fixture
def no_garbage() -> None:
    """For tests in which a signal comes to this process: collects what earlier tests have left.

    While the collector works, a signal waits; its handler is then called in the first Python code that
    runs, and where that is the callback of a weak reference, what the handler raises is lost.
    """
    gc.collect()


async def _abandon_children() -> None:
    """Cancel all children, and forget those that cannot end.

    A child whose step the timeout broke off is never scheduled again; the loop's own clean-up would
    wait for it without limit.
    """
    children = _pending_children()
    for child in children:
        child.cancel()
    if children:
        _, lost = await asyncio.wait(children, timeout=_SECONDS_TO_ABANDON)
        for child in lost:
            asyncio._unregister_task(child)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Compare what the process holds with what it held before the test."""
    yield
    before = item.stash.get(_HELD_BEFORE, None)
    if before is None:
        return
    left = wait_for_release(before)
    if lines := left.describe():
        end_processes(left.processes)
        pytest.fail(_report("things", lines), pytrace=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seeds that this run alone has played; what one fails, ``scripts/simulate --replay`` plays again."""
    ended = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ())]
    seeds = [value for report in ended for name, value in report.user_properties if name == FRESH_SEED]
    if seeds:
        terminalreporter.write_line(f"fresh seeds: {' '.join(map(str, seeds))}")


def _pending_children() -> set[asyncio.Task[object]]:
    return {child for child in asyncio.all_tasks() if child is not asyncio.current_task()}


def _report(what: str, lines: list[str]) -> str:
    return "\n  ".join([f"the test left {len(lines)} {what} behind:", *lines])
