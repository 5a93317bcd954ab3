"""The handshake: how two strangers on a byte stream become peers, without any input or output.

`stream` and `inproc` build one `Handshake` per side, pass it the messages that arrive and run the
instructions that it returns. Time, sockets and random numbers stay with them: the nonce comes in as
an argument.

    dialler                                    listener
      hello (who, versions, nonce)      ->
                                        <-       hello (who, versions, nonce)
      confirm (its proof of the token)  ->
                                        <-       welcome (its proof, the wire version)

Either side may answer with a refusal instead, which carries the reason, so that both ends raise the
same error with both names in it. The dialler proves itself first: a stranger who dials learns a
listener's hello and nothing that is made from the token. When `connect` returns, the listener has
accepted.

A proof is HMAC-SHA256 with the token as key over the role and the bytes of both hellos, nonces
included: it holds for this connection and these identities only, and cannot be sent back as the
other side's. The token itself never travels. What follows the handshake is neither encrypted nor
signed; that is TLS's to do (`tls`), which runs below all of this.

Invariants: `receive` after the end raises; an illegal message fails the handshake, whatever it is.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import msgpack

from transports.errors import AuthenticationError, ProtocolError, TransportError, WrongPeer
from transports.hello import Hello, negotiate_version

NONCE_SIZE = 32  # as long as the digest: no two connections ever share one
# A hello is about 200 bytes and 255 wire versions at most 600 more; a stranger cannot make us hold
# more than this.
MAX_MESSAGE = 8 * 2**10
MAX_REASON = 2048  # two names of 512 characters and the words around them


class Role(Enum):
    """Which side of the connection this is."""

    DIALLER = "dialler"
    LISTENER = "listener"

    @property
    def other(self) -> Role:
        """Return the side at the other end."""
        return Role.LISTENER if self is Role.DIALLER else Role.DIALLER


class State(Enum):
    """How far the handshake is."""

    NEW = "new"
    AWAITING_HELLO = "awaiting hello"
    AWAITING_CONFIRM = "awaiting confirm"
    AWAITING_WELCOME = "awaiting welcome"
    ESTABLISHED = "established"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Send:
    """Send this as the header of a handshake frame."""

    header: bytes


@dataclass(frozen=True, slots=True)
class Establish:
    """The peer is accepted: frames of this version may follow."""

    peer: Hello
    wire_version: int


@dataclass(frozen=True, slots=True)
class Fail:
    """Send nothing more, hang up, and raise this."""

    error: TransportError


Instruction: TypeAlias = Send | Establish | Fail
Message: TypeAlias = dict[object, object]

# How an error travels in a refusal. Only the class and its words do: no code of the peer's choosing
# is run.
_CODES: dict[str, type[TransportError]] = {
    "wrong_peer": WrongPeer,
    "authentication": AuthenticationError,
    "protocol": ProtocolError,
}


class Handshake:
    """One side of one handshake: messages in, instructions out."""

    def __init__(
        self,
        role: Role,
        hello: Hello,
        *,
        nonce: bytes,
        token: str | None = None,
        expect_task: str | None = None,
        expect_cluster: str | None = None,
        address: str = "",
    ) -> None:
        """Make a side that has neither sent nor received anything.

        Args:
            role: Which side it is.
            hello: Who it is.
            nonce: `NONCE_SIZE` random bytes, used for this connection alone.
            token: The secret that both sides must have, or None to do without on both.
            expect_task: The task that the peer must be, or None for any.
            expect_cluster: The cluster that the peer must belong to, or None for any.
            address: The peer's address, for error messages.

        Raises:
            ValueError: The nonce has another size, or the token is empty.
        """
        if len(nonce) != NONCE_SIZE:
            raise ValueError(f"a nonce of {len(nonce)} bytes given, {NONCE_SIZE} wanted")
        check_token(token)
        self.role = role
        self.state = State.NEW if role is Role.DIALLER else State.AWAITING_HELLO
        self._hello = hello
        self._nonce = nonce
        self._token = token
        self._expect_task = expect_task
        self._expect_cluster = expect_cluster
        self._address = address
        self._hellos: dict[Role, bytes] = {}  # as they travelled: what the proofs are made over
        self._peer: Hello | None = None
        self._wire_version = 0

    def start(self) -> list[Instruction]:
        """Begin: the dialler speaks first.

        Returns:
            The hello to be sent, or nothing for a listener.

        Raises:
            RuntimeError: It was begun before.
        """
        if self.role is Role.LISTENER:
            return []
        if self.state is not State.NEW:
            raise RuntimeError(f"a handshake is started once; this one is {self.state.value}")
        self.state = State.AWAITING_HELLO
        return [self._own_hello()]

    def receive(self, header: bytes) -> list[Instruction]:
        """Take the header of one handshake frame and say what to do.

        Args:
            header: The bytes as they came.

        Returns:
            What to do, in order. The last one of a handshake is `Establish` or `Fail`.

        Raises:
            RuntimeError: The handshake has ended, or not begun.
        """
        if self.state in (State.NEW, State.ESTABLISHED, State.FAILED):
            raise RuntimeError(f"no message is awaited in a handshake that is {self.state.value}")
        try:
            message = _decode(header)
            if message.get("type") == "refusal":
                return self._fail(self._refused_by_peer(message))
            kind = message.get("type")
            step = _STEPS.get((self.role, self.state, kind)) if isinstance(kind, str) else None
            if step is None:
                raise ProtocolError(
                    f"the {self.role.other.value} sent {kind!r:.80} to a "
                    f"{self.role.value} that is {self.state.value}"
                )
            return step(self, message, header)
        except TransportError as error:
            return [refusal(error), *self._fail(error)]

    def _own_hello(self) -> Send:
        """Make our hello and keep its bytes for the proofs."""
        message = self._hello.to_wire() | {
            "type": "hello",
            "nonce": self._nonce,
            "authenticates": self._token is not None,
        }
        self._hellos[self.role] = header = msgpack.packb(message)
        return Send(header)

    def _on_hello(self, message: Message, header: bytes) -> list[Instruction]:
        """Check who the peer is; answer with our proof as dialler, with our hello as listener."""
        self._hellos[self.role.other] = header
        self._peer = peer = Hello.from_wire(message)
        nonce = message.get("nonce")
        if not isinstance(nonce, bytes) or len(nonce) != NONCE_SIZE:
            raise ProtocolError(f"the peer's hello has no nonce of {NONCE_SIZE} bytes")
        self._check_authenticates(message.get("authenticates"))
        self._check_cluster(peer)
        self._check_task(peer)
        self._wire_version = self._check_versions(peer)
        if self.role is Role.LISTENER:
            self.state = State.AWAITING_CONFIRM
            return [self._own_hello()]
        self.state = State.AWAITING_WELCOME
        return [Send(msgpack.packb({"type": "confirm", "proof": self._proof(self.role)}))]

    def _on_confirm(self, message: Message, header: bytes) -> list[Instruction]:
        """Check the dialler's proof, and answer with ours."""
        self._check_proof(message)
        welcome = {
            "type": "welcome",
            "proof": self._proof(self.role),
            "wire_version": self._wire_version,
        }
        return [Send(msgpack.packb(welcome)), self._establish()]

    def _on_welcome(self, message: Message, header: bytes) -> list[Instruction]:
        """Check the listener's proof, and that it took the wire version we did."""
        self._check_proof(message)
        if message.get("wire_version") != self._wire_version:
            raise ProtocolError(
                f"the listener took wire version {message.get('wire_version')!r:.80}, the highest "
                f"that both speak is {self._wire_version}"
            )
        return [self._establish()]

    def _establish(self) -> Establish:
        """End well."""
        assert self._peer is not None  # no state that leads here is reached without a hello
        self.state = State.ESTABLISHED
        return Establish(self._peer, self._wire_version)

    def _fail(self, error: TransportError) -> list[Instruction]:
        """End badly."""
        self.state = State.FAILED
        error.address = self._address
        return [Fail(error)]

    def _check_authenticates(self, theirs: object) -> None:
        """Refuse a peer that has a token where we have none, or the reverse."""
        if not isinstance(theirs, bool):
            raise ProtocolError("the peer's hello does not say whether it authenticates")
        if theirs != (self._token is not None):
            having, lacking = (
                (self.role, self.role.other) if self._token else (self.role.other, self.role)
            )
            raise AuthenticationError(
                f"{self._side(having)} asks for a token and {self._side(lacking)} has none; give "
                "both the same token"
            )

    def _check_cluster(self, peer: Hello) -> None:
        """Check the cluster: the dialler what it expects, the listener its own."""
        if self.role is Role.DIALLER:
            expected = self._expect_cluster
        else:
            expected = self._hello.cluster_id if peer.cluster_id else None
        if expected is not None and peer.cluster_id != expected:
            raise WrongPeer(
                f"wrong cluster: {self._side(self.role)} expects cluster {expected!r}, "
                f"{self._side(self.role.other)} belongs to cluster {peer.cluster_id!r}"
            )

    def _check_task(self, peer: Hello) -> None:
        """Check the task where one is expected."""
        if self._expect_task is not None and peer.task != self._expect_task:
            raise WrongPeer(
                f"wrong task: {self._side(self.role)} expects task {self._expect_task!r}, found "
                f"{self._side(self.role.other)} of cluster {peer.cluster_id!r}"
            )

    def _check_versions(self, peer: Hello) -> int:
        """Agree on a wire version."""
        version = negotiate_version(self._hello.wire_versions, peer.wire_versions)
        if version is None:
            raise WrongPeer(
                f"no common wire version: {self._side(self.role)} speaks "
                f"{sorted(self._hello.wire_versions)}, {self._side(self.role.other)} speaks "
                f"{sorted(peer.wire_versions)}"
            )
        return version

    def _proof(self, of: Role) -> bytes | None:
        """Compute what the given side has to send to show that it has the token."""
        if self._token is None:
            return None
        hellos = (hashlib.sha256(self._hellos[role]).digest() for role in Role)
        transcript = b"transports handshake 1 " + of.value.encode() + b"".join(hellos)
        return hmac.digest(self._token.encode(), transcript, "sha256")

    def _check_proof(self, message: Message) -> None:
        """Check the other side's proof, in a time that does not depend on where it differs."""
        expected, found = self._proof(self.role.other), message.get("proof")
        if expected is None and found is None:
            return
        if not isinstance(expected, bytes) or not isinstance(found, bytes):
            raise ProtocolError(
                f"the {self.role.other.value}'s proof is not what its hello announced"
            )
        if not hmac.compare_digest(expected, found):
            raise AuthenticationError(
                f"wrong token: {self._side(self.role.other)} could not prove the token of "
                f"{self._side(self.role)}"
            )

    def _refused_by_peer(self, message: Message) -> TransportError:
        """Turn a refusal into the error that the peer raised as well."""
        kind = _CODES.get(str(message.get("code")), ProtocolError)
        reason = str(message.get("reason"))[:MAX_REASON]
        printable = "".join(c if c.isprintable() else "?" for c in reason)
        return kind(f"refused by the {self.role.other.value}: {printable}")

    def _side(self, role: Role) -> str:
        """Return a side for a message: its role, and its task as far as it is known."""
        hello = self._hello if role is self.role else self._peer
        return f"the {role.value} {hello.task}" if hello is not None else f"the {role.value}"


