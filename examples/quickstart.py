import asyncio

import actorsession as acts


async def main() -> None:
    x = acts.placeholder(acts.float32, [None, 2], name="x")
    w = acts.Variable(acts.zeros([2, 1]), name="w")
    loss = acts.reduce_mean(acts.square(acts.matmul(x, w) - 1.0))
    train = acts.train.GradientDescentOptimizer(0.05).minimize(loss)
    async with acts.AsyncSession() as session:
        await session.run(acts.global_variables_initializer())
        for _ in range(200):
            _, value = await session.run([train, loss], {x: [[1.0, 2.0], [2.0, 0.5]]})
    print(f"loss: {value:.4f}")


asyncio.run(main())
