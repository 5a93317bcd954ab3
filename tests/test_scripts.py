"""The scripts, with stand-ins for Python and pip: nothing is installed here.

A copy of ``scripts/`` stands in a folder with a space in its name. Its ``python3`` is a shell
script that makes an "environment" whose pip does what a test tells it to.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = ["scripts/demo", "scripts/test", "scripts/check", ".ci/run"]
SOURCED = ["scripts/setup.sh", "scripts/stages.sh"]

# The design's rule is one second; a loaded machine gets another.
ENDS_WITHIN_SECONDS = 2.0

FAKE_PYTHON = f"""#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
    echo venv >>"$CALLS"
    rm -rf "$4"
    mkdir -p "$4/bin"
    cp "$FAKES/environment-python" "$4/bin/python"
else
    exec "{sys.executable}" "$@"
fi
"""

FAKE_ENVIRONMENT_PYTHON = f"""#!/bin/sh
if [ "$1 $2" = "-m pip" ]; then
    echo "$*" >>"$CALLS"
    eval "$PIP_DOES"
else
    exec "{sys.executable}" "$@"
fi
"""


class Checkout:
    """A copy of the scripts in a folder of its own, and the stand-ins that they meet.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a checkout"
        self.fakes = folder / "fakes"
        self.calls = folder / "calls"
        self.environment = self.root / ".venv"
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        (self.root / "pyproject.toml").write_text("[project]\n")
        self.add_program("python3", FAKE_PYTHON)
        self.add_program("environment-python", FAKE_ENVIRONMENT_PYTHON)
        # Not the machine's own PATH: there may be Pythons on it.
        for tool in (
            "bash",
            "cat",
            "cp",
            "dirname",
            "env",
            "mkdir",
            "mktemp",
            "rm",
            "sleep",
            "true",
        ):
            found = shutil.which(tool)
            assert found is not None, f"{tool} is not on PATH"
            (self.fakes / tool).symlink_to(found)
        self.env = {
            "PATH": str(self.fakes),
            "FAKES": str(self.fakes),
            "CALLS": str(self.calls),
            "PIP_DOES": "echo 'WARNING: as pip does' >&2",
            "TMPDIR": str(folder),
        }

    def add_program(self, name: str, text: str) -> Path:
        """Put a shell script on the PATH that the scripts will see."""
        path = self.fakes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def bash(self, code: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run shell code that has sourced setup.sh and stages.sh, from another directory."""
        sourced = "".join(f'. "{self.root}/{name}"; ' for name in SOURCED)
        return self.run(["bash", "-c", sourced + code], **env)

    def run(self, command: list[str], **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            command,
            env=self.env | env,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def made_calls(self) -> list[str]:
        """What was asked of the stand-ins since the last look."""
        calls = self.calls.read_text().splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return calls


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A fresh copy of the scripts."""
    return Checkout(tmp_path)


INSTALL_DEV = ["-m pip install --upgrade pip", "-m pip install --editable . --group dev"]
INSTALL_DEMO = ["-m pip install --upgrade pip", "-m pip install --editable .[demo]"]


# --- the files themselves


@pytest.mark.parametrize("script", ENTRIES + SOURCED)
def test_the_script_parses(script: str) -> None:
    subprocess.run(["bash", "-n", ROOT / script], check=True, timeout=10)


@pytest.mark.parametrize("script", ENTRIES)
def test_the_script_can_be_started(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)


@pytest.mark.parametrize("name", ["demo", "test", "check"])
def test_help_says_how_to_use_it_and_makes_nothing(checkout: Checkout, name: str) -> None:
    run = checkout.run([str(checkout.root / "scripts" / name), "--help"])
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(f"usage: scripts/{name} ")
    assert not checkout.environment.exists()


def test_the_dev_group_holds_what_the_demo_needs() -> None:
    """A current dev environment lets scripts/demo start without installing anything."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    demo = project["project"]["optional-dependencies"]["demo"]
    assert set(demo) <= set(project["dependency-groups"]["dev"])


# --- finding a Python


REFUSES = "#!/bin/sh\necho 'pyenv: python3: command not found' >&2\nexit 127\n"
TOO_OLD = "#!/bin/sh\necho 'is Python 3.9' >&2\nexit 1\n"


def test_a_shim_that_refuses_is_passed_over_for_the_same_name_further_down(
    checkout: Checkout,
) -> None:
    shims = checkout.add_program("shims/python3", REFUSES).parent
    path = f"{shims}:{checkout.fakes}"
    run = checkout.bash('find_python && say "$PYTHON"', PATH=path)
    assert run.stdout == f"{checkout.fakes}/python3\n", run.stderr


def test_a_versioned_name_serves_when_python3_is_too_old(checkout: Checkout) -> None:
    checkout.add_program("python3", TOO_OLD)
    good = checkout.add_program("python3.12", FAKE_PYTHON)
    run = checkout.bash('find_python && say "$PYTHON"')
    assert run.stdout == f"{good}\n", run.stderr


def test_the_environment_being_replaced_is_no_candidate(checkout: Checkout) -> None:
    active = checkout.environment / "bin"
    active.mkdir(parents=True)
    shutil.copy(checkout.fakes / "python3", active)
    run = checkout.bash('find_python && say "$PYTHON"', PATH=f"{active}:{checkout.fakes}")
    assert run.stdout == f"{checkout.fakes}/python3\n", run.stderr


def test_without_any_python_the_error_says_what_was_tried_and_what_would_do(
    checkout: Checkout,
) -> None:
    checkout.add_program("python3", TOO_OLD)
    checkout.add_program("python", REFUSES)
    run = checkout.bash("prepare_environment dev")
    assert run.returncode == 1
    assert "needs Python 3.11 or newer" in run.stderr
    assert f"{checkout.fakes}/python3: is Python 3.9\n" in run.stderr
    assert f"{checkout.fakes}/python: pyenv: python3: command not found\n" in run.stderr
    assert "ACTORSESSION_PYTHON=" in run.stderr


def test_a_named_python_comes_before_all_others(checkout: Checkout) -> None:
    named = checkout.add_program("elsewhere/my python", FAKE_PYTHON)
    run = checkout.bash('find_python && say "$PYTHON"', ACTORSESSION_PYTHON=str(named))
    assert run.stdout == f"{named}\n", run.stderr


def test_a_named_python_that_cannot_be_used_is_an_error_not_a_hint(checkout: Checkout) -> None:
    named = checkout.add_program("elsewhere/old", TOO_OLD)
    run = checkout.bash("prepare_environment dev", ACTORSESSION_PYTHON=str(named))
    assert run.returncode == 1
    assert f"ACTORSESSION_PYTHON is {named}, which cannot be used: is Python 3.9" in run.stderr
    assert checkout.made_calls() == []


# --- making the environment


@pytest.mark.parametrize(("profile", "calls"), [("dev", INSTALL_DEV), ("demo", INSTALL_DEMO)])
def test_the_first_run_makes_the_environment_and_says_so_on_stdout_only(
    checkout: Checkout, profile: str, calls: list[str]
) -> None:
    run = checkout.bash(f"prepare_environment {profile}")
    assert (run.returncode, run.stderr) == (0, "")
    assert checkout.made_calls() == ["venv", *calls]
    assert [line.split(" ")[1] for line in run.stdout.splitlines()] == [
        "making",
        "updating",
        "installing",
    ]
    assert list(checkout.root.parent.glob("actorsession-setup.*")) == []  # its log


@pytest.mark.parametrize(("made", "wanted"), [("dev", "dev"), ("dev", "demo"), ("demo", "demo")])
def test_a_second_run_installs_nothing(checkout: Checkout, made: str, wanted: str) -> None:
    checkout.bash(f"prepare_environment {made}")
    checkout.made_calls()
    run = checkout.bash(f"prepare_environment {wanted}")
    assert (run.returncode, run.stdout) == (0, "Environment: .venv is up to date\n")
    assert checkout.made_calls() == []


def test_a_demo_environment_is_not_enough_for_development(checkout: Checkout) -> None:
    checkout.bash("prepare_environment demo")
    checkout.made_calls()
    checkout.bash("prepare_environment dev")
    assert checkout.made_calls() == INSTALL_DEV


def test_a_changed_pyproject_installs_again_into_the_same_environment(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    checkout.made_calls()
    (checkout.root / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    checkout.bash("prepare_environment dev")
    assert checkout.made_calls() == INSTALL_DEV


def test_an_environment_whose_python_is_gone_is_made_again(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    checkout.made_calls()
    python = checkout.environment / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3.11")
    run = checkout.bash("prepare_environment dev")
    assert run.returncode == 0, run.stderr
    assert checkout.made_calls() == ["venv", *INSTALL_DEV]


def test_an_environment_that_came_along_with_a_copy_is_made_again(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    checkout.made_calls()
    checkout.root.rename(checkout.root.with_name("moved"))
    checkout.root = checkout.root.with_name("moved")
    checkout.bash("prepare_environment dev")
    assert checkout.made_calls() == ["venv", *INSTALL_DEV]


def test_an_environment_made_by_hand_is_installed_into(checkout: Checkout) -> None:
    (checkout.environment / "bin").mkdir(parents=True)
    shutil.copy(checkout.fakes / "environment-python", checkout.environment / "bin" / "python")
    checkout.bash("prepare_environment dev")
    assert checkout.made_calls() == INSTALL_DEV


def test_a_failing_pip_shows_its_log_and_the_next_run_starts_afresh(checkout: Checkout) -> None:
    failing = "echo 'no such package'; echo 'as I said' >&2; exit 3"
    run = checkout.bash("prepare_environment dev; say never", PIP_DOES=failing)
    assert run.returncode == 1
    assert "no such package\nas I said\n" in run.stderr
    assert "exit status 3" in run.stderr
    assert "never" not in run.stdout

    checkout.made_calls()
    checkout.bash("prepare_environment dev")
    assert checkout.made_calls() == ["venv", *INSTALL_DEV]


# --- Ctrl-C


@pytest.fixture
def interrupted(checkout: Checkout, request: pytest.FixtureRequest) -> tuple[str, int]:
    """Start scripts/demo, interrupt it while pip runs; its output and exit status."""
    target, pip_does = request.param
    started = checkout.root / "started"
    os.mkfifo(started)
    # Whoever is left running holds this pipe open.
    held, holding = os.pipe()
    demo = subprocess.Popen(
        [checkout.root / "scripts" / "demo"],
        env=checkout.env | {"STARTED": str(started), "PIP_DOES": pip_does},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        pass_fds=[holding],
        start_new_session=True,
    )
    os.close(holding)
    with started.open():  # opens once the stand-in for pip opens its end
        pass
    began = time.monotonic()
    send = os.killpg if target == "group" else os.kill
    send(demo.pid, signal.SIGINT)
    output, _ = demo.communicate(timeout=30)
    took = time.monotonic() - began
    assert os.read(held, 1) == b""
    os.close(held)
    assert took < ENDS_WITHIN_SECONDS
    return output, demo.returncode


@pytest.mark.parametrize(
    "interrupted",
    [
        pytest.param(("group", ': >"$STARTED"; sleep 100'), id="from the terminal"),
        pytest.param(("process", ': >"$STARTED"; sleep 100'), id="to the script alone"),
        pytest.param(
            ("group", 'trap "" INT TERM; : >"$STARTED"; sleep 100'), id="with a stubborn pip"
        ),
    ],
    indirect=True,
)
def test_ctrl_c_during_the_set_up_ends_at_once_with_one_line_and_nothing_left(
    interrupted: tuple[str, int],
) -> None:
    output, status = interrupted
    assert status == 0
    *phases, last = output.splitlines()
    assert last == "Stopped during the set-up; nothing is left running."
    assert [phase.split(" ")[1] for phase in phases] == ["making", "updating"]


# --- starting the demo


def add_cli(checkout: Checkout, code: str) -> dict[str, str]:
    """Give the environment an ``actorsession.cli`` of our own; the variables that make it seen."""
    package = checkout.root.parent / "installed" / "actorsession"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "cli.py").write_text(code)
    return {"PYTHONPATH": str(package.parent)}


def test_the_demo_gets_its_arguments_and_its_exit_status_is_the_script_s(
    checkout: Checkout,
) -> None:
    env = add_cli(checkout, "import sys\ndef main(): print(sys.argv); return 7\n")
    run = checkout.run([str(checkout.root / "scripts" / "demo"), "--steps", "two words"], **env)
    assert (run.returncode, run.stderr) == (7, "")
    assert run.stdout.splitlines()[-1] == "['actorsession', 'demo', '--steps', 'two words']"


def test_ctrl_c_while_the_demo_is_being_imported_is_one_line_and_no_traceback(
    checkout: Checkout,
) -> None:
    checkout.bash("prepare_environment demo")
    started = checkout.root / "started"
    os.mkfifo(started)
    code = f"open({str(started)!r}, 'w').close()\nimport time\ntime.sleep(100)\n"
    demo = subprocess.Popen(
        [checkout.root / "scripts" / "demo"],
        env=checkout.env | add_cli(checkout, code),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with started.open():
        pass
    os.kill(demo.pid, signal.SIGINT)  # exec: the script's process is the demo's
    output, _ = demo.communicate(timeout=30)
    assert (demo.returncode, output.splitlines()[1:]) == (0, ["Stopped."])


# --- running the stages


def test_the_first_failing_stage_ends_the_run_and_is_named(checkout: Checkout) -> None:
    run = checkout.bash("stage good true; stage bad false; stage later true; all_stages_passed")
    assert run.returncode == 1
    summary = run.stdout[run.stdout.index("\n\n") :]
    assert "ok      good" in summary
    assert "FAILED  bad" in summary
    assert "later" not in run.stdout


def test_the_summary_of_a_good_run_lists_every_stage(checkout: Checkout) -> None:
    run = checkout.bash("stage one true; stage two true; all_stages_passed")
    assert run.returncode == 0
    assert run.stdout.endswith("  ok      one (0 s)\n  ok      two (0 s)\nAll passed.\n")
