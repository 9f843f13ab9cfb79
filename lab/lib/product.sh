# shellcheck shell=bash
# test, demo, and pair without commands: the product in the guest, as the host has built it.
# C1 alone for the reason given in guest/suite.
export RDMA4J_NO_BUILD=1 RDMA4J_JAVA_OPTS="${RDMA4J_JAVA_OPTS:--XX:TieredStopAtLevel=1}"

# The suite's parts, all in one guest; then the demo between two guests.
lab_test() {
  local parts=("$@") status=0 dir
  ensure_ready
  dir=$(mktemp -d)
  "$LAB_HOME/lab" run --timeout "${RDMA4J_LAB_TIMEOUT:-1200}" --out "$dir" -- "$LAB_HOME/guest/suite" "${parts[@]}" || status=$?
  rm -rf "$dir"
  return "$status"
}

# demo OPTIONS...: the demo inside one guest; the file of --json lands on the host.
lab_demo() {
  local arguments=() json='' dir status=0
  while [[ $# -gt 0 ]]; do
    case $1 in
      --json)
        [[ $# -ge 2 ]] || die "$EXIT_USAGE" "--json wants a file"
        json=$2
        arguments+=(--json /out/demo.json)
        shift 2
        ;;
      *)
        arguments+=("$1")
        shift
        ;;
    esac
  done
  ensure_ready
  dir=$(mktemp -d)
  "$LAB_HOME/lab" run --timeout "${RDMA4J_LAB_TIMEOUT:-900}" --out "$dir" -- "$LAB_HOME/../rdma4j" demo "${arguments[@]}" || status=$?
  if [[ -n $json && -f $dir/demo.json ]]; then cp "$dir/demo.json" "$json"; fi
  rm -rf "$dir"
  return "$status"
}

lab_pair() {
  "$LAB_HOME/lab" pair --timeout "${RDMA4J_LAB_TIMEOUT:-900}" "$LAB_HOME/guest/pair-gateway" "$LAB_HOME/guest/pair-node"
}
