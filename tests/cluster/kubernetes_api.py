"""A recorded Kubernetes API behind a real HTTPS server on loopback, and pods as it describes them."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import trustme

NAMESPACE = "training"


def pod(
    name: str,
    ip: str,
    *,
    labels: dict[str, str] | None = None,
    ready: bool = True,
    phase: str = "Running",
    owner: str = "StatefulSet",
    **metadata: Any,
) -> dict[str, Any]:
    """A pod as the API describes it, of the fields that kubectl prints of one of a StatefulSet."""
    status: dict[str, Any] = {
        "phase": phase,
        "hostIP": "192.168.1.2",
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "qosClass": "BestEffort",
        "conditions": [
            {"type": kind, "status": "True" if ready or kind == "Initialized" else "False"}
            for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
    }
    if phase == "Pending":
        del status["podIP"], status["podIPs"], status["conditions"]
    owners = [{"apiVersion": "apps/v1", "kind": owner, "name": "any", "controller": True}]
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": labels or {},
            "ownerReferences": owners if owner else [],
            **metadata,
        },
        "spec": {"containers": [{"name": "server", "image": "actorsession"}]},
        "status": status,
    }


class Api:
    """The API server: what it answers, and what it was asked."""

    def __init__(self) -> None:
        self.token = "the token of the service account"
        self.pods: dict[str, list[dict[str, Any]]] = {}  # by label selector
        self.page = 500
        self.answer: tuple[int, bytes] | None = None  # in place of any other
        self.asked: list[str] = []

    def reply(self, path: str, authorization: str | None) -> tuple[int, bytes]:
        """Status and body of the answer to a GET."""
        self.asked.append(path)
        if self.answer is not None:
            return self.answer
        if authorization != f"Bearer {self.token}":
            return 401, refusal(401, "Unauthorized", "Unauthorized")
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path != f"/api/v1/namespaces/{NAMESPACE}/pods":
            return 404, refusal(404, "NotFound", "the server could not find the requested resource")
        found = self.pods.get(query["labelSelector"], [])
        at, limit = int(query.get("continue", 0)), min(int(query["limit"]), self.page)
        metadata = {"resourceVersion": "1"}
        if at + limit < len(found):
            metadata["continue"] = str(at + limit)
        items = found[at : at + limit]
        listed = {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}
        return 200, json.dumps(listed).encode()


def refusal(code: int, reason: str, message: str) -> bytes:
    """An error as the API words it."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return json.dumps(status).encode()


@contextmanager
def served(account: Path) -> Iterator[tuple[Api, int]]:
    """An API that serves at a port of loopback; ``account`` gets the files of a pod's service account."""
    ca = trustme.CA()
    certificate = ca.issue_cert("127.0.0.1", "kubernetes.default.svc")
    api = Api()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = api.reply(self.path, self.headers.get("Authorization"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except (ssl.SSLError, ConnectionError):  # a client that does not trust us
                self.close_connection = True

    class Server(HTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    files: Sequence[tuple[str, str]] = (
        ("token", api.token + "\n"),
        ("ca.crt", ca.cert_pem.bytes().decode()),
        ("namespace", NAMESPACE),
    )
    for name, text in files:
        (account / name).write_text(text)
    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield api, server.server_port
        finally:
            server.shutdown()
            thread.join()
