# shellcheck shell=bash
# What the host must have: Debian's packages, fetched with apt when we may.

readonly PACKAGES=(
  qemu-system-x86 busybox-static cpio kmod xz-utils                 # the guest
  gcc make libc6-dev                                                # siw is built here
  iproute2 rdma-core ibverbs-utils ibverbs-providers   # used inside the guest
  libibverbs-dev librdmacm-dev rdmacm-utils perftest
)
readonly APT_GET=(apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)

missing_packages() {
  local installed package
  installed=$(dpkg-query -W -f '${Package}=${db:Status-Abbrev}\n' "${PACKAGES[@]}" 2>/dev/null) || true # fails when one is unknown
  for package in "${PACKAGES[@]}"; do
    [[ $'\n'$installed == *$'\n'"$package=ii"* ]] || echo "$package"
  done
}

# why_unavailable: one line when neither a ready guest nor a way to make one is here; else nothing.
why_unavailable() {
  local missing
  if [[ $(uname -s)-$(uname -m) != Linux-x86_64 ]]; then
    echo "it needs Linux on x86_64, this is $(uname -s) on $(uname -m)"
  elif ! command -v dpkg-query apt-get >/dev/null; then
    echo "it needs Debian packages (apt) for its kernel and tools"
  else
    missing=$(missing_packages | paste -sd' ')
    if [[ -n $missing && $EUID -ne 0 ]]; then
      echo "packages are missing; as root: apt-get install --no-install-recommends $missing"
    fi
  fi
}

# apt_do COMMAND...: an apt-get command; once more after apt-get update when it fails (old or no package lists).
apt_do() {
  local log=$SCRATCH/apt.log
  DEBIAN_FRONTEND=noninteractive "${APT_GET[@]}" "$@" >"$log" 2>&1 && return
  if [[ $EUID -eq 0 ]] && "${APT_GET[@]}" update >"$log" 2>&1; then
    DEBIAN_FRONTEND=noninteractive "${APT_GET[@]}" "$@" >"$log" 2>&1 && return
  fi
  tail -n 5 "$log" >&2
  return 1
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  [[ ${#missing[@]} -eq 0 ]] && return
  say "installing ${missing[*]}"
  apt_do install --no-install-recommends "${missing[@]}" ||
    unavailable "apt-get could not install ${missing[*]} (offline?)"
}
