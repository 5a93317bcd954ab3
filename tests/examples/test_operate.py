"""What examples/operate has for Prometheus and Grafana: every name is one that we export, and it works with them."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Server, ServerSettings, cli, ops
from actorsession.cluster import ServerStatistics, read_statistics
from actorsession.errors import InvalidArgumentError
from actorsession.prometheus import MetricFamily, merged
from tests.cli.kit import serving
from tests.cluster.kit import PATIENCE, W0, W1, on
from tests.cluster.script import ROOT
from tests.loops import cancelled, run_to_end
from tests.ports import HoldPorts

yaml = pytest.importorskip("yaml")

FOLDER = ROOT / "examples/operate/prometheus"
NAME = re.compile(r"\bactorsession_[a-z0-9_]+")
SELECTOR = re.compile(r"\b(actorsession_[a-z0-9_]+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
GROUPING = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")
PARTS = ("_bucket", "_sum", "_count")
# What Prometheus adds to all that it reads.
OF_PROMETHEUS = {"job", "instance"}

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not here (the Debian package prometheus has it)"
)
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="prometheus is not here (a Debian package)"
)


async def busy(folder: Path) -> ServerStatistics:
    """The statistics of a server that has some of everything."""
    settings = ServerSettings(snapshot_dir=folder, snapshot_every=60.0)
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [None])
        v = ops.Variable(np.ones(5, np.float32), name="v")
        queue = ops.FIFOQueue(3, "float32", [[]], shared_name="inputs")
        put, pair = queue.enqueue(1.0), ops.reshape(x, [2])
    async with Server({"worker": ["127.0.0.1:0"]}, settings=settings) as server:
        async with AsyncSession(server.target, graph=graph) as session:
            await session.run([v.initializer, put])
            with pytest.raises(InvalidArgumentError):
                await session.run(pair, {x: [1.0, 2.0, 3.0]})
            return await read_statistics(server.target)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The labels of each name that Prometheus reads."""
    seen = run_to_end(busy(tmp_path_factory.mktemp("snapshots")))
    up = MetricFamily("actorsession_server_up", "gauge", "Whether the task has answered.", [({"task": W0}, 1)])
    labels: dict[str, set[str]] = {}
    for family in merged([*seen.metric_families(), up]):
        own = {label for of, _ in family.samples for label in of} | OF_PROMETHEUS
        assert own > OF_PROMETHEUS, f"{family.name} has no sample here"
        if family.kind == "histogram":
            labels |= {family.name + part: own | ({"le"} if part == "_bucket" else set()) for part in PARTS}
        else:
            labels[family.name] = own
    return labels


def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
    return loaded


def targets() -> list[dict[str, Any]]:
    """What the panels of the dashboard show."""
    return [target for panel in dashboard()["panels"] for target in panel.get("targets", ())]


def alerts() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))
    rules: list[dict[str, Any]] = loaded["groups"][0]["rules"]
    return rules


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.iterdir()))
def test_every_name_in_a_file_is_exported(exported: dict[str, set[str]], file: str) -> None:
    names = set(NAME.findall((FOLDER / file).read_text(encoding="utf-8")))
    assert sorted(names - set(exported)) == []


def test_every_expression_selects_and_groups_by_labels_that_its_families_have(exported: dict[str, set[str]]) -> None:
    marks = dashboard()["annotations"]["list"]
    for expression in [one["expr"] for one in (*targets(), *alerts(), *marks)]:
        labels: set[str] = set()
        for name, matchers in SELECTOR.findall(expression):
            labels |= exported[name]
            assert set(MATCHER.findall(matchers)) <= exported[name], expression
        for names in GROUPING.findall(expression):
            assert {name.strip() for name in names.split(",")} <= labels, expression


def test_the_legends_of_the_dashboard_and_the_words_of_alerts_name_labels_of_their_results(
    exported: dict[str, set[str]],
) -> None:
    for text, expression in [
        *[(target["legendFormat"], target["expr"]) for target in targets()],
        *[(alert["annotations"]["summary"].replace("$labels.", ""), alert["expr"]) for alert in alerts()],
    ]:
        labels = set.union(*[exported.get(name, OF_PROMETHEUS) for name, _ in SELECTOR.findall(expression)])
        assert set(re.findall(r"\{\{ ?([a-z]\w+) ?\}\}", text)) <= labels, text


def test_the_panels_of_the_dashboard_have_places_of_their_own() -> None:
    places: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & places, panel["title"]
        places |= cells


def test_the_page_says_how_many_alerts_and_panels_there_are() -> None:
    said = (FOLDER / "README.md").read_text(encoding="utf-8")
    panels = sum(panel["type"] != "row" for panel in dashboard()["panels"])
    assert f"{panels} panels" in said
    assert f"{len(alerts())} alerts" in said
    assert all(rule["annotations"]["action"] for rule in alerts())


