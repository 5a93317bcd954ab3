"""The image of examples/kubernetes, built by a real Docker: its manifests' pods are containers that train.

Without a Docker that answers the tests are skipped; ``scripts/docker`` starts one. Each pod is a container
with what its manifest says: command, user, group, capabilities, memory, environment and volumes. The names of
the headless services are names in a network of Docker, and the token is a file as Kubernetes mounts a secret.
The test has the parts of kubelet that are left: it probes, ends pods and starts them again.
"""

from __future__ import annotations

import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.kit import PATIENCE
from tests.cluster.script import ROOT
from tests.cluster.test_probes import answer

pytest.importorskip("yaml", reason="PyYAML is not installed")

from tests.engines.test_kubernetes_files import FOLDER, JOBS, container, manifests

_START = "scripts/docker start FOLDER, and DOCKER_HOST as that says"
_BUILD = 540.0  # seconds: the image's packages come from the network
_PROBED = 7080

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform != "linux", reason="Docker's networks are not this machine's"),
]

# What kubelet makes of a secret with `fsGroup` (of root, whose group may read it) and of a new volume.
MOUNTED = """
set -eu
mkdir /token/..once && cat > /token/..once/token
ln -s ..once /token/..data && ln -s ..data/token /token/token
chown -R 0:1000 /token/..once && chmod 750 /token/..once && chmod 440 /token/..once/token
chown 0:1000 /snapshots && chmod 2775 /snapshots
"""

# Reads the variables that the job has trained, and initializes none.
LOOKS = """
import asyncio, sys
import actorsession as acts
from actorsession.demo import digits, model, training

async def main(target):
    graph = acts.Graph()
    setter = acts.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:0")
    with graph.as_default(), graph.device(setter):
        built = model.build_model()
    async with acts.AsyncSession(target, graph) as session:
        found = await training.check(session, built, digits.load_digits())
    print(f"{found.step} steps: accuracy {found.accuracy:.3f}")

asyncio.run(main(sys.argv[1]))
"""


def docker(*words: str, limit: float = PATIENCE, given: str | None = None) -> str:
    done = subprocess.run(["docker", *words], input=given, capture_output=True, text=True, timeout=limit, check=False)
    assert done.returncode == 0, f"docker {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def can(*words: str) -> bool:
    return not subprocess.run(["docker", *words], capture_output=True, check=False).returncode


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """The image of the Dockerfile; its base must be there or in a registry."""
    if shutil.which("docker") is None or not can("info"):
        pytest.skip(f"no Docker answers: {_START}")
    (base,) = re.findall(r"^FROM (\S+)$", (FOLDER / "Dockerfile").read_text(encoding="utf-8"), re.M)
    if not can("image", "inspect", base) and not can("pull", base):
        pytest.skip(f"Docker does not get {base}: scripts/docker base FOLDER")
    name = f"actorsession-test:{secrets.token_hex(4)}"
    words = ["build", "--network=host", "-f", str(FOLDER / "Dockerfile"), "-t", name, str(ROOT)]
    try:
        docker(*words, limit=_BUILD)
    except AssertionError as error:
        if "No matching distribution found" in str(error):  # of pip, which has tried the network
            pytest.skip("pip does not get the image's packages")
        raise
    try:
        yield name
    finally:
        docker("rmi", "--force", name)


