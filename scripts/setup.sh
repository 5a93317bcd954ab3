# shellcheck shell=bash
# The environment that the scripts share: finds a Python, makes .venv, installs into it.
#
# Sourced by the scripts that need one; they call prepare_environment. Works from any directory, with
# spaces in the path, and with bash 3.2 (macOS). Everything that pip and uv say goes to a log, which is
# shown only when a phase fails: pip writes warnings to stderr even when all is well.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
VENV=$ROOT/.venv
PINS=scripts/constraints.txt    # as pip sees it, which runs in ROOT; scripts/renew writes it
PYTHONS="3.11 3.12 3.13 3.14"   # the versions that we are for, the oldest first
TORCH_INDEX=https://download.pytorch.org/whl/cpu # builds of torch without CUDA
PYTHON=            # set by find_python
NEWLINE=$'\n'
UV=                # set by find_uv
INTERRUPTED=130    # exit status after Ctrl-C during the set-up; demo wants 0
LOG=

say() { printf '%s\n' "$*"; }
complain() { printf '%s\n' "$*" >&2; }

# One line why the Python at $1 cannot be used, or nothing.
why_not() {
    local said
    said=$("$1" -c '
import sys
if sys.version_info < (3, 11):
    sys.exit("is Python %d.%d" % sys.version_info[:2])
try:
    import ensurepip, venv
except ImportError:
    sys.exit("cannot make environments: its ensurepip or venv module is missing")
' 2>&1 </dev/null) && return 0
    said=${said%%$'\n'*}
    printf '%s\n' "${said:-does not run}"
}

# The folders that version managers keep interpreters in, one on each line.
managed_folders() {
    local folder data=${XDG_DATA_HOME:-${HOME:-}/.local/share}
    for folder in "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/*/bin \
        "${ASDF_DATA_DIR:-${HOME:-}/.asdf}"/installs/python/*/bin \
        "$data"/mise/installs/python/*/bin \
        "${UV_PYTHON_INSTALL_DIR:-$data/uv/python}"/*/bin; do
        [ ! -d "$folder" ] || printf '%s\n' "$folder"
    done
}

# Sets PYTHON to the first that can be used of the names $1 in the folders $2, which are one on each line.
# Every candidate is run, because a version manager may put names on PATH that only print an error.
look_for() {
    local name folder candidate reason
    for name in $1; do
        while IFS= read -r folder; do
            candidate=${folder:-.}/$name
            [ -x "$candidate" ] && [ ! -d "$candidate" ] || continue
            # Not the environment itself, which may be active: it is about to be replaced.
            [ "$folder" = "$VENV/bin" ] && continue
            reason=$(why_not "$candidate")
            if [ -z "$reason" ]; then
                PYTHON=$candidate
                return 0
            fi
            TRIED="$TRIED  $candidate: $reason$NEWLINE"
        done <<<"$2"
    done
    return 1
}

# Sets PYTHON: what ACTORSESSION_PYTHON says; for profile $1 = lowest the oldest that we are for; the first
# on PATH, where a good one may stand behind others; the newest of a version manager.
find_python() {
    local name reason newest= folders managed
    PYTHON= TRIED=
    if [ -n "${ACTORSESSION_PYTHON:-}" ]; then
        reason=$(why_not "$ACTORSESSION_PYTHON")
        if [ -z "$reason" ]; then
            PYTHON=$ACTORSESSION_PYTHON
            return 0
        fi
        complain "ACTORSESSION_PYTHON is $ACTORSESSION_PYTHON, which cannot be used: $reason"
        complain "It should name a Python 3.11 or newer with the venv module."
        return 1
    fi
    for name in $PYTHONS; do
        newest="python$name $newest"
    done
    folders=${PATH//:/$NEWLINE}
    managed=$(managed_folders)
    if [ "$1" = lowest ] && look_for "python${PYTHONS%% *}" "$folders$NEWLINE$managed"; then
        return 0
    fi
    look_for "python3 $newest python" "$folders" && return 0
    [ -n "$managed" ] && look_for "$newest" "$managed" && return 0
    complain "actorsession needs Python 3.11 or newer with the venv module; none was found on PATH," \
        "nor in the folders of pyenv, asdf, mise and uv."
    [ -z "$TRIED" ] || printf 'Tried:\n%s' "$TRIED" >&2
    complain "Install one, or name one: ACTORSESSION_PYTHON=/path/to/python3 $0"
    return 1
}

# Sets UV to the uv on PATH, or else to that of the Python that was found, if there is one that runs; it needs a
# fraction of the time of pip. Sets UV_OPTIONS to what pip's configuration comes to for uv, which does not read it.
find_uv() {
    local python=${PYTHON:-$VENV/bin/python} said= word
    UV=$(command -v uv) || UV=$("$python" -c 'import uv; print(uv.find_uv_bin())' 2>/dev/null </dev/null)
    [ -n "$UV" ] && "$UV" --version >/dev/null 2>&1 </dev/null &&
        said=$("$python" "$ROOT/scripts/requirements.py" uv 2>/dev/null </dev/null) || UV=
    UV_OPTIONS=()
    while IFS= read -r word; do
        [ -z "$word" ] || UV_OPTIONS+=("$word")
    done <<<"$said"
}

# What an installation depends on, as a hash; nothing when the environment does not run.
fingerprint() {
    "$VENV/bin/python" -I -S -c '
import hashlib, sys
found = hashlib.sha256("\n".join([sys.argv[1], sys.version, sys.base_prefix]).encode())
for name in sys.argv[2:]:
    with open(name, "rb") as file:
        found.update(file.read())
print(found.hexdigest())
' "$ROOT" "$ROOT/pyproject.toml" "$ROOT/$PINS" 2>/dev/null
}

# Whether profile $1 (demo, dev, lowest, docs, famous or gpu) was installed from the present pyproject.toml and pins.
# The dev group holds all that the demo needs.
environment_is_current() {
    local now
    environment_is_wanted || return 1
    [ ! -e "$VENV/.unfinished" ] && now=$(fingerprint) && [ -n "$now" ] || return 1
    [ "$(cat "$VENV/.installed-$1" 2>/dev/null)" = "$now" ] ||
        [ "$(cat "$VENV/.installed-dev" 2>/dev/null)" = "$now" ]
}

# Whether the environment can be kept: it runs and has pip, it was not made for another place (its
# scripts would still point there), and no installation was broken off in it. One that somebody made
# by hand has no .made-for; it is kept as long as it runs.
environment_works() {
    [ -x "$VENV/bin/python" ] &&
        if [ -f "$VENV/.made-for" ]; then
            [ "$(cat "$VENV/.made-for")" = "$ROOT" ] && [ ! -e "$VENV/.unfinished" ]
        fi &&
        "$VENV/bin/python" -I -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' \
            >/dev/null 2>&1 &&
        environment_is_wanted
}

# Whether ACTORSESSION_PYTHON, if set, names the Python that the environment was made by.
environment_is_wanted() {
    local which='import sys; print(sys.version, sys.base_prefix)'
    [ -z "${ACTORSESSION_PYTHON:-}" ] && return 0
    [ "$("$ACTORSESSION_PYTHON" -I -c "$which" 2>/dev/null)" = \
        "$("$VENV/bin/python" -I -c "$which" 2>/dev/null)" ]
}

# Ends the phase under way and the script: $1 is the exit status.
stop_setup() {
    local group
    trap '' INT TERM HUP
    # Whichever command below bash waits for when the phase ends, it would announce that on stderr.
    exec 2>/dev/null
    for group in $(jobs -p); do
        # pip tidies up after an interrupt; what has not gone by then is killed.
        kill -INT -- "-$group"
        for _ in 1 2 3 4 5 6 7; do
            kill -0 -- "-$group" || break
            sleep 0.1
        done
        kill -KILL -- "-$group"
        wait "$group"
    done
    [ -t 1 ] && say ""
    say "Stopped during the set-up; nothing is left running."
    exit "$1"
}

# Runs a command with its output in the log, in a process group of its own so that all of it can be
# ended: $1 is the line to print. Returns its exit status.
attempt() {
    say "$1"
    shift
    : >"$LOG"
    set -m
    (cd "$ROOT" && exec "$@") >"$LOG" 2>&1 </dev/null &
    set +m
    wait "$!" 2>/dev/null
}

# Likewise, and ends the script if the command fails.
phase() {
    attempt "$@" || fail "$?" "$@"
}

# Ends the script after a phase that failed with status $1; the rest is what was asked of attempt or attempt_install.
fail() {
    cat "$LOG" >&2
    complain "The set-up failed (exit status $1 of: ${*:3})."
    exit 1
}

# Installs what the words after $1 say, as pip understands them, and returns the exit status; $1 is the line to print.
# What uv cannot do, for whatever reason, pip does.
attempt_install() {
    local line=$1
    shift
    [ -n "$UV" ] && attempt "$line" "$UV" pip install --python "$VENV/bin/python" "${UV_OPTIONS[@]}" "$@" && return 0
    attempt "$line${UV:+ with pip, because uv has failed}" "$VENV/bin/python" -m pip install "$@"
}

# Likewise, and ends the script if the installation fails.
install() {
    attempt_install "$@" || fail "$?" "$1" pip install "${@:2}"
}

# Makes .venv with uv, and pip in it; fails where that cannot be done, and pip does the rest.
make_with_uv() {
    [ -n "$UV" ] && attempt "Environment: making ${VENV##*/} with uv and $PYTHON" \
        "$UV" venv --clear --python "$PYTHON" "$VENV" &&
        attempt "Environment: installing pip" "$UV" pip install --python "$VENV/bin/python" "${UV_OPTIONS[@]}" pip \
            --constraint "$PINS" && return 0
    UV=
    return 1
}

# Makes .venv ready for profile $1: demo (what the demo needs) or dev (all tools of development); or, for
# profile lowest, .venv-lowest with the lowest versions that pyproject.toml allows; or, for profile docs,
# .venv-docs with what builds the documentation site; or, for profile famous, .venv-famous, into which goes what
# public repositories need; or, for profile gpu, .venv-gpu, with builds of torch that have CUDA. Leaves the handling of Ctrl-C in place, so that the caller replaces it without a gap.
prepare_environment() {
    local profile=$1
    case $profile in
        lowest | docs | famous | gpu) VENV=$ROOT/.venv-$profile ;;
    esac
    trap 'stop_setup "$INTERRUPTED"' INT
    trap 'stop_setup 143' TERM
    trap 'stop_setup 129' HUP
    if environment_is_current "$profile"; then
        say "Environment: ${VENV##*/} is up to date"
    else
        make_environment "$profile"
    fi
    trap - TERM HUP
}

make_environment() {
    local profile=$1 held=$PINS pip=
    trap 'rm -f "$LOG"' EXIT
    LOG=$(mktemp "${TMPDIR:-/tmp}/actorsession-setup.XXXXXX") || exit 1
    export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0

    if ! environment_works; then
        find_python "$profile" || exit 1
        find_uv
        if make_with_uv; then
            pip=made
        else
            phase "Environment: making ${VENV##*/} with $PYTHON" "$PYTHON" -m venv --clear "$VENV"
        fi
        printf '%s' "$ROOT" >"$VENV/.made-for"
    else
        find_uv
    fi
    : >"$VENV/.unfinished"
    [ -n "$pip" ] || install "Environment: updating pip" --upgrade pip --constraint "$held"
    case $profile in
        demo | famous)
            install_project "actorsession with the demo's needs" "$held" --editable '.[demo]'
            ;;
        dev)
            install_project "actorsession with the tools of development" "$held" --editable . --group dev
            install_other_numpy
            ;;
        gpu)
            install_project "actorsession with torch and the tools of development" "$held" --editable '.[torch]' --group dev
            ;;
        docs)
            install_project "actorsession with what builds its documentation" "$held" --editable . --group docs
            ;;
        lowest)
            held=$VENV/lowest.txt
            "$VENV/bin/python" "$ROOT/scripts/requirements.py" lowest >"$held" || exit 1
            install_project "the lowest versions that pyproject.toml allows" "$held" --editable . --group dev
            ;;
    esac
    fingerprint >"$VENV/.installed-$profile"
    rm -f "$VENV/.unfinished" "$LOG"
    trap - EXIT
}

