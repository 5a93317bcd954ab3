# shellcheck shell=bash
# Runs checks one after the other, stops at the first that fails, and says which. Sourced by test
# and check, after setup.sh.

SUMMARY=

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
    say ""
    printf '%s  FAILED  %s (%d s, exit status %d)\n' \
        "$SUMMARY" "$name" "$((SECONDS - began))" "$status"
    exit "$status"
}

# What comes before any test, the same for both scripts.
static_stages() {
    stage "ruff check" "$VENV/bin/ruff" check .
    stage "ruff format" "$VENV/bin/ruff" format --check .
    stage "mypy" "$VENV/bin/mypy" --strict
    stage "import rules" "$VENV/bin/lint-imports" --no-logo --no-cache
}

all_stages_passed() {
    say ""
    printf '%s' "$SUMMARY"
    say "All passed."
}
