import asyncio

import numpy as np

import actorsession as acts
from actorsession.engines import RayCluster

WORKERS = 2


def replica(index: int) -> tuple[acts.Graph, dict[str, object]]:
    """The model of one worker: its variables on the ps, everything else on the worker."""
    graph = acts.Graph()
    with graph.as_default():
        x, y = acts.placeholder(acts.float32, [None, 3]), acts.placeholder(acts.float32, [None, 1])
        with acts.device("/job:ps/task:0"):
            w = acts.Variable(np.zeros([3, 1], np.float32), name="w")
        with acts.device(f"/job:worker/task:{index}"):
            loss = acts.reduce_mean(acts.square(acts.matmul(x, w) - y))
            train = acts.train.GradientDescentOptimizer(0.1).minimize(loss)
    return graph, {"x": x, "y": y, "w": w, "train": train}


async def train(cluster: RayCluster, index: int) -> None:
    """Train with the data of one worker, which Ray Data or a file would give."""
    graph, model = replica(index)
    random = np.random.default_rng(index)
    async with acts.AsyncSession(cluster.target("worker", index), graph=graph) as session:
        for _ in range(100):
            x = random.normal(size=(64, 3)).astype(np.float32)
            y = x @ np.array([[1.0], [2.0], [3.0]], np.float32)
            await session.run(model["train"], {model["x"]: x, model["y"]: y})


async def main() -> None:
    small = {"num_cpus": 0.5}
    async with RayCluster({"ps": 1, "worker": WORKERS}, resources={"ps": small, "worker": small}, restart=3) as cluster:
        graph, model = replica(0)
        async with acts.AsyncSession(cluster.target("worker"), graph=graph) as session:
            await session.run(model["w"].initializer)
            await asyncio.gather(*[train(cluster, index) for index in range(WORKERS)])
            weights = await session.run(model["w"])
    print("weights:", weights.round(2).ravel().tolist())


asyncio.run(main())
