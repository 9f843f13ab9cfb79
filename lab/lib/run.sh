# shellcheck shell=bash disable=SC2054 # QEMU's arguments have commas
# run and shell: one guest.

run() {
  parse_options "$@"
  [[ ${#ARGUMENTS[@]} -gt 0 ]] || die "$EXIT_USAGE" "run wants a command; see lab help"
  CPUS=${CPUS:-2} MEM=${MEM:-3072} TIMEOUT=${TIMEOUT:-600}
  ensure_ready
  new_scratch
  prepare_guest "$SCRATCH" "${ARGUMENTS[@]}"
  qemu_command "$SCRATCH" single "$OUT"
  local stdout stderr copiers=() qemu_status=0
  exec {stdout}> >(exec cat)
  copiers+=($!)
  exec {stderr}> >(exec cat >&2)
  copiers+=($!)
  output_ports "$stdout" "$stderr"
  "${QEMU[@]}" </dev/null >"$SCRATCH/qemu.log" 2>&1 &
  CHILDREN=($!)
  exec {stdout}>&- {stderr}>&-
  wait $! || qemu_status=$?
  CHILDREN=()
  wait "${copiers[@]}" || true # a copier fails when our reader is gone: nobody to tell
  guest_status "$SCRATCH" "$qemu_status" guest
}

shell() {
  parse_options "$@"
  [[ ${#ARGUMENTS[@]} -eq 0 ]] || die "$EXIT_USAGE" "shell takes options only"
  [[ -t 0 ]] || die "$EXIT_USAGE" "shell wants a terminal; use run for scripts"
  CPUS=${CPUS:-2} MEM=${MEM:-3072} TIMEOUT=${TIMEOUT:-86400}
  ensure_ready
  new_scratch
  local size qemu_status=0
  size=$(stty size)
  prepare_guest "$SCRATCH" bash -c "stty rows ${size% *} cols ${size#* }; exec bash -i"
  TTY=1
  qemu_command "$SCRATCH" single "$OUT"
  QEMU+=(-chardev stdio,id=tty,signal=off -device virtconsole,chardev=tty,nr=0)
  say "booting; exit or ctrl-d powers the guest off"
  "${QEMU[@]}" <&0 2>"$SCRATCH/qemu.log" &
  CHILDREN=($!)
  wait $! || qemu_status=$?
  CHILDREN=()
  guest_status "$SCRATCH" "$qemu_status" guest
}
