"""Spoilt traffic: what reads it says so and nothing worse, and a server that gets it serves on.

``scripts/fuzz`` sends 100,000 spoilt frames; this is the short form, and the same without a server, where
hypothesis looks for the smallest example.
"""

from __future__ import annotations

import random
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import GraphDef
from actorsession.errors import ProtocolError
from actorsession.extend import Partition
from actorsession.graph import codec
from actorsession.messages import VOCABULARY, decode
from actorsession.messages.step_frames import (
    CANCEL,
    DONE,
    FAIL,
    PARTIAL_RUN,
    PUSH,
    RECEIVED,
    RUN_GRAPH,
    RUN_STEP,
    is_step_frame,
    read_header,
)
from tests.cluster.script import ROOT, environment
from tests.fuzz.attack import attack
from tests.fuzz.mutations import OF_BYTES, OF_MESSAGES, change_values
from tests.fuzz.readers import READERS, spoil_arguments, spoil_files, step_calls
from tests.fuzz.recording import Recording, record
from tests.loops import run_to_end as run
from transports import Frame, FrameDecoder, Hello, TransportError
from transports import ProtocolError as BadFrame
from transports.handshake import NONCE_SIZE, Fail, Handshake, Role, Send

SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return run(record())


@pytest.fixture(scope="module")
def corpus(recording: Recording) -> list[Frame]:
    return [frame for c in recording.conversations for frame in c.frames]


def test_the_recording_holds_every_kind_of_talk(corpus: list[Frame]) -> None:
    said = {_kind(frame) for frame in corpus}
    assert said >= {
        "CreateSession", "SessionCreated", "ExtendSession", "CloseSession", "ListDevices",
        "CreateWorkerSession", "RegisterGraph", "GraphRegistered", "CleanupGraph",
        "TakeStepValues", "StepValues", "TakeWatchedValues", "WatchedValues",
        RUN_STEP, PARTIAL_RUN, RUN_GRAPH, DONE, FAIL, CANCEL, PUSH, RECEIVED,
    }  # fmt: skip
    assert any(frame.segments for frame in corpus)


def _kind(frame: Frame) -> str | int:
    if is_step_frame(frame.header):
        return int(read_header(frame.header)[0])
    envelope = decode(frame.header, frame.segments)
    return type(getattr(envelope, "message", envelope)).__name__


@given(SEEDS)
def test_spoilt_bytes_are_frames_or_an_error_however_they_are_chopped(corpus: list[Frame], seed: int) -> None:
    chance = random.Random(seed)
    data = b"".join(chance.choice([*OF_BYTES, *OF_MESSAGES])(chance, chance.choice(corpus), corpus) for _ in range(3))
    cut = chance.randrange(len(data) + 1)
    outcomes = []
    for pieces in ([data], [data[:cut], data[cut:]]):
        decoder, frames = FrameDecoder(max_segment=2**24, max_frame=2**25), []
        try:
            for piece in pieces:
                frames += decoder.feed(piece)
        except BadFrame:
            pass
        outcomes.append((frames, str(decoder.error)))
    assert outcomes[0] == outcomes[1]


@given(SEEDS)
def test_spoilt_messages_are_envelopes_or_a_protocol_error(corpus: list[Frame], seed: int) -> None:
    chance = random.Random(seed)
    decoder = FrameDecoder(max_segment=2**24, max_frame=2**25)
    try:
        frames = decoder.feed(chance.choice(OF_MESSAGES)(chance, chance.choice(corpus), corpus))
    except BadFrame:
        frames = []
    told, calls = "", step_calls()
    for frame in frames:
        try:
            if is_step_frame(frame.header):
                calls.receive(frame.header, frame.segments)
            else:
                decode(frame.header, frame.segments)
        except ProtocolError as exc:
            told = exc.message
    assert len(told) < 3000  # it is logged, and the peer is told


@given(SEEDS)
def test_spoilt_graphs_and_partitions_are_read_or_an_error(corpus: list[Frame], seed: int) -> None:
    chance = random.Random(seed)
    graphs = [f for f in corpus if b"create_session" in f.header or b"register_graph" in f.header]
    (frame,) = FrameDecoder().feed(change_values(chance, chance.choice(graphs), corpus))[:1]
    with suppress(ProtocolError):
        message: Any = getattr(decode(frame.header, frame.segments), "message", None)
        if hasattr(message, "graph"):
            GraphDef.from_wire(message.graph)
        for partition in getattr(message, "partitions", ()):
            Partition.from_wire(partition)


@given(SEEDS)
def test_a_spoilt_hello_ends_the_handshake_with_an_error_of_ours(seed: int) -> None:
    chance = random.Random(seed)
    peer = Hello(cluster_id="green", task="client", incarnation=1, pid=1)
    dialler = Handshake(Role.DIALLER, peer, nonce=bytes(NONCE_SIZE), token="secret")
    listener = Handshake(Role.LISTENER, peer, nonce=b"x" * NONCE_SIZE, token="secret")
    (said,) = dialler.start()
    assert isinstance(said, Send)
    header = bytearray(said.header)
    for _ in range(chance.randint(1, 5)):
        header[chance.randrange(len(header))] = chance.randrange(256)
    for instruction in listener.receive(bytes(header)):
        if isinstance(instruction, Fail):
            assert isinstance(instruction.error, TransportError)


json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(json)
def test_any_value_is_an_envelope_or_a_protocol_error(value: object) -> None:
    with suppress(ProtocolError):
        decode(codec.pack(value))


@given(st.sampled_from(sorted(VOCABULARY.specs)), st.lists(json, max_size=8))
def test_any_fields_are_a_message_or_a_protocol_error(tag: str, fields: list[object]) -> None:
    with suppress(ProtocolError):
        VOCABULARY.from_wire([tag, *fields])


@pytest.mark.process
@pytest.mark.slow
def test_a_server_bears_spoilt_frames_by_the_thousand(whole: bool) -> None:
    """See ``attack`` for what it checks: right answers in between, nothing left, no traceback."""
    frames = 3000 if whole else 2000  # of 1,500 it hung up 98 to 124 times
    tally = run(attack(frames, seed=1))
    assert tally.frames >= frames
    assert tally.answers > 100  # many were understood well enough to be answered
    assert tally.hung_up > 100
    assert tally.runs > 2 * tally.checks  # and some were run
    assert len(tally.by_mutation) > 10


@pytest.mark.process
def test_the_script_says_how_it_is_called() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "fuzz", "--help"], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stdout.startswith("usage: scripts/fuzz [--frames N] [--seed N]")


SEED = 20261128


def write_and_read(name: str, folder: Path) -> None:
    READERS[name].write(folder)
    READERS[name].read(folder)


@pytest.mark.parametrize("name", READERS)
def test_spoilt_files_are_read_as_something_or_refused_in_our_words(name: str, tmp_path: Path, whole: bool) -> None:
    assert spoil_files(name, tmp_path, SEED, 6 if whole else 2) == []


def test_odd_words_for_any_option_of_any_command_are_refused_in_one_line() -> None:
    assert spoil_arguments(SEED) == []