def test_the_page_on_metrics_lists_every_family_with_its_labels(exported: dict[str, set[str]]) -> None:
    page = (ROOT / "docs/observability.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| ([\w, ]*) \|", page, re.MULTILINE)
    shown = {
        name + part: {*re.findall(r"\w+", labels), *({"le"} if part == "_bucket" else ())}
        for name, kind, labels in rows
        for part in (PARTS if kind == "histogram" else ("",))
    }
    assert shown == {
        name: labels - OF_PROMETHEUS - {"task"} for name, labels in exported.items() if name != "actorsession_server_up"
    }
    assert set(NAME.findall(page)) - set(exported) <= {name for name, kind, _ in rows if kind == "histogram"}


def test_every_alert_has_a_case_in_which_it_is_raised() -> None:
    tests = yaml.safe_load((FOLDER / "alerts_test.yml").read_text(encoding="utf-8"))["tests"]
    raised = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case["exp_alerts"]}
    assert raised == {alert["alert"] for alert in alerts()}


def test_the_commands_that_alerts_advise_exist() -> None:
    advised = {
        name for alert in alerts() for name in re.findall(r"actorsession ([a-z-]+)", alert["annotations"]["action"])
    }
    assert advised
    for name in sorted(advised):
        with pytest.raises(SystemExit) as ended:
            cli.main([name, "--help"])
        assert ended.value.code == 0


# -- tools -----------------------------------------------------------------------------------------


@needs_promtool
@pytest.mark.parametrize(
    "words",
    [("check", "config", "prometheus.yml"), ("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")],
)
def test_promtool_finds_nothing_wrong(words: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *words], cwd=FOLDER, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout


class Prometheus:
    """A Prometheus that runs."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path: str, **query: str) -> Any:
        """The data of an answer of its interface."""
        with urllib.request.urlopen(
            f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=PATIENCE
        ) as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[Any]:
        """The samples of an expression now."""
        plain = expression.replace('task=~"$task"', 'task=~".*"').replace("$__rate_interval", "10s")
        result: list[Any] = self.get("query", query=plain)["result"]
        return result


@contextmanager
def prometheus(folder: Path, target: str, port: int) -> Iterator[Prometheus]:
    """Prometheus with the files of the example, which reads one target twice a second."""
    config = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))
    config["global"] = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
    config["scrape_configs"][0]["static_configs"] = [{"targets": [target]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    shutil.copy(FOLDER / "alerts.yml", folder)
    words = [
        "prometheus",
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log)
    try:
        yield Prometheus(port)
    finally:
        process.terminate()
        process.wait(PATIENCE)


async def until(condition: Any) -> Any:
    """What a condition returns, once that is true; a Prometheus that is not up yet counts as not."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                answer = await asyncio.to_thread(condition)
            except OSError:
                answer = None
            if answer:
                return answer


@needs_prometheus
@pytest.mark.process
async def test_a_prometheus_reads_a_cluster_and_every_panel_has_data(tmp_path: Path, hold_ports: HoldPorts) -> None:
    """1. A cluster of two workers is read. 2. A session runs steps over both, some of which fail. 3. Every panel of the
    dashboard has samples, but for that about snapshots, which the cluster keeps none of."""
    (port,) = hold_ports(1)
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [None])
        v = on(W0, lambda: ops.Variable(np.ones(50_000, np.float32), name="weights"))
        there = on(W1, lambda: x * 2.0)
        end = on(W0, lambda: ops.reshape(there, [2]) + 1.0)
        put = on(W0, lambda: ops.FIFOQueue(3, "float32", [[]], shared_name="inputs").enqueue(1.0))
        large = on(W1, lambda: v + 1.0)
    empty = {target["expr"] for target in targets()}
    never = {expression for expression in empty if "snapshot" in expression}

    async def run_steps(session: AsyncSession) -> None:
        while True:
            await session.run([end, large], {x: [1.0, 2.0]})
            with pytest.raises(InvalidArgumentError):
                await session.run(end, {x: [1.0]})

    with serving("cluster", "--jobs", "worker=2", "--metrics-port", "0") as (_, said):
        target = urllib.parse.urlsplit(said["metrics"]).netloc
        with prometheus(tmp_path, target, port) as reader:
            await until(lambda: reader.query("actorsession_server_up == 1"))
            async with AsyncSession(said["tasks"][W0]["address"], graph=graph) as session:
                await session.run(v.initializer)
                await session.run(put)
                running = asyncio.create_task(run_steps(session))

                def all_have_data() -> bool:
                    empty.difference_update([expression for expression in empty if reader.query(expression)])
                    return empty == never

                try:
                    await until(all_have_data)
                except TimeoutError:
                    assert sorted(empty) == sorted(never)
                finally:
                    await cancelled(running)
                rules = (await asyncio.to_thread(reader.get, "rules"))["groups"][0]["rules"]
                assert [rule["health"] for rule in rules] == ["ok"] * len(alerts())
