# shellcheck shell=bash
# Runs checks one after the other, all of them whatever fails, and says which did. Sourced by test and
# check, after setup.sh.

SUMMARY=
STATUS=0        # of the first stage that failed
# How tests are spread over workers. A file's tests stay together, because they may share fixtures of module
# scope. Files come in the order of tests/conftest.py; xdist's own, by numbers of tests, would end with files of
# a few long ones. A worker that dies ends the run, which names the test that was running: in the place of
# another one that is started then, xdist waits for ever where files stay together.
# shellcheck disable=SC2034 # used by the scripts that source this file
SPREAD=(--dist loadfile --no-loadscope-reorder --max-worker-restart 0)

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

# What comes before any test, the same for both scripts.
static_stages() {
    local there python= other=
    # Beside the others, since one mypy leaves a core idle.
    for there in "$VENV"/numpy-for-*; do
        [ -d "$there" ] || continue
        python=${there##*-}
        PYTHONPATH=$there "$VENV/bin/mypy" --strict --python-version "$python" >"$there.log" 2>&1 &
        other=$!
    done
    stage "ruff check" "$VENV/bin/ruff" check .
    stage "ruff format" "$VENV/bin/ruff" format --check .
    stage "mypy" "$VENV/bin/mypy" --strict
    [ -z "$other" ] || stage "mypy with the numpy of Python $python" ended_well "$other" "$VENV/numpy-for-$python.log"
    stage "import rules" "$VENV/bin/lint-imports" --no-logo --no-cache
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
