"""The handshake that identifies and authenticates both sides of a byte stream, as a pure state machine.

``stream`` and ``inproc`` build one ``Handshake`` per side, pass it the messages that arrive and execute the
instructions that it returns. The callers handle time, sockets and random numbers; the nonce is an argument.

    dialler                                    listener
      hello (identity, versions, nonce) ->
                                        <-       hello (identity, versions, nonce)
      confirm (its proof of the token)  ->
                                        <-       welcome (its proof, the wire version)

Either side may answer with a refusal instead. A refusal carries the reason, so that both ends raise the
same error with both names in it. The dialler proves itself first: an unauthenticated dialler learns a
listener's hello and nothing that is derived from the token. When ``connect`` returns, the listener has
accepted.

A proof is HMAC-SHA256 with the token as key over the role and the bytes of both hellos, including the
nonces. It is valid for this connection and these identities only, and cannot be replayed as the proof of
the other side. The token itself is never sent. Traffic after the handshake is neither encrypted nor signed;
that is the purpose of TLS (``tls``), which runs below this layer.

Invariants: ``receive`` raises after the end; an illegal message always fails the handshake.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from errno import EMFILE
from typing import TypeAlias

import msgpack

from transports.errors import AuthenticationError, ConnectError, ProtocolError, TransportError, WrongPeer
from transports.hello import Hello, negotiate_version

NONCE_SIZE = 32  # as long as the digest: no two connections ever share one
# A hello is about 200 bytes and 255 wire versions at most 600 more. An unauthenticated peer cannot make
# this process hold more than this.
MAX_MESSAGE = 8 * 2**10
MAX_REASON = 2048  # two names of 512 characters and the text around them


class Role(Enum):
    """The role of one side of a connection."""

    DIALLER = "dialler"
    LISTENER = "listener"

    @property
    def other(self) -> Role:
        """The role of the other side."""
        return Role.LISTENER if self is Role.DIALLER else Role.DIALLER


class State(Enum):
    """The progress of the handshake."""

    NEW = "new"
    AWAITING_HELLO = "awaiting hello"
    AWAITING_CONFIRM = "awaiting confirm"
    AWAITING_WELCOME = "awaiting welcome"
    ESTABLISHED = "established"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Send:
    """Instruction to send this as the header of a handshake frame."""

    header: bytes


@dataclass(frozen=True, slots=True)
class Establish:
    """Instruction that accepts the peer; frames of this version may follow."""

    peer: Hello
    wire_version: int


@dataclass(frozen=True, slots=True)
class Fail:
    """Instruction to send nothing more, hang up, and raise this error."""

    error: TransportError


Instruction: TypeAlias = Send | Establish | Fail
Message: TypeAlias = dict[object, object]

# How an error travels in a refusal: only as its class and its message, so that a peer cannot make us run
# code.
_CODES: dict[str, type[TransportError]] = {
    "wrong_peer": WrongPeer,
    "authentication": AuthenticationError,
    "protocol": ProtocolError,
    "full": ConnectError,
}


class Handshake:
    """One side of one handshake: receives messages and returns instructions."""

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
            role: The role of this side.
            hello: The identity of this side.
            nonce: ``NONCE_SIZE`` random bytes, used for this connection alone.
            token: The secret that both sides must have, or None if neither has one.
            expect_task: The task that the peer must be, or None for any.
            expect_cluster: The cluster that the peer must belong to, or None for any.
            address: The peer's address, for error messages.

        Raises:
            ValueError: The nonce has another size, or the token is empty.
        """
        if len(nonce) != NONCE_SIZE:
            raise ValueError(f"a nonce has {NONCE_SIZE} bytes, got {len(nonce)}")
        check_token(token)
        self.role = role
        self.state = State.NEW if role is Role.DIALLER else State.AWAITING_HELLO
        self._hello = hello
        self._nonce = nonce
        self._token = token
        self._expect_task = expect_task
        self._expect_cluster = expect_cluster
        self._address = address
        self._hellos: dict[Role, bytes] = {}  # as sent and received: input of the proofs
        self._peer: Hello | None = None
        self._wire_version = 0

    def start(self) -> list[Instruction]:
        """Start the handshake; the dialler sends first.

        Returns:
            The hello to send, or nothing for a listener.

        Raises:
            RuntimeError: The handshake was started before.
        """
        if self.role is Role.LISTENER:
            return []
        if self.state is not State.NEW:
            raise RuntimeError(f"a handshake can be started only once; the state of this one is {self.state.value}")
        self.state = State.AWAITING_HELLO
        return [self._own_hello()]

    def receive(self, header: bytes) -> list[Instruction]:
        """Process the header of one handshake frame and return the instructions that follow from it.

        Args:
            header: The bytes as received.

        Returns:
            The instructions in order. The last one of a handshake is ``Establish`` or ``Fail``.

        Raises:
            RuntimeError: The handshake has ended, or has not started.
        """
        if self.state in (State.NEW, State.ESTABLISHED, State.FAILED):
            raise RuntimeError(f"no message is expected in a handshake whose state is {self.state.value}")
        try:
            message = _decode(header)
            if message.get("type") == "refusal":
                return self._fail(self._refused_by_peer(message))
            kind = message.get("type")
            step = _STEPS.get((self.role, self.state, kind)) if isinstance(kind, str) else None
            if step is None:
                raise ProtocolError(
                    f"the {self.role.other.value} sent {kind!r:.80} to a {self.role.value} whose "
                    f"state is {self.state.value}"
                )
            return step(self, message, header)
        except TransportError as error:
            return [refusal(error), *self._fail(error)]

    def _own_hello(self) -> Send:
        """Return the local hello, keeping its bytes for the proofs."""
        message = self._hello.to_wire() | {
            "type": "hello",
            "nonce": self._nonce,
            "authenticates": self._token is not None,
        }
        self._hellos[self.role] = header = msgpack.packb(message)
        return Send(header)

    def _on_hello(self, message: Message, header: bytes) -> list[Instruction]:
        """Check the peer's identity; a dialler answers with a proof, a listener with its hello."""
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
        welcome = {"type": "welcome", "proof": self._proof(self.role), "wire_version": self._wire_version}
        return [Send(msgpack.packb(welcome)), self._establish()]

    def _on_welcome(self, message: Message, header: bytes) -> list[Instruction]:
        """Check the listener's proof and its choice of the wire version."""
        self._check_proof(message)
        if message.get("wire_version") != self._wire_version:
            raise ProtocolError(
                f"the listener chose wire version {message.get('wire_version')!r:.80}; the "
                f"highest that both support is {self._wire_version}"
            )
        return [self._establish()]

    def _establish(self) -> Establish:
        """Mark the handshake as established."""
        assert self._peer is not None  # no state that leads here is reached without a hello
        self.state = State.ESTABLISHED
        return Establish(self._peer, self._wire_version)

    def _fail(self, error: TransportError) -> list[Instruction]:
        """Mark the handshake as failed."""
        self.state = State.FAILED
        error.address = self._address
        return [Fail(error)]

    def _check_authenticates(self, theirs: object) -> None:
        """Refuse a peer if exactly one of both sides has a token."""
        if not isinstance(theirs, bool):
            raise ProtocolError("the peer's hello does not say whether it authenticates")
        if theirs != (self._token is not None):
            having, lacking = (self.role, self.role.other) if self._token else (self.role.other, self.role)
            raise AuthenticationError(
                f"{self._side(having)} requires a token and {self._side(lacking)} has none; "
                "set the same token on both sides"
            )

    def _check_cluster(self, peer: Hello) -> None:
        """Check the cluster: the dialler against what it expects, the listener against its own."""
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
        """Return the wire version to use.

        Raises:
            WrongPeer: There is no common version.
        """
        version = negotiate_version(self._hello.wire_versions, peer.wire_versions)
        if version is None:
            raise WrongPeer(
                f"no common wire version: {self._side(self.role)} supports "
                f"{sorted(self._hello.wire_versions)}, {self._side(self.role.other)} supports "
                f"{sorted(peer.wire_versions)}; both must run the same version of the library"
            )
        return version

    def _proof(self, of: Role) -> bytes | None:
        """Compute the proof that the given side has to send to show that it has the token."""
        if self._token is None:
            return None
        hellos = (hashlib.sha256(self._hellos[role]).digest() for role in Role)
        transcript = b"transports handshake 1 " + of.value.encode() + b"".join(hellos)
        return hmac.digest(self._token.encode(), transcript, "sha256")

    def _check_proof(self, message: Message) -> None:
        """Check the other side's proof in constant time."""
        expected, proof = self._proof(self.role.other), message.get("proof")
        if expected is None and proof is None:
            return
        if not isinstance(expected, bytes) or not isinstance(proof, bytes):
            raise ProtocolError(
                f"the {self.role.other.value} sent a proof although its hello announced no "
                "token, or none although it announced one"
            )
        if not hmac.compare_digest(expected, proof):
            raise AuthenticationError(
                f"wrong token: {self._side(self.role.other)} did not prove that it has the "
                f"token of {self._side(self.role)}"
            )

    def _refused_by_peer(self, message: Message) -> TransportError:
        """Convert a refusal into the error that the peer raised as well."""
        kind = _CODES.get(str(message.get("code")), ProtocolError)
        reason = str(message.get("reason"))[:MAX_REASON]
        printable = "".join(c if c.isprintable() else "?" for c in reason)
        told = f"refused by the {self.role.other.value}: {printable}"
        if kind is ConnectError:  # which passes
            return ConnectError(told, address=self._address, errno=EMFILE, phase="hello")
        return kind(told)

    def _side(self, role: Role) -> str:
        """Describe a side for a message: its role, and its task if that is available."""
        hello = self._hello if role is self.role else self._peer
        return f"the {role.value} {hello.task}" if hello is not None else f"the {role.value}"


