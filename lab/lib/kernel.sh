# shellcheck shell=bash
# The guest's kernel: Debian's image and modules, plus siw (iWARP), which Debian leaves out, built from Debian's source.
# Result: $LAB_CACHE/kernel/{vmlinux,modules/,order,version}, moved into place whole. Nothing is installed on the host.

# In load order; what each depends on is added before it.
readonly MODULES=(
  virtio_pci 9pnet_virtio 9p overlay virtio_console virtio_net
  crc32_generic crc32c_generic # rxe and siw refuse to start without these checksums
  ib_uverbs rdma_ucm rdma_rxe siw veth sch_netem
)

kernel_recipe() { cksum <"$LAB_HOME/lib/kernel.sh" | tr ' ' -; }

kernel_ready() { [[ $(cat "$LAB_CACHE/kernel/recipe" 2>/dev/null) == "$(kernel_recipe)" ]]; }

# newest_kernel: "RELEASE VERSION", such as "6.1.0-57-amd64 6.1.192-3", or nothing. One version for image, headers and source.
newest_kernel() {
  apt-cache show --no-all-versions linux-image-amd64 2>/dev/null | awk '
    $1 == "Version:" { version = $2 }
    $1 == "Depends:" { sub(/.*linux-image-/, ""); sub(/[ ,].*/, ""); release = $0 }
    END { if (release != "") print release, version }' || true # apt-cache fails when it knows no such package: no line
}

make_kernel() ( # a subshell: for its directory and its trap
  set -eE
  trap 'say "the kernel could not be made: $BASH_COMMAND failed ($?)"' ERR
  [[ -n $(newest_kernel) ]] || [[ $EUID -ne 0 ]] || "${APT_GET[@]}" update >/dev/null
  kernel=$(newest_kernel)
  [[ -n $kernel ]] || unavailable "apt knows no package linux-image-amd64 (not Debian, or no package lists: run apt-get update)"
  release=${kernel% *} version=${kernel#* }
  say "fetching kernel $release ($version), about 230 MB"
  mkdir "$SCRATCH/deb" "$SCRATCH/tree" "$SCRATCH/kernel"
  cd "$SCRATCH/deb"
  fetch_kernel "$release" "$version"
  for deb in linux-image-*.deb linux-headers-*.deb linux-kbuild-*.deb; do
    dpkg-deb -x "$deb" "$SCRATCH/tree"
  done
  cd "$SCRATCH/kernel"
  unpack_kernel "$SCRATCH/tree/boot/vmlinuz-$release" >vmlinux &
  unpacking=$!
  build_siw "$release"
  wait "$unpacking"
  collect_modules "$release"
  echo "$release $version" >version
  kernel_recipe >recipe
  rm -rf "$LAB_CACHE/kernel"
  mv "$SCRATCH/kernel" "$LAB_CACHE/kernel"
)

fetch_kernel() { # RELEASE VERSION
  local base headers kbuild
  base=$(cut -d. -f1,2 <<<"$1")
  headers=linux-headers-$1
  kbuild=$(apt-cache depends "$headers=$2" | awk '/Depends: linux-(kbuild|headers-.*-common)/ { print $2 }')
  # shellcheck disable=SC2046,SC2086 # one package a word
  apt_do download $(printf "%s=$2 " "linux-image-$1" "$headers" "linux-source-$base" $kbuild) ||
    unavailable "the kernel packages linux-*-$1 could not be fetched (offline?)"
}

# unpack_kernel VMLINUZ: the ELF image inside, so that the guest need not unpack it in emulation (seconds).
# Boot protocol: 0x1f1 sectors of setup code less one, 0x248 payload offset, 0x24c payload length (its last 4 bytes: size).
unpack_kernel() {
  local setup offset length start
  setup=$(header_field "$1" 0x1f1 1) offset=$(header_field "$1" 0x248 4) length=$(header_field "$1" 0x24c 4)
  start=$(((setup + 1) * 512 + offset))
  dd if="$1" iflag=skip_bytes,count_bytes skip="$start" count=$((length - 4)) bs=1M status=none | xz -dc
}

header_field() { od -An -v -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '; } # FILE OFFSET BYTES

build_siw() { # RELEASE
  local sources=$SCRATCH/tree/usr/src siw=drivers/infiniband/sw/siw common
  say "building siw"
  dpkg-deb --fsys-tarfile "$SCRATCH"/deb/linux-source-*.deb |
    tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
    tar -xJ --strip-components=1 -C "$SCRATCH/tree" --wildcards "linux-source-*/$siw"
  common=$(awk '/^include/ { print $2 }' "$sources/linux-headers-$1/Makefile") # /usr/src/linux-headers-...-common/Makefile
  make -s -j"$(nproc)" -C "$SCRATCH/tree${common%/Makefile}" O="$sources/linux-headers-$1" \
    M="$SCRATCH/tree/$siw" CONFIG_RDMA_SIW=m modules >"$SCRATCH/siw.log" 2>&1 ||
    { tail -n 20 "$SCRATCH/siw.log" >&2; die 1 "siw does not build for kernel $1"; }
  install -D -m 644 "$SCRATCH/tree/$siw/siw.ko" "$SCRATCH/tree/lib/modules/$1/extra/siw.ko"
}

collect_modules() { # RELEASE: modules/ and their load order
  local module
  mkdir modules
  depmod -b "$SCRATCH/tree" "$1"
  for module in "${MODULES[@]}"; do
    modprobe -d "$SCRATCH/tree" -S "$1" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
  done | awk '!seen[$0]++' | while read -r module; do
    cp "$module" modules/
    basename "$module"
  done >order
  # Drops the signatures as well, whose check in emulation takes longer than the loading.
  strip --strip-debug modules/*.ko
}
