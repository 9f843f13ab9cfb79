# shellcheck shell=bash disable=SC2054 # QEMU's arguments have commas
# pair: guests a and b, linked, a command in each. A line of a command's output of the form
#   @@lab cut-link | restore-link | kill-peer | kill-self | restart-peer
# is not shown but carried out: the link goes down (or up) on both sides; a guest dies as in a power failure, and boots again
# with the same command. Only a can have b restarted: a's QEMU listens for b's, which is how the link comes back.

pair() {
  parse_options "$@"
  [[ ${#ARGUMENTS[@]} -eq 2 ]] || die "$EXIT_USAGE" "pair wants two commands, got ${#ARGUMENTS[@]}; see lab help"
  CPUS=${CPUS:-1} MEM=${MEM:-2048} TIMEOUT=${TIMEOUT:-600}
  ensure_ready
  new_scratch
  [[ -z $EVENTS ]] || : >"$EVENTS"
  local a_pid b_pid a_follower b_follower ended qemu_status status=0
  start_linked a b "${ARGUMENTS[0]}" server=on
  a_pid=$STARTED a_follower=$FOLLOWER
  until [[ -S $SCRATCH/link1 ]] || ! kill -0 "$a_pid" 2>/dev/null; do sleep 0.05; done
  start_b
  while [[ $a_pid$b_pid ]]; do
    qemu_status=0
    { wait -n -p ended $a_pid $b_pid || qemu_status=$?; } 2>/dev/null # where bash tells of a killed child; we do that ourselves
    if [[ $ended == "$a_pid" ]]; then
      finish_linked a "$qemu_status" "$a_follower" || status=$?
      a_pid=''
    else
      finish_linked b "$qemu_status" "$b_follower" || status=$?
      b_pid=''
      if [[ -e $SCRATCH/b/restart ]]; then start_b; fi
    fi
  done
  CHILDREN=()
  return "$status"
}

start_b() { # leaves b_pid and b_follower
  rm -rf "$SCRATCH/b"
  start_linked b a "${ARGUMENTS[1]}" server=off
  b_pid=$STARTED b_follower=$FOLLOWER
}

STARTED='' FOLLOWER='' # process ids that start_linked leaves

start_linked() { # NAME PEER COMMAND END-OF-LINK
  local dir=$SCRATCH/$1 output errors nic
  prepare_guest "$dir" bash -c "$3"
  mkfifo "$dir/monitor.in" "$dir/monitor.out"
  qemu_command "$dir" "$1" "${OUT:+$OUT/$1}"
  QEMU+=(-chardev "pipe,id=monitor,path=$dir/monitor" -mon chardev=monitor,mode=readline)
  for nic in 0 1; do
    QEMU+=(
      -netdev "stream,id=link$nic,$4,addr.type=unix,addr.path=$SCRATCH/link$nic"
      -device "virtio-net-pci,id=nic$nic,netdev=link$nic,mac=52:54:00:00:0$nic:0$1,host_mtu=4200,romfile="
    )
  done
  exec {output}> >(follow "$1" "$2")
  FOLLOWER=$!
  exec {errors}>&"$output"
  output_ports "$output" "$errors"
  "${QEMU[@]}" </dev/null >"$dir/qemu.log" 2>&1 &
  STARTED=$!
  CHILDREN+=("$STARTED")
  exec {output}>&- {errors}>&-
}

finish_linked() { # NAME QEMU-STATUS FOLLOWER-PID
  wait "$3" || true # fails when our reader is gone: nobody to tell
  [[ -e $SCRATCH/$1/killed ]] || guest_status "$SCRATCH/$1" "$2" "$1"
}

# follow NAME PEER: shows a guest's output, and acts on the requests in it.
follow() {
  local line
  while IFS= read -r line || [[ -n $line ]]; do
    case $line in
      '@@lab cut-link') link_both off && happened "$1" "link cut" ;;
      '@@lab restore-link') link_both on && happened "$1" "link restored" ;;
      '@@lab kill-peer') kill_guest "$2" && happened "$1" "guest $2 killed" ;;
      '@@lab restart-peer')
        if [[ $2 == b ]]; then
          : >"$SCRATCH/b/restart"
          kill_guest b && happened "$1" "guest b restarted"
        else
          say "guest $1 asked for a restart of guest a, whose end of the link can not come back"
        fi
        ;;
      '@@lab kill-self') kill_guest "$1" && happened "$1" "guest $1 killed" ;;
      '@@lab '*) say "guest $1 asked for an unknown '${line#@@lab }'" ;;
      *) printf '%s| %s\n' "$1" "$line" ;;
    esac
  done
}

link_both() { # on | off; a monitor's pipe is opened for both ways, so as not to wait for a guest that is gone
  local name
  for name in a b; do
    printf 'set_link nic%d %s\n' 0 "$1" 1 "$1" 1<>"$SCRATCH/$name/monitor.in"
  done
}

kill_guest() { # NAME
  : >"$SCRATCH/$1/killed"
  kill -KILL "$(<"$SCRATCH/$1/pid")"
}

happened() { # ASKED-BY EVENT
  say "$2 (asked by $1)"
  [[ -z $EVENTS ]] || printf '%s %s: %s\n' "$EPOCHREALTIME" "$1" "$2" >>"$EVENTS"
}
