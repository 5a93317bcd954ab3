"""A variable that counts, in this process: build a graph once, run steps of it as often as you like."""

from __future__ import annotations

import asyncio

import actorsession as acts


async def main() -> None:
    """Builds, runs, prints."""
    amount = acts.placeholder(acts.float32, shape=(), name="amount")
    total = acts.Variable(0.0, name="total")
    added = acts.assign_add(total, amount)
    async with acts.AsyncSession() as session:
        await session.run(total.initializer)
        for value in (1.0, 2.0, 3.5):
            print("total:", await session.run(added, {amount: value}))


asyncio.run(main())
