"""The service with FastAPI and uvicorn: ``python with_fastapi.py --checkpoints FOLDER``.

uvicorn does not limit the size of a body; let the proxy in front of it do that.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from service import STATUS, Service, read_options, service_from, status_of, stop_signal
from starlette.requests import ClientDisconnect


def make_app(service: Service) -> FastAPI:
    """Return the routes of a service."""
    app = FastAPI()
    for kind in STATUS:
        app.add_exception_handler(kind, answer_error)

    @app.post("/predict")
    async def predict(request: Request) -> Response:
        return await answer(service, request, service.predict)

    @app.post("/train")
    async def train(request: Request) -> Response:
        return await answer(service, request, service.train, status=202)

    @app.get("/model")
    async def model() -> Response:
        return JSONResponse(await service.parameters())

    @app.get("/health")
    async def health() -> Response:
        return JSONResponse(service.health(), status_code=200 if service.ready else 503)

    @app.get("/metrics")
    async def metrics() -> Response:
        return PlainTextResponse(service.metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return app


async def answer(
    service: Service, request: Request, work: Callable[[dict[str, Any]], Awaitable[Any]], status: int = 200
) -> Response:
    """Answer a request with what is computed from its body."""
    with service.admit():
        try:
            body = await service.read(request.body())
            return JSONResponse(await while_connected(request, work(body)), status_code=status)
        except ClientDisconnect:
            return Response(status_code=499)  # nobody reads it


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer an error that has a status of its own with its message."""
    return JSONResponse({"error": str(error)}, status_code=status_of(error))


async def while_connected(request: Request, work: Awaitable[Any]) -> Any:
    """Await work, and cancel it with a ``ClientDisconnect`` if the client leaves before its end."""
    try:
        async with asyncio.TaskGroup() as children:
            watching = children.create_task(raise_when_gone(request))
            result = await work
            watching.cancel()
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    return result


async def raise_when_gone(request: Request) -> None:
    """Wait until the client leaves."""
    # Once the body was read, this is the only message that may still come.
    while (await request.receive())["type"] != "http.disconnect":
        pass
    raise ClientDisconnect


class Server(uvicorn.Server):
    """A server that leaves signals to the program, because requests are to be drained first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield


async def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    options = read_options()
    stop = stop_signal()
    service = service_from(options)
    async with service.running(), asyncio.TaskGroup() as children:
        server = Server(uvicorn.Config(make_app(service), lifespan="off", log_level="warning"))
        with socket.create_server((options.host, options.port)) as listening:
            serving = children.create_task(server.serve([listening]))
            host, port = listening.getsockname()[:2]
            print(f"serving at http://{host}:{port}", flush=True)
            await stop.wait()
            await service.drain()
            server.should_exit = True
            await serving


if __name__ == "__main__":
    asyncio.run(main())
