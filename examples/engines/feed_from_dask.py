import os

import dask.array as da
import distributed
import numpy as np

import actorsession as acts
from actorsession.engines import DaskCluster


def build(worker: int) -> tuple[acts.Graph, dict[str, object]]:
    """The model of one worker: its variable on the ps, everything else on the worker."""
    graph = acts.Graph()
    with graph.as_default():
        rows = acts.placeholder(acts.float32, [None, 4])
        with acts.device("/job:ps/task:0"):
            w = acts.Variable(np.zeros([3, 1], np.float32), name="w")
        with acts.device(f"/job:worker/task:{worker}"):
            loss = acts.reduce_mean(acts.square(acts.matmul(rows[:, :3], w) - rows[:, 3:]))
            train = acts.train.GradientDescentOptimizer(0.1).minimize(loss)
    return graph, {"rows": rows, "w": w, "train": train}


def train(rows: np.ndarray, worker: int, target: str) -> int:
    """Train with a part of the data in the process where it lies: our server is there, too."""
    graph, model = build(worker)
    with acts.Session(target, graph=graph) as session:
        for _ in range(50):
            session.run(model["train"], {model["rows"]: rows})
    return os.getpid()


def main() -> None:
    # On a cluster: distributed.Client("tcp://scheduler:8786"), or that of dask-jobqueue or dask-kubernetes.
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as here,
        distributed.Client(here) as client,
    ):
        x = da.random.default_rng(0).normal(size=(4000, 3), chunks=(1000, 3)).astype("float32")
        y = x @ np.array([[1.0], [2.0], [3.0]], "float32")
        parts = distributed.futures_of(da.hstack([x, y]).rechunk({1: 4}).persist())
        distributed.wait(parts)
        with DaskCluster({"ps": 1, "worker": 2}, client) as cluster:
            graph, model = build(0)
            with acts.Session(cluster.target("worker"), graph=graph) as session:
                session.run(model["w"].initializer)
                tasks = {cluster.process("worker", i).node: i for i in range(2)}  # by Dask worker
                where = client.who_has(parts)
                trained = []
                for part in parts:
                    dask_worker = where[part.key][0]
                    index = tasks[dask_worker]
                    trained.append(
                        client.submit(train, part, index, cluster.target("worker", index), workers=[dask_worker])
                    )
                print("processes that were fed:", len(set(client.gather(trained))))
                print("weights:", session.run(model["w"]).round(2).ravel().tolist())


if __name__ == "__main__":
    main()
