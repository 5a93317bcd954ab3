"""The simulated network: real transports over it, its faults, and that asyncio's protocols see no difference."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import socket
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transports.peers import PS, WORKER
from tests.transports.world import TOKEN, World, simulate
from transports import (
    AuthenticationError,
    BindError,
    ConnectError,
    Connection,
    ConnectionClosed,
    Frame,
    connect,
    listen,
)
from transports.host import SYSTEM, Network

SEEDS = range(12)


# -- transports over it ----------------------------------------------------------------------------


frames = st.lists(
    st.builds(
        lambda header, sizes: Frame(header, tuple(bytes([i % 251]) * size for i, size in enumerate(sizes))),
        st.binary(max_size=40),
        st.lists(st.integers(0, 100_000), max_size=3),
    ),
    max_size=12,
)


def content(frame: Frame) -> tuple[bytes, ...]:
    return (bytes(frame.header), *map(bytes, frame.segments))


@given(frames, st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_frames_arrive_whole_and_in_order_whatever_the_seed(sent: list[Frame], seed: int) -> None:
    async def main(world: World) -> list[tuple[bytes, ...]]:
        near, far = await world.linked()

        async def write() -> None:
            for frame in sent:
                near.write(frame)
                await near.drain()

        async def read() -> list[tuple[bytes, ...]]:
            return [content(await far.recv()) for _ in sent]

        writing = world.on("a", write())
        received = await world.on("b", read())
        await writing
        return received

    assert simulate(main, seed)[1] == [content(frame) for frame in sent]


async def exchange(world: World, times: int = 50) -> list[float]:
    """Frames to and fro; return when each answer came."""
    near, far = await world.linked()
    when = []

    async def echo() -> None:
        for _ in range(times):
            far.write(await far.recv())

    echoing = world.on("b", echo())
    for number in range(times):
        near.write(Frame(b"%d" % number, (bytes(number * 1000),)))
        await near.recv()
        when.append(world.loop.now)
    await echoing
    await world.on("a", near.aclose())
    return when


def test_a_run_is_a_function_of_its_seed_alone() -> None:
    def digest(seed: int) -> str:
        world, _ = simulate(exchange, seed)
        return hashlib.sha256("\n".join(world.loop.trace).encode()).hexdigest()

    assert digest(1) == digest(1) != digest(2)


def test_writes_are_split_and_joined() -> None:
    for seed in SEEDS:
        statistics = simulate(exchange, seed)[0].network.statistics
        assert statistics.splits > 0
        assert statistics.joins > 0
        assert statistics.segments > statistics.writes
        assert statistics.lost == statistics.resets == 0


def test_names_resolve_to_themselves_and_ports_are_drawn() -> None:
    async def main(world: World) -> tuple[str, str]:
        listener, accepted = await world.listen("b", 0)
        near = await world.connect("a", listener.address)
        far = await accepted.get()
        assert near.peer_address == listener.address
        assert far.peer_address == near.local_address
        return listener.address, near.local_address

    (at, own), (other, _) = simulate(main, 1)[1], simulate(main, 2)[1]
    assert at.startswith("tcp://b:")
    assert own.startswith("tcp://a:")
    assert at != other


def test_who_has_another_token_is_refused() -> None:
    async def main(world: World) -> None:
        await world.listen()
        with pytest.raises(AuthenticationError):
            await world.on("a", connect("tcp://b:7000", WORKER, token="the secret of another cluster"))

    simulate(main)


def test_loopback_addresses_are_of_the_own_machine_and_need_no_token() -> None:
    async def main(world: World) -> None:
        async def serve(connection: Connection) -> None:
            connection.write(await connection.recv())
            await world.loop.create_future()

        async def talk(address: str) -> bytes:
            async with await listen(address, PS, serve) as listener, await connect(listener.address, WORKER) as near:
                near.write(Frame(b"hello"))
                return bytes((await near.recv()).header)

        for address in ("tcp://127.0.0.1:0", "tcp://[::1]:0", "unix:///run/s", "abstract://s"):
            assert await world.on("a", talk(address)) == b"hello"
        listener = await world.on("a", listen("tcp://127.0.0.1:9", PS, serve))
        for name, address in (("b", "tcp://127.0.0.1:9"), ("b", "tcp://a:9"), ("a", "tcp://a:9")):
            with pytest.raises(ConnectError) as caught:
                await world.connect(name, address)
            assert caught.value.errno == errno.ECONNREFUSED
        await world.on("a", listener.aclose())

    simulate(main)


def test_what_cannot_be_bound_or_dialled_says_why() -> None:
    async def main(world: World) -> None:
        async def serve(connection: Connection) -> None: ...

        await world.listen("b", 7000)
        with pytest.raises(BindError) as bound:
            await world.listen("b", 7000)
        assert bound.value.errno == errno.EADDRINUSE
        with pytest.raises(BindError) as elsewhere:
            await world.on("b", listen("tcp://c:7000", PS, serve, token=TOKEN))
        assert elsewhere.value.errno == errno.EADDRNOTAVAIL
        with pytest.raises(ConnectError, match="does not resolve"):
            await world.connect("a", "tcp://nobody:1")
        with pytest.raises(ConnectError) as refused:
            await world.connect("a", "tcp://c:1")
        assert refused.value.errno == errno.ECONNREFUSED
        with pytest.raises(ConnectError) as missing:
            await world.on("a", connect("unix:///none", WORKER))
        assert missing.value.errno == errno.ENOENT

    simulate(main)


def test_arrays_are_not_lent() -> None:
    async def main(world: World) -> None:
        near, far = await world.linked()
        near.write(Frame(b"", (bytes(2**20),)), bulk=True)
        await far.recv()
        assert near.statistics().shared_bytes_sent == 0
        assert not world.hosts["a"].network.shares_memory

    simulate(main)


def test_a_writer_waits_for_a_reader_that_is_stalled() -> None:
    async def main(world: World) -> None:
        near, far = await world.linked()
        world.hosts["b"].stall()
        chunk = Frame(b"", (bytes(2**20),))
        for _ in range(8):
            near.write(chunk)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await world.on("a", near.drain())
        world.hosts["b"].go_on()
        writing = world.on("a", near.drain())
        for _ in range(8):
            await world.on("b", far.recv())
        await writing

    for seed in SEEDS:
        simulate(main, seed)


# -- faults ----------------------------------------------------------------------------------------


async def is_answered(world: World, near: Connection, far: Connection, seconds: float) -> bool:
    """Whether a frame and its answer pass within a time."""
    near.write(Frame(b"?"))

    async def answer() -> None:
        far.write(await far.recv())

    answering = world.on("b", answer())
    try:
        async with asyncio.timeout(seconds):
            await world.on("a", near.recv())
    except TimeoutError:
        return False
    finally:
        answering.cancel()
    return True


@pytest.mark.parametrize("ways", [("a", "b", False), ("a", "b", True), ("b", "a", True)])
def test_what_a_parted_way_holds_arrives_when_it_is_healed(ways: tuple[str, str, bool]) -> None:
    async def main(world: World) -> int:
        near, far = await world.linked()
        world.network.part(*ways)
        near.write(Frame(b"one"))
        far.write(Frame(b"two"))
        await asyncio.sleep(5)
        world.network.heal()
        async with asyncio.timeout(2):
            assert bytes((await world.on("b", far.recv())).header) == b"one"
            assert bytes((await world.on("a", near.recv())).header) == b"two"
        return world.network.statistics.held

    assert all(simulate(main, seed)[1] > 0 for seed in SEEDS)


def test_one_way_of_a_part_is_open() -> None:
    async def main(world: World) -> None:
        near, far = await world.linked()
        world.network.part("a", "b", one_way=True)
        near.write(Frame(b"one"))
        far.write(Frame(b"two"))
        async with asyncio.timeout(1):
            await world.on("a", near.recv())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await world.on("b", far.recv())

    simulate(main)


def test_tcp_may_give_up_before_a_part_is_healed() -> None:
    async def main(world: World) -> str:
        near, _far = await world.linked()
        world.network.part("a", "b")
        near.write(Frame(b"one"))
        try:
            async with asyncio.timeout(1000):
                await world.on("a", near.recv())
        except ConnectionClosed as error:
            return str(error)
        except TimeoutError:
            return ""
        raise AssertionError("something was received")

    ends = [simulate(main, seed)[1] for seed in SEEDS]
    assert "" in ends
    assert any("timed out" in end for end in ends)


def test_nobody_connects_through_a_part_and_later_everybody_does() -> None:
    async def main(world: World) -> None:
        await world.listen()
        world.network.part("a", "b")
        with pytest.raises(ConnectError) as caught:
            await world.connect(timeout=3)
        assert caught.value.errno == errno.ETIMEDOUT
        assert world.loop.now >= 3
        dialling = asyncio.ensure_future(world.connect(timeout=10))
        await asyncio.sleep(3)
        world.network.heal("a", "b")
        await dialling
        await world.connect("c")

    for seed in SEEDS:
        simulate(main, seed)


def test_a_slow_way_delays_what_passes() -> None:
    async def main(world: World) -> tuple[float, float]:
        near, far = await world.linked()
        world.network.slow("a", "b", 2.0, 0.5)
        begin = world.loop.now
        assert await is_answered(world, near, far, 10)
        slow = world.loop.now - begin
        world.network.heal()
        begin = world.loop.now
        assert await is_answered(world, near, far, 10)
        return slow, world.loop.now - begin

    for seed in SEEDS:
        slow, quick = simulate(main, seed)[1]
        assert 4 <= slow < 5.2
        assert quick < 0.2


def test_bandwidth_limits_bytes_per_second() -> None:
    async def main(world: World) -> float:
        near, far = await world.linked()
        world.network.slow("a", "b", 0.0, bandwidth=1e5)
        begin = world.loop.now
        near.write(Frame(b"", (bytes(300_000),)))
        await world.on("b", far.recv())
        return world.loop.now - begin

    for seed in SEEDS:
        assert 3.0 <= simulate(main, seed)[1] < 4.0


def test_a_cut_resets_both_ends() -> None:
    async def main(world: World) -> None:
        near, far = await world.linked()
        world.network.cut("a", "b")
        for name, end in (("a", near), ("b", far)):
            with pytest.raises(ConnectionClosed, match="reset by peer"):
                await world.on(name, end.recv())
        assert await is_answered(world, *await relinked(world), 1)

    for seed in SEEDS:
        world, _ = simulate(main, seed)
        assert world.network.statistics.resets == 2


async def relinked(world: World) -> tuple[Connection, Connection]:
    _listener, accepted = await world.listen("b", 7001)
    return await world.connect("a", "tcp://b:7001"), await accepted.get()


def test_a_silent_cut_tells_nobody() -> None:
    async def main(world: World) -> None:
        near, far = await world.linked()
        near.write(Frame(b"lost"))
        world.network.cut("a", "b", silent=True)
        assert not await is_answered(world, near, far, 100)
        assert not near.closed
        assert not far.closed
        assert await is_answered(world, *await relinked(world), 1)

    for seed in SEEDS:
        assert simulate(main, seed)[0].network.statistics.lost > 0


def test_peers_of_a_crashed_process_are_told_at_once_when_they_send_or_never() -> None:
    async def main(world: World) -> str:
        near, _far = await world.linked()
        world.crash("b")
        try:
            async with asyncio.timeout(5):
                await world.on("a", near.recv())
        except ConnectionClosed:
            return "at once"
        except TimeoutError:
            near.write(Frame(b"?"))
        try:
            async with asyncio.timeout(5):
                await world.on("a", near.recv())
        except ConnectionClosed:
            return "when it sends"
        except TimeoutError:
            return "never"
        raise AssertionError("something was received")

    told = [simulate(main, seed)[1] for seed in SEEDS]
    assert {"at once", "when it sends", "never"} == set(told)


def test_a_machine_that_was_gone_resets_old_connections_when_a_process_runs_there_again() -> None:
    async def main(world: World) -> bool:
        near, _far = await world.linked()
        world.crash("b")
        near.write(Frame(b"?"))
        await asyncio.sleep(5)
        was_open = not near.closed
        world.restart("b")
        _listener, accepted = await world.listen()
        with pytest.raises(ConnectionClosed):
            async with asyncio.timeout(5):
                await world.on("a", near.recv())
        fresh = await world.connect()
        assert await is_answered(world, fresh, await accepted.get(), 5)
        return was_open

    assert len({simulate(main, seed)[1] for seed in SEEDS}) == 2


def test_what_was_under_way_arrives_after_the_death_of_its_writer() -> None:
    async def main(world: World) -> bool:
        near, far = await world.linked()
        near.write(Frame(b"the last words"))
        world.crash("a")
        assert world.hosts["a"].is_dead
        try:
            async with asyncio.timeout(5):
                return bytes((await world.on("b", far.recv())).header) == b"the last words"
        except (TimeoutError, ConnectionClosed):
            return False  # the machine went down with it

    arrived = [simulate(main, seed)[1] for seed in SEEDS]
    assert True in arrived
    assert False in arrived


def test_a_connection_may_be_accepted_by_the_dead() -> None:
    """1. The listener's process is stalled; the kernel accepts for it. 2. The dialler sends its hello. 3. The process
    dies. 4. The dialler gets no answer, or a reset."""

    async def main(world: World) -> str:
        await world.listen()
        world.hosts["b"].stall()
        dialling = asyncio.ensure_future(world.connect(timeout=20))
        await asyncio.sleep(1)
        assert not dialling.done()
        world.crash("b")
        with pytest.raises(ConnectError) as caught:
            await dialling
        assert caught.value.phase == "hello"
        return str(caught.value)

    told = {simulate(main, seed)[1] for seed in SEEDS}
    assert any("no answer within 20 s" in text for text in told)
    assert any("no answer" not in text for text in told)


def test_a_dialler_that_died_is_forgotten_by_the_listener() -> None:
    async def main(world: World) -> None:
        listener, accepted = await world.listen()
        world.network.slow("a", "b", 1.0)
        dialling = world.on("a", connect("tcp://b:7000", WORKER, token=TOKEN))
        await asyncio.sleep(0.5)
        world.crash("a")  # while its SYN is on the way
        await asyncio.sleep(60)
        assert accepted.empty()
        assert not listener._children
        assert not dialling.done()

    for seed in SEEDS:
        simulate(main, seed)


def test_a_syn_on_the_way_reaches_the_next_process() -> None:
    async def main(world: World) -> None:
        await world.listen()
        world.network.slow("a", "b", 1.0)
        dialling = asyncio.ensure_future(world.connect(timeout=60))
        await asyncio.sleep(0.5)
        world.crash("b")
        world.restart("b")
        _listener, accepted = await world.listen()
        near = await dialling
        assert await is_answered(world, near, await accepted.get(), 10)

    for seed in SEEDS:
        simulate(main, seed)


def test_faults_and_their_effects_are_in_the_trace() -> None:
    async def main(world: World) -> None:
        near, _far = await world.linked()
        world.network.part("a", "b", one_way=True)
        world.network.heal("a", "b")
        world.network.slow("a", "b", 0.25, 0.5, bandwidth=1000)
        world.network.cut("a", "b")
        await asyncio.sleep(1)
        assert near.closed

    trace = "\n".join(line.partition(" ")[2] for line in simulate(main)[0].loop.trace)
    assert "net a > b:7000 SYN\nnet a > b:7000 is #" in trace
    for line in ("part a > b", "heal a <> b", "slow a <> b 0.25 s + 0.5 s, 1000 B/s", "cut a <> b"):
        assert f"net {line}\n" in trace


# -- asyncio's protocols ---------------------------------------------------------------------------


class Recorder(asyncio.Protocol):
    """Writes down what it is called with; bytes that come in several calls count as one."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.transport: asyncio.Transport
        self.keeps_open = True
        self.nbytes = 0
        self.made, self.at_end, self.lost, self.writable = (asyncio.Event() for _ in range(4))
        self.arrived = asyncio.Condition()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.calls.append("made")
        self.made.set()

    def data_received(self, data: bytes) -> None:
        self.note(bytes(data))

    def note(self, data: bytes) -> None:
        self.nbytes += len(data)
        if not self.calls[-1].startswith("data"):
            self.calls.append("data")
            self.digest = hashlib.sha256()
        self.digest.update(data)

    def eof_received(self) -> bool:
        self.calls.append(f"eof after {self.nbytes}")
        self.at_end.set()
        return self.keeps_open

    def pause_writing(self) -> None:
        self.calls.append("pause")
        self.writable.clear()

    def resume_writing(self) -> None:
        self.calls.append("resume")
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append(f"lost {type(exc).__name__}")
        self.lost.set()


