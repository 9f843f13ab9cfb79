# shellcheck shell=bash
# Messages, exit statuses, and the one scratch directory with the processes that must not outlive us.

readonly EXIT_USAGE=2 EXIT_UNAVAILABLE=3 EXIT_TIMEOUT=124 EXIT_GUEST_DIED=125

say() { printf 'lab: %s\n' "$*" >&2; }

die() { # STATUS MESSAGE...
  local status=$1
  shift
  say "$@"
  exit "$status"
}

unavailable() { die "$EXIT_UNAVAILABLE" "can not run here: $*"; }

SCRATCH=
CHILDREN=() # process ids, ended at exit

new_scratch() { # [PARENT]
  SCRATCH=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/rdma4j-lab.XXXXXX")
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

clean_up() {
  local pid
  for pid in "${CHILDREN[@]}"; do
    kill "$pid" 2>/dev/null || true # ended already: nothing to do
  done
  for pid in "${CHILDREN[@]}"; do
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$SCRATCH"
}

need_number() { # OPTION VALUE
  [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$EXIT_USAGE" "$1 wants a positive whole number, not '$2'"
}
