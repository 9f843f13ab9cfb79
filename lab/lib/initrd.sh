# shellcheck shell=bash
# The initrd: busybox, the kernel modules and guest/init. Not compressed: unpacking in emulation costs more than copying.

initrd_path() { echo "$LAB_CACHE/initrd-$(cat "$LAB_HOME/guest/init" "$LAB_CACHE/kernel/version" "$LAB_CACHE/kernel/recipe" | cksum | tr ' ' -)"; }

initrd_ready() { [[ -f $(initrd_path) ]]; }

make_initrd() {
  local root=$SCRATCH/initrd
  mkdir -p "$root"/{proc,sys,dev,ro,rw,root}
  cp /bin/busybox "$root/busybox"
  cp -r "$LAB_CACHE/kernel/modules" "$LAB_CACHE/kernel/order" "$root/"
  install -m 755 "$LAB_HOME/guest/init" "$root/init"
  (cd "$root" && find . | cpio -o -H newc --quiet) >"$SCRATCH/initrd.cpio"
  rm -f "$LAB_CACHE"/initrd-*
  mv "$SCRATCH/initrd.cpio" "$(initrd_path)"
}
