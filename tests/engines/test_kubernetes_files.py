"""The files of examples/kubernetes: valid for Kubernetes, of one piece, and of this version's commands."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from actorsession import cli
from actorsession.cli import servers
from actorsession.cluster.server import probes
from tests.cli.kit import line_of
from tests.cluster.kit import PATIENCE, in_process
from tests.cluster.script import ROOT, command, environment
from tests.cluster.test_probes import answer

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

FOLDER = ROOT / "examples" / "kubernetes"
JOBS = ("ps", "worker")

# The fields that the manifests may have, as the API's reference documents them: Kubernetes ignores a misspelt
# field, or refuses it. `*` is any name, `[]` what a list has; a leaf is a value.
FIELDS = """
    Service apiVersion kind metadata.name metadata.labels.* spec.clusterIP spec.publishNotReadyAddresses
    Service spec.selector.* spec.ports.[].name spec.ports.[].port
    StatefulSet apiVersion kind metadata.name metadata.labels.* spec.serviceName spec.replicas
    StatefulSet spec.podManagementPolicy spec.selector.matchLabels.* spec.template.metadata.labels.*
    StatefulSet spec.template.spec.POD spec.volumeClaimTemplates.[].metadata.name
    StatefulSet spec.volumeClaimTemplates.[].spec.accessModes.[]
    StatefulSet spec.volumeClaimTemplates.[].spec.resources.requests.storage
    Job apiVersion kind metadata.name metadata.labels.* spec.backoffLimit spec.template.metadata.labels.*
    Job spec.template.spec.POD
"""
POD = """
    automountServiceAccountToken restartPolicy terminationGracePeriodSeconds securityContext.runAsNonRoot
    securityContext.runAsUser securityContext.fsGroup volumes.[].name volumes.[].secret.secretName
    volumes.[].secret.defaultMode containers.[].name containers.[].image containers.[].imagePullPolicy
    containers.[].command.[] containers.[].args.[] containers.[].env.[].name containers.[].env.[].value
    containers.[].env.[].valueFrom.fieldRef.fieldPath containers.[].ports.[].name
    containers.[].ports.[].containerPort containers.[].livenessProbe.httpGet.path
    containers.[].livenessProbe.httpGet.port containers.[].livenessProbe.timeoutSeconds
    containers.[].livenessProbe.periodSeconds containers.[].livenessProbe.failureThreshold
    containers.[].readinessProbe.httpGet.path containers.[].readinessProbe.httpGet.port
    containers.[].readinessProbe.timeoutSeconds containers.[].readinessProbe.periodSeconds
    containers.[].resources.requests.cpu containers.[].resources.requests.memory
    containers.[].resources.limits.memory containers.[].securityContext.allowPrivilegeEscalation
    containers.[].securityContext.capabilities.drop.[] containers.[].volumeMounts.[].name
    containers.[].volumeMounts.[].mountPath containers.[].volumeMounts.[].readOnly