class BufferedRecorder(Recorder, asyncio.BufferedProtocol):
    """The same, by a buffer of its own."""

    def get_buffer(self, sizehint: int) -> bytearray:
        self.buffer = bytearray(50_000)
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.note(bytes(self.buffer[:nbytes]))


Program = Callable[[Recorder, Recorder], Awaitable[None]]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  (nobody announces it)
            await asyncio.sleep(0)


async def half_closes(near: Recorder, far: Recorder) -> None:
    near.transport.write(b"question")
    near.transport.writelines([b"s", bytearray(b"and "), memoryview(b"more")])
    near.transport.write_eof()
    near.transport.write_eof()
    with pytest.raises(RuntimeError, match="after write_eof"):
        near.transport.write(b"late")
    await far.at_end.wait()
    far.transport.write(b"answer")
    far.transport.close()
    await near.at_end.wait()
    near.transport.close()
    await near.lost.wait()
    await far.lost.wait()


async def closes_at_eof(near: Recorder, far: Recorder) -> None:
    far.keeps_open = False
    near.transport.write(b"all")
    near.transport.close()
    assert near.transport.is_closing()
    await near.lost.wait()
    await far.lost.wait()


async def aborts_with_unread(near: Recorder, far: Recorder) -> None:
    far.transport.pause_reading()
    far.transport.pause_reading()
    assert not far.transport.is_reading()
    near.transport.write(b"never read")
    await asyncio.sleep(0.1)
    far.transport.abort()
    await far.lost.wait()
    await near.lost.wait()