class Pods:
    """The pods of the manifests as containers.

    Args:
        image: their image.
    """

    def __init__(self, image: str) -> None:
        self.image = image
        self.name = f"actorsession-{secrets.token_hex(4)}"
        self.token = secrets.token_hex(32)
        self.names = [
            (job, index) for job in JOBS for index in range(manifests()["StatefulSet", job]["spec"]["replicas"])
        ]
        docker("network", "create", self.name)
        mounts = [f"--volume={self.name}-{name}:/{name}" for name in ("token", "snapshots")]
        docker(
            "run",
            "--rm",
            "--interactive",
            "--user=0",
            "--network=none",
            *mounts,
            "--entrypoint=sh",
            image,
            "-c",
            MOUNTED,
            given=self.token,
        )

    def settings(self, pod: Any, one: Any, fields: dict[str, str]) -> list[str]:
        """Docker's options for what a manifest says of a pod and its container."""
        user, allowed = pod["securityContext"], one["securityContext"]
        assert allowed["allowPrivilegeEscalation"] is False
        words = [
            f"--network={self.name}",
            f"--user={user['runAsUser']}",
            f"--group-add={user['fsGroup']}",
            "--security-opt=no-new-privileges",
            *[f"--cap-drop={name}" for name in allowed["capabilities"]["drop"]],
            f"--memory={one['resources']['limits']['memory'].removesuffix('i').lower()}",
        ]
        for variable in one["env"]:
            path = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            value = fields[path] if path else variable["value"]
            words.append(f"--env={variable['name']}={value}")
        for mount in one["volumeMounts"]:
            flag = ":ro" if mount.get("readOnly") else ""
            words.append(f"--volume={self.name}-{mount['name']}:{mount['mountPath']}{flag}")
        return words

    def container(self, job: str, index: int) -> str:
        return f"{self.name}-{job}-{index}"

    def start(self, job: str, index: int) -> None:
        pod = manifests()["StatefulSet", job]["spec"]["template"]["spec"]
        fields = {"metadata.name": f"{job}-{index}", "metadata.namespace": "ns"}
        short = f"{job}-{index}.{job}"
        docker(
            "run",
            "--detach",
            f"--name={self.container(job, index)}",
            f"--hostname={job}-{index}",
            f"--network-alias={short}",
            f"--network-alias={short}.ns.svc.cluster.local",
            *self.settings(pod, container(job), fields),
            self.image,
            *container(job)["args"],
        )

    def probe(self, job: str, index: int, path: str) -> tuple[int, bytes]:
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}} {{.State.Status}}"
        address, _, state = docker("inspect", "--format", form, self.container(job, index)).rpartition(" ")
        assert state == "running", docker("logs", self.container(job, index))
        try:
            return answer(_PROBED, path, host=address)
        except OSError:
            return 0, b""

    def until_ready(self) -> None:
        limit = time.monotonic() + 2 * PATIENCE
        for pod in self.names:
            while self.probe(*pod, "/readyz")[0] != 200:
                assert time.monotonic() < limit, f"{pod} is not ready"
                time.sleep(0.1)

    def train(self, program: str | None = None) -> str:
        pod = manifests()["Job", "train"]["spec"]["template"]["spec"]
        (one,) = pod["containers"]
        first, *rest = one["command"] if program is None else ("python", "-c", program)
        return docker(
            "run",
            "--rm",
            f"--name={self.name}-train",
            f"--entrypoint={first}",
            *self.settings(pod, one, {}),
            self.image,
            *rest,
            *one["args"],
            limit=4 * PATIENCE,
        )

    def end(self, job: str, index: int, *how: str) -> int:
        name = self.container(job, index)
        docker(*how, name, limit=4 * PATIENCE)
        return int(docker("wait", name))

    def logs(self, job: str, index: int) -> str:
        words = ["docker", "logs", self.container(job, index)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return done.stdout + done.stderr

    def remove(self, job: str, index: int) -> None:
        """Remove the container of a pod, as kubelet does before it starts another."""
        docker("rm", "--force", "--volumes", self.container(job, index))

    def close(self) -> None:
        """Leave nothing."""
        for job, index in self.names:
            can("rm", "--force", self.container(job, index))
        can("rm", "--force", f"{self.name}-train")
        can("volume", "rm", "--force", f"{self.name}-token", f"{self.name}-snapshots")
        can("network", "rm", self.name)


@pytest.fixture
def pods(image: str) -> Iterator[Pods]:
    made = Pods(image)
    try:
        yield made
    finally:
        made.close()


def test_the_image_holds_the_package_and_nothing_else_of_a_clone(image: str) -> None:
    run = ["run", "--rm", "--network=none"]
    assert docker(*run, image, "--version").startswith("actorsession ")
    found = docker(*run, "--entrypoint=ls", image, "--almost-all", "/source").split()
    wanted = {"LICENSE", "README.md", "actorsession", "examples", "pyproject.toml", "transports"}
    assert set(found) - {"build"} == wanted
    assert docker(*run, "--entrypoint=id", image, "--user") == "1000"


def test_the_containers_of_the_manifests_train_and_come_back(pods: Pods) -> None:
    """1. all pods are alive and ready; 2. the job trains on them; 3. SIGTERM ends the parameter server in
    order, and SIGKILL a worker; 4. others come in their places, and the variables are back from the snapshot
    on the volume; 5. the job trains again."""
    for pod in pods.names:
        pods.start(*pod)
    pods.until_ready()
    assert {pods.probe(*pod, "/healthz") for pod in pods.names} == {(200, b"")}
    assert {pods.probe(*pod, "/")[0] for pod in pods.names} == {404}
    trained = "1000 steps on 2 workers: accuracy 0.9"
    assert pods.train().startswith(trained)
    seconds = manifests()["StatefulSet", "ps"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    begun = time.monotonic()
    assert pods.end("ps", 0, "stop", f"--time={seconds}") == 0
    assert time.monotonic() - begun < seconds
    assert pods.end("worker", 1, "kill") == 137
    logs = [pods.logs(*pod) for pod in pods.names]
    for pod in [("ps", 0), ("worker", 1)]:
        pods.remove(*pod)
        pods.start(*pod)
    pods.until_ready()
    assert pods.train(LOOKS).startswith("1000 steps: accuracy 0.9")
    assert pods.train().startswith(trained)
    assert {pods.end(*pod, "stop", f"--time={seconds}") for pod in pods.names} == {0}
    logs += [pods.logs(*pod) for pod in pods.names]
    assert all(logs)
    assert pods.token not in "".join(logs)
