"""A process that serves a desk over a link; tests stop, continue and kill it.

Run as ``python -m tests.rpc.link_server ADDRESS``; says where it listens, and ends with its
standard input.
"""

from __future__ import annotations

import asyncio
import sys

from actorsession.rpc import Link
from tests.actors.kit import SERVER, Desk, hello
from transports import Connection, listen


async def main(address: str) -> None:
    """Serves until the standard input ends."""
    desk = Desk()

    async def serve(connection: Connection) -> None:
        await Link(connection, serves={"desk": desk.ref}, beat=0.05, lease=60.0).run()

    async with await listen(address, hello(SERVER), serve) as listener:
        sys.stdout.write(listener.address + "\n")
        sys.stdout.flush()
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)
        await ended.wait()
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
    await desk.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
