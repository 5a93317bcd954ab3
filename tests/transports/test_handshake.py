"""The handshake core: two sides joined by a fake link, and a liar in the middle of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transports.peers import PS, WORKER
from transports import SUPPORTED, AuthenticationError, Hello, ProtocolError, TransportError, WrongPeer
from transports.frame import WIRE_VERSION
from transports.handshake import NONCE_SIZE, Establish, Fail, Handshake, Instruction, Role, Send, State, check_token
from transports.hello import MAX_NAME, negotiate_version

Link = Callable[[Role, bytes], bytes]


def dialler(**settings: object) -> Handshake:
    settings = {"hello": WORKER, "nonce": b"d" * NONCE_SIZE, "address": "tcp://ps:1"} | settings
    return Handshake(Role.DIALLER, **settings)  # type: ignore[arg-type]


def listener(**settings: object) -> Handshake:
    settings = {"hello": PS, "nonce": b"l" * NONCE_SIZE, "address": "tcp://w:2"} | settings
    return Handshake(Role.LISTENER, **settings)  # type: ignore[arg-type]


def join(
    one: Handshake, other: Handshake, link: Link = lambda sender, message: message
) -> tuple[dict[Role, Instruction], list[tuple[Role, bytes]]]:
    """Carry messages until nobody has any; return how each side ended and what travelled."""
    sides = {one.role: one, other.role: other}
    ends: dict[Role, Instruction] = {}
    sent: list[tuple[Role, bytes]] = []
    todo = deque((role, step) for role, side in sides.items() for step in side.start())
    while todo:
        role, step = todo.popleft()
        if not isinstance(step, Send):
            ends[role] = step
            continue
        message = link(role, step.header)
        sent.append((role, message))
        if role.other not in ends:
            todo.extend((role.other, answer) for answer in sides[role.other].receive(message))
    return ends, sent


def errors_of(one: Handshake, other: Handshake) -> dict[Role, TransportError]:
    """Join two sides that cannot agree and return the error of each."""
    ends, _ = join(one, other)
    errors = {role: end.error for role, end in ends.items() if isinstance(end, Fail)}
    assert set(errors) == set(Role)
    assert one.state is other.state is State.FAILED
    assert errors[Role.DIALLER].address == "tcp://ps:1"
    assert errors[Role.LISTENER].address == "tcp://w:2"
    return errors


@pytest.mark.parametrize("token", [None, "secret"])
def test_two_that_agree_learn_who_the_other_is(token: str | None) -> None:
    ends, sent = join(dialler(token=token, expect_task=PS.task, expect_cluster="green"), listener(token=token))
    assert ends == {Role.DIALLER: Establish(PS, WIRE_VERSION), Role.LISTENER: Establish(WORKER, WIRE_VERSION)}
    kinds = [(role, msgpack.unpackb(message)["type"]) for role, message in sent]
    assert kinds == [
        (Role.DIALLER, "hello"),
        (Role.LISTENER, "hello"),
        (Role.DIALLER, "confirm"),
        (Role.LISTENER, "welcome"),
    ]


def test_a_client_that_knows_no_cluster_is_welcome() -> None:
    client = replace(WORKER, cluster_id="", task="client")
    ends, _ = join(dialler(hello=client), listener())
    assert ends[Role.LISTENER] == Establish(client, WIRE_VERSION)
    assert ends[Role.DIALLER] == Establish(PS, WIRE_VERSION)


def test_the_highest_common_wire_version_is_agreed() -> None:
    ends, _ = join(
        dialler(hello=replace(WORKER, wire_versions=(1, 2, 4))), listener(hello=replace(PS, wire_versions=(3, 2, 1)))
    )
    assert {end.wire_version for end in ends.values() if isinstance(end, Establish)} == {2}


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ({"hello": replace(WORKER, cluster_id="red")}, {}, ["wrong cluster", "'red'", "'green'"]),
        ({"expect_cluster": "red"}, {}, ["wrong cluster", "'red'", "'green'"]),
        ({"expect_task": "/job:ps/replica:0/task:1"}, {}, ["wrong task", "'/job:ps/replica:0/task:1'", PS.task]),
        (
            {"hello": replace(WORKER, wire_versions=(2, 3))},
            {"hello": replace(PS, wire_versions=(5, 4))},
            ["no common wire version", "[2, 3]", "[4, 5]", WORKER.task, PS.task],
        ),
    ],
    ids=["cluster of the dialler", "cluster of the listener", "task", "version"],
)
def test_a_wrong_peer_is_one_at_both_ends_with_what_was_expected_and_found(
    ours: dict[str, object], theirs: dict[str, object], words: list[str]
) -> None:
    for error in errors_of(dialler(**ours), listener(**theirs)).values():
        assert type(error) is WrongPeer
        assert [word for word in words if word not in str(error)] == []


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ("secret", "other", ["wrong token"]),
        ("secret", None, [f"dialler {WORKER.task} requires a token", "has none"]),
        (None, "secret", ["requires a token", f"dialler {WORKER.task} has none"]),
    ],
)
def test_a_token_that_one_side_lacks_fails_both(ours: str | None, theirs: str | None, words: list[str]) -> None:
    for error in errors_of(dialler(token=ours), listener(token=theirs)).values():
        assert type(error) is AuthenticationError
        assert [word for word in words if word not in str(error)] == []


def test_a_stranger_with_a_wrong_token_gets_nothing_made_from_the_right_one() -> None:
    _, sent = join(dialler(token="wrong"), listener(token="right"))
    answers = [msgpack.unpackb(message) for role, message in sent if role is Role.LISTENER]
    assert [answer["type"] for answer in answers] == ["hello", "refusal"]
    _, again = join(dialler(token="wrong"), listener(token="another"))
    assert [m for r, m in sent if r is Role.LISTENER] == [m for r, m in again if r is Role.LISTENER]


def test_the_token_never_travels() -> None:
    _, sent = join(dialler(token="correct horse"), listener(token="correct horse"))
    assert not any(b"correct horse" in message for _, message in sent)


def test_a_proof_holds_for_one_connection() -> None:
    _, sent = join(dialler(token="secret"), listener(token="secret"))
    hello, _, confirm, _ = (message for _, message in sent)
    later = listener(token="secret", nonce=b"n" * NONCE_SIZE)
    later.receive(hello)
    end = later.receive(confirm)[-1]
    assert isinstance(end, Fail)
    assert isinstance(end.error, AuthenticationError)


def test_a_proof_cannot_be_sent_back_as_the_other_sides() -> None:
    """A listener without the token returns the dialler's own proof as its welcome."""
    _, sent = join(dialler(token="secret"), listener(token="secret"))
    victim = dialler(token="secret")
    victim.start()
    (confirm,) = victim.receive(sent[1][1])
    assert isinstance(confirm, Send)
    proof = msgpack.unpackb(confirm.header)["proof"]
    welcome = msgpack.packb({"type": "welcome", "proof": proof, "wire_version": WIRE_VERSION})
    end = victim.receive(welcome)[-1]
    assert isinstance(end, Fail)
    assert isinstance(end.error, AuthenticationError)


