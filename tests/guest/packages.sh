#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages.sh FOLDER: a stock Debian kernel and a busybox, downloaded by apt and unpacked below FOLDER as vmlinuz and busybox.
# Nothing is installed. Every failure is one line that says what to do.
set -u
fail() { echo "guest: $*" >&2; exit 1; }

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || fail "the guest runs this machine's programs: that takes a Debian for amd64"
command -v qemu-system-x86_64 >/dev/null || fail "there is no QEMU; run: apt-get install --no-install-recommends qemu-system-x86"
mkdir -p "$1" && cd "$1" || fail "cannot write $1"
kernel=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
[ -n "$kernel" ] || fail "apt knows no packages; run: apt-get update"
rm -rf unpacked ./*.deb
for package in "$kernel" busybox-static; do
    apt-get download -qq "$package" 2>log || { tail -n 1 log >&2; fail "apt-get cannot download $package; run: apt-get update"; }
done
for package in ./*.deb; do
    dpkg -x "$package" unpacked || fail "cannot unpack $package"
done
mv unpacked/boot/vmlinuz-* vmlinuz && mv "$(find unpacked -path '*bin/busybox' -type f | head -n 1)" busybox ||
    fail "the packages have no kernel, or no busybox"
rm -rf unpacked ./*.deb log