"""
VERSIONS = {"Service": "v1", "StatefulSet": "apps/v1", "Job": "batch/v1"}


@cache
def manifests() -> dict[tuple[str, str], Any]:
    found = list(yaml.safe_load_all((FOLDER / "digits.yaml").read_text(encoding="utf-8")))
    named = {(one["kind"], one["metadata"]["name"]): one for one in found}
    assert len(named) == len(found)
    return named


def known_fields(kind: str) -> list[re.Pattern[str]]:
    rows = [row.split() for row in FIELDS.strip().splitlines()]
    paths = [path for first, *more in rows if first == kind for path in more]
    paths = [p.replace("POD", pod) for p in paths for pod in (POD.split() if "POD" in p else [""])]
    return [re.compile(re.escape(path).replace(r"\*", r"[^.]+")) for path in paths]


def paths_of(value: Any, at: str = "") -> list[str]:
    if isinstance(value, dict):
        return [path for name, one in value.items() for path in paths_of(one, f"{at}.{name}")]
    if isinstance(value, list):
        return [path for one in value for path in paths_of(one, f"{at}.[]")]
    return [at[1:]]


def container(job: str) -> Any:
    (found,) = manifests()["StatefulSet", job]["spec"]["template"]["spec"]["containers"]
    return found


def options_of(job: str, index: int, monkeypatch: Any) -> Any:
    """The options of the process in a pod, which the program reads as it does there."""
    for variable in container(job)["env"]:
        field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        given = {"metadata.name": f"{job}-{index}", "metadata.namespace": "ns"}
        if field is not None:
            monkeypatch.setenv(variable["name"], given[field])
    parser, _ = cli._parser(with_demo=False)
    words = [word for word in container(job)["args"] if not word.startswith("--snapshot-dir")]
    return servers._worker_options(parser.parse_args(words))


def test_the_objects_are_the_services_and_sets_of_each_job_and_what_trains() -> None:
    expected = {(kind, job) for kind in ("Service", "StatefulSet") for job in JOBS}
    assert set(manifests()) == {*expected, ("Job", "train")}
    for (kind, _), one in manifests().items():
        assert one["apiVersion"] == VERSIONS[kind]
    mounts = {mount["mountPath"] for mount in container("ps")["volumeMounts"]}
    (folder,) = [w.partition("=")[2] for w in container("ps")["args"] if w.startswith("--snapshot-dir")]
    assert folder in mounts


def test_every_field_is_one_of_the_api() -> None:
    for (kind, _), one in manifests().items():
        known = known_fields(kind)
        assert not {p for p in paths_of(one) if not any(field.fullmatch(p) for field in known)}, kind
    # The published schema agrees.
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for one in manifests().values():
        validator.validate(one, validator.latest_version(), strict=True)


@pytest.mark.parametrize("job", JOBS)
def test_names_labels_and_ports_of_a_job_agree(job: str, monkeypatch: Any) -> None:
    service, pods = manifests()["Service", job]["spec"], manifests()["StatefulSet", job]["spec"]
    labels = pods["template"]["metadata"]["labels"]
    assert pods["serviceName"] == job
    assert pods["selector"]["matchLabels"] == labels == service["selector"]
    assert service["clusterIP"] == "None"
    assert service["publishNotReadyAddresses"] is True
    ports = {port["name"]: port["containerPort"] for port in container(job)["ports"]}
    assert [port["port"] for port in service["ports"]] == [ports["sessions"]]
    for index in range(pods["replicas"]):
        options = options_of(job, index, monkeypatch)
        resolver = options.cluster
        spec = resolver.cluster_spec()
        assert (resolver.task_type, resolver.task_id) == (job, index)
        assert spec.task_address(job, index).startswith(f"{job}-{index}.{job}.ns.svc.")
        assert {address.rpartition(":")[2] for address in spec.tasks().values()} == {str(ports["sessions"])}
        assert options.probe_port == ports["probes"]
        assert spec.num_tasks(job) == pods["replicas"]


@pytest.mark.parametrize("job", JOBS)
def test_probes_ask_what_the_worker_answers_and_wait_for_it(job: str) -> None:
    live, ready = container(job)["livenessProbe"], container(job)["readinessProbe"]
    assert (live["httpGet"]["path"], ready["httpGet"]["path"]) == ("/healthz", "/readyz")
    assert live["httpGet"]["port"] == ready["httpGet"]["port"] == "probes"
    assert min(live["timeoutSeconds"], ready["timeoutSeconds"]) > probes._LIMIT


@pytest.mark.parametrize("job", JOBS)
def test_a_pod_gets_the_time_to_save_its_variables(job: str, monkeypatch: Any) -> None:
    from actorsession.cluster.launch import child

    pod = manifests()["StatefulSet", job]["spec"]["template"]["spec"]
    grace = options_of(job, 0, monkeypatch).grace
    assert pod["terminationGracePeriodSeconds"] > grace + child._SAVING


def test_the_token_is_a_file_that_only_the_pods_user_may_read() -> None:
    for kind, name in [*(("StatefulSet", job) for job in JOBS), ("Job", "train")]:
        pod = manifests()[kind, name]["spec"]["template"]["spec"]
        (volume,) = pod["volumes"]
        (one,) = pod["containers"]
        mounts = {mount["name"]: mount["mountPath"] for mount in one["volumeMounts"]}
        variables = {variable["name"]: variable.get("value") for variable in one["env"]}
        assert volume["secret"] == {"secretName": "actorsession", "defaultMode": 0o400}
        assert variables["ACTORSESSION_TOKEN_FILE"] == f"{mounts[volume['name']]}/token"
        assert pod["securityContext"]["runAsNonRoot"]


def test_the_image_has_the_program_that_the_job_runs() -> None:
    text = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    (one,) = manifests()["Job", "train"]["spec"]["template"]["spec"]["containers"]
    (source, target) = re.findall(r"^COPY (\S+train\.py) (\S+)$", text, re.M)[0]
    assert (ROOT / source).is_file()
    assert one["command"] == ["python", target]
    assert one["args"] == [f"worker-{i}.worker:7000" for i in range(2)]
    assert 'ENTRYPOINT ["actorsession"]' in text


@pytest.mark.process
@pytest.mark.slow
async def test_the_program_trains_on_the_cluster_that_it_is_given() -> None:
    async with in_process({"ps": 1, "worker": 2}) as cluster:
        targets = [cluster.target(f"/job:worker/replica:0/task:{index}") for index in range(2)]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-W",
            "error",
            str(FOLDER / "train.py"),
            *targets,
            env=environment(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
    found = re.fullmatch(rb"1000 steps on 2 workers: accuracy (0\.\d+)\n", out)
    assert found is not None, err
    assert float(found[1]) > 0.9


# The names of a headless service, for one process and its children: a hosts file in a namespace of its own.
NAMED = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
NAMED += ['mount --bind "$0" /etc/hosts && exec "$@"']


def can_name_addresses() -> bool:
    words = [*NAMED, "/etc/hosts", "true"]
    return bool(shutil.which("unshare")) and not subprocess.run(words, capture_output=True).returncode


class Pods:
    """The pods of the manifests as processes of this machine, each with an address of loopback and its names.

    Args:
        folder: where the token, the volume and the names are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        token = folder / "token"
        token.write_text(secrets.token_hex(32))
        token.chmod(0o400)
        net = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
        names = [(job, i) for job in JOBS for i in range(manifests()["StatefulSet", job]["spec"]["replicas"])]
        self.hosts = folder / "hosts"
        self.hosts.write_text(
            "127.0.0.1 localhost\n"
            + "".join(
                f"{net}.{n} {job}-{i}.{job} {job}-{i}.{job}.ns.svc.cluster.local\n"
                for n, (job, i) in enumerate(names, 1)
            )
        )
        self.processes: dict[tuple[str, int], subprocess.Popen[str]] = {}
        self.probes: dict[tuple[str, int], int] = {}
        for name in names:
            self.start(*name)

    def environment(self, **more: str) -> dict[str, str]:
        return environment(ACTORSESSION_TOKEN_FILE=str(self.folder / "token"), **more)

    def start(self, job: str, index: int) -> None:
        """Start a pod, with a port for probes that no other has, and wait until it is ready."""
        own = {"--probe-port=7080": "--probe-port=0", "--snapshot-dir=/snapshots": f"--snapshot-dir={self.folder}"}
        words = [own.get(word, word) for word in container(job)["args"]]
        process = subprocess.Popen(
            [*NAMED, str(self.hosts), *command(*words, "--json")],
            text=True,
            stdout=subprocess.PIPE,
            env=self.environment(POD_NAME=f"{job}-{index}", POD_NAMESPACE="ns"),
        )
        self.processes[job, index] = process
        self.probes[job, index] = json.loads(line_of(process))["probe_port"]

    def answers(self, path: str) -> set[int]:
        """What all pods answer to a probe."""
        return {answer(port, path)[0] for port in self.probes.values()}

    def train(self) -> str:
        (one,) = manifests()["Job", "train"]["spec"]["template"]["spec"]["containers"]
        words = [*NAMED, str(self.hosts), sys.executable, str(FOLDER / "train.py"), *one["args"]]
        done = subprocess.run(
            words, env=self.environment(), capture_output=True, text=True, timeout=2 * PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def end(self, job: str, index: int, how: signal.Signals) -> int:
        process = self.processes[job, index]
        process.send_signal(how)
        assert process.stdout is not None
        process.stdout.close()
        return process.wait(PATIENCE)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_pods_of_the_manifests_train_and_come_back(tmp_path: Path) -> None:
    """1. all pods are alive and ready; 2. the job trains on them; 3. SIGTERM ends the parameter server in
    order, with a snapshot on its volume, and SIGKILL a worker; 4. when they are back, it trains again."""
    if not can_name_addresses():
        pytest.skip("unshare cannot give addresses names here")
    pods = Pods(tmp_path)
    try:
        assert pods.answers("/healthz") == pods.answers("/readyz") == {200}
        assert pods.train().startswith("1000 steps on 2 workers: accuracy 0.9")
        assert pods.end("ps", 0, signal.SIGTERM) == 0
        assert list(tmp_path.glob("*.snapshot"))
        assert pods.end("worker", 1, signal.SIGKILL) == -signal.SIGKILL
        pods.start("ps", 0)
        pods.start("worker", 1)
        assert pods.train().startswith("1000 steps on 2 workers: accuracy 0.9")
        assert [pods.end(*pod, signal.SIGTERM) for pod in pods.processes] == [0, 0, 0]
    finally:
        for process in pods.processes.values():
            process.kill()
            process.wait()
