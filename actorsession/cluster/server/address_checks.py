"""The identification of a server's task in its cluster, and the validation of the cluster's addresses.

The checks that TensorFlow's servers make when they are constructed, with its classes of errors. Plain
functions, called by ``Server`` and ``ClusterView``; they import specs, and parse addresses with transports.
"""

from __future__ import annotations

from actorsession.cluster.spec import ClusterSpec, full_address
from actorsession.errors import InternalError, InvalidArgumentError, NotFoundError
from actorsession.graph.device import task_name
from actorsession.rpc.schemes import supports
from actorsession.rpc.security import bare_scheme
from transports import parse_address, transport_schemes

_UNSPECIFIED = frozenset({"0.0.0.0", "::"})
_OF_THIS_HOST = frozenset({"unix", "abstract", "inproc"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

__all__ = [
    "check_target",
    "checked_addresses",
    "checked_scheme",
    "find_task",
    "group_host",
    "is_port_0",
    "is_same_host",
    "refuse_plain",
]


def checked_scheme(protocol: str | None, *, tls: bool = False) -> str:
    """Return the scheme of addresses that have none.

    Args:
        protocol: the requested scheme, if any.
        tls: whether there are TLS files; they are only given to be used.

    Raises:
        NotFoundError: for a scheme that is not supported.
    """
    if protocol is None:
        return bare_scheme(tls=tls)
    if not supports(protocol):
        raise NotFoundError(
            f"nothing here speaks the protocol {protocol!r}; there are {', '.join(transport_schemes())}"
        )
    return protocol


def find_task(spec: ClusterSpec, job: str | None, index: int | None) -> str:
    """Return the name of the task with this job and index; what is left out must be unambiguous.

    Raises:
        ValueError: for a job or index that is left out where there are several.
        TypeError: for a job that is not a string, or an index that is not a number.
        InternalError: if the task is not in the cluster.
    """
    if job is None:
        if len(spec.jobs) != 1:
            raise ValueError(f"which job is this? give job_name, one of {spec.jobs}")
        (job,) = spec.jobs
    if not isinstance(job, str):
        raise TypeError(f"job_name is a string, got {job!r:.100}")
    if index is None:
        indices = spec.task_indices(job) if job in spec.jobs else [0]
        if len(indices) != 1:
            raise ValueError(f"which task of job {job!r} is this? give task_index, one of {indices}")
        (index,) = indices
    if isinstance(index, bool) or not isinstance(index, int):
        raise TypeError(f"task_index is a whole number, got {index!r:.100}")
    try:
        spec.task_address(job, index)
    except ValueError as exc:
        raise InternalError(f"this task is not part of its cluster: {exc}") from None
    return task_name(job, index)


def checked_addresses(spec: ClusterSpec, scheme: str) -> dict[str, str]:
    """Return the full address of each task.

    Raises:
        InvalidArgumentError: for an invalid address.
        NotFoundError: for an address with a scheme that is not supported.
    """
    tasks = spec.tasks(scheme)
    for task, address in tasks.items():
        try:
            actual = parse_address(address).scheme
        except ValueError as exc:
            raise InvalidArgumentError(f"{task}: {exc}", task=task) from None
        if not supports(actual):
            raise NotFoundError(
                f"{task}: nothing here speaks {actual!r} of {address!r}; there are {', '.join(transport_schemes())}",
                task=task,
            )
    return tasks


def check_target(address: str, *, tls: bool) -> None:
    """Check an address to which a client is to connect.

    Args:
        address: the address; without a scheme it is one of TCP, or of TLS if there are files for it.
        tls: whether there are TLS files.

    Raises:
        ValueError: for an invalid address.
        InvalidArgumentError: for one at which no server can be, or that needs TLS files.
        NotFoundError: for a scheme that is not supported.
    """
    parsed = parse_address(full_address(address, bare_scheme(tls=tls)))
    checked_scheme(parsed.scheme)
    if parsed.port == 0:
        raise InvalidArgumentError(f"no server is at port 0 of {address!r}; give its real port")
    if parsed.scheme == "tls" and not tls:
        raise InvalidArgumentError(
            f"{address!r} needs a CA, a certificate and its key, and none were given; name the files "
            "in ACTORSESSION_TLS_CA, ACTORSESSION_TLS_CERT and ACTORSESSION_TLS_KEY"
        )


def group_host(address: str) -> str:
    """Return the host under which others reach a task beside its links, given its address; "" if they must not.

    What must be encrypted on links does not go beside them.
    """
    parsed = parse_address(address)
    if parsed.port is not None:
        return "" if parsed.scheme == "tls" or parsed.host in _UNSPECIFIED else parsed.host
    return "127.0.0.1" if parsed.scheme in _OF_THIS_HOST else ""


def is_port_0(address: str) -> bool:
    """Return whether the port of an address is chosen when it is bound."""
    return parse_address(address).port == 0


def refuse_plain(address: str, task: str) -> None:
    """Refuse an address that would be served without the requested TLS.

    Raises:
        InvalidArgumentError: for one of another scheme than ``tls``.
    """
    parsed = parse_address(address)
    if parsed.scheme != "tls":
        raise InvalidArgumentError(
            f"{task} is given TLS files and would not use them at {address}; write "
            f"{address.replace(parsed.scheme, 'tls', 1) if parsed.port is not None else 'tls://host:port'}",
            task=task,
        )


def is_same_host(one: str, other: str) -> bool:
    """Return whether two addresses are certainly on one host, and not of one process alone."""
    first, second = parse_address(one), parse_address(other)
    if "inproc" in (first.scheme, second.scheme):
        return False
    if not first.host or not second.host:  # sockets that only this host has
        return not first.host and not second.host
    return first.host == second.host or {first.host, second.host} <= _LOOPBACK