async def fills_up(near: Recorder, far: Recorder) -> None:
    far.transport.pause_reading()
    near.transport.set_write_buffer_limits(high=100_000)
    assert near.transport.get_write_buffer_limits() == (25_000, 100_000)
    near.transport.write(bytes(10_000_000))
    assert near.transport.get_write_buffer_size() > 100_000
    near.transport.write_eof()
    await asyncio.sleep(0.05)
    far.transport.resume_reading()
    await near.writable.wait()
    await far.at_end.wait()
    near.transport.close()
    far.transport.close()
    await near.lost.wait()
    await far.lost.wait()


async def closes_with_a_full_buffer(near: Recorder, far: Recorder) -> None:
    far.keeps_open = False
    far.transport.pause_reading()
    near.transport.write(bytes(10_000_000))
    near.transport.close()
    await asyncio.sleep(0.05)
    assert not near.lost.is_set()
    far.transport.resume_reading()
    await near.lost.wait()
    await far.lost.wait()


async def aborts_with_a_full_buffer(near: Recorder, far: Recorder) -> None:
    far.transport.pause_reading()
    near.transport.write(bytes(10_000_000))
    near.transport.abort()
    near.transport.abort()
    near.transport.close()
    near.transport.write(b"dropped")
    await near.lost.wait()
    far.transport.abort()
    await far.lost.wait()


