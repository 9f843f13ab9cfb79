# shellcheck shell=bash disable=SC2054 # QEMU's arguments have commas
# One guest: its directory in the scratch directory, its QEMU command line, what became of it.
#   DIR/share    9p share "lab": main, network and job go in, the status comes out
#   DIR/console  the kernel's console, kept under $LAB_CACHE/logs when the guest died

CPUS='' MEM='' TIMEOUT='' OUT='' EVENTS=''
TTY='' # set: the job has our terminal, so QEMU stays in our process group
ARGUMENTS=() # what follows the options

parse_options() { # OPTIONS...
  ARGUMENTS=()
  while [[ $# -gt 0 ]]; do
    case $1 in
      --cpus | --mem | --timeout | --out | --events)
        [[ $# -ge 2 ]] || die "$EXIT_USAGE" "$1 wants a value"
        case $1 in
          --cpus) need_number "$1" "$2"; CPUS=$2 ;;
          --mem) need_number "$1" "$2"; MEM=$2 ;;
          --timeout) need_number "$1" "$2"; TIMEOUT=$2 ;;
          --out) OUT=$2 ;;
          --events) EVENTS=$2 ;;
        esac
        shift 2
        ;;
      --) shift; ARGUMENTS+=("$@"); return ;;
      -*) die "$EXIT_USAGE" "unknown option '$1'; see lab help" ;;
      *) ARGUMENTS+=("$1"); shift ;;
    esac
  done
}

prepare_guest() { # DIR COMMAND...
  local dir=$1
  shift
  mkdir -p "$dir/share"
  cp "$LAB_HOME"/guest/{main,network} "$dir/share/"
  write_job "$@" >"$dir/share/job"
}

write_job() { # COMMAND...: the script that runs it as if called here
  local name
  printf 'cd -- %q || exit 126\n' "$PWD"
  for name in HOME LANG TERM JAVA_HOME PATH $(compgen -A export RDMA4J_); do
    [[ -z ${!name+set} ]] || printf 'export %s=%q\n' "$name" "${!name}"
  done
  # shellcheck disable=SC2016 # expanded in the guest
  echo 'PATH=$PATH:/usr/sbin:/sbin'
  printf 'ulimit -l %q || exit 126\n' "${RDMA4J_LAB_MEMLOCK_KIB:-unlimited}"
  printf 'exec'
  printf ' %q' "$@"
  echo
}

# A quiet console; a crash ends the guest (panic, with -no-reboot); the time-stamp counter as the clock, as the others are
# devices (2 us a read, under a global lock); and no work that this throw-away guest can do without.
readonly KERNEL_OPTIONS="console=ttyS0 quiet panic=-1 tsc=reliable clocksource=tsc \
mitigations=off cryptomgr.notests=1 lsm= audit=0 rodata=off no_timer_check rcupdate.rcu_expedited=1 8250.nr_uarts=1"

QEMU=() # the command line that qemu_command made

qemu_command() { # DIR ROLE OUT-DIR: common to all guests
  local dir=$1 append="$KERNEL_OPTIONS LAB_ROLE=$2" out
  QEMU=(
    setpriv --pdeathsig TERM timeout ${TTY:+--foreground} -k 5 "$TIMEOUT"
    qemu-system-x86_64 -M q35 -accel "${RDMA4J_LAB_ACCEL:-tcg,thread=multi}" -cpu max,la57=off
    -smp "$CPUS" -m "$MEM" -nodefaults -no-user-config -no-reboot -display none -pidfile "$dir/pid"
    -kernel "$LAB_CACHE/kernel/vmlinux" -initrd "$(initrd_path)"
    -serial "file:$dir/console"
    -fsdev local,id=host,path=/,security_model=none,readonly=on,multidevs=remap
    -device virtio-9p-pci,fsdev=host,mount_tag=host
    -fsdev "local,id=lab,path=$dir/share,security_model=none"
    -device virtio-9p-pci,fsdev=lab,mount_tag=lab
    -device virtio-serial-pci
  )
  if [[ -n $3 ]]; then
    mkdir -p "$3"
    out=$(realpath "$3")
    append+=" LAB_OUT=1"
    QEMU+=(
      -fsdev "local,id=out,path=${out//,/,,},security_model=none" # a comma in a value is doubled
      -device virtio-9p-pci,fsdev=out,mount_tag=out
    )
  fi
  QEMU+=(-append "$append${TTY:+ LAB_TTY=1}")
}

# output_ports STDOUT-FD STDERR-FD: the job's streams leave through these descriptors of ours.
output_ports() {
  QEMU+=(
    -add-fd "fd=$1,set=1" -chardev file,id=stdout,path=/dev/fdset/1,append=on -device virtserialport,chardev=stdout,nr=1
    -add-fd "fd=$2,set=2" -chardev file,id=stderr,path=/dev/fdset/2,append=on -device virtserialport,chardev=stderr,nr=2
  )
}

# guest_status DIR QEMU-STATUS NAME: the job's exit status, or a message about the guest's end and a status of ours.
guest_status() {
  local dir=$1 status=$EXIT_GUEST_DIED log
  if [[ -s $dir/share/status ]]; then
    return "$(cat "$dir/share/status")"
  fi
  log=$LAB_CACHE/logs/$(date +%Y%m%dT%H%M%S)-$$-$3.log
  mkdir -p "$LAB_CACHE/logs"
  cat "$dir/console" "$dir/qemu.log" >"$log" 2>/dev/null || true # whichever of them there is
  if [[ $2 -eq 124 || $2 -eq 137 ]]; then
    status=$EXIT_TIMEOUT
    say "$3: no result after $TIMEOUT s, guest killed; console kept in $log, its last lines:"
  else
    say "$3: the guest ended without a result (qemu status $2); console kept in $log, its last lines:"
  fi
  tail -n 15 "$log" | sed 's/^/lab:   /' >&2
  return "$status"
}
