"""A program that feeds the partitions of a Dask dataframe where they lie: run in a process of its own."""

from __future__ import annotations

import sys

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd

import actorsession as acts
from actorsession.engines import DaskCluster
from examples.engines.feed_from_dask import build, train


def main() -> None:
    """Train with each partition in the Dask worker that has it."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as here,
        distributed.Client(here) as client,
    ):
        x = np.random.default_rng(0).normal(size=(4000, 3)).astype(np.float32)
        y = x @ np.array([[1.0], [2.0], [3.0]], np.float32)
        frame = pd.DataFrame(np.hstack([x, y]), columns=["a", "b", "c", "y"])
        parts = distributed.futures_of(dd.from_pandas(frame, npartitions=4).persist())
        distributed.wait(parts)
        with DaskCluster({"ps": 1, "worker": 2}, client) as cluster:
            graph, model = build(0)
            with acts.Session(cluster.target("worker"), graph=graph) as session:
                session.run(acts.global_variables_initializer())
                tasks = {cluster.process("worker", i).node: i for i in range(2)}
                where = client.who_has(parts)
                trained = []
                for part in parts:
                    (node,) = where[part.key]
                    index, target = tasks[node], cluster.target("worker", tasks[node])
                    trained.append(client.submit(train, part, index, target, workers=[node]))
                client.gather(trained)
                kinds = set(client.gather([client.submit(_kind, part) for part in parts]))
                weights = session.run(model["w"]).round(2).ravel().tolist()
    sys.stdout.write(f"{kinds} {weights}\n")


def _kind(part: object) -> str:
    return type(part).__name__


if __name__ == "__main__":
    main()
