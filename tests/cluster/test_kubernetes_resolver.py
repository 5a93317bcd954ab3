"""The cluster of an application on Kubernetes: by the names of its pods, and by a recorded API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from actorsession import ClusterResolver, ClusterSpec
from actorsession.cluster import KubernetesClusterResolver
from actorsession.errors import OpError, PermissionDeniedError, UnauthenticatedError, UnavailableError
from tests.cluster.kubernetes_api import NAMESPACE, Api, pod, refusal, served

WORKERS = "app=digits,role=worker"


@pytest.fixture
def account(tmp_path: Path, monkeypatch: Any) -> Path:
    """A folder for the files of a service account, in a pod without variables of its own."""
    for name in ("POD_NAME", "POD_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def api(account: Path, monkeypatch: Any) -> Iterator[Api]:
    with served(account) as (api, port):
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(port))
        yield api


def resolver(
    jobs: dict[str, int | str], account: Path, pod: str = "driver", **options: Any
) -> KubernetesClusterResolver:
    return KubernetesClusterResolver(jobs, pod=pod, service_account=account, **options)


# -- names -----------------------------------------------------------------------------------------


def test_the_pods_of_a_stateful_set_have_fixed_names(account: Path) -> None:
    found = resolver({"ps": 1, "worker": 2}, account, "worker-1", namespace="ns")
    assert isinstance(found, ClusterResolver)
    assert found.cluster_spec().as_dict() == {
        "ps": ["ps-0.ps.ns.svc.cluster.local:7000"],
        "worker": [f"worker-{i}.worker.ns.svc.cluster.local:7000" for i in range(2)],
    }
    assert (found.task_type, found.task_id) == ("worker", 1)


def test_prefix_domain_and_port_are_those_of_the_manifests(account: Path) -> None:
    found = resolver({"Big_PS": 1}, account, "digits-big-ps-0", namespace="ns", prefix="digits-", domain="svc", port=80)
    assert found.cluster_spec().as_dict() == {"Big_PS": ["digits-big-ps-0.digits-big-ps.ns.svc:80"]}
    assert (found.task_type, found.task_id) == ("Big_PS", 0)


def test_a_pod_beside_the_cluster_is_none_of_its_tasks(account: Path) -> None:
    found = resolver({"worker": 2}, account, "driver-x2x41", namespace="ns")
    assert (found.task_type, found.task_id) == (None, None)
    assert found.master("worker", 1, "tcp") == "tcp://worker-1.worker.ns.svc.cluster.local:7000"


def test_namespace_and_pod_are_of_variables_or_of_the_service_account(account: Path, monkeypatch: Any) -> None:
    (account / "namespace").write_text("of-the-account\n")
    found = KubernetesClusterResolver({"worker": 1}, service_account=account)
    assert found.cluster_spec().task_address("worker", 0).split(".")[2] == "of-the-account"
    monkeypatch.setenv("POD_NAMESPACE", "of-a-variable")
    monkeypatch.setenv("POD_NAME", "worker-0")
    assert found.cluster_spec().task_address("worker", 0).split(".")[2] == "of-a-variable"
    assert found.task_id == 0


def test_outside_of_a_pod_the_missing_file_is_named(account: Path) -> None:
    with pytest.raises(UnavailableError, match=r"namespace cannot be read \(No such file.*no pod"):
        resolver({"worker": 1}, account).cluster_spec()


@pytest.mark.parametrize(
    ("jobs", "error", "complaint"),
    [
        ({}, ValueError, "at least one job"),
        ({"worker": -1}, ValueError, "0 tasks or more, or a label selector, got -1"),
        ({"worker": ""}, ValueError, "or a label selector, got ''"),
        ({"worker": 1.5}, TypeError, "a number of tasks or a label selector, got 1.5"),
        ({"worker": True}, TypeError, "a number of tasks or a label selector, got True"),
    ],
)
def test_a_job_is_a_number_or_a_selector(jobs: Any, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        KubernetesClusterResolver(jobs)


def test_the_port_exists() -> None:
    with pytest.raises(ValueError, match="port is a port from 1 to 65535, got 65536"):
        KubernetesClusterResolver({"worker": 1}, 65536)


# -- pods found through the API --------------------------------------------------------------------


def test_a_selector_finds_the_pods_that_run_and_are_ready(api: Api, account: Path) -> None:
    api.pods[WORKERS] = [
        pod("worker-2", "10.1.0.4"),
        pod("worker-0", "10.1.0.2"),
        pod("worker-1", "10.1.0.3", ready=False),
        pod("worker-3", "10.1.0.5", phase="Pending"),
        pod("worker-4", "10.1.0.6", deletionTimestamp="2026-01-01T00:00:00Z"),
        pod("worker-5", "10.1.0.7", phase="Failed"),
        pod("worker-6", "fd00::8"),
    ]
    found = resolver({"ps": 1, "worker": WORKERS}, account)
    assert found.cluster_spec() == ClusterSpec(
        {
            "ps": [f"ps-0.ps.{NAMESPACE}.svc.cluster.local:7000"],
            "worker": {0: "10.1.0.2:7000", 2: "10.1.0.4:7000", 6: "[fd00::8]:7000"},
        }
    )


def test_a_pod_finds_itself_before_it_is_ready(api: Api, account: Path) -> None:
    """Otherwise none would ever be: it is ready once it serves, and serves once it knows which task it is."""
    api.pods[WORKERS] = [pod("worker-0", "10.1.0.2", ready=False), pod("worker-1", "10.1.0.3")]
    found = resolver({"worker": WORKERS}, account, "worker-0")
    assert found.cluster_spec().as_dict() == {"worker": ["10.1.0.2:7000", "10.1.0.3:7000"]}
    assert (found.task_type, found.task_id) == ("worker", 0)


def test_the_api_is_asked_again_each_time_with_the_token_of_that_moment(api: Api, account: Path) -> None:
    found = resolver({"worker": WORKERS}, account)
    for address in ("10.1.0.2", "10.1.0.9"):
        api.token = f"the token when the pod had {address}"
        (account / "token").write_text(api.token)
        api.pods[WORKERS] = [pod("worker-0", address)]
        assert found.cluster_spec().task_address("worker", 0) == f"{address}:7000"


def test_a_long_answer_comes_in_pages(api: Api, account: Path) -> None:
    api.page = 2
    api.pods[WORKERS] = [pod(f"worker-{i}", f"10.1.0.{i + 1}") for i in range(5)]
    assert resolver({"worker": WORKERS}, account).cluster_spec().num_tasks("worker") == 5
    assert len(api.asked) == 3


INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.mark.parametrize(
    ("found", "index"),
    [
        (pod("a-x", "10.1.0.2", labels={"apps.kubernetes.io/pod-index": "3"}), 3),
        (pod("a-x", "10.1.0.2", owner="Job", labels={INDEX: "4"}), 4),
        (pod("a-x", "10.1.0.2", owner="Job", annotations={INDEX: "5"}), 5),
        (pod("a-x", "10.1.0.2", owner="TFJob", labels={"training.kubeflow.org/replica-index": "6"}), 6),
        (pod("worker-7", "10.1.0.2"), 7),
        (pod("worker-8", "10.1.0.2", owner=""), 8),
    ],
)
def test_the_index_of_a_pod_is_that_of_its_controller(api: Api, account: Path, found: Any, index: int) -> None:
    api.pods[WORKERS] = [found]
    assert resolver({"worker": WORKERS}, account).cluster_spec().task_indices("worker") == [index]


def test_pods_of_a_deployment_have_no_index(api: Api, account: Path) -> None:
    api.pods[WORKERS] = [pod("worker-5d9f7-4242", "10.1.0.2", owner="ReplicaSet")]
    complaint = r"worker-5d9f7-4242 \(of ReplicaSet\) has no index; pods of a StatefulSet"
    with pytest.raises(ValueError, match=complaint):
        resolver({"worker": WORKERS}, account).cluster_spec()


def test_two_pods_of_one_index_are_named(api: Api, account: Path) -> None:
    api.pods[WORKERS] = [pod("a-1", "10.1.0.2"), pod("b-1", "10.1.0.3")]
    with pytest.raises(ValueError, match=r"the pods a-1 and b-1, .* both have index 1"):
        resolver({"worker": WORKERS}, account).cluster_spec()


# -- errors of the API -----------------------------------------------------------------------------

FORBIDDEN = 'pods is forbidden: User "system:serviceaccount:training:default" cannot list resource "pods"'


@pytest.mark.parametrize(
    ("answer", "error", "complaint"),
    [
        (
            (403, refusal(403, "Forbidden", FORBIDDEN)),
            PermissionDeniedError,
            "answers 403 to GET /api/v1/namespaces/training/pods.*pods is forbidden.*; a Role with the verb list",
        ),
        ((410, refusal(410, "Expired", "too old")), UnavailableError, "answers 410 .*: too old"),
        ((500, b"no json"), UnavailableError, "answers 500 .*: Internal Server Error"),
        ((200, b"{}"), UnavailableError, "answers no PodList to GET .*: b'{}'"),
        ((200, b"[]"), UnavailableError, "answers no PodList"),
    ],
)
def test_an_error_of_the_api_is_named(
    api: Api, account: Path, answer: Any, error: type[OpError], complaint: str
) -> None:
    api.answer = answer
    with pytest.raises(error, match=complaint):
        resolver({"worker": WORKERS}, account).cluster_spec()


def test_a_token_that_is_refused_is_not_repeated(api: Api, account: Path) -> None:
    (account / "token").write_text("the token of yesterday")
    with pytest.raises(UnauthenticatedError, match=r"answers 401 .*: Unauthorized") as caught:
        resolver({"worker": WORKERS}, account).cluster_spec()
    assert "yesterday" not in str(caught.value)


def test_an_api_of_another_ca_is_not_asked(api: Api, account: Path) -> None:
    (account / "ca.crt").write_bytes(trustme.CA().cert_pem.bytes())
    with pytest.raises(UnavailableError, match=r"does not answer: .*certificate"):
        resolver({"worker": WORKERS}, account).cluster_spec()
    assert not api.asked


def test_an_api_that_is_gone_is_unavailable(account: Path, monkeypatch: Any, hold_ports: Any) -> None:
    with served(account):
        pass
    (port,) = hold_ports(1)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(port))
    with pytest.raises(UnavailableError, match=rf"127.0.0.1:{port} does not answer: .*refused"):
        resolver({"worker": WORKERS}, account).cluster_spec()
