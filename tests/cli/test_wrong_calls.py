"""What a command that was called wrongly says: one line in the words of its options, and status 2.

What only the attempt can show, such as a server that does not answer, is status 1.
"""

from __future__ import annotations

import json
import logging
import socket
from pathlib import Path

import pytest

from tests.cli.kit import called, ran

ONE = json.dumps({"worker": ["127.0.0.1:0"]})
TWO = json.dumps({"ps": ["127.0.0.1:0"], "worker": ["127.0.0.1:0", "127.0.0.1:0"]})
WORKER = ["worker", "--cluster", ONE]
TARGET = "127.0.0.1:1"
SECONDS = "expected a positive number of seconds, got "
NO_ADDRESS = "'tcp://nonsense' is not an address: tcp takes host:port"
JOBS = "jobs are written as NAME=COUNT, each name once, such as ps=1,worker=2; cannot parse"

# The call and the beginning of what it says, without the program.
TASK = "/job:worker/replica:0/task:0"
WORKS = ["worker", "--cluster"]
MASTER = ["master", "--cluster", ONE]
CLUSTER = ["cluster", "--jobs", "worker=1"]
CERTS = ["certs", "--out", "/proc/none"]
TLS = ["--tls-ca", "/no", "--tls-cert", "/no", "--tls-key", "/no"]
OF_ONE = '{"cluster": {"worker": ["h:1"]}, "task": %s}'
CALLS: list[tuple[list[str], str]] = [
    # commands and their words
    (["nonsense"], ": COMMAND: invalid choice: 'nonsense' (choose from "),
    (["--nonsense"], ": there is no option --nonsense; see actorsession --help"),
    ([*WORKER, "--nope"], " worker: there is no option --nope; see actorsession worker --help"),
    ([*WORKER, "--listen", "h:1"], " worker: --listen is an option of master, and not of this command"),
    (["status", TARGET, "--lease=3"], " status: --lease is an option of worker and master, and not"),
    (["status", TARGET, "extra"], " status: unexpected argument 'extra'; see"),
    (["token", "extra"], " token: unexpected argument 'extra'; see"),
    (["doctor", "extra"], " doctor: unexpected argument 'extra'; see"),
    (["status"], " status: ADDRESS must be given; see actorsession status --help"),
    (["stop"], " stop: ADDRESS must be given"),
    (["why"], " why: ADDRESS must be given"),
    (["cluster"], " cluster: --jobs must be given"),
    (["certs"], " certs: --out must be given"),
    ([*CLUSTER, "--restart", "-1"], " cluster: --restart: expected a whole number from 0, got '-1'"),
    ([*WORKER, "--restart-wait", "0"], f" worker: --restart-wait: {SECONDS}'0'"),
    (["worker"], " worker: no cluster was described; pass --cluster, --config or --resolver, or set TF_CONFIG"),
    (["master"], " master: no cluster was described"),
    # the cluster and the task
    *[
        (["worker", "--cluster", text], f" worker: {said}")
        for text, said in [
            ("{", "--cluster: not JSON: "),
            ("", "--cluster: not JSON: "),
            ("5", "--cluster: a cluster is a JSON object from job name to addresses, got 5"),
            ("{}", "--cluster: the cluster has no task"),
            ('{"worker": 5}', "--cluster: the tasks of job 'worker' are a list or dict of addresses, got 5"),
            ('{"worker": [5]}', "--cluster: job 'worker': the address of task 0 is a string, got 5"),
            ('{"worker": {"first": "h:1"}}', "--cluster: job 'worker': tasks have numbers, got 'first'"),
            ('{"wor-ker": ["h:1"]}', "--cluster: a job name is a letter, then letters, digits and '_'; got 'wor-ker'"),
            ('{"worker": ["nonsense"]}', f"--cluster: {TASK}: {NO_ADDRESS}"),
            ('{"worker": ["x://y"]}', f"--cluster: {TASK}: nothing here speaks 'x' of 'x://y'; there are"),
            ('{"worker": ["0.0.0.0:0"]}', "tcp://0.0.0.0:0: 0.0.0.0 is not a loopback address and there is no token"),
            (TWO, "--job: which job is this? the cluster has ps and worker"),
        ]
    ],
    ([*WORKER, "--job", "chief"], " worker: --job: no job 'chief' in the cluster; it has worker"),
    ([*WORKER, "--task", "4"], " worker: --task: no task 4 in job 'worker'; it has 0"),
    ([*WORKER, "--task", "-1"], " worker: --task: expected a whole number from 0, got '-1'"),
    ([*WORKER, "--task", "x"], " worker: --task: expected a whole number from 0, got 'x'"),
    ([*WORKS, TWO, "--job", "worker"], " worker: --task: which task of job 'worker' is this? it has 0 and 1"),
    ([*MASTER, "--listen", "nonsense"], f" master: --listen: /job:master/replica:0/task:0: {NO_ADDRESS}"),
    ([*MASTER, "--job", "worker", "--task", "3"], " master: --task: no task 3 in job 'worker'; it has 0"),
    # numbers, files and folders of servers
    ([*WORKER, "--lease", "1"], " worker: --lease: a lease lasts at least two heartbeats, 2 s with --beat 1; got 1 s"),
    ([*WORKER, "--beat", "-3"], f" worker: --beat: {SECONDS}'-3'"),
    ([*WORKER, "--snapshot-every", "0"], f" worker: --snapshot-every: {SECONDS}'0'"),
    ([*WORKER, "--devices", "0"], " worker: --devices: expected a positive integer, got '0'"),
    (
        [*WORKER, "--devices", "CPU=x"],
        " worker: --devices: devices are written as NAME=COUNT, each name once, such as CPU=1,TORCH_CPU=1",
    ),
    ([*WORKER, "--port-file", "/no/such/file"], " worker: --port-file: '/no/such' is not a folder"),
    ([*WORKER, "--port-file", "/proc"], " worker: --port-file: '/proc' is a folder"),
    ([*WORKER, "--snapshot-dir", "/proc/none"], " worker: --snapshot-dir: /proc/none: No such file"),
    ([*WORKER, "--log-file", "/no/such/file"], " worker: --log-file: /no/such/file: No such file or directory"),
    ([*WORKER, "--tls-ca", "ca.pem"], " worker: TLS needs three files; --tls-cert and --tls-key are missing"),
    ([*WORKER, *TLS], " worker: --tls-ca, --tls-cert and --tls-key: the ca_file '/no' cannot be read"),
    # clusters of this machine
    *[
        (["cluster", "--jobs", jobs], f" cluster: --jobs: {JOBS}")
        for jobs in ("", "worker", "worker=", "worker=x", "=2", "a=1,a=2", "a=-1")
    ],
    (["cluster", "--jobs", "worker=0"], " cluster: --jobs: a cluster has at least one task, got 'worker=0'"),
    (["cluster", "--jobs", "no job=1"], " cluster: --jobs: a job name is a letter"),
    ([*CLUSTER, "--protocol", "udp"], " cluster: --protocol: invalid choice: 'udp'"),
    ([*CLUSTER, "--protocol", "tls"], " cluster: --protocol tls needs a CA, a certificate and its key"),
    ([*CLUSTER, "--log-file", "/no/such/file"], " cluster: --log-file: /no/such/file: No such"),
    # addresses of servers, and limits
    *[([command, "nonsense"], f" {command}: ADDRESS: {NO_ADDRESS}") for command in ("status", "stop", "why")],
    (["status", "nonsense", "--all"], f" status: ADDRESS: {NO_ADDRESS}"),
    (["status", "x://y"], " status: ADDRESS: nothing here speaks the protocol 'x'; there are "),
    (["status", "127.0.0.1:99999"], " status: ADDRESS: 'tcp://127.0.0.1:99999' is not an address: the port 99999"),
    (["status", "127.0.0.1:0"], " status: ADDRESS: no server is at port 0 of '127.0.0.1:0'; give its real port"),
    (["status", "tls://127.0.0.1:1"], " status: ADDRESS: 'tls://127.0.0.1:1' needs a CA, a certificate and its key"),
    *[
        (["status", TARGET, f"--timeout={text}"], f" status: --timeout: {SECONDS}{text!r}")
        for text in ("0", "-1", "x", "inf", "nan")
    ],
    # certificates and the demo
    (CERTS, " certs: --out: cannot make the folder '/proc/none': No such file or directory"),
    ([*CERTS, "--days", "0"], " certs: --days: expected a positive integer, got '0'"),
    ([*CERTS, "--ca", "/no"], " certs: --ca: /no/ca.pem is not there; a CA's folder has"),
    ([*CERTS, "--hosts", "a b"], " certs: --hosts: 'a b' is neither a host name nor an address"),
    (["demo", "--steps", "0"], " demo: --steps: expected a positive integer, got '0'"),
    (["demo", "--data", "/no"], " demo: --data: cannot read the digits file '/no'"),
    (["demo", "--output", "/proc/none"], " demo: --output: /proc/none: No such file or directory"),
]


