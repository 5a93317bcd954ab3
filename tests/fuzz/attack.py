"""Sends spoilt frames to a server in another process, and looks at how it bears them.

``attack`` plays recorded conversations to the server, each over a connection of its own, with handles and
request ids that live there, and spoils most of the frames. Every so often a session of somebody else has to
get a right answer. At the end nothing may be left at the server: no session, no graph, no step, no memory.

Run as a program it sends as many as it is told to; ``scripts/fuzz`` does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actorsession import AsyncSession, ConfigProto, Graph, ops
from actorsession.cluster import read_statistics
from actorsession.cluster.server.process_memory import process_memory
from actorsession.messages import decode
from actorsession.messages.step_frames import PARTIAL_RUN, PUSH, RUN_GRAPH, RUN_STEP, is_step_frame, read_header
from tests.cluster.script import command, environment
from tests.fuzz.mutations import OF_BYTES, OF_MESSAGES, change_values, wire
from tests.fuzz.recording import W0, W1, Conversation, Recording, record
from tests.loops import run_to_end as run
from tests.ports import held_ports
from transports import Frame, FrameDecoder, Hello, ProtocolError, TransportError, parse_address
from transports.handshake import NONCE_SIZE, Handshake, Role, Send
from transports.stream.handshake import shake_hands

# Spoilt frames to one connection at most. After bytes that are no frame nothing more is looked at.
OF_BYTES_EACH, OF_MESSAGES_EACH = 2, 60
# Connections at once.
AT_ONCE = 8
# Seconds that whatever is well may take.
PATIENCE = 60.0
# What the server may have grown by between the first third of the frames and the last, in MiB. Caches
# of plans, keys and tombstones fill up to their limits; what leaks a KiB a frame is far above.
GROWTH = 64.0


@dataclass
class Tally:
    """What was done, and what came of it.

    Attributes:
        frames: spoilt frames sent.
        connections: connections that they were sent over.
        hung_up: how many of those the server ended.
        answers: frames that it answered with.
        checks: right answers that a session of somebody else got meanwhile.
        runs: steps that the server began, those of somebody else included.
        resident: the server's memory in MiB, from time to time.
        by_mutation: spoilt frames by the way in which they were.
    """

    frames: int = 0
    connections: int = 0
    hung_up: int = 0
    answers: int = 0
    checks: int = 0
    runs: int = 0
    resident: list[float] = field(default_factory=list)
    by_mutation: dict[str, int] = field(default_factory=dict)

    @property
    def growth(self) -> float:
        """By how much the most memory of the last third is above that of the first, in MiB."""
        third = max(1, len(self.resident) // 3)
        return max(self.resident[-third:]) - max(self.resident[:third])


class Attacker:
    """One who has recorded the traffic of a cluster and plays it to another.

    Args:
        targets: the addresses of its two tasks.
        recording: what was recorded.
        incarnations: of the devices that are attacked, by name.
        seed: of all chance.
    """

    def __init__(self, targets: list[str], recording: Recording, incarnations: dict[str, int], seed: int) -> None:
        self._addresses = {task: parse_address(t) for task, t in zip((W0, W1), targets, strict=True)}
        self._conversations = recording.conversations
        self._seed = seed
        self.corpus = [frame for c in recording.conversations for frame in c.frames]
        self.names = _names(self.corpus)
        self.steps = _steps(self.corpus)
        programs = [_program(bytes(frame.header)) for frame in self.corpus]
        self.programs = [found for found in programs if found is not None]
        # Keys of tensors name the life of a device.
        self.lives = {
            b"%016x" % recorded: b"%016x" % incarnations[device] for device, recorded in recording.incarnations.items()
        }
        self.tally = Tally()

    async def send(self, frames: int) -> None:
        """Plays conversations until so many spoilt frames were sent in all."""

        async def play_on() -> None:
            while self.tally.frames < frames:
                await self._play()

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(play_on())

    async def _play(self) -> None:
        """Opens a connection and plays a conversation, spoilt."""
        chance = random.Random(f"{self._seed}/{self.tally.connections}")
        conversation = chance.choice(self._conversations)
        self.tally.connections += 1
        hello = Hello(
            cluster_id="",
            task=chance.choice(["client", W1, "/job:x/replica:0/task:0"]),
            incarnation=chance.getrandbits(63),
            pid=1,
        )
        async with asyncio.timeout(PATIENCE):
            # What was written to a client is sent to a task, which is not used to it.
            address = self._addresses.get(conversation.reader, self._addresses[W0])
            reader, writer = await asyncio.open_connection(address.host, address.port)
            try:
                if chance.random() < 0.03:
                    await self._spoil_hello(chance, reader, writer, hello)
                    return
                core = Handshake(Role.DIALLER, hello, nonce=secrets.token_bytes(NONCE_SIZE))
                await shake_hands(reader, writer, core)
                await _Play(self, chance, conversation, reader, writer).run()
            except (OSError, EOFError, TransportError):
                self.tally.hung_up += 1
            finally:
                writer.transport.abort()
                with suppress(OSError):
                    await writer.wait_closed()

    async def _spoil_hello(
        self, chance: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hello: Hello
    ) -> None:
        """Sends a hello that is none, as a stranger does."""
        (said,) = Handshake(Role.DIALLER, hello, nonce=secrets.token_bytes(NONCE_SIZE)).start()
        assert isinstance(said, Send)
        data = bytearray(wire(Frame(said.header)))
        data[2] = chance.choice([0, 0, 0, 1, 255])
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        writer.write(bytes(data[: chance.choice([len(data), len(data), 5])]))
        writer.write_eof()
        self.count("spoil_hello")
        await reader.read()
        self.tally.hung_up += 1

    def count(self, name: str) -> None:
        self.tally.frames += 1
        self.tally.by_mutation[name] = self.tally.by_mutation.get(name, 0) + 1


class _Play:
    """One conversation over one connection."""

    def __init__(
        self,
        attacker: Attacker,
        chance: random.Random,
        conversation: Conversation,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._attacker = attacker
        self._chance = chance
        self._frames = conversation.frames
        self._reader = reader
        self._writer = writer
        self._decoder = FrameDecoder()
        # Names of the client's choice are used once; others come with the answers, and until then one
        # that was never given stands in for them.
        self._living = dict(attacker.lives)
        self._awaited: dict[bytes, list[bytes]] = {tag: [] for tag in _GIVES_NAME}
        for old, tag in attacker.names.items():
            if old not in self._living:
                self._living[old] = secrets.token_hex(len(old) // 2).encode()
                if tag:
                    self._awaited[tag].append(old)
        # The numbers of step programs come with the same answers; those of plans are the client's choice.
        self._programs = list(attacker.programs)
        # Numbers of steps are used once as well.
        later = chance.getrandbits(48)
        for step in attacker.steps:
            self._living[_packed(step)] = _packed(step + later)
        self._answered = asyncio.Event()
        self._over = False

    async def run(self) -> None:
        listening = asyncio.get_running_loop().create_task(self._listen())
        try:
            with suppress(OSError, TimeoutError):
                await self._talk()
                if self._chance.random() < 0.5 and not self._writer.transport.is_closing():
                    self._writer.write_eof()
                    async with asyncio.timeout(0.05):
                        await self._closed()
        finally:
            self._writer.transport.abort()
            await listening

    async def _closed(self) -> None:
        while not self._over:
            self._answered.clear()
            await self._answered.wait()

    async def _talk(self) -> None:
        chance, left = self._chance, OF_MESSAGES_EACH
        mutations = OF_MESSAGES
        which = chance.random()
        if which < 0.4:
            mutations, left = OF_BYTES, OF_BYTES_EACH
        elif which < 0.8:
            mutations = (change_values,)  # goes deepest: few frames of it end the connection
        sound = chance.uniform(0.4, 0.9)
        for frame in self._frames:
            living = self._alive(frame)
            for _ in range(chance.choice([1, 1, 2, 6]) if chance.random() > sound else 0):
                mutation = chance.choice(mutations)
                await self._send(mutation(chance, living, self._attacker.corpus))
                self._attacker.count(mutation.__name__)
                left -= 1
            if self._over or left <= 0:
                return
            await self._send(wire(living))
            await self._wait_a_little(bytes(living.header))

    async def _send(self, data: bytes) -> None:
        """Writes at once, or in two pieces."""
        if self._writer.transport.is_closing():
            raise ConnectionResetError
        if self._chance.random() < 0.1:
            cut = self._chance.randrange(len(data) + 1)
            self._writer.write(data[:cut])
            await asyncio.sleep(0)
            data = data[cut:]
            if self._writer.transport.is_closing():
                raise ConnectionResetError
        self._writer.write(data)
        await self._writer.drain()

    async def _wait_a_little(self, header: bytes) -> None:
        """Lets a call be answered: what follows is worth more when it can name what was made."""
        if not (header.startswith(_CALL) or _is_step(header)):
            return
        self._answered.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5 if any(t in header for t in _ASKS_FOR_NAME) else 0.02):
                await self._answered.wait()

    def _alive(self, frame: Frame) -> Frame:
        """The frame with the names that this cluster has given, in place of those that were recorded."""
        header = bytes(frame.header)
        for old, new in self._living.items():
            header = header.replace(old, new)
        return Frame(header, frame.segments)

    async def _listen(self) -> None:
        with suppress(OSError, ProtocolError):
            while data := await self._reader.read(2**18):
                for answer in self._decoder.feed(data):
                    self._attacker.tally.answers += 1
                    self._learn(bytes(answer.header))
                self._answered.set()
            self._attacker.tally.hung_up += 1
        self._over = True
        self._answered.set()

    def _learn(self, answer: bytes) -> None:
        """Takes in a name that was given; the recorded ones are used in the order of the answers."""
        tag = next((t for t in _GIVES_NAME if t in answer), b"")
        given = _NAME.search(answer)
        if tag and given and self._awaited[tag]:
            self._living[self._awaited[tag].pop(0)] = given[0]
        program = _program(answer)
        if program is not None and self._programs:
            self._living[self._programs.pop(0)] = program


_CALL = b"\x95\x01"  # how the list of five begins that a call is
_NAME = re.compile(rb"[0-9a-f]{16}")
# Answers with a name in them, and the calls that they answer.
_GIVES_NAME = (b"session_created", b"graph_registered")
_ASKS_FOR_NAME = (b"create_session", b"register_graph")


def _is_step(header: bytes) -> bool:
    """Whether a frame is the run of a client, after which others may continue a partial run."""
    return is_step_frame(header) and read_header(header)[0] in (RUN_STEP, PARTIAL_RUN)


def _names(corpus: list[Frame]) -> dict[bytes, bytes]:
    """Names that somebody has chosen by chance, with the answer that gave them, if one did."""
    found: dict[bytes, bytes] = {}
    for frame in corpus:
        header = bytes(frame.header)
        tag = next((t for t in _GIVES_NAME if t in header), b"")
        for name in _NAME.findall(header):
            if tag or name not in found:
                found[name] = tag
    return found


def _program(answer: bytes) -> bytes | None:
    """The number of a step program that an answer gives at its end, as msgpack has it."""
    number = answer[-9:]
    return number if b"graph_registered" in answer and number[:1] == b"\xcf" else None


def _steps(corpus: list[Frame]) -> set[int]:
    """The numbers of the steps."""
    found: set[int] = set()
    for frame in corpus:
        if is_step_frame(frame.header):
            kind, number = read_header(frame.header)[:2]
            found |= {number} if kind in (PUSH, RUN_GRAPH) else set()
            continue
        message: Any = getattr(decode(frame.header, frame.segments), "message", None)
        found |= {message.step_id} if hasattr(message, "step_id") else set()
    return found


def _packed(number: int) -> bytes:
    """A number as msgpack has it; those of steps are large."""
    return b"\xcf" + number.to_bytes(8, "big")


@dataclass
class Victims:
    """Two server processes, and what they say on standard error."""

    targets: list[str]
    pids: list[int]
    errors: Path

    def resident(self) -> float:
        return process_memory(Path(f"/proc/{self.pids[0]}/status")).resident / 2**20


@asynccontextmanager
async def victims() -> AsyncIterator[Victims]:
    """A cluster of two processes that serves on loopback without a token: whoever comes is let in."""
    with held_ports(2) as ports, tempfile.NamedTemporaryFile() as errors:
        cluster = '{"worker": [' + ", ".join(f'"127.0.0.1:{port}"' for port in ports) + "]}"
        processes = []
        try:
            for index in range(2):
                words = command("worker", "--cluster", cluster, "--job", "worker", "--json")
                process = await asyncio.create_subprocess_exec(
                    *words, "--task", str(index), stdout=asyncio.subprocess.PIPE, stderr=errors, env=environment()
                )
                processes.append(process)
                assert process.stdout is not None
                async with asyncio.timeout(PATIENCE):
                    assert await process.stdout.readline(), Path(errors.name).read_text()
            yield Victims(
                [f"tcp://127.0.0.1:{port}" for port in ports], [process.pid for process in processes], Path(errors.name)
            )
        finally:
            for process in processes:
                if process.returncode is None:
                    process.terminate()
                    try:
                        async with asyncio.timeout(PATIENCE):
                            await process.wait()
                    except TimeoutError:
                        process.kill()
                        await process.wait()
                process._transport.close()  # type: ignore[attr-defined]  # its pipe, at once


async def check(victims: Victims) -> dict[str, int]:
    """A session of somebody else gets a right answer over both tasks.

    Returns:
        The incarnation of each device.
    """
    with Graph().as_default() as graph:
        with graph.device(W0):
            a = ops.constant([1.0, 2.0]) * 2.0
        with graph.device(W1):
            b = ops.reduce_sum(a)
        async with asyncio.timeout(PATIENCE):
            options = ConfigProto(operation_timeout_in_ms=20_000)
            async with AsyncSession(victims.targets[0], graph, options) as session:
                assert await session.run(b) == 6.0
                return {d.name: d.incarnation for d in await session.list_devices()}


async def until_nothing_is_left(victims: Victims) -> int:
    """Waits until no session, graph or step is left at either server; how many steps there were."""
    runs = 0
    for target in victims.targets:
        seen = await read_statistics(target)
        deadline = time.monotonic() + PATIENCE
        # Tensors that were pushed for steps which never begin are kept for a minute.
        while seen.steps or seen.sessions or seen.worker_sessions or seen.graphs:
            assert time.monotonic() < deadline, f"left behind: {seen}"
            await asyncio.sleep(0.05)
            seen = await read_statistics(target)
        runs += seen.runs
    return runs


async def attack(frames: int, seed: int, *, say: bool = False) -> Tally:
    """Sends so many spoilt frames to servers of its own, and checks what the module says.

    Args:
        frames: how many at least.
        seed: of all chance.
        say: whether to print how far it is.

    Raises:
        AssertionError: the server did not bear it.
    """
    recording = await record()
    async with victims() as found:
        attacker = Attacker(found.targets, recording, await check(found), seed)
        tally = attacker.tally
        step = max(100, frames // (30 if frames > 30_000 else 10))
        while tally.frames < frames:
            await attacker.send(min(frames, tally.frames + step))
            await check(found)
            tally.checks += 1
            tally.resident.append(found.resident())
            if say:
                _say(
                    f"{tally.frames} frames, {tally.connections} connections, {tally.answers} "
                    f"answers, {found.resident():.0f} MiB"
                )
        tally.runs = await until_nothing_is_left(found)
        assert all(os.path.exists(f"/proc/{pid}") for pid in found.pids)
        told = found.errors.read_text(errors="replace")
        assert "Traceback" not in told, told[max(0, told.index("Traceback") - 500) :][:4000]
    # A server in a process of its own: what it keeps for what it has refused shows in its memory alone.
    assert tally.growth < GROWTH, f"memory in MiB, from time to time: {tally.resident}"
    return tally


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description="Sends spoilt frames to a server.")
    parser.add_argument("--frames", type=int, default=100_000, help="how many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all chance (default %(default)s)")
    options = parser.parse_args()
    began = time.monotonic()
    try:
        tally = run(attack(options.frames, options.seed, say=True))
    except AssertionError as exc:
        _say(f"FAILED: {exc}")
        return 1
    except KeyboardInterrupt:
        return 130
    took = time.monotonic() - began
    _say(
        f"{tally.frames} spoilt frames over {tally.connections} connections in {took:.0f} s: the server "
        f"hung up {tally.hung_up} times, answered {tally.answers} times, began {tally.runs} steps, served "
        f"{tally.checks} sessions in between, and grew by {tally.growth:.1f} MiB"
    )
    for name, count in sorted(tally.by_mutation.items()):
        _say(f"  {name}: {count}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