# The legal messages per role and state. Everything else is an error, except a refusal, which may arrive at
# any time.
_STEPS: dict[tuple[Role, State, object], Callable[[Handshake, Message, bytes], list[Instruction]]] = {
    (Role.LISTENER, State.AWAITING_HELLO, "hello"): Handshake._on_hello,
    (Role.DIALLER, State.AWAITING_HELLO, "hello"): Handshake._on_hello,
    (Role.LISTENER, State.AWAITING_CONFIRM, "confirm"): Handshake._on_confirm,
    (Role.DIALLER, State.AWAITING_WELCOME, "welcome"): Handshake._on_welcome,
}


def check_token(token: str | None) -> None:
    """Reject an empty token, which is a forgotten setting and not a secret.

    Args:
        token: A secret, or None for no authentication.

    Raises:
        ValueError: The token is empty.
    """
    if token is not None and not token:
        raise ValueError("the token is empty; pass a secret, or None for no authentication")


def refusal(error: TransportError) -> Send:
    """Return the message that reports to the peer why it is refused."""
    code = next(code for code, kind in _CODES.items() if isinstance(error, kind))
    reason = str(error)[:MAX_REASON]
    return Send(msgpack.packb({"type": "refusal", "code": code, "reason": reason}))


def _decode(header: bytes) -> Message:
    """Decode a message, which must be a map.

    Raises:
        ProtocolError: The header is not msgpack, or not a map.
    """
    try:
        message = msgpack.unpackb(header)
    except (ValueError, msgpack.UnpackException) as error:
        raise ProtocolError(f"a handshake message is not msgpack: {error}") from None
    if not isinstance(message, dict):
        raise ProtocolError(f"a handshake message must be a map, got {type(message).__name__}")
    return message
