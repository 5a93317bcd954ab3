"""The simulated network: streams between hosts of a simulation, beneath the real code of ``transports.stream``.

A ``SimulatedNetwork`` connects machines by name. ``of`` returns what a ``Host`` takes as its network, a
``HostNetwork``: names resolve to themselves, loopback addresses are the own machine, port 0 is drawn. A stream is
two ``SimulatedTransport``, each with what the kernel of its machine would hold: bytes that have arrived and were
not read. What is written travels in segments, split where the seed says, with delays that it says; a stream keeps
their order. Bytes wait in the transport while the network has as many of the stream as it takes.

Faults act on a way from one machine to another (``part``, ``slow``, ``cut``) or on a machine (``crashed``). A
parted way holds segments, as tcp sends them again until they arrive. What was under way when a host died arrives
all the same; its peers are then told of the end at once, when they next send, or never, as the seed says.

Invariants: the process of a host is touched by callbacks of the loop in its own context alone; whatever the network
does is an event beside the hosts. Iterations are in order of creation.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import ipaddress
import socket
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from actorsession.process_bound import ProcessBound
from actorsession.testing.simulation.streams import NetworkStatistics, SimulatedTransport, StreamEnd, Way, refusal
from transports.host import Host, Network, Resolved, current_host

if TYPE_CHECKING:
    from actorsession.testing.simulation.loop import SimulatedLoop

__all__ = ["HostNetwork", "NetworkStatistics", "SimulatedNetwork", "SimulatedTransport"]

P = TypeVar("P", bound=asyncio.BaseProtocol)

# Seconds after which tcp sends again what a parted way or a machine that was gone has held, at most.
_RESEND = 1.0
# Seconds that a name takes to be resolved, at most.
_RESOLVE = 1e-3
# Seconds between two attempts of a SYN that nothing answers: Linux sends it six times again, in 127 s.
_SYN_RETRIES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
# How often the machine of a process that died is gone with it, and how often it ends the streams where it is not.
_GONE, _CLOSES = 0.3, 0.7
_EPHEMERAL = (32768, 60999)
_LOOPBACK = ("127.0.0.1", "::1")
_ANY = ("", "0.0.0.0", "::")


class SimulatedSocket:
    """What stands for a socket: it has names and no descriptor."""

    def __init__(self, machine: Machine, process: Host, family: int, name: Any, peer: Any = None) -> None:
        self.family = socket.AddressFamily(family)
        self.type = socket.SOCK_STREAM
        self.proto = 0
        self.backlog = 0
        self.server: SimulatedServer | None = None
        self.machine = machine
        self.process = process
        self.number = machine.network.number()
        self._name = name
        self._peer = peer

    def getsockname(self) -> Any:
        """Return what it is bound to."""
        return _as_told(self._name)

    def getpeername(self) -> Any:
        """Return what it is connected to."""
        if self._peer is None:
            raise refusal(OSError, errno.ENOTCONN)
        return _as_told(self._peer)

    def fileno(self) -> int:
        """Return -1."""
        return -1

    def listen(self, backlog: int = 128) -> None:
        """Set how many streams may wait to be accepted."""
        self.backlog = max(self.backlog, backlog)

    def setsockopt(self, *_: object) -> None:
        """Do nothing: no option has an effect."""

    def setblocking(self, flag: bool) -> None:
        """Do nothing: no call blocks."""

    def close(self) -> None:
        """Release what it is bound to."""
        if self.machine.bound.get(self.key) is self:
            if not str(self.key).startswith("/"):  # a file stays
                del self.machine.bound[self.key]
            self.machine.reset_waiting(self)
        self.server = None

    @property
    def key(self) -> int | str:
        """The port, or the path of a unix socket."""
        return self._name[1] if isinstance(self._name, tuple) else str(self._name)

    def __enter__(self) -> SimulatedSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SimulatedServer(asyncio.AbstractServer):
    """What accepts at a bound socket."""

    def __init__(self, sock: SimulatedSocket, make_protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        self._sock: SimulatedSocket | None = sock
        self.make_protocol = make_protocol
        self.context = contextvars.copy_context()
        self._closed = asyncio.Event()
        self._accepted: list[weakref.ref[SimulatedTransport]] = []

    def accept(self, end: StreamEnd) -> None:
        """Begin a stream."""
        transport = SimulatedTransport(end, self.make_protocol())
        self._accepted = [ref for ref in self._accepted if ref() is not None]
        self._accepted.append(weakref.ref(transport))
        transport.begin()

    @property
    def sockets(self) -> tuple[SimulatedSocket, ...]:
        """The socket, until it is closed."""
        return () if self._sock is None else (self._sock,)

    def close(self) -> None:
        """Accept nothing more; streams that were accepted stay."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None
            self._closed.set()

    def close_clients(self) -> None:
        """Close the streams that were accepted, when what was written is sent."""
        for transport in self._transports():
            transport.close()

    def abort_clients(self) -> None:
        """Close the streams that were accepted at once."""
        for transport in self._transports():
            transport.abort()

    def _transports(self) -> list[SimulatedTransport]:
        return [transport for ref in self._accepted if (transport := ref()) is not None]

    async def wait_closed(self) -> None:
        """Wait until it is closed."""
        await self._closed.wait()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop."""
        return asyncio.get_running_loop()

    def is_serving(self) -> bool:
        """Return whether it accepts."""
        return self._sock is not None

    async def start_serving(self) -> None:
        """Do nothing: it accepts from the beginning."""

    async def serve_forever(self) -> None:
        """Wait until it is closed."""
        await self.wait_closed()


class Machine:
    """A machine: what its kernel holds for the processes that run on it."""

    def __init__(self, network: SimulatedNetwork, name: str) -> None:
        self.network = network
        self.name = name
        self.draw = network.loop.random(f"network of {name}")
        self.bound: dict[int | str, SimulatedSocket] = {}
        self.ends: dict[StreamEnd, None] = {}
        self.processes: dict[Host, None] = {}  # that have used the network and have not ended
        self.is_gone = False  # nothing answers until a process runs again
        self.unanswered: list[Callable[[], object]] = []

    def enter(self) -> None:
        """Let the current process use the machine; what the dead have left ends."""
        host = current_host()
        if host in self.processes:
            return
        for other in list(self.processes):
            if getattr(other, "is_dead", False):
                self.network.crashed(other)
        self.processes[host] = None
        self.is_gone = False
        waiting, self.unanswered = self.unanswered, []
        for answer in waiting:
            self.network.later(_RESEND * self.draw.random(), answer)

    def is_own(self, host: str) -> bool:
        """Return whether an address is one of this machine."""
        return host == self.name or host in _ANY or _is_loopback(host)

    def reset_waiting(self, sock: SimulatedSocket) -> None:
        """Reset the streams that wait to be accepted at a socket."""
        for end in [end for end in self.ends if end.waits_at is sock]:
            end.reset()


class HostNetwork(Network):
    """The network as one machine sees it, for the processes that run there one after the other."""

    shares_memory = False
    has_other_users = False

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def gethostname(self) -> str:
        """Return the name of the machine."""
        return self._machine.name

    async def getaddrinfo(
        self, host: str, port: int, *, kind: int = socket.SOCK_STREAM, flags: int = 0
    ) -> Sequence[Resolved]:
        """Return the host itself, if there is one of this name."""
        self._machine.enter()
        await asyncio.sleep(_RESOLVE * self._machine.draw.random())
        if host == "localhost":
            host = _LOOPBACK[0]
        if not self._machine.is_own(host) and not self._machine.network.knows(host):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(_family_of(host), kind, 0, "", (host, port))]

    async def connect(
        self, make_protocol: Callable[[], P], family: int, host: str, port: int
    ) -> tuple[asyncio.Transport, P]:
        """Open a stream to a port of a machine."""
        machine = self._machine
        machine.enter()
        to = machine.name if machine.is_own(host) else host
        own = host if _is_loopback(host) else machine.name
        dial = _Dial(machine, to, port, (own, machine.draw.randint(*_EPHEMERAL)), (host, port), family)
        return cast("tuple[asyncio.Transport, P]", await dial.connect(make_protocol))

    async def connect_unix(self, make_protocol: Callable[[], P], path: str) -> tuple[asyncio.Transport, P]:
        """Open a stream to a unix socket of this machine."""
        machine = self._machine
        machine.enter()
        dial = _Dial(machine, machine.name, path, "", path, socket.AF_UNIX)
        return cast("tuple[asyncio.Transport, P]", await dial.connect(make_protocol))

    def bind_tcp(self, family: int, host: str, port: int) -> socket.socket:
        """Return a socket that is bound to a port of this machine."""
        machine = self._machine
        machine.enter()
        if not machine.is_own(host):
            raise refusal(OSError, errno.EADDRNOTAVAIL)
        while not port:
            drawn = machine.draw.randint(*_EPHEMERAL)
            port = 0 if drawn in machine.bound else drawn
        if port in machine.bound:
            raise refusal(OSError, errno.EADDRINUSE)
        return self._bind(SimulatedSocket(machine, current_host(), family, (host, port)))

    def bind_unix(self, path: str) -> socket.socket:
        """Return a socket that is bound to a path of this machine."""
        machine = self._machine
        machine.enter()
        former = machine.bound.get(path)
        if former is not None and former.server is not None:
            raise refusal(OSError, errno.EADDRINUSE)
        return self._bind(SimulatedSocket(machine, current_host(), socket.AF_UNIX, path))

    def _bind(self, sock: SimulatedSocket) -> socket.socket:
        self._machine.bound[sock.key] = sock
        return cast(socket.socket, sock)

    def socket_file(self, path: str) -> tuple[int, int] | None:
        """Return a number of the socket that was bound to a path last."""
        sock = self._machine.bound.get(path) if path else None
        return None if sock is None else (0, sock.number)

    def remove_socket_file(self, path: str) -> None:
        """Forget a path."""
        self._machine.bound.pop(path, None)

    async def listen(
        self, make_protocol: Callable[[], asyncio.BaseProtocol], sock: socket.socket, backlog: int
    ) -> asyncio.AbstractServer:
        """Accept streams at a bound socket."""
        bound = cast(SimulatedSocket, sock)
        bound.listen(backlog)
        bound.server = SimulatedServer(bound, make_protocol)
        return bound.server


class SimulatedNetwork(ProcessBound):
    """A network of simulated hosts.

    Args:
        loop: the loop of the simulation.

    Attributes:
        loop: the loop of the simulation.
        statistics: what the network has done so far.
    """

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop = loop
        self.statistics = NetworkStatistics()
        self._machines: dict[str, Machine] = {}
        self._ways: dict[tuple[str, str], Way] = {}
        self._draw = loop.random("network")
        self._numbers = 0
        self._late: dict[tuple[str, str], tuple[Host | str, tuple[int, float, Callable[[], object]]]] = {}

    def of(self, host: Host | str) -> HostNetwork:
        """Return the network as a machine sees it.

        Args:
            host: a host of the machine, or its name. The processes of one machine share what is returned.
        """
        return HostNetwork(self._machine(_name_of(host)))

    def _machine(self, name: str) -> Machine:
        machine = self._machines.get(name)
        if machine is None:
            machine = self._machines[name] = Machine(self, name)
        return machine

    def knows(self, name: str) -> bool:
        """Return whether there is a machine of this name."""
        return name in self._machines

    def machine(self, name: str) -> Machine:
        """Return the machine of a name that is known."""
        return self._machines[name]

    def way(self, source: str, target: str) -> Way:
        """Return the way from one machine to another."""
        way = self._ways.get((source, target))
        if way is None:
            way = self._ways[source, target] = Way(near=source == target)
        return way

    def number(self) -> int:
        """Return the number of a new socket or stream."""
        self._numbers += 1
        return self._numbers

    def later(self, seconds: float, action: Callable[..., object], *args: object) -> None:
        """Do something beside all hosts."""
        self.loop.call_beside(seconds, self.loop.host, action, *args)

    def note(self, text: str) -> None:
        """Add a line to the trace."""
        self.loop.note(f"net {text}")

    # -- faults --------------------------------------------------------------------------------------------

    def part(self, a: Host | str, b: Host | str, one_way: bool = False) -> None:
        """Hold what goes from one machine to another, and back.

        Connections outlive it: what was held arrives after ``heal``, unless tcp gives up before, as drawn.

        Args:
            a: a machine.
            b: another machine.
            one_way: whether only what goes from ``a`` to ``b`` is held.
        """
        self.note(f"part {_name_of(a)} {'>' if one_way else '<>'} {_name_of(b)}")
        for way in self._between(a, b, one_way):
            way.is_parted = True

    def heal(self, a: Host | str | None = None, b: Host | str | None = None) -> None:
        """Open the ways between two machines, or all ways of one, or all; they are as fast as at the beginning."""
        names = {_name_of(host) for host in (a, b) if host is not None}
        self.note(f"heal {' <> '.join(sorted(names)) or 'all'}")
        for ends, way in list(self._ways.items()):
            if names.issubset(ends):
                way.is_parted = False
                way.seconds = way.jitter = way.bandwidth = 0.0
                held, way.held = way.held, []
                for go_on in held:
                    self.later(_RESEND * self._draw.random(), go_on)

    def slow(
        self, a: Host | str, b: Host | str, seconds: float, jitter: float = 0.0, *, bandwidth: float = 0.0
    ) -> None:
        """Delay what goes between two machines.

        Args:
            a: a machine.
            b: another machine.
            seconds: by which each segment is delayed.
            jitter: by how much more at most, drawn for each segment.
            bandwidth: bytes per second in each direction; 0 for any number.
        """
        self.note(f"slow {_name_of(a)} <> {_name_of(b)} {seconds:g} s + {jitter:g} s, {bandwidth:g} B/s")
        for way in self._between(a, b):
            way.seconds, way.jitter, way.bandwidth = seconds, jitter, bandwidth

    def cut(self, a: Host | str, b: Host | str, *, silent: bool = False) -> None:
        """End the streams between two machines; new ones can be opened.

        Args:
            a: a machine.
            b: another machine.
            silent: whether nobody is told, and what is under way or sent later is lost, as when a router forgets
                its table. Otherwise each end is reset, at a drawn time.
        """
        first, second = _name_of(a), _name_of(b)
        self.note(f"cut {first} <> {second}{' silently' if silent else ''}")
        for end in list(self._machine(first).ends):
            if end.peer.machine.name == second:
                end.cut(silent=silent)
                end.peer.cut(silent=silent)

    def hold_dial(
        self, a: Host | str, b: Host | str, writes: int, seconds: float, then: Callable[[], object]
    ) -> Callable[[], object]:
        """Let the next stream that one machine opens to another arrive late, even after its process has died.

        Args:
            a: the machine that opens it, or the only process that does.
            b: the other machine.
            writes: which write of its process is the first that is late.
            seconds: by how much.
            then: called beside all hosts when that is written.

        Returns:
            What takes the order back.
        """
        ends = _name_of(a), _name_of(b)
        self._late[ends] = a, (writes, seconds, then)
        return lambda: self._late.pop(ends, None)

    def take_late(self, process: Host, b: str) -> tuple[int, float, Callable[[], object]] | None:
        """Return how a new stream from a process to another machine is late, once."""
        ends = _name_of(process), b
        who, late = self._late.get(ends, (None, None))
        if late is None or not (isinstance(who, str) or who is process):
            return None
        del self._late[ends]
        return late

    def crashed(self, host: Host, *, gone: bool | None = None) -> None:
        """End what a process had of the network, because it has died.

        Args:
            host: the process. What it has written before arrives, unless its machine is gone with some of it.
            gone: whether its machine is gone too, so that nobody is told anything until another process uses the
                network there. Otherwise it ends the streams of the process as after a signal, or forgets them as
                after a start: it answers what peers send next by a reset. ``None`` draws it.
        """
        machine = self._machine(host.name)
        if host not in machine.processes:
            return
        del machine.processes[host]
        if gone is None:
            gone = machine.draw.random() < _GONE
        closes = not gone and machine.draw.random() < _CLOSES
        machine.is_gone = gone and not machine.processes
        self.note(f"{machine.name} {'ends' if closes else 'forgets'} streams{' and is gone' if gone else ''}")
        for key, sock in list(machine.bound.items()):
            if sock.process is host:
                sock.server = None
                if not str(key).startswith("/"):  # a file stays
                    del machine.bound[key]
        for end in [end for end in machine.ends if end.sock.process is host]:
            end.process_died(closes=closes)

    def _between(self, a: Host | str, b: Host | str, one_way: bool = False) -> Iterable[Way]:
        first, second = _name_of(a), _name_of(b)
        yield self.way(first, second)
        if not one_way and first != second:
            yield self.way(second, first)


class _Dial:
    """One attempt to connect."""

    def __init__(self, machine: Machine, to: str, key: int | str, own: Any, other: Any, family: int) -> None:
        self._machine = machine
        self._network = machine.network
        self._to = to
        self._key = key
        self._own = own
        self._other = other
        self._family = family
        self._context = contextvars.copy_context()
        self._process = current_host()
        self._future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._attempts = 0
        self._text = f"{machine.name} > {_text_of(to, key)}"

    async def connect(self, make_protocol: Callable[[], asyncio.BaseProtocol]) -> tuple[SimulatedTransport, Any]:
        """Return the transport and its protocol.

        Raises:
            OSError: Nobody listens there, or nothing answers.
        """
        self._make_protocol = make_protocol
        self._network.note(f"{self._text} SYN")
        self._send()
        return cast("tuple[SimulatedTransport, Any]", await self._future)

    def _send(self) -> None:
        way = self._network.way(self._machine.name, self._to)
        self._network.later(way.delay(self._machine.draw), self._arrive)

    def _again(self) -> None:
        """Send the SYN again, or give up."""
        if self._future.done() or self._process not in self._machine.processes:
            return
        if self._attempts == len(_SYN_RETRIES):
            self._fail(refusal(TimeoutError, errno.ETIMEDOUT))
            return
        self._network.later(_SYN_RETRIES[self._attempts], self._send)
        self._attempts += 1

    def _arrive(self) -> None:
        network = self._network
        target = network.machine(self._to)
        if network.way(self._machine.name, self._to).is_parted or target.is_gone:
            self._again()
            return
        sock = target.bound.get(self._key)
        server = None if sock is None else sock.server
        if server is None or sock is None or not self._reaches(sock):
            network.statistics.refused += 1
            network.note(f"{self._text} refused")
            missing = isinstance(self._key, str) and sock is None and self._key.startswith("/")
            number = errno.ENOENT if missing else errno.ECONNREFUSED
            error = FileNotFoundError if missing else ConnectionRefusedError
            self._answer(self._fail, refusal(error, number))
            return
        if sum(end.waits_at is sock for end in target.ends) >= sock.backlog:
            self._again()
            return
        number = network.number()
        network.statistics.connections += 1
        network.note(f"{self._text} is #{number}")
        own, other = (self._own, self._other), (self._other, self._own)
        near = StreamEnd(self._context, number, SimulatedSocket(self._machine, self._process, self._family, *own))
        far = StreamEnd(server.context.copy(), number, SimulatedSocket(target, sock.process, self._family, *other))
        near.join(far)
        far.waits_at = sock
        if (late := network.take_late(self._process, self._to)) is not None:
            near.out.hold(*late)
        if self._process not in self._machine.processes:  # it has died meanwhile
            near.process_died(closes=not self._machine.is_gone)
        network.loop.call_soon(_accept, far, server, context=far.context)
        self._answer(self._established, near)

    def _reaches(self, sock: SimulatedSocket) -> bool:
        """Return whether a socket listens at the address that was dialled, and not only at another of its host."""
        name = sock.getsockname()
        if not isinstance(name, tuple) or name[0] in _ANY:
            return True
        return _is_loopback(name[0]) == _is_loopback(self._other[0])

    def _answer(self, act: Callable[[Any], None], what: Any) -> None:
        """Let an answer to the SYN arrive."""
        way = self._network.way(self._to, self._machine.name)

        def arrive() -> None:
            if way.is_parted:
                way.held.append(arrive)
            else:
                act(what)

        self._network.later(way.delay(self._machine.draw), arrive)

    def _fail(self, error: OSError) -> None:
        self._network.loop.call_soon(self._finish, error, context=self._context)

    def _finish(self, error: OSError) -> None:
        if not self._future.done():
            self._future.set_exception(error)

    def _established(self, end: StreamEnd) -> None:
        self._network.loop.call_soon(self._connected, end, context=self._context)

    def _connected(self, end: StreamEnd) -> None:
        """Make the protocol, or end the stream if nobody waits for it any more."""
        if self._future.done():
            end.reset()
            return
        protocol = self._make_protocol()
        transport = SimulatedTransport(end, protocol)
        transport.begin()
        self._future.set_result((transport, protocol))


def _accept(end: StreamEnd, server: SimulatedServer) -> None:
    """Begin a stream at its listener; a callback of that process."""
    end.waits_at = None
    if not end.is_open:
        return
    if server.is_serving():
        server.accept(end)
    else:
        end.reset()


def _name_of(host: Host | str) -> str:
    return host if isinstance(host, str) else host.name


def _as_told(name: Any) -> Any:
    """Return a name as Python tells it: those of abstract sockets are bytes."""
    return name.encode() if isinstance(name, str) and name.startswith("\0") else name


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _family_of(host: str) -> int:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _text_of(to: str, key: int | str) -> str:
    return f"{to}:{key}" if isinstance(key, int) else key.replace("\0", "@")
