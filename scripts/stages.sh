# shellcheck shell=bash
# Runs checks one after the other, all of them whatever fails, and says which did. Sourced by test and
# check, after setup.sh.

SUMMARY=
STATUS=0        # of the first stage that failed

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
