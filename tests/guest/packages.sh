#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages.sh FOLDER: stock Debian kernels and a busybox, downloaded by apt and unpacked below FOLDER: vmlinuz, which is made for
# virtual machines; vmlinuz-usb, which knows USB, with the modules for it in usb/; and busybox.
# Nothing is installed. Every failure is one line that says what to do.
set -u
fail() { echo "guest: $*" >&2; exit 1; }

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || fail "the guest runs this machine's programs: that takes a Debian for amd64"
command -v qemu-system-x86_64 >/dev/null || fail "there is no QEMU; run: apt-get install --no-install-recommends qemu-system-x86"
mkdir -p "$1" && cd "$1" || fail "cannot write $1"
command -v lsusb >/dev/null || fail "there is no lsusb; run: apt-get install --no-install-recommends usbutils"
kernel() { apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1; }
cloud=$(kernel linux-image-cloud-amd64) usb=$(kernel linux-image-amd64)
[ -n "$cloud" ] && [ -n "$usb" ] || fail "apt knows no packages; run: apt-get update"
rm -rf unpacked usb ./*.deb
for package in "$cloud" "$usb" busybox-static; do
    apt-get download -qq "$package" 2>log || { tail -n 1 log >&2; fail "apt-get cannot download $package; run: apt-get update"; }
done
for package in ./*.deb; do
    dpkg -x "$package" unpacked || fail "cannot unpack $package"
done
mkdir usb
for module in usb-common usbcore xhci-hcd xhci-pci; do
    find unpacked -path "*/${usb#linux-image-}/*" -name "$module.ko*" -exec cp {} usb/ \;
done
for module in usb/*.ko.xz; do
    [ ! -e "$module" ] || xz -d "$module" || fail "cannot unpack $module"
done
[ "$(ls usb/*.ko 2>/dev/null | wc -l)" = 4 ] || fail "the kernel has not the modules for USB"
mv "unpacked/boot/vmlinuz-${cloud#linux-image-}" vmlinuz && mv "unpacked/boot/vmlinuz-${usb#linux-image-}" vmlinuz-usb &&
    mv "$(find unpacked -path '*bin/busybox' -type f | head -n 1)" busybox ||
    fail "the packages have no kernel, or no busybox"
rm -rf unpacked ./*.deb log
