"""The service with aiohttp: ``python with_aiohttp.py --checkpoints FOLDER``."""

from __future__ import annotations

import asyncio

from aiohttp import web
from aiohttp.typedefs import Handler
from service import STATUS, Service, read_options, service_from, status_of, stop_signal


def make_app(service: Service) -> web.Application:
    """Return the routes of a service."""
    routes = web.RouteTableDef()

    @routes.post("/predict")
    async def predict(request: web.Request) -> web.Response:
        with service.admit():
            return web.json_response(await service.predict(await service.read(request.read())))

    @routes.post("/train")
    async def train(request: web.Request) -> web.Response:
        with service.admit():
            body = await service.read(request.read())
            return web.json_response(await service.train(body), status=202)

    @routes.get("/model")
    async def model(request: web.Request) -> web.Response:
        return web.json_response(await service.parameters())

    @routes.get("/health")
    async def health(request: web.Request) -> web.Response:
        return web.json_response(service.health(), status=200 if service.ready else 503)

    @routes.get("/metrics")
    async def metrics(request: web.Request) -> web.Response:
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return web.Response(text=service.metrics(), headers=headers)

    app = web.Application(middlewares=[answer_errors])
    app.add_routes(routes)
    return app


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer the errors that have a status of their own with their message."""
    try:
        return await handler(request)
    except tuple(STATUS) as error:
        return web.json_response({"error": str(error)}, status=status_of(error))


async def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    options = read_options()
    stop = stop_signal()
    service = service_from(options)
    async with service.running():
        # When a client leaves, its handler is cancelled, and with it the step.
        runner = web.AppRunner(make_app(service), handler_cancellation=True, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, options.host, options.port).start()
            host, port = runner.addresses[0][:2]
            print(f"serving at http://{host}:{port}", flush=True)
            await stop.wait()
            await service.drain()
        finally:
            await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
