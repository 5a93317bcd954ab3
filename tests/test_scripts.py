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
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from scripts import requirements

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parent.parent
NAMES = ["demo", "test", "check", "renew", "docs", "faults", "check-gpu", "famous"]
ENTRIES = [*(f"scripts/{name}" for name in NAMES), ".ci/run"]
SOURCED = ["scripts/setup.sh", "scripts/stages.sh"]

# The design's rule is that Ctrl-C ends the set-up within a second; it waits in steps of a tenth.
MOST_NAPS = 9

FAKE_PYTHON = f"""#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
    echo venv >>"$CALLS"
    rm -rf "$4"
    mkdir -p "$4/bin"
    cp "$FAKES/environment-python" "$4/bin/python"
    for tool in ruff mypy lint-imports; do
        cp "$FAKES/tool" "$4/bin/$tool"
    done
elif [ "$1 $2" = "-c import uv; print(uv.find_uv_bin())" ]; then
    echo "$UV_OF_PYTHON"
else
    exec "{sys.executable}" "$@"
fi
"""

FAKE_ENVIRONMENT_PYTHON = f"""#!/bin/sh
case "$1 $2" in
    "-m pip")
        echo "$*" >>"$CALLS"
        eval "$PIP_DOES"
        ;;
    "-c import uv; print(uv.find_uv_bin())") exit 1 ;;
    "-c "*getppid*)
        echo loop >>"$CALLS"
        exec "{sys.executable}" "$@"
        ;;
    "-m pytest" | "-m compileall")
        echo "$2" >>"$CALLS"
        eval "${{PYTEST_DOES:-:}}"
        ;;
    "-m scripts.changed") echo tests/test_one.py ;;
    "-m scripts.pages" | "-m sphinx" | "-m scripts.site.search" | "-m scripts.repositories")
        echo "$*" >>"$CALLS"
        [ "$2" != sphinx ] || exit "${{TOOLS_END_WITH:-0}}"
        ;;
    *) exec "{sys.executable}" "$@" ;;
esac
"""

# Makes an environment as FAKE_PYTHON does, and installs as its pip does.
FAKE_UV = """#!/bin/sh
[ "$1" != --version ] || exit "${UV_ENDS_WITH:-0}"
echo "uv $*" >>"$CALLS"
eval "${UV_DOES:-:}"
if [ "$1" = venv ]; then
    CALLS=/dev/null exec "$4" -m venv --clear "$5"
fi
"""

# ruff, mypy and lint-imports.
FAKE_TOOL = """#!/bin/sh
echo "${0##*/} $*${PYTHONPATH:+ with ${PYTHONPATH##*/}}" >>"$CALLS"
exit "${TOOLS_END_WITH:-0}"
"""

# What stands in for scripts/constraints.txt: no numpy is installed in either version.
PINS = """\
numpy==0.1 ; python_version < "3.12"
numpy==0.2 ; python_version >= "3.12"
pip==1.0
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
        (self.root / "scripts" / "constraints.txt").write_text(PINS)
        (self.root / "pyproject.toml").write_text("[project]\n")
        self.add_program("python3", FAKE_PYTHON)
        self.add_program("environment-python", FAKE_ENVIRONMENT_PYTHON)
        self.add_program("tool", FAKE_TOOL)
        sleep = f'#!/bin/sh\necho "sleep $1" >>"$CALLS"\nexec {shutil.which("sleep")} "$1"\n'
        self.add_program("sleep", sleep)
        self.add_program("getconf", "#!/bin/sh\necho 2\n")
        # Not the machine's own PATH: there may be Pythons on it.
        for tool in ("bash", "cat", "cp", "dirname", "env", "mkdir", "mktemp", "rm", "true"):
            found = shutil.which(tool)
            assert found is not None, f"{tool} is not on PATH"
            (self.fakes / tool).symlink_to(found)
        self.env = {
            "PATH": str(self.fakes),
            "FAKES": str(self.fakes),
            "CALLS": str(self.calls),
            "PIP_DOES": "echo 'WARNING: as pip does' >&2",
            "TMPDIR": str(folder),
            "PIP_CONFIG_FILE": os.devnull,
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
            command, env=self.env | env, cwd="/", capture_output=True, text=True, timeout=100, check=False
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


HELD = "--constraint scripts/constraints.txt"
UPDATE_PIP = f"-m pip install --upgrade pip {HELD}"
BUILT = f"{HELD} --build-constraint scripts/constraints.txt"
INSTALL_DEMO = [UPDATE_PIP, f"-m pip install --no-compile --editable .[demo] {BUILT}"]


def install_dev(checkout: Checkout) -> list[str]:
    """What is asked of pip for the tools of development, and for the other numpy that mypy sees."""
    other = f"--no-deps --target {checkout.environment}/numpy-for-3.14 --python-version 3.14"
    return [
        UPDATE_PIP,
        f"-m pip install --no-compile --editable . --group dev {BUILT}",
        f"-m pip install numpy==0.2 {other} --only-binary :all:",
    ]


# --- the files themselves


@pytest.mark.parametrize("script", ENTRIES + SOURCED)
def test_the_script_parses(script: str) -> None:
    subprocess.run(["bash", "-n", ROOT / script], check=True, timeout=10)


@pytest.mark.parametrize("script", ENTRIES)
def test_the_script_can_be_started(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)


@pytest.mark.parametrize("name", NAMES)
def test_help_says_how_to_use_it_and_makes_nothing(checkout: Checkout, name: str) -> None:
    run = checkout.run([str(checkout.root / "scripts" / name), "--help"])
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(f"usage: scripts/{name}")
    assert not checkout.environment.exists()


def test_the_dev_group_holds_what_the_demo_needs() -> None:
    """A current dev environment lets scripts/demo start without installing anything."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    demo = project["project"]["optional-dependencies"]["demo"]
    assert set(demo) <= set(project["dependency-groups"]["dev"])


