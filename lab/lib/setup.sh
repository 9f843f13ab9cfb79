# shellcheck shell=bash
# setup: makes the guest, once. check: says whether that is done or can be done.

lab_ready() { kernel_ready && initrd_ready && [[ -z $(missing_packages) ]]; }

setup() {
  [[ $# -eq 0 ]] || die "$EXIT_USAGE" "setup takes no arguments"
  if lab_ready; then
    say "ready: kernel $(cat "$LAB_CACHE/kernel/version")"
    return
  fi
  local why
  why=$(why_unavailable)
  [[ -z $why ]] || unavailable "$why"
  mkdir -p "$LAB_CACHE"
  exec {lock}>"$LAB_CACHE/lock" # one setup at a time; the next finds the work done
  flock "$lock"
  rm -rf "$LAB_CACHE"/rdma4j-lab.* # left by a setup that was killed; none runs, as we hold the lock
  new_scratch "$LAB_CACHE" # on the cache's file system: finished parts are moved, not copied
  install_packages
  kernel_ready || make_kernel
  initrd_ready || make_initrd
  say "ready: kernel $(cat "$LAB_CACHE/kernel/version")"
}

# ensure_ready: for the commands that boot a guest.
ensure_ready() { lab_ready || "$LAB_HOME/lab" setup; }

check() {
  local why
  why=$(why_unavailable)
  [[ -z $why ]] || unavailable "$why"
  case ${1:-} in
    '')
      if lab_ready; then
        echo "lab: ready, kernel $(cat "$LAB_CACHE/kernel/version")"
      else
        echo "lab: not set up yet; can be (lab setup fetches about 230 MB with apt)"
      fi
      ;;
    --boot) ensure_ready && exec "$LAB_HOME/smoke" ;;
    *) die "$EXIT_USAGE" "check knows --boot only, not '$1'" ;;
  esac
}