# Installs a group of pyproject.toml that only some tests of profile $1 need, once for each state of it and of the
# pins. Where it cannot be had, as where there is no wheel for this Python, that is a line.
add_group() {
    local profile=$1 group=$2 apart=${3:-} index=${4:-} held=$PINS
    [ "$profile" != lowest ] || held=$VENV/lowest.txt
    [ "$(cat "$VENV/.installed-$group" 2>/dev/null)" = "$(fingerprint)" ] && return 0
    trap 'stop_setup "$INTERRUPTED"' INT
    trap 'stop_setup 143' TERM
    trap 'stop_setup 129' HUP
    trap 'rm -f "$LOG"' EXIT
    LOG=$(mktemp "${TMPDIR:-/tmp}/actorsession-setup.XXXXXX") || exit 1
    export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0
    find_uv
    if attempt_install "Environment: installing the group $group" --no-compile --only-binary :all: \
        ${apart:+--no-deps --upgrade --target "$VENV/$apart"} ${index:+--extra-index-url "$index"} --group "$group" --constraint "$held"; then
        compile
        fingerprint >"$VENV/.installed-$group"
    else
        say "Environment: the group $group cannot be had, and its tests are skipped: $(last_line "$LOG")"
    fi
    rm -f "$LOG"
    trap - TERM HUP EXIT
}