@pytest.mark.parametrize(("words", "said"), CALLS, ids=[" ".join(words) for words, _ in CALLS])
def test_a_wrong_call_names_the_option_in_a_line(words: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    level = logging.getLogger("actorsession").level
    code, out, err = called(*words)
    assert (code, out) == (2, "")
    assert logging.getLogger("actorsession").level == level
    assert err.startswith(f"actorsession{said}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{", "{path} is not JSON: "),
        ("a.json", "[]", '{path} is an object with "cluster" and "task", got []'),
        ("a.toml", "x", "{path} is not TOML: "),
        ("a.json", '{"custer": {}}', "{path}: ['custer'] mean nothing here; ['cluster', "),
        ("a.json", "{}", 'no cluster is described; it needs a "cluster"'),
        ("a.json", '{"cluster": 5}', "{path}: a cluster is a dict from job name to a list"),
        ("a.json", OF_ONE % 5, '{path}: the task is an object with "type" and "index", got 5'),
        ("a.json", OF_ONE % '{"type": "worker", "index": 3}', "no task 3 in job 'worker'; it has 0"),
        (None, "", "cannot read '{path}': No such file or directory"),
    ],
)
def test_a_wrong_description_names_what_named_the_file(name: str | None, text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / (name or "missing")
    if name is not None:
        path.write_text(text)
    expected = said.replace("{path}", str(path))
    for code, out, err, source in [
        (*called("worker", "--config", str(path)), "--config"),
        (*called("worker", ACTORSESSION_CONFIG=str(path)), "ACTORSESSION_CONFIG"),
    ]:
        assert (code, out) == (2, "")
        assert err.startswith(f"actorsession worker: {source}: {expected}")
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"TF_CONFIG": "{"}, "TF_CONFIG is not JSON: "),
        ({"TF_CONFIG": "{}"}, "TF_CONFIG: no cluster is described; it needs a "),
        ({"TF_CONFIG": OF_ONE % '{"index": 3}'}, "TF_CONFIG: no task 3 in job 'worker'; it has 0"),
        ({"TF_CONFIG": '{"cluster": {"worker": ["nonsense"]}}'}, f"TF_CONFIG: {TASK}: {NO_ADDRESS}"),
        ({"ACTORSESSION_LOG": "loud"}, "ACTORSESSION_LOG must be one of debug, info, "),
        ({"ACTORSESSION_TLS_CA": "ca.pem"}, "TLS needs three files, and ACTORSESSION_TLS_CERT and "),
    ],
)
def test_an_environment_that_cannot_be_used_names_the_variable(environment: dict[str, str], said: str) -> None:
    words = ["worker"] if "TF_CONFIG" in environment else WORKER
    code, out, err = called(*words, **environment)
    assert (code, out) == (2, "")
    assert err.startswith(f"actorsession worker: {said}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["status", "stop", "why"])
def test_a_server_that_does_not_answer_is_a_failure(command: str) -> None:
    code, out, err = called(command, TARGET)
    assert (code, out) == (1, "")
    assert err.startswith(f"actorsession {command}: ")
    assert "refused" in err
    assert err.count("\n") == 1


@pytest.mark.process
def test_as_processes_a_wrong_call_is_status_2_and_a_port_in_use_is_status_1() -> None:
    assert ran(*WORKER, "--task", "4") == (2, "", "actorsession worker: --task: no task 4 in job 'worker'; it has 0\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, out, err = ran("worker", "--cluster", json.dumps({"worker": [f"127.0.0.1:{taken.getsockname()[1]}"]}))
    assert (code, out) == (1, "")
    assert "Address already in use" in err
    assert err.count("\n") == 1
