"""``KubernetesClusterResolver``: the cluster of a Kubernetes application, by names or by its pods.

The pods of a StatefulSet have fixed names behind a headless service, so a number of tasks is all that has to
be known, and the cluster's name service finds them. Pods of any other kind are found by a label selector
through the API, with the service account of this pod, by HTTPS of the standard library. The training
operators describe their pods in ``TF_CONFIG``, which has a resolver of its own.

Invariants: nothing is cached, not even the token of the service account, which Kubernetes renews. A pod keeps
its index, or an error says that it has none: an index that moved from pod to pod would be another task.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import ssl
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from actorsession.cluster.resolvers import DescribedClusterResolver
from actorsession.errors import (
    OpError,
    PermissionDeniedError,
    RequestTypeError,
    RequestValueError,
    UnauthenticatedError,
    UnavailableError,
)
from actorsession.json_text import read_json
from transports.host import current_host

__all__ = ["PORT", "KubernetesClusterResolver"]

PORT = 7000
"""The port of all tasks by default."""

# Where Kubernetes mounts the files of a pod's service account.
_SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
# Seconds for one request to the API, which answers in milliseconds; whoever asks has a limit of his own.
_TIMEOUT = 10.0
# Pods in one answer; the API server names the rest by a token.
_PAGE = 500
# Bytes of one answer: a pod takes about ten thousand.
_MOST = 64 * 2**20
# The labels and annotations with the index of a pod: of StatefulSets, of indexed Jobs, of training operators.
_INDEX_LABELS = (
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "training.kubeflow.org/replica-index",
)
_NUMBERED = re.compile(r"(.+)-([0-9]{1,9})")
_INDEX = re.compile(r"[0-9]{1,9}")
_ERRORS: Mapping[int, type[OpError]] = {401: UnauthenticatedError, 403: PermissionDeniedError}


class KubernetesClusterResolver(DescribedClusterResolver):
    """The cluster of an application on Kubernetes, asked for in one of its pods.

    Args:
        jobs: for each job either the number of its tasks, which are the pods of a StatefulSet called
            ``prefix`` and the job, behind a headless service of the same name; or a label selector such as
            ``app=digits,role=worker``, which finds its pods through the API: those that run and are ready,
            and this one.
        port: the port of each task.
        namespace: the namespace of the pods; by default the variable ``POD_NAMESPACE``, or that of the
            service account.
        prefix: what precedes the name of a job in those of its StatefulSet and service, such as ``digits-``.
            Names are in lower case, with ``-`` for ``_``.
        domain: the domain of services. With the full name a pod finds itself in its own ``/etc/hosts`` before
            the name service knows it.
        pod: the name of this pod; by default the variable ``POD_NAME``, or the host name, which is the same.
        service_account: the folder with the token, the CA and the namespace of the service account.
        task_type: overrides the job of this process.
        task_id: overrides its index in the job.
        rpc_layer: the scheme of the addresses that ``master`` returns.

    Raises:
        TypeError: for a job that has neither a number nor a selector.
        ValueError: for no job, a number below 0, an empty selector, or a port that does not exist.
    """

    def __init__(
        self,
        jobs: Mapping[str, int | str],
        port: int = PORT,
        *,
        namespace: str | None = None,
        prefix: str = "",
        domain: str = "svc.cluster.local",
        pod: str | None = None,
        service_account: str | os.PathLike[str] = _SERVICE_ACCOUNT,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        super().__init__(task_type, task_id, rpc_layer)
        if not jobs:
            raise RequestValueError("a cluster has at least one job, got none")
        for job, tasks in jobs.items():
            if isinstance(tasks, bool) or not isinstance(tasks, (int, str)):
                raise RequestTypeError(f"job {job!r} has a number of tasks or a label selector, got {tasks!r:.100}")
            if tasks == "" or (isinstance(tasks, int) and tasks < 0):
                raise RequestValueError(f"job {job!r} has 0 tasks or more, or a label selector, got {tasks!r}")
        if not 0 < port <= 65535:
            raise RequestValueError(f"port is a port from 1 to 65535, got {port}")
        self._jobs = dict(jobs)
        self._port = port
        self._given_namespace = namespace
        self._prefix = prefix
        self._domain = domain
        self._given_pod = pod
        self._account = Path(service_account)

    @property
    def _where(self) -> str:
        return "Kubernetes"

    def _read(self) -> Mapping[str, Any]:
        cluster: dict[str, dict[int, str]] = {}
        task: dict[str, Any] = {}
        for job, tasks in self._jobs.items():
            pods = self._set(job, tasks) if isinstance(tasks, int) else self._selected(job, tasks)
            cluster[job] = {}
            for index, (pod, host) in pods.items():
                cluster[job][index] = f"{host}:{self._port}"
                if pod == self._pod:
                    task = {"type": job, "index": index}
        return {"cluster": cluster, "task": task}

    @property
    def _pod(self) -> str:
        return self._given_pod or os.environ.get("POD_NAME") or current_host().network.gethostname()

    @property
    def _namespace(self) -> str:
        namespace = self._given_namespace or os.environ.get("POD_NAMESPACE")
        return namespace or self._file("namespace").strip()

    def _file(self, name: str) -> str:
        path = self._account / name
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as exc:
            raise UnavailableError(
                f"{path} cannot be read ({getattr(exc, 'strerror', exc)}): this is no pod, or one without a "
                "service account (automountServiceAccountToken)"
            ) from None

    def _set(self, job: str, count: int) -> dict[int, tuple[str, str]]:
        """Return the pods of a StatefulSet: name and host by index."""
        name = self._prefix + job.lower().replace("_", "-")
        behind = f"{name}.{self._namespace}.{self._domain}"
        return {i: (f"{name}-{i}", f"{name}-{i}.{behind}") for i in range(count)}

    def _selected(self, job: str, selector: str) -> dict[int, tuple[str, str]]:
        """Return the pods that a label selector finds: name and host by index."""
        pods: dict[int, tuple[str, str]] = {}
        for pod in self._pods(selector):
            try:
                name, address = str(pod["metadata"]["name"]), pod.get("status", {}).get("podIP")
                if not address or not (name == self._pod or _is_ready(pod)):
                    continue
                index = _index(pod)
            except (AttributeError, LookupError, TypeError) as exc:
                raise UnavailableError(f"Kubernetes lists a pod that has another form: {pod!r:.200}") from exc
            if not isinstance(address, str):
                raise UnavailableError(f"the pod {name} has the address {address!r:.100}")
            if index in pods:
                raise RequestValueError(
                    f"the pods {pods[index][0]} and {name}, which {selector!r} selects for job {job!r}, "
                    f"both have index {index}; each task is one pod"
                )
            pods[index] = (name, f"[{address}]" if ":" in address else address)
        return pods

    def _pods(self, selector: str) -> Iterator[Mapping[str, Any]]:
        """Yield the pods that a label selector finds.

        Raises:
            UnauthenticatedError: if the API refuses the token of the service account.
            PermissionDeniedError: if the service account may not list pods.
            UnavailableError: if the API does not answer, or with another error, which it names.
        """
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        query = {"labelSelector": selector, "limit": str(_PAGE)}
        while True:
            page = self._get(f"{path}?{urlencode(query)}")
            items, metadata = page.get("items") or [], page.get("metadata") or {}
            if not isinstance(items, list) or not isinstance(metadata, dict):
                raise UnavailableError(f"Kubernetes answers a PodList of another form: {page!r:.200}")
            yield from items
            rest = metadata.get("continue")
            if not isinstance(rest, str) or not rest:
                return
            query["continue"] = rest

    def _get(self, path: str) -> Mapping[str, Any]:
        where, status, reason, text = self._ask(path)
        answer = _json_object(text)
        if status != 200:
            said = answer.get("message") or reason
            advice = "; a Role with the verb list for pods and its RoleBinding allow it"
            raise _ERRORS.get(status, UnavailableError)(
                f"{where} answers {status} to GET {path}: {said}" + (advice if status == 403 else "")
            )
        if answer.get("kind") != "PodList":
            raise UnavailableError(f"{where} answers no PodList to GET {path}: {text[:100]!r}")
        return answer

    def _ask(self, path: str) -> tuple[str, int, str, bytes]:
        """Return who was asked, and the status, its reason and the body of the answer."""
        host = os.environ.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc")
        port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        where = f"the Kubernetes API at {host}:{port}"
        headers = {"Authorization": f"Bearer {self._file('token').strip()}", "Accept": "application/json"}
        ca = self._file("ca.crt")
        try:
            context = ssl.create_default_context(cadata=ca)
            connection = http.client.HTTPSConnection(host, int(port), timeout=_TIMEOUT, context=context)
            with contextlib.closing(connection):
                connection.request("GET", path, headers=headers)
                response = connection.getresponse()
                return where, response.status, response.reason, response.read(_MOST)
        except (OSError, ValueError, http.client.HTTPException) as exc:
            raise UnavailableError(f"{where} does not answer: {exc or type(exc).__name__}") from exc


def _json_object(text: bytes) -> Mapping[str, Any]:
    with contextlib.suppress(ValueError):
        value = read_json(text)
        if isinstance(value, dict):
            return value
    return {}


def _is_ready(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod runs, is ready, and is not about to end."""
    status = pod.get("status", {})
    conditions: Iterable[Mapping[str, Any]] = status.get("conditions") or ()
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and status.get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _index(pod: Mapping[str, Any]) -> int:
    """Return the index of a pod.

    Raises:
        ValueError: if it has none that another pod could not get.
    """
    metadata = pod["metadata"]
    given = {**(metadata.get("annotations") or {}), **(metadata.get("labels") or {})}
    for label in _INDEX_LABELS:
        if label in given and _INDEX.fullmatch(given[label]):
            return int(given[label])
    owners = {owner["kind"] for owner in metadata.get("ownerReferences") or ()}
    numbered = _NUMBERED.fullmatch(metadata["name"])
    if numbered and owners <= {"StatefulSet"}:  # of a Kubernetes that sets no such label yet
        return int(numbered[2])
    kinds = ", ".join(sorted(owners)) or "no controller"
    raise RequestValueError(
        f"the pod {metadata['name']} (of {kinds}) has no index; pods of a StatefulSet or an indexed Job have "
        f"one, and so have those with one of the labels {', '.join(_INDEX_LABELS)}"
    )