@given(message=st.integers(0, 3), place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_bit_changed_on_the_way_is_noticed_where_there_is_a_token(message: int, place: float, flip: int) -> None:
    count = 0

    def tamper(sender: Role, header: bytes) -> bytes:
        nonlocal count
        count += 1
        if count != message + 1:
            return header
        at = int(place * len(header))
        return header[:at] + bytes([header[at] ^ flip]) + header[at + 1 :]

    ends, _ = join(dialler(token="secret"), listener(token="secret"), tamper)
    assert isinstance(ends[Role.DIALLER], Fail)
    assert isinstance(ends[Role.LISTENER], Fail) or message == 3


HELLO = WORKER.to_wire() | {"type": "hello", "nonce": bytes(NONCE_SIZE), "authenticates": False}
UNEXPECTED = {
    "confirm": {"type": "confirm", "proof": None},
    "welcome": {"type": "welcome", "proof": None, "wire_version": WIRE_VERSION},
    "hello without nonce": HELLO | {"nonce": None},
    "hello with a short nonce": HELLO | {"nonce": b"short"},
    "hello of unclear intent": HELLO | {"authenticates": None},
    "hello without a task": {key: value for key, value in HELLO.items() if key != "task"},
    "no type": {},
    "unknown type": {"type": "goodbye"},
    "type of a wrong type": {"type": ["hello"]},
}


@pytest.mark.parametrize("message", UNEXPECTED.values(), ids=UNEXPECTED.keys())
@pytest.mark.parametrize("make", [dialler, listener])
def test_a_message_that_is_not_due_is_a_protocol_error_and_the_peer_is_told(
    make: Callable[[], Handshake], message: dict[str, object]
) -> None:
    side = make()
    side.start()
    refusal, end = side.receive(msgpack.packb(message))
    assert isinstance(refusal, Send)
    assert msgpack.unpackb(refusal.header)["code"] == "protocol"
    assert isinstance(end, Fail)
    assert type(end.error) is ProtocolError


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_a_protocol_error_and_nothing_else(header: bytes) -> None:
    side = listener()
    end = side.receive(header)[-1]
    assert isinstance(end, Fail)
    assert isinstance(end.error, ProtocolError)


@pytest.mark.parametrize("proof", [b"unasked for", 1])
def test_a_proof_that_was_not_announced_is_a_protocol_error(proof: object) -> None:
    side = listener()
    side.receive(msgpack.packb(HELLO))
    end = side.receive(msgpack.packb({"type": "confirm", "proof": proof}))[-1]
    assert isinstance(end, Fail)
    assert isinstance(end.error, ProtocolError)


def test_a_listener_that_takes_another_version_is_refused() -> None:
    side = dialler()
    side.start()
    side.receive(msgpack.packb(HELLO))
    welcome = {"type": "welcome", "proof": None, "wire_version": WIRE_VERSION + 1}
    end = side.receive(msgpack.packb(welcome))[-1]
    assert isinstance(end, Fail)
    said = f"chose wire version {WIRE_VERSION + 1}; the highest that both support is {WIRE_VERSION}"
    assert said in str(end.error)


def test_a_refusal_is_shown_without_what_a_terminal_would_obey() -> None:
    side = dialler()
    side.start()
    (end,) = side.receive(msgpack.packb({"type": "refusal", "code": "no such", "reason": "\x1b[2Jgo\naway" * 1000}))
    assert isinstance(end, Fail)
    assert type(end.error) is ProtocolError
    assert str(end.error).isprintable()
    assert len(str(end.error)) < 3000


def test_what_has_ended_takes_no_message() -> None:
    done = listener()
    join(dialler(), done)
    with pytest.raises(RuntimeError, match=r"established"):
        done.receive(b"")
    broken = listener()
    broken.receive(b"")
    with pytest.raises(RuntimeError, match=r"failed"):
        broken.receive(b"")
    with pytest.raises(RuntimeError, match=r"new"):
        dialler().receive(b"")


def test_a_handshake_starts_once() -> None:
    side = dialler()
    side.start()
    with pytest.raises(RuntimeError, match=r"started only once"):
        side.start()


def test_a_nonce_has_its_size_and_a_token_is_not_empty() -> None:
    with pytest.raises(ValueError, match=r"nonce has 32 bytes, got 5"):
        dialler(nonce=b"short")
    with pytest.raises(ValueError, match=r"the token is empty"):
        listener(token="")
    check_token(None)
    check_token("x")


names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=MAX_NAME)