def test_the_packages_of_engines_are_asked_for_in_one_version_by_users_and_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    assert set(extras["dask"]) <= set(groups["dev"])
    assert extras["ray"] == [asked.replace("[default]", "") for asked in groups["ray"]]
    assert not set(groups["ray"]) & set(groups["dev"])


# --- finding a Python


REFUSES = "#!/bin/sh\necho 'pyenv: python3: command not found' >&2\nexit 127\n"
TOO_OLD = "#!/bin/sh\necho 'is Python 3.9' >&2\nexit 1\n"


def test_a_shim_that_refuses_is_passed_over_for_the_same_name_further_down(checkout: Checkout) -> None:
    shims = checkout.add_program("shims/python3", REFUSES).parent
    path = f"{shims}:{checkout.fakes}"
    run = checkout.bash('find_python dev && say "$PYTHON"', PATH=path)
    assert run.stdout == f"{checkout.fakes}/python3\n", run.stderr


def test_a_versioned_name_serves_when_python3_is_too_old(checkout: Checkout) -> None:
    checkout.add_program("python3", TOO_OLD)
    good = checkout.add_program("python3.12", FAKE_PYTHON)
    run = checkout.bash('find_python dev && say "$PYTHON"')
    assert run.stdout == f"{good}\n", run.stderr


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("HOME", ".pyenv/versions/3.13.0"),
        ("PYENV_ROOT", "versions/3.13.0"),
        ("HOME", ".asdf/installs/python/3.13.0"),
        ("HOME", ".local/share/uv/python/cpython-3.13"),
        ("HOME", ".local/share/mise/installs/python/3.13"),
    ],
)
def test_a_version_manager_s_serves_when_none_on_path_does(checkout: Checkout, variable: str, place: str) -> None:
    checkout.add_program("python3", TOO_OLD)
    good = checkout.add_program(f"of a user/{place}/bin/python3.13", FAKE_PYTHON)
    checkout.add_program(f"of a user/{place}/bin/python3", REFUSES)
    where = {variable: str(checkout.fakes / "of a user")}
    run = checkout.bash('find_python dev && say "$PYTHON"', **where)
    assert run.stdout == f"{good}\n", run.stderr


def test_the_oldest_python_tries_the_lowest_versions_wherever_it_is(checkout: Checkout) -> None:
    oldest = checkout.add_program(".pyenv/versions/3.11.7/bin/python3.11", FAKE_PYTHON)
    run = checkout.bash('find_python lowest && say "$PYTHON"', HOME=str(checkout.fakes))
    assert run.stdout == f"{oldest}\n", run.stderr


def test_the_environment_being_replaced_is_no_candidate(checkout: Checkout) -> None:
    active = checkout.environment / "bin"
    active.mkdir(parents=True)
    shutil.copy(checkout.fakes / "python3", active)
    run = checkout.bash('find_python dev && say "$PYTHON"', PATH=f"{active}:{checkout.fakes}")
    assert run.stdout == f"{checkout.fakes}/python3\n", run.stderr


def test_without_any_python_the_error_says_what_was_tried_and_what_would_do(checkout: Checkout) -> None:
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
    run = checkout.bash('find_python dev && say "$PYTHON"', ACTORSESSION_PYTHON=str(named))
    assert run.stdout == f"{named}\n", run.stderr


def test_a_named_python_that_cannot_be_used_is_an_error_not_a_hint(checkout: Checkout) -> None:
    named = checkout.add_program("elsewhere/old", TOO_OLD)
    run = checkout.bash("prepare_environment dev", ACTORSESSION_PYTHON=str(named))
    assert run.returncode == 1
    assert f"ACTORSESSION_PYTHON is {named}, which cannot be used: is Python 3.9" in run.stderr
    assert checkout.made_calls() == []


# --- making the environment


