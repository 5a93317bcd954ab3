import asyncio

import actorsession as acts


async def main() -> None:
    numbers = acts.placeholder(acts.float32, [None], name="numbers")
    with acts.device("/job:ps/task:0"):
        total = acts.Variable(0.0, name="total")
    with acts.device("/job:worker/task:0"):
        squares = numbers * numbers
    with acts.device("/job:worker/task:1"):
        update = acts.assign_add(total, acts.reduce_sum(squares))
    async with acts.LocalCluster({"ps": 1, "worker": 2}) as cluster:
        async with acts.AsyncSession(cluster.target("worker", 0)) as session:
            await session.run(total.initializer)
            for _ in range(2):
                print("sum of squares so far:", await session.run(update, {numbers: [1, 2, 3]}))


asyncio.run(main())