@given(
    st.builds(
        Hello,
        cluster_id=names | st.just(""),
        task=names,
        incarnation=st.integers(0, 2**64 - 1),
        pid=st.integers(0, 2**32 - 1),
        pulse=names | st.just(""),
        wire_versions=st.lists(st.integers(1, 255), min_size=1, max_size=255).map(tuple),
    )
)
def test_a_hello_survives_the_wire(hello: Hello) -> None:
    received = msgpack.unpackb(msgpack.packb(hello.to_wire()))
    assert Hello.from_wire(received) == hello


WRONG_FIELDS = [
    ("cluster_id", None),
    ("cluster_id", "x" * (MAX_NAME + 1)),
    ("task", ""),
    ("task", b"bytes"),
    ("task", "two\nlines"),
    ("task", "\x1b[2J"),
    ("incarnation", -1),
    ("incarnation", 2**64),
    ("incarnation", True),
    ("pid", 1.5),
    ("pulse", None),
    ("pulse", "x" * (MAX_NAME + 1)),
    ("wire_versions", ()),
    ("wire_versions", "1"),
    ("wire_versions", (0,)),
    ("wire_versions", (256,)),
    ("wire_versions", (1, "2")),
    ("wire_versions", (1,) * 256),
]


@pytest.mark.parametrize(("field", "value"), WRONG_FIELDS)
def test_a_wrong_field_is_our_error_here_and_the_peers_when_it_came(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"must be|empty|at most"):
        replace(PS, **{field: value})  # type: ignore[arg-type]
    with pytest.raises(ProtocolError, match=r"the peer's hello is malformed"):
        Hello.from_wire(PS.to_wire() | {field: value})


@pytest.mark.parametrize("field", list(PS.to_wire()))
def test_a_missing_field_is_named(field: str) -> None:
    message = {name: value for name, value in PS.to_wire().items() if name != field}
    with pytest.raises(ProtocolError, match=f"lacks {field}"):
        Hello.from_wire(message)


def test_fields_of_a_newer_peer_are_ignored() -> None:
    assert Hello.from_wire(PS.to_wire() | {"colour": "green"}) == PS


@pytest.mark.parametrize(
    ("ours", "theirs", "agreed"), [((1,), (1,), 1), ((1, 2, 3), (2, 1), 2), ((3, 1), (1, 3, 2), 3), ((1,), (2,), None)]
)
def test_the_highest_mutual_version_is_used(ours: tuple[int, ...], theirs: tuple[int, ...], agreed: int | None) -> None:
    assert negotiate_version(ours, theirs) == agreed
    assert negotiate_version(theirs, ours) == agreed


def test_a_hello_speaks_what_this_package_speaks() -> None:
    assert PS.wire_versions == SUPPORTED
