#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs commands in a bare Debian with nothing but make and git, on a clone of what is committed here.
# usage: fresh.sh FOLDER RELEASE [COMMAND...]     without commands: those of README's "Two commands", as they stand there
# Prints one line; what the commands printed is in FOLDER/RELEASE.log. The system stays in FOLDER/RELEASE, /src is the clone.
# Needs root, debootstrap and unshare. The machine's way to the network is taken along: mirror, proxies, certificates.
set -u
unset CDPATH
fail() { echo "fresh: $*" >&2; exit 1; }

[ $# -ge 2 ] || fail "usage: fresh.sh FOLDER RELEASE [COMMAND...]"
[[ $2 =~ ^[a-z]+$ ]] || fail "'$2' is no name of a release" # It is part of a path that is removed.
mkdir -p "$1" || exit 1
folder=$(cd "$1" && pwd) release=$2
shift 2
root=$folder/$release log=$folder/$release.log
repository=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" -eq 0 ] || fail "only root may make a system in a folder; run: sudo make test-fresh"
for tool in debootstrap unshare; do
    command -v "$tool" >/dev/null || fail "no $tool; run: apt-get install debootstrap util-linux"
done
if [ $# -eq 0 ]; then
    mapfile -t commands < <(awk '/^## /{here = $0 == "## Two commands"} here && /^make /{print $1, $2}' "$repository/README.md")
    [ ${#commands[@]} -eq 2 ] || fail "README.md has ${#commands[@]} commands under 'Two commands', not 2"
else
    commands=("$@")
fi

# The mirror that apt uses here, if this is a Debian; debootstrap knows one otherwise.
mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 2>/dev/null | sed -n 's/^Debian Debian //p' | head -n 1)
rm -rf "$root" || fail "$root cannot be removed"
debootstrap --variant=minbase --include=make,git "$release" "$root" ${mirror:+"$mirror"} >"$log" 2>&1 ||
    fail "debootstrap of $release failed; see $log"

# take FILE...: the same file in the system, where this machine has it.
take() {
    local file
    for file in "$@"; do
        [ -e "$file" ] && mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"
    done
}
take /etc/resolv.conf /etc/hosts /etc/pip.conf "${PIP_CONFIG_FILE:-/etc/pip.conf}" "${PIP_CERT:-/etc/pip.conf}"
take /etc/ssl/certs/ca-certificates.crt "${SSL_CERT_FILE:-/etc/pip.conf}" "${REQUESTS_CA_BUNDLE:-/etc/pip.conf}"
# The package ca-certificates writes its bundle anew, when something asks for it, and takes these in.
[ -d /usr/local/share/ca-certificates ] && mkdir -p "$root/usr/local/share" &&
    cp -rL /usr/local/share/ca-certificates "$root/usr/local/share/"
for file in .config/pip/pip.conf .pip/pip.conf; do
    [ -e ~/$file ] && mkdir -p "$root/root/$(dirname $file)" && cp -L ~/$file "$root/root/$file"
done
apt-config dump 2>/dev/null | grep '^Acquire::' >"$root/etc/apt/apt.conf.d/90machine"
git clone -q --no-hardlinks "$repository" "$root/src" 2>>"$log" || fail "cannot clone $repository; see $log"

# Names of this machine's proxies, certificates and pip settings; folders of it mean nothing in there.
settings=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
while IFS= read -r setting; do
    settings+=("$setting")
done < <(env | grep -iE '^([a-z]+_proxy|PIP_[A-Z_]+|SSL_CERT_FILE|REQUESTS_CA_BUNDLE)=' | grep -v '^PIP_FIND_LINKS=')

said="$release:"
for command in "${commands[@]}"; do
    start=$SECONDS
    # Mounts of a name space of their own: they are gone with the command, however it ends.
    unshare --mount --pid --fork --kill-child bash -c '
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && shift &&
        exec chroot "$0" env -i "${@:2}" bash -c "cd /src && $1"' "$root" - "$command" "${settings[@]}" \
        >>"$log" 2>&1 </dev/null || { echo "$said $command failed: $(tail -n 1 "$log") ($log)"; exit 1; }
    said+=" $command $(tail -n 1 "$log" | grep -oE '^[0-9]+ passed, 0 failed$' || echo works) ($((SECONDS - start)) s);"
done
echo "${said%;}"
