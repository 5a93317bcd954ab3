"""Trains the demo's model on a cluster that runs: `python train.py WORKER_ADDRESS...`.

The variables are on the parameter server, and each worker has a replica that it trains at its own pace.
ACTORSESSION_TOKEN_FILE names the file of the cluster's token.
"""

import asyncio
import sys

import actorsession as acts
from actorsession.demo.digits import load_digits
from actorsession.demo.model import build_model
from actorsession.demo.training import Plan, check, train

STEPS = 1000


async def main(targets: list[str]) -> None:
    digits = load_digits()
    replicas = []
    for index, target in enumerate(targets):
        graph = acts.Graph()
        setter = acts.train.replica_device_setter(ps_tasks=1, worker_device=f"/job:worker/task:{index}")
        with graph.as_default(), graph.device(setter):
            replicas.append((acts.AsyncSession(target, graph), build_model()))
    first, model = replicas[0]
    async with first:
        await first.run(model.initialize)
        async with asyncio.TaskGroup() as group:
            for seed, (session, its_model) in enumerate(replicas):
                plan = Plan(steps=STEPS // len(replicas), look_every=0, seed=seed)
                group.create_task(train(session, its_model, digits, plan, lambda *_: None))
        found = await check(first, model, digits)
        for session, _ in replicas[1:]:
            await session.close()
    print(f"{found.step} steps on {len(targets)} workers: accuracy {found.accuracy:.3f}")


asyncio.run(main(sys.argv[1:]))