@pytest.mark.parametrize(("made", "enough_for"), [("dev", ["dev", "demo"]), ("demo", ["demo"])], ids=["dev", "demo"])
def test_the_first_run_makes_the_environment_and_says_so_on_stdout_only_and_a_second_does_nothing(
    checkout: Checkout, made: str, enough_for: list[str]
) -> None:
    run = checkout.bash(f"prepare_environment {made}")
    assert (run.returncode, run.stderr) == (0, "")
    calls = install_dev(checkout) if made == "dev" else INSTALL_DEMO
    assert checkout.made_calls() == ["venv", *calls]
    said = [line.split(" ")[1] for line in run.stdout.splitlines()]
    others = ["installing"] * (len(calls) - 2)
    assert said == ["making", "updating", "installing", "compiling", *others]
    assert list(checkout.root.parent.glob("actorsession-setup.*")) == []  # its log

    for wanted in enough_for:
        run = checkout.bash(f"prepare_environment {wanted}")
        assert (run.returncode, run.stdout) == (0, "Environment: .venv is up to date\n"), wanted
        assert checkout.made_calls() == [], wanted


def engines(checkout: Checkout) -> list[str]:
    """How the groups are installed that are no part of the others."""
    index = "--extra-index-url https://download.pytorch.org/whl/cpu "
    beside = f"--no-deps --upgrade --target {checkout.root}/.venv/"
    apart = {"torch": index, "keras": f"{beside}keras ", "perfetto": f"{beside}perfetto "}
    return [
        f"-m pip install --no-compile --only-binary :all: {apart.get(group, '')}--group {group} {HELD}"
        for group in ("ray", "dask", "kubernetes", "torch", "keras", "perfetto")
    ]


