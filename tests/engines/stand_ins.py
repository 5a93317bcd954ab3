"""Programs that the pages of engines call and that tests do not run.

``python -m tests.engines.stand_ins NAME ARGUMENTS``. Each checks that what it is asked for is there, and
says what the program would say.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from tests.cluster.script import ROOT
from tests.engines.processes import RAY_TAKES_NO_JOB, kill_processes_of

_PATIENCE = 240.0  # seconds for Ray to take a job


def pip(*words: str) -> None:
    """Check that extras exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (what,) = words[1:]
    name, _, extras = what.rstrip("]").partition("[")
    assert name == project["name"], what
    assert set(filter(None, extras.split(","))) <= set(project["optional-dependencies"]), what


def docker(*words: str) -> None:
    """Check that the files of an image are there."""
    assert words[:2] == ("build", "-f"), words
    lines = Path(words[2]).read_text(encoding="utf-8").splitlines()
    copied = [line.split()[1] for line in lines if line.startswith("COPY ")]
    assert copied, lines
    assert all(Path(words[-1], source).exists() for source in copied), copied
    Path("image").write_text(words[words.index("-t") + 1])


def kubectl(*words: str) -> None:
    """Check names against those of the secret and of the manifests, which must be there by then."""
    ways: dict[str, Any] = {"create": create_secret, "apply": apply, "wait": wait, "logs": logs}
    ways[words[0]](*words[1:])


def create_secret(*words: str) -> None:
    kind, form, name, literal = words
    assert (kind, form) == ("secret", "generic"), words
    assert re.fullmatch(r"--from-literal=token=\S{32,}", literal), "the token is missing or short"
    Path("secret").write_text(name)
    say(f"secret/{name} created")


def apply(flag: str, path: str) -> None:
    yaml: Any = importlib.import_module("yaml")

    assert flag == "-f", flag
    for one in yaml.safe_load_all(Path(path).read_text(encoding="utf-8")):
        kind, name = one["kind"], one["metadata"]["name"]
        pod = one["spec"].get("template", {}).get("spec", {})
        secrets = [volume["secret"]["secretName"] for volume in pod.get("volumes", ()) if "secret" in volume]
        assert all(secret == Path("secret").read_text() for secret in secrets), secrets
        images = [container["image"] for container in pod.get("containers", ())]
        assert all(image == Path("image").read_text() for image in images), images
        group = {"Service": "service", "StatefulSet": "statefulset.apps", "Job": "job.batch"}[kind]
        with Path("objects").open("a", encoding="utf-8") as objects:
            objects.write(f"{kind.lower()}/{name}\n")
        say(f"{group}/{name} created")


def wait(*words: str) -> None:
    check_object(words[-1])
    say(f"{words[-1].replace('job/', 'job.batch/')} condition met")


def logs(name: str) -> None:
    check_object(name)
    say("1000 steps on 2 workers: accuracy 0.975")


def check_object(name: str) -> None:
    assert name in Path("objects").read_text(encoding="utf-8").split(), name


def ray(*words: str) -> None:
    """``ray stop`` for the Ray whose files are in this block's folder, and no other; ``ray job`` in time."""
    if words[0] == "job":
        submit(*words)
    assert words == ("stop",), words
    kill_processes_of(os.environ["RAY_TMPDIR"])


def submit(*words: str) -> None:
    """Submit a job, and do that again while Ray says so, which takes none in its first seconds."""
    command = [sys.executable, "-m", "ray.scripts.scripts", *words]
    limit = time.monotonic() + _PATIENCE
    while True:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if RAY_TAKES_NO_JOB not in done.stdout or time.monotonic() > limit:
            sys.stdout.write(done.stdout)
            sys.exit(done.returncode)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    stand_in: Any = {"pip": pip, "docker": docker, "kubectl": kubectl, "ray": ray}[sys.argv[1]]
    stand_in(*sys.argv[2:])