# What may arrive when. Everything else but a refusal, which may arrive at any time, is an error.
_STEPS: dict[
    tuple[Role, State, object], Callable[[Handshake, Message, bytes], list[Instruction]]
] = {
    (Role.LISTENER, State.AWAITING_HELLO, "hello"): Handshake._on_hello,
    (Role.DIALLER, State.AWAITING_HELLO, "hello"): Handshake._on_hello,
    (Role.LISTENER, State.AWAITING_CONFIRM, "confirm"): Handshake._on_confirm,
    (Role.DIALLER, State.AWAITING_WELCOME, "welcome"): Handshake._on_welcome,
}


def check_token(token: str | None) -> None:
    """Refuse an empty token, which is a forgotten setting and not a secret.

    Args:
        token: A secret, or None to do without.

    Raises:
        ValueError: It is empty.
    """
    if token is not None and not token:
        raise ValueError("the token is empty; give a secret, or None to do without authentication")


def refusal(error: TransportError) -> Send:
    """Return what tells the peer why it is not welcome."""
    code = next(code for code, kind in _CODES.items() if isinstance(error, kind))
    reason = str(error)[:MAX_REASON]
    return Send(msgpack.packb({"type": "refusal", "code": code, "reason": reason}))


def _decode(header: bytes) -> Message:
    """Decode a message, which must be a map.

    Raises:
        ProtocolError: It is not.
    """
    try:
        message = msgpack.unpackb(header)
    except (ValueError, msgpack.UnpackException) as error:
        raise ProtocolError(f"a handshake message is not msgpack: {error}") from None
    if not isinstance(message, dict):
        raise ProtocolError(f"a handshake message is a {type(message).__name__}, a map is wanted")
    return message