async def writes_to_who_has_closed(near: Recorder, far: Recorder) -> None:
    far.transport.close()
    await far.lost.wait()
    await near.at_end.wait()
    near.transport.write(b"to nobody")
    await asyncio.sleep(0.05)  # which is answered by a reset
    near.transport.write(b"to nobody")
    await near.lost.wait()


async def refuses_nonsense(near: Recorder, far: Recorder) -> None:
    with pytest.raises(TypeError, match="bytes-like"):
        near.transport.write("text")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be >="):
        near.transport.set_write_buffer_limits(high=1, low=2)
    near.transport.write(b"")
    assert near.transport.can_write_eof()
    assert near.transport.get_write_buffer_size() == 0
    assert near.transport.get_protocol() is near
    near.transport.abort()
    far.transport.abort()
    await near.lost.wait()
    await far.lost.wait()


async def changes_the_protocol(near: Recorder, far: Recorder) -> None:
    near.transport.write(b"first")
    await until(lambda: far.nbytes == 5)
    other = BufferedRecorder()
    other.calls.append("other")
    far.transport.pause_reading()
    far.transport.set_protocol(other)
    far.transport.resume_reading()
    near.transport.write(b"second")
    await until(lambda: other.nbytes == 6)
    near.transport.close()
    await other.at_end.wait()
    far.transport.close()
    await other.lost.wait()
    await near.lost.wait()
    far.calls += other.calls


