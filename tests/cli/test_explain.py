"""``actorsession explain``: what a step of a graph in a file would do."""

from __future__ import annotations

from pathlib import Path

import actorsession as acts
import actorsession.compat.v1 as tf
from tests.cli.kit import called
from tests.cli.test_models import files as files
from tests.rows import for_each


def explained(path: Path, *words: str) -> acts.Explanation:
    code, out, err = called("explain", str(path), "--format", "json", *words)
    assert (code, err) == (0, ""), err
    return acts.Explanation.from_json(out)


@for_each("name", ["graph.pb", "graph.pbtxt", "own.graph", "run/model.ckpt-3.meta", "model"])
def test_what_inspect_opens_as_a_graph_is_explained(name: str, files: Path) -> None:
    step = explained(files / name, "--fetch", "y", "--feed", "x=5,2")
    assert [(t.name, t.shape) for t in step.feeds] == [("x:0", (5, 2))]
    assert step.fetches == ("y:0",)
    assert step.node("y").flops == 2 * 5 * 2
    assert [step.node("y").line, step.missing] == ["", ()]


def test_a_saved_model_is_fetched_by_its_signature(files: Path) -> None:
    step = explained(files / "model")
    assert (step.fetches, [feed.name for feed in step.feeds]) == (("y:0",), ["x:0"])
    for feed in ("x=3,2", "x:0=3,2"):
        named = explained(files / "model", "--signature", "serving_default", "--feed", feed)
        assert [(t.name, t.shape) for t in named.feeds] == [("x:0", (3, 2))]


def test_an_operation_is_a_target(files: Path) -> None:
    assert explained(files / "graph.pb", "--fetch", "init").targets == ("init",)


LOCAL = "/job:localhost/replica:0/task:0/device:"


@for_each(
    "asked, client, others",
    [
        (["/cpu:0", "/cpu:1"], f"{LOCAL}CPU:0", [f"{LOCAL}CPU:1"]),
        (
            ["/job:ps/task:1", "/job:worker/task:0/gpu:1"],
            "/job:worker/replica:0/task:0/device:CPU:0",
            ["/job:ps/replica:0/task:1/device:CPU:0", "/job:worker/replica:0/task:0/device:GPU:1"],
        ),
        (["/job:a", ""], "/job:a/replica:0/task:0/device:CPU:0", []),
    ],
)
def test_devices_that_a_graph_names_count_as_there(
    asked: list[str], client: str, others: list[str], tmp_path: Path
) -> None:
    with acts.Graph().as_default() as graph:
        with tf.device(asked[0]):
            x = tf.placeholder(tf.float32, [3], name="x")
        with tf.device(asked[1]):
            tf.exp(x, name="y")
        tf.train.write_graph(graph, str(tmp_path), "graph.pb", as_text=False)
    step = explained(tmp_path / "graph.pb", "--fetch", "y")
    assert step.client == client
    assert sorted(step.devices) == sorted([client, *others])
    assert [m.name for m in step.missing] == ["x"]
    assert [t.tensor.nbytes for t in step.transfers] == ([12] if others else [])


@for_each(
    "kind, begin", [("text", "A step that fetches y:0"), ("dot", "digraph"), ("svg", "<svg"), ("html", "<!doctype")]
)
def test_each_format_is_written_to_a_file_or_printed(kind: str, begin: str, files: Path, tmp_path: Path) -> None:
    asked = ("explain", str(files / "graph.pb"), "--fetch", "y", "--feed", "x", "--format", kind)
    code, out, err = called(*asked)
    assert (code, err) == (0, "")
    assert out.startswith(begin)
    written = tmp_path / f"out.{kind}"
    assert called(*asked, "--out", str(written)) == (0, "", "")
    assert written.read_text() == out


@for_each(
    "words, message",
    [
        ([], '--fetch: nothing is fetched; "inspect" lists the outputs of a graph'),
        (["--fetch", "yy"], "--fetch: there is no operation 'yy'; did you mean 'y'?"),
        (["--fetch", "y:1"], "--fetch: 'y' (MatMul) has 1 outputs, not 'y:1'"),
        (["--fetch", "y", "--feed", "xx"], "--feed: there is no operation 'xx'; did you mean 'x'?"),
        (["--fetch", "y", "--feed", "x:7"], "--feed: 'x' has 1 outputs, not 'x:7'"),
        (["--fetch", "y", "--feed", "x=a"], "--feed: a shape is sizes with commas between"),
        (["--fetch", "y", "--feed", "x=1,2,3"], "--feed: "),
        (["--signature", "sreving"], "--signature: there is no signature 'sreving'"),
        (["--fetch", "y", "--format", "png"], "--format: invalid choice: 'png'"),
    ],
)
def test_a_wrong_call_is_refused_with_what_would_be_right(words: list[str], message: str, files: Path) -> None:
    code, out, err = called("explain", str(files / "graph.pb"), *words)
    assert (code, out) == (2, "")
    assert message in err


@for_each("name, tags", [("model", "train"), ("empty", None), ("text", None), ("none", None), ("records", None)])
def test_what_holds_no_such_graph_is_refused(name: str, tags: str | None, files: Path) -> None:
    words = [] if tags is None else ["--tags", tags]
    code, out, err = called("explain", str(files / name), "--fetch", "y", *words)
    assert (code != 0, out) == (True, "")
    assert name in err


def test_types_that_are_missing_here_are_named(files: Path) -> None:
    code, _, err = called("explain", str(files / "odd.pb"), "--fetch", "y")
    assert code == 1
    assert "OpOfAnotherLibrary" in err
