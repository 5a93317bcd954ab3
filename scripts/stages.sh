# shellcheck shell=bash
# Runs checks one after the other, all of them whatever fails, and says which did. Sourced by test and
# check, after setup.sh.

SUMMARY=
STATUS=0        # of the first stage that failed
# How tests are spread over workers. A file's tests stay together, because they may share fixtures of module
# scope. Files come in the order of tests/conftest.py; xdist's own, by numbers of tests, would end with files of
# a few long ones. A worker that dies ends the run, which names the test that was running: in the place of
# another one that is started then, xdist waits for ever where files stay together.
# One worker more than there are cores runs while another waits for a process or a socket; a further one takes as long
# to load the tests as it saves.
CORES=$(getconf _NPROCESSORS_ONLN)
WORKERS=$((CORES < 8 ? CORES + 1 : 8))
# shellcheck disable=SC2034 # used by the scripts that source this file
SPREAD=(-n "$WORKERS" --dist loadfile --no-loadscope-reorder --max-worker-restart 0)

# Ends what runs beside the stages when the script ends; Ctrl-C ends the script, not only a stage.
begin_stages() {
    trap 'kill $(jobs -p) 2>/dev/null' EXIT
    trap 'exit 130' INT
}

# $1 is the stage's name, the rest its command.
stage() {
    local name=$1 began=$SECONDS status
    shift
    say "==> $name"
    "$@"
    status=$?
    if [ "$status" -eq 0 ]; then
        SUMMARY="$SUMMARY  ok      $name ($((SECONDS - began)) s)"$'\n'
        return 0
    fi
    SUMMARY="$SUMMARY  FAILED  $name ($((SECONDS - began)) s, exit status $status)"$'\n'
    [ "$STATUS" -ne 0 ] || STATUS=$status
}

# What comes before any test, the same for both scripts; mypy goes on beside the tests, until end_types. With $1, it
# also reads the types of the numpy of other Pythons, which takes as long again.
static_stages() {
    local there
    TYPES=()
    begin_types "mypy" "$VENV/mypy.log"
    for there in "$VENV"/numpy-for-*; do
        [ -z "${1:-}" ] || [ ! -d "$there" ] || PYTHONPATH=$there begin_types "mypy with the numpy of Python ${there##*-}" "$there.log" \
            --python-version "${there##*-}"
    done
    stage "ruff check" "$VENV/bin/ruff" check .
    stage "ruff format" "$VENV/bin/ruff" format --check .
    stage "import rules" "$VENV/bin/lint-imports" --no-logo --no-cache
}

# Starts mypy as stage $1, which writes to $2, with the other arguments.
begin_types() {
    local name=$1 log=$2
    shift 2
    "$VENV/bin/mypy" --strict "$@" >"$log" 2>&1 &
    TYPES+=("$name" "$!" "$log")
}

# Waits for what static_stages has begun.
end_types() {
    local at
    for ((at = 0; at < ${#TYPES[@]}; at += 3)); do
        stage "${TYPES[at]}" ended_well "${TYPES[at + 1]}" "${TYPES[at + 2]}"
    done
}

# Waits for process $1, says what it wrote to $2, and has its status.
ended_well() {
    local status
    wait "$1"
    status=$?
    cat "$2"
    return "$status"
}

# Says how the stages ended, and ends with the status of the first that failed.
summarise() {
    say ""
    printf '%s' "$SUMMARY"
    [ "$STATUS" -eq 0 ] || exit "$STATUS"
    say "All passed."
}