# The last line of a file.
last_line() {
    local line last=
    while IFS= read -r line; do
        last=${line:-$last}
    done <"$1"
    say "$last"
}

# Installs what $3 and so on say, held to the constraints $2; $1 says what that is.
install_project() {
    install "Environment: installing $1" --no-compile "${@:3}" --constraint "$2" --build-constraint "$2"
    compile
}

# pip would compile 6,600 modules one after the other, of which a seventh are the tests of libraries.
compile() {
    phase "Environment: compiling it on all cores" "$VENV/bin/python" -c '
import compileall, re, sys
compileall.compile_dir(sys.argv[1], quiet=2, workers=0, rx=re.compile(r"[/\\]tests[/\\]"))
' "$VENV/lib"
}

# Puts the numpy of the Python at the other end of those that we are for where only mypy looks, since its
# types differ: numpy-for-3.14 beside that of Python 3.11, and the other way round.
install_other_numpy() {
    local line ours oldest= newest= other python
    rm -rf "$VENV"/numpy-for-*
    while read -r line; do
        case $line in
            numpy==*)
                newest=${line%%[ ;]*}
                oldest=${oldest:-$newest}
                ;;
        esac
    done <"$ROOT/$PINS"
    ours=$("$VENV/bin/python" -I -c '
from importlib.metadata import version
print("numpy==" + version("numpy"))')
    other=$newest python=${PYTHONS##* }
    [ "$ours" != "$newest" ] || other=$oldest python=${PYTHONS%% *}
    [ "$ours" != "$other" ] || return 0
    install "Environment: installing $other for mypy" "$other" --no-deps --target "$VENV/numpy-for-$python" \
        --python-version "$python" --only-binary :all:
}