PROGRAMS = [
    half_closes,
    closes_at_eof,
    aborts_with_unread,
    fills_up,
    closes_with_a_full_buffer,
    aborts_with_a_full_buffer,
    writes_to_who_has_closed,
    refuses_nonsense,
    changes_the_protocol,
]


async def calls_of(program: Program, kind: type[Recorder], network: Network, host: str) -> list[list[str]]:
    """What two protocols are called with while a program runs."""
    accepted: list[Recorder] = []

    def accept() -> Recorder:
        accepted.append(kind())
        return accepted[-1]

    sock = network.bind_tcp(socket.AF_INET, host, 0)
    sock.listen(8)
    server = await network.listen(accept, sock, 8)
    _transport, near = await network.connect(kind, socket.AF_INET, *sock.getsockname()[:2])
    await until(lambda: bool(accepted) and accepted[0].made.is_set())
    await program(near, accepted[0])
    server.close()
    await asyncio.sleep(0)
    return [near.calls, accepted[0].calls]


@pytest.mark.parametrize("kind", [Recorder, BufferedRecorder])
@pytest.mark.parametrize("program", PROGRAMS)
def test_protocols_are_called_as_over_a_real_loopback(program: Program, kind: type[Recorder]) -> None:
    async def real() -> list[list[str]]:
        return await calls_of(program, kind, SYSTEM.network, "127.0.0.1")

    async def simulated(world: World) -> list[list[str]]:
        return await world.on("a", calls_of(program, kind, world.hosts["a"].network, "127.0.0.1"))

    expected = asyncio.run(real())
    assert [simulate(simulated, seed)[1] for seed in range(5)] == [expected] * 5
