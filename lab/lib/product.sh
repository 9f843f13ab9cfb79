# shellcheck shell=bash
# test, demo, and pair without commands: the product in the guest, as the host has built it.
# C1 alone for the reason given in guest/suite.
export RDMA4J_NO_BUILD=1 RDMA4J_JAVA_OPTS="${RDMA4J_JAVA_OPTS:--XX:TieredStopAtLevel=1}"

# The suite's parts, all in one guest; then the demo between two guests.
lab_test() {
  local parts=("$@") status=0 dir
  ensure_ready
  dir=$(mktemp -d)
  "$LAB_HOME/lab" run --timeout "${RDMA4J_LAB_TIMEOUT:-1800}" --out "$dir" -- "$LAB_HOME/guest/suite" "${parts[@]}" || status=$?
  rm -rf "$dir"
  return "$status"
}

# demo OPTIONS...: the demo inside one guest.
lab_demo() { in_guest_with_json "$LAB_HOME/../rdma4j" demo "$@"; }

# bench OPTIONS...: the verbs path beside the C tools inside one guest.
lab_bench() { in_guest_with_json "$LAB_HOME/guest/bench" "$@"; }

# in_guest_with_json COMMAND...: the file of its --json lands on the host.
in_guest_with_json() {
  local command=() json='' dir status=0
  while [[ $# -gt 0 ]]; do
    case $1 in
      --json)
        [[ $# -ge 2 ]] || die "$EXIT_USAGE" "--json wants a file"
        json=$2
        command+=(--json /out/result.json)
        shift 2
        ;;
      *)
        command+=("$1")
        shift
        ;;
    esac
  done
  ensure_ready
  dir=$(mktemp -d)
  "$LAB_HOME/lab" run --timeout "${RDMA4J_LAB_TIMEOUT:-900}" --out "$dir" -- "${command[@]}" || status=$?
  if [[ -n $json && -f $dir/result.json ]]; then cp "$dir/result.json" "$json"; fi
  rm -rf "$dir"
  return "$status"
}

# pair [PART...]: between two guests, the demo, then faults under a sender that counts what was acknowledged.
lab_pair() {
  local parts=("$@") part dir status=0
  [[ ${#parts[@]} -gt 0 ]] || parts=(demo faults)
  for part in "${parts[@]}"; do
    dir=$(mktemp -d)
    case $part in
      demo) pair_parts "$dir" pair-gateway pair-node || status=$? ;;
      faults) pair_parts "$dir" pair-sender pair-receiver || status=$? ;;
    esac
    rm -rf "$dir"
  done
  return "$status"
}

pair_parts() { # OUT SCRIPT-OF-A SCRIPT-OF-B
  "$LAB_HOME/lab" pair --timeout "${RDMA4J_LAB_TIMEOUT:-1200}" --out "$1" "$LAB_HOME/guest/$2" "$LAB_HOME/guest/$3"
}