def test_what_only_tests_of_engines_need_is_installed_once(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    checkout.made_calls()
    scripts_test(checkout)
    assert "pip" not in " ".join(checkout.made_calls())
    run = scripts_test(checkout, "--all")
    assert (run.returncode, run.stderr) == (0, "")
    assert [call for call in checkout.made_calls() if "pip" in call] == engines(checkout)
    assert list(checkout.root.parent.glob("actorsession-setup.*")) == []  # its log
    scripts_test(checkout, "--all")
    assert "pip" not in " ".join(checkout.made_calls())


def test_an_engine_that_cannot_be_had_is_a_line_and_is_asked_for_again(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    checkout.made_calls()
    none = "echo 'Looking for it'; echo 'ERROR: No matching distribution found for ray>=2.49' >&2; echo"
    run = scripts_test(checkout, "--all", PIP_DOES=f'[ "$8" != ray ] || {{ {none}; exit 1; }}')
    assert (run.returncode, run.stderr) == (0, "")
    assert (
        "Environment: the group ray cannot be had, and its tests are skipped: "
        "ERROR: No matching distribution found for ray>=2.49\n"
    ) in run.stdout
    assert [call for call in checkout.made_calls() if "pip" in call] == engines(checkout)
    scripts_test(checkout, "--all")
    assert [call for call in checkout.made_calls() if "pip" in call] == engines(checkout)[:1]


def test_the_packages_of_engines_can_be_left_out(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    checkout.made_calls()
    assert scripts_test(checkout, "--all", "--no-engines").returncode == 0
    assert "pip" not in " ".join(checkout.made_calls())


def test_the_lowest_versions_are_those_of_engines_too(checkout: Checkout) -> None:
    shutil.copy(ROOT / "pyproject.toml", checkout.root)
    scripts_test(checkout, "--all", "--lowest")
    held = checkout.root / ".venv-lowest" / "lowest.txt"
    found = [call for call in checkout.made_calls() if "--group ray" in call]
    assert found == [engines(checkout)[0].replace("scripts/constraints.txt", str(held))]


def test_a_demo_environment_is_not_enough_for_development(checkout: Checkout) -> None:
    checkout.bash("prepare_environment demo")
    checkout.made_calls()
    checkout.bash("prepare_environment dev")
    assert checkout.made_calls() == install_dev(checkout)


def test_a_change_of_what_is_asked_for_installs_again_into_the_same_environment(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    checkout.made_calls()
    for name in ("pyproject.toml", "scripts/constraints.txt"):
        with (checkout.root / name).open("a") as file:
            file.write("# changed\n")
        checkout.bash("prepare_environment dev")
        assert checkout.made_calls() == install_dev(checkout), name


def test_mypy_sees_the_numpy_of_the_oldest_python_too_where_ours_is_that_of_the_newest(checkout: Checkout) -> None:
    pins = PINS.replace("0.2", version("numpy"))
    (checkout.root / "scripts" / "constraints.txt").write_text(pins)
    checkout.bash("prepare_environment dev")
    *_, other = checkout.made_calls()
    assert "numpy==0.1 " in other
    assert f"--target {checkout.environment}/numpy-for-3.11 --python-version 3.11 " in other


def test_an_environment_whose_python_is_gone_is_made_again(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    checkout.made_calls()
    python = checkout.environment / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3.11")
    run = checkout.bash("prepare_environment dev")
    assert run.returncode == 0, run.stderr
    assert checkout.made_calls() == ["venv", *install_dev(checkout)]


def test_an_environment_that_came_along_with_a_copy_is_made_again(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    checkout.made_calls()
    checkout.root.rename(checkout.root.with_name("moved"))
    checkout.root = checkout.root.with_name("moved")
    checkout.environment = checkout.root / ".venv"
    checkout.bash("prepare_environment dev")
    assert checkout.made_calls() == ["venv", *install_dev(checkout)]


def test_an_environment_made_by_hand_is_installed_into(checkout: Checkout) -> None:
    (checkout.environment / "bin").mkdir(parents=True)
    shutil.copy(checkout.fakes / "environment-python", checkout.environment / "bin" / "python")
    checkout.bash("prepare_environment dev")
    assert checkout.made_calls() == install_dev(checkout)


def test_a_failing_pip_shows_its_log_and_the_next_run_starts_afresh(checkout: Checkout) -> None:
    failing = "echo 'no such package'; echo 'as I said' >&2; exit 3"
    run = checkout.bash("prepare_environment dev; say never", PIP_DOES=failing)
    assert run.returncode == 1
    assert "no such package\nas I said\n" in run.stderr
    assert "exit status 3" in run.stderr
    assert "never" not in run.stdout

    checkout.made_calls()
    checkout.bash("prepare_environment dev")
    assert checkout.made_calls() == ["venv", *install_dev(checkout)]


# --- with uv


def with_uv(checkout: Checkout, *options: str) -> list[str]:
    """What is asked of uv for the demo, given what pip's configuration comes to."""
    pip = f"uv pip install --python {checkout.environment}/bin/python --index-strategy unsafe-best-match"
    return [
        f"uv venv --clear --python {checkout.fakes}/python3 {checkout.environment}",
        " ".join([pip, *options, "pip", HELD]),
        " ".join([pip, *options, "--no-compile --editable .[demo]", BUILT]),
    ]


@pytest.mark.parametrize("where", ["path", "python"])
def test_uv_makes_the_environment_and_installs_where_it_is_at_hand(checkout: Checkout, where: str) -> None:
    uv = checkout.add_program("uv" if where == "path" else "of python/uv", FAKE_UV)
    of_python = {} if where == "path" else {"UV_OF_PYTHON": str(uv)}
    run = checkout.bash("prepare_environment demo", **of_python)
    assert (run.returncode, run.stderr) == (0, "")
    assert checkout.made_calls() == with_uv(checkout)
    assert [line.split(" ")[1] for line in run.stdout.splitlines()] == [
        "making",
        "installing",
        "installing",
        "compiling",
    ]
    assert (checkout.environment / ".made-for").read_text() == str(checkout.root)

    run = checkout.bash("prepare_environment demo", **of_python)
    assert (run.stdout, checkout.made_calls()) == ("Environment: .venv is up to date\n", [])


def test_uv_searches_where_pip_is_configured_to(checkout: Checkout) -> None:
    checkout.add_program("uv", FAKE_UV)
    checkout.bash("prepare_environment demo", PIP_FIND_LINKS="/one /two", PIP_NO_INDEX="1")
    assert checkout.made_calls() == with_uv(checkout, "--find-links /one --find-links /two --no-index")


def test_a_setting_of_pip_s_is_the_nearest_to_its_command() -> None:
    said = """\
:env:.constraint='/of/env'
global.cert='/a/file'
global.constraint='/of/global'
global.extra-index-url='file:///one\\nfile:///two'
global.find-links='/of/global'
install.find-links='/of/install'
install.no-index='false'
"""
    assert requirements.uv_options(said) == [
        *("--index-strategy", "unsafe-best-match"),
        *("--extra-index-url", "file:///one", "--extra-index-url", "file:///two"),
        *("--find-links", "/of/install", "--constraint", "/of/env", "--cert", "/a/file"),
    ]


@pytest.mark.parametrize(
    ("fails", "begins", "pip_from"),
    [
        ("exit 2", ["making", "making", "updating"], 0),
        ('[ "$1" != pip ] || exit 2', ["making", "installing", "making", "updating"], 0),
        ('case "$*" in *.[[]demo]*) exit 2 ;; esac', ["making", "installing", "installing"], 1),
    ],
    ids=["to make it", "to install pip", "to install the project"],
)
def test_where_uv_fails_pip_is_used(checkout: Checkout, fails: str, begins: list[str], pip_from: int) -> None:
    checkout.add_program("uv", FAKE_UV)
    run = checkout.bash("prepare_environment demo", UV_DOES=fails)
    assert (run.returncode, run.stderr) == (0, "")
    assert [line.split(" ")[1] for line in run.stdout.splitlines()] == [*begins, "installing", "compiling"]
    calls = [call for call in checkout.made_calls() if not call.startswith("uv ")]
    assert calls == [*(["venv"] if pip_from == 0 else []), *INSTALL_DEMO[pip_from:]]
    assert ("with pip, because uv has failed" in run.stdout) == (pip_from == 1)
    assert checkout.bash("prepare_environment demo").stdout == "Environment: .venv is up to date\n"


@pytest.mark.parametrize("broken", ["UV_ENDS_WITH", "PIP_CONFIG_FILE"])
def test_a_uv_that_does_not_run_or_cannot_be_told_is_not_used(checkout: Checkout, broken: str) -> None:
    checkout.add_program("uv", FAKE_UV)
    nonsense = checkout.root / "pip.conf"
    nonsense.write_text("find-links: of no section")
    run = checkout.bash("prepare_environment demo", **{broken: "1" if broken == "UV_ENDS_WITH" else str(nonsense)})
    assert (run.returncode, run.stderr) == (0, "")
    assert checkout.made_calls() == ["venv", *INSTALL_DEMO]


def test_uv_updates_an_environment_that_pip_has_made(checkout: Checkout) -> None:
    checkout.bash("prepare_environment demo")
    checkout.made_calls()
    checkout.add_program("uv", FAKE_UV)
    (checkout.root / "pyproject.toml").write_text("[project]\n# changed\n")
    checkout.bash("prepare_environment demo")
    _, pip, install = with_uv(checkout)
    assert checkout.made_calls() == [pip.replace(" pip --con", " --upgrade pip --con"), install]


def test_groups_of_engines_are_installed_by_uv_too(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    checkout.made_calls()
    checkout.add_program("uv", FAKE_UV)
    assert scripts_test(checkout, "--all").returncode == 0
    uv = f"uv pip install --python {checkout.environment}/bin/python --index-strategy unsafe-best-match"
    wanted = [call.replace("-m pip install", uv) for call in engines(checkout)]
    assert [call for call in checkout.made_calls() if "pip" in call] == wanted


# --- the versions


PROJECT = requirements.read_project()
PINNED = (ROOT / "scripts" / "constraints.txt").read_text()


def test_all_that_the_project_asks_for_is_pinned() -> None:
    """Whoever adds a requirement runs scripts/renew."""
    pinned = {requirements.name_of(line) for line in PINNED.splitlines() if line[0] != "#"}
    asked = {requirements.name_of(found) for found in requirements.requirements(PROJECT)}
    assert asked - pinned == set()


def test_the_scripts_are_for_the_pythons_that_the_project_says(checkout: Checkout) -> None:
    pythons = checkout.bash('say "$PYTHONS"').stdout.split()
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"
    said = [line.rpartition(" :: ") for line in PROJECT["project"]["classifiers"]]
    tested = [python for kind, _, python in said if kind.endswith(":: Python") and "." in python]
    assert tested == pythons[: len(tested)] != []


def test_neighbouring_pythons_share_the_line_of_a_pin() -> None:
    resolved = {
        "3.11": {"same": "1", "numpy": "2.4", "old": "5"},
        "3.12": {"same": "1", "numpy": "2.5"},
        "3.13": {"same": "1", "numpy": "2.5"},
        "3.14": {"same": "1", "numpy": "2.6", "new": "7"},
    }
    assert requirements.pins(resolved) == requirements.HEAD + (
        'new==7 ; python_version >= "3.14"\n'
        'numpy==2.4 ; python_version < "3.12"\n'
        'numpy==2.5 ; python_version >= "3.12" and python_version < "3.14"\n'
        'numpy==2.6 ; python_version >= "3.14"\n'
        'old==5 ; python_version < "3.12"\n'
        "same==1\n"
    )


@pytest.mark.parametrize(
    ("asked", "bounds"),
    [
        (["numpy>=2.0", "ruff~=0.17.5"], {"numpy": "2.0", "ruff": "0.17.5"}),
        (["ml_dtypes>=0.5,<2"], {"ml-dtypes": "0.5"}),
        (["uvloop >= 0.21; sys_platform != 'win32'"], {"uvloop": "0.21"}),
        (["pillow>=10", "Pillow>=10"], {"pillow": "10"}),
    ],
)
def test_the_lowest_version_is_what_a_requirement_begins_with(asked: list[str], bounds: dict[str, str]) -> None:
    assert requirements.lower_bounds(asked) == bounds


@pytest.mark.parametrize(
    ("asked", "said"), [(["numpy"], "'numpy' has no lower bound"), (["a>=1", "a>=2"], "'a>=2' has another lower bound")]
)
def test_a_requirement_without_one_lowest_version_is_refused(asked: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        requirements.lower_bounds(asked)


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
    send = os.killpg if target == "group" else os.kill
    send(demo.pid, signal.SIGINT)
    output, _ = demo.communicate(timeout=100)
    assert os.read(held, 1) == b""
    os.close(held)
    naps = [call for call in checkout.made_calls() if call.startswith("sleep 0")]
    assert naps == ["sleep 0.1"] * len(naps)
    assert len(naps) <= MOST_NAPS
    return output, demo.returncode


@pytest.mark.parametrize(
    "interrupted",
    [
        pytest.param(("group", ': >"$STARTED"; sleep 100'), id="from the terminal"),
        pytest.param(("process", ': >"$STARTED"; sleep 100'), id="to the script alone"),
        pytest.param(("group", 'trap "" INT TERM; : >"$STARTED"; sleep 100'), id="with a stubborn pip"),
    ],
    indirect=True,
)
def test_ctrl_c_during_the_set_up_ends_at_once_with_one_line_and_nothing_left(interrupted: tuple[str, int]) -> None:
    output, status = interrupted
    assert status == 0
    *phases, last = output.splitlines()
    assert last == "Stopped during the set-up; nothing is left running."
    assert [phase.split(" ")[1] for phase in phases] == ["making", "updating"]


# --- public repositories


@pytest.mark.parametrize("device", ["cpu", "torch-cpu"])
def test_torch_is_installed_for_public_repositories_where_they_are_to_run_with_it(
    checkout: Checkout, device: str
) -> None:
    words = ["a folder", "--device", device]
    run = checkout.run([str(checkout.root / "scripts" / "famous"), *words])
    assert (run.returncode, run.stderr) == (0, "")
    _, _, _, *torchs, repositories = checkout.made_calls()
    assert torchs == [call for call in engines(checkout) if device == "torch-cpu" and "--group torch" in call]
    assert repositories == f"-m scripts.repositories {' '.join(words)}"


# --- starting the demo


def add_cli(checkout: Checkout, code: str) -> dict[str, str]:
    """Give the environment an ``actorsession.cli`` of our own; the variables that make it seen."""
    package = checkout.root.parent / "installed" / "actorsession"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "cli.py").write_text(code)
    return {"PYTHONPATH": str(package.parent)}


def test_the_demo_gets_its_arguments_and_its_exit_status_is_the_script_s(checkout: Checkout) -> None:
    env = add_cli(checkout, "import sys\ndef main(): print(sys.argv); return 7\n")
    run = checkout.run([str(checkout.root / "scripts" / "demo"), "--steps", "two words"], **env)
    assert (run.returncode, run.stderr) == (7, "")
    assert run.stdout.splitlines()[-1] == "['actorsession', 'demo', '--steps', 'two words']"


def test_ctrl_c_while_the_demo_is_being_imported_is_one_line_and_no_traceback(checkout: Checkout) -> None:
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
    output, _ = demo.communicate(timeout=100)
    assert (demo.returncode, output.splitlines()[1:]) == (0, ["Stopped."])


# --- the GPU


def test_without_a_gpu_check_gpu_says_so_and_has_a_status_of_its_own(checkout: Checkout) -> None:
    run = checkout.run([str(checkout.root / "scripts" / "check-gpu")])
    assert (run.returncode, run.stdout) == (77, "")
    assert run.stderr.startswith("scripts/check-gpu: there is no NVIDIA GPU here: ")
    assert not (checkout.root / ".venv-gpu").exists()


@pytest.mark.parametrize("found", [True, False])
def test_check_gpu_runs_the_tests_and_training_steps_where_torch_finds_the_gpu(checkout: Checkout, found: bool) -> None:
    checkout.add_program("nvidia-smi", "#!/bin/sh\necho NVIDIA of a test\n")
    packages = checkout.root.parent / "packages"
    packages.mkdir()
    (packages / "torch.py").write_text(
        f"class zeros:\n    def __init__(self, *_, device): assert {found}\n    def item(self): pass\n"
    )
    (checkout.root / "scripts" / "benchmarks" / "__main__.py").write_text("import sys; print('rows', *sys.argv[1:])")
    script = str(checkout.root / "scripts" / "check-gpu")
    run = checkout.run([script], PYTHONPATH=str(packages), PYTEST_DOES='echo "$*" >>"$CALLS"')
    assert run.returncode == (0 if found else 1)
    calls = checkout.made_calls()
    assert any("--editable .[torch] --group dev" in call for call in calls)
    tests = [call.partition("--device ")[2] for call in calls if "--device" in call]
    places = ["tests/devices", "tests/session tests/runtime tests/property tests/train tests/checkpoints"]
    assert tests == [f"GPU {place}" for place in places if found]
    assert ("rows --device GPU --peer-torch" in run.stdout) is found
    assert ("On NVIDIA of a test; the figures are in " in run.stdout) is found
    assert ("All passed." in run.stdout) is found


# --- running the stages


def scripts_test(checkout: Checkout, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/test with stand-ins for all that it calls."""
    return checkout.run([str(checkout.root / "scripts" / "test"), *words], **env)


def test_a_stage_that_fails_hides_none_of_those_after_it(checkout: Checkout) -> None:
    fails = 'fails() { return "$1"; }; '
    run = checkout.bash(f"{fails}stage good true; stage bad fails 3; stage worse fails 4; stage last true; summarise")
    assert run.returncode == 3
    assert run.stdout.endswith(
        "\n\n  ok      good (0 s)\n  FAILED  bad (0 s, exit status 3)\n"
        "  FAILED  worse (0 s, exit status 4)\n  ok      last (0 s)\n"
    )


def test_the_summary_of_a_good_run_lists_every_stage(checkout: Checkout) -> None:
    run = checkout.bash("stage one true; stage two true; summarise")
    assert run.returncode == 0
    assert run.stdout.endswith("  ok      one (0 s)\n  ok      two (0 s)\nAll passed.\n")


STAGES = ["ruff check", "ruff format", "import rules", "bytecode", "pytest", "mypy"]
OTHER_TYPES = "mypy with the numpy of Python 3.14"


@pytest.mark.parametrize("options", [[], ["--all", "--no-engines"]], ids=["usual", "all"])
@pytest.mark.parametrize(("status", "word"), [(0, "ok     "), (1, "FAILED ")])
def test_all_stages_run_whether_they_pass_or_fail(
    checkout: Checkout, status: int, word: str, options: list[str]
) -> None:
    checkout.bash("prepare_environment dev")
    (checkout.environment / "numpy-for-3.14").mkdir()  # as pip would
    checkout.made_calls()
    run = scripts_test(checkout, *options, "-k", "x", TOOLS_END_WITH=str(status), PYTEST_DOES=f"exit {status}")
    assert run.returncode == status
    summary = run.stdout.rpartition("\n\n")[2].splitlines()
    stages = [*STAGES, *([OTHER_TYPES] if options else [])]
    assert [line.partition(" (")[0] for line in summary[: len(stages)]] == [f"  {word} {stage}" for stage in stages]
    assert summary[len(stages) :] == ([] if status else ["All passed."])
    assert sorted(checkout.made_calls()) == [
        "compileall",
        "lint-imports --no-logo --no-cache",
        "mypy --strict",
        *(["mypy --strict --python-version 3.14 with numpy-for-3.14"] if options else []),
        "pytest",
        "pytest",  # to compile, and to run
        "ruff check .",
        "ruff format --check .",
    ]


SITE = [
    "-m scripts.pages build/docs/pages",
    "-m sphinx --quiet --fail-on-warning --keep-going --conf-dir scripts/site"
    " --doctree-dir build/docs/doctrees build/docs/pages site",
]
SEARCH = "-m scripts.site.search site docs/questions.md"


def test_the_documentation_is_built_in_an_environment_of_its_own(checkout: Checkout) -> None:
    script = str(checkout.root / "scripts" / "docs")
    first = checkout.run([script])
    assert (first.returncode, first.stderr) == (0, "")
    install = f"-m pip install --no-compile --editable . --group docs {BUILT}"
    assert checkout.made_calls() == ["venv", UPDATE_PIP, install, *SITE]
    assert not checkout.environment.exists()
    assert (checkout.root / ".venv-docs").exists()
    second = checkout.run([script, "--check"])
    assert second.stdout == "Environment: .venv-docs is up to date\nDocumentation: site/index.html\n"
    assert checkout.made_calls() == [*SITE, SEARCH]


def test_a_warning_of_the_documentation_is_a_failure_of_the_script(checkout: Checkout) -> None:
    run = checkout.run([str(checkout.root / "scripts" / "docs"), "--check"], TOOLS_END_WITH="1")
    assert run.returncode == 1
    assert "Documentation" not in run.stdout
    assert SEARCH not in checkout.made_calls()


def test_an_unknown_argument_of_the_documentation_is_refused(checkout: Checkout) -> None:
    run = checkout.run([str(checkout.root / "scripts" / "docs"), "--chek"])
    assert (run.returncode, run.stdout) == (2, "")
    assert "unknown argument '--chek'" in run.stderr


def test_the_tests_run_as_often_as_asked(checkout: Checkout) -> None:
    run = scripts_test(checkout, "--times", "3")
    assert "  ok      pytest, 3 of 3 (" in run.stdout
    assert checkout.made_calls().count("pytest") == 1 + 3


# Of pytest: a worker more than there are cores, up to eight.
SPREAD = f"-n {min(len(os.sched_getaffinity(0)) + 1, 8)} --dist loadfile --no-loadscope-reorder --max-worker-restart 0"


def test_everything_runs_when_that_is_asked(checkout: Checkout) -> None:
    run = scripts_test(checkout, "--all", "-x", PYTEST_DOES='echo "$*" >>"$CALLS"')
    assert run.returncode == 0, run.stderr
    assert f"-m pytest {SPREAD} --all -x" in checkout.made_calls()


@pytest.mark.parametrize(
    ("words", "again"), [(["--all"], True), (["--all", "-x"], False), (["--all", "--no-engines"], False)]
)
def test_sessions_are_tested_with_torch_s_device_as_well_where_everything_is_asked_for(
    checkout: Checkout, words: list[str], again: bool
) -> None:
    run = scripts_test(checkout, *words, PYTEST_DOES='echo "$*" >>"$CALLS"')
    assert ("  ok      pytest on TORCH_CPU (" in run.stdout) is again
    assert any("--device TORCH_CPU tests/session" in call for call in checkout.made_calls()) is again


def test_only_the_tests_close_to_a_change_run_when_that_is_asked(checkout: Checkout) -> None:
    run = scripts_test(checkout, "--changed", "-x", PYTEST_DOES='echo "$*" >>"$CALLS"')
    assert run.returncode == 0, run.stderr
    assert "  ok      pytest, of what has changed (" in run.stdout
    calls = checkout.made_calls()
    assert f"-m pytest {SPREAD} tests/test_one.py -x" in calls
    assert [call for call in calls if call.startswith(("mypy", "ruff"))] == []


def test_a_worker_that_dies_ends_the_run_and_its_test_is_named(tmp_path: Path) -> None:
    said = "printf '%s\\n' \"${SPREAD[@]}\""
    spread = subprocess.run(
        ["bash", "-c", f". scripts/stages.sh; {said}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    ).stdout.split()
    for number in range(6):
        (tmp_path / f"test_{number}.py").write_text(
            "import os, pytest\n"
            "@pytest.mark.parametrize('n', range(6))\n"
            f"def test_a(n):\n    if {number} == 3 and n == 2: os.abort()\n"
        )
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", *spread, "-c", os.devnull, "--rootdir", ".", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert run.returncode == 1
    assert "crashed while running 'test_3.py::test_a[2]'" in run.stdout


@pytest.mark.parametrize("number", ["0", "many", "-1", ""])
def test_a_number_of_times_that_is_none_is_refused(checkout: Checkout, number: str) -> None:
    run = scripts_test(checkout, "--times", number)
    assert (run.returncode, run.stdout) == (2, "")
    assert "--times takes a number of 1 or more" in run.stderr
    assert not checkout.environment.exists()


# Waits until two loops have begun; the run of pytest that only compiles has -q.
UNTIL_TWO_LOOPS = """
loops=0
while [ "$3" != -q ] && [ "$loops" -lt 2 ]; do
    loops=0
    while read -r call; do
        [ "$call" != loop ] || loops=$((loops + 1))
    done <"$CALLS"
done
"""


def test_a_busy_run_has_a_loop_for_each_core_beside_the_tests_and_nothing_left(checkout: Checkout) -> None:
    held, holding = os.pipe()  # whoever is left running holds it open
    run = subprocess.run(
        [checkout.root / "scripts" / "test", "--busy"],
        env=checkout.env | {"PYTEST_DOES": UNTIL_TWO_LOOPS},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        pass_fds=[holding],
    )
    os.close(holding)
    assert run.returncode == 0, run.stderr
    assert "  ok      pytest, busy (" in run.stdout
    assert os.read(held, 1) == b""
    os.close(held)
    calls = checkout.made_calls()
    assert calls.count("loop") == 2
    assert calls.index("loop") > calls.index("compileall")


def test_the_lowest_versions_have_an_environment_of_their_own(checkout: Checkout) -> None:
    (checkout.root / "pyproject.toml").write_text(
        "[build-system]\nrequires = []\n[project]\ndependencies = ['numpy>=0.0.1']\n"
        "[project.optional-dependencies]\n[dependency-groups]\n"
    )
    run = scripts_test(checkout, "--lowest")
    assert run.returncode == 0, run.stderr
    environment = checkout.root / ".venv-lowest"
    assert not checkout.environment.exists()
    assert (environment / "lowest.txt").read_text() == "pip==1.0\nnumpy==0.0.1\n"
    held = f"--constraint {environment}/lowest.txt --build-constraint {environment}/lowest.txt"
    assert f"-m pip install --no-compile --editable . --group dev {held}" in checkout.made_calls()
    assert [line[10:].partition(" (")[0] for line in run.stdout.splitlines()[-3:-1]] == ["bytecode", "pytest"]


def test_ctrl_c_ends_the_run_and_not_only_its_stage(checkout: Checkout) -> None:
    checkout.bash("prepare_environment dev")
    started = checkout.root / "started"
    os.mkfifo(started)
    # As pytest does, which tells what was interrupted and exits by itself.
    stubborn = f'trap "exit 2" INT; : >"{started}"; while :; do sleep 0.1; done'
    with subprocess.Popen(
        [checkout.root / "scripts" / "test", "--times", "2"],
        env=checkout.env | {"PYTEST_DOES": f'[ "$3" = -q ] || {{ {stubborn}; }}'},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        with started.open():
            pass
        os.killpg(running.pid, signal.SIGINT)
        output, _ = running.communicate(timeout=100)
    assert running.returncode == 130
    assert "1 of 2" in output
    assert "2 of 2" not in output
