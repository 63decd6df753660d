#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts what was built where it belongs, or takes it away again; writes nothing in this folder.
# usage: install.sh install | uninstall, with DESTDIR, prefix, exec_prefix, bindir, libdir, includedir, datarootdir, man1dir, man7dir,
# udevrulesdir, BUILD, version and libs_private in the environment.
set -eu
umask 022

here=host-driver/package
shared=libferry.so.$version
soname=libferry.so.${version%%.*}
headers=$(cd host-driver/include/ferry && echo *.h)
tools="ferry ferry-sim" # Each with a manual page.
rule=70-pageferry.rules

fail() { echo "$action: $*" >&2; exit 1; }

# What an uninstall has to know stands in this file: the folders that an install made, a line each, which are taken away when
# they are empty, and no others (those of a package that is copied over a system are the packager's); and as libdir=/usr/lib64
# where it put things, since an uninstall may be given another place, or none. As datarootdir= it names the place of this file
# itself: in a copy of the tree it speaks of another install, which has to stay.
list=$datarootdir/pageferry/folders
places="bindir libdir includedir man1dir man7dir udevrulesdir datarootdir"
made=

# folder DIRECTORY: made where it is missing, with DESTDIR before it.
folder() {
    missing=$1
    while [ ! -d "$DESTDIR$missing" ]; do
        made="$made$missing
"
        [ "$missing" != / ] || break
        missing=$(dirname "$missing")
    done
    install -d "$DESTDIR$1"
}

# put MODE FILE NAME: one file; what was there is replaced by another one, so a program that runs keeps its own.
put() { install -m "$1" "$2" "$DESTDIR$3"; }

# value TEXT: a value in a pkg-config file; what lies below the prefix is told by it, so that --define-prefix moves it too.
value() {
    case $1 in
        "$prefix"/*) printf '${prefix}/%s' "${1#"$prefix"/}" ;;
        *) printf '%s' "$1" ;;
    esac
}

# Backslash, ampersand and bar mean something behind sed's s.
escaped() { printf '%s' "$1" | sed 's/[\\&|]/\\&/g'; }

describe() {
    sed -e "s|@prefix@|$(escaped "$prefix")|" \
        -e "s|@exec_prefix@|$(escaped "$([ "$exec_prefix" = "$prefix" ] && echo '${prefix}' || value "$exec_prefix")")|" \
        -e "s|@libdir@|$(escaped "$(value "$libdir")")|" -e "s|@includedir@|$(escaped "$(value "$includedir")")|" \
        -e "s|@version@|$version|" -e "s|@libs_private@|$libs_private|" "$here/ferry.pc.in"
}

# The same name and place as for pkg-config's other files, so that what comes from a release can be told.
page() { sed "s|@version@|$version|" "docs/man/$1"; }

put_text() { # NAME: standard input as a file that everybody may read.
    rm -f "$DESTDIR$1"
    cat >"$DESTDIR$1"
    chmod 644 "$DESTDIR$1"
}

# Where udev looks is udev's (udev(7)). What another tree has, of a package that is being made, is not yet anybody's.
say_where_the_rule_is() {
    [ -z "$DESTDIR" ] || return 0
    case $udevrulesdir in
        /etc/udev/rules.d | /run/udev/rules.d | /lib/udev/rules.d | /usr/lib/udev/rules.d | /usr/local/lib/udev/rules.d)
            echo "install: for boards on USB that are plugged in now: udevadm control --reload, and plug them in anew" ;;
        *) echo "install: udev does not look in $udevrulesdir; for boards on USB: sudo cp '$udevrulesdir/$rule' /etc/udev/rules.d/," \
            "sudo udevadm control --reload" ;;
    esac
}

put_all() {
    for directory in "$bindir" "$libdir/pkgconfig" "$includedir/ferry" "$man1dir" "$man7dir" "$udevrulesdir" "${list%/*}"; do
        folder "$directory"
    done
    for tool in $tools; do put 755 "$BUILD/$tool" "$bindir/$tool"; done
    put 644 "$BUILD/library/libferry.a" "$libdir/libferry.a"
    put 755 "$BUILD/library/$shared" "$libdir/$shared"
    ln -sfn "$shared" "$DESTDIR$libdir/$soname"
    ln -sfn "$soname" "$DESTDIR$libdir/libferry.so"
    describe | put_text "$libdir/pkgconfig/ferry.pc"
    for header in $headers; do put 644 "host-driver/include/ferry/$header" "$includedir/ferry/$header"; done
    for tool in $tools; do page "$tool.1" | put_text "$man1dir/$tool.1"; done
    page libferry.7 | put_text "$man7dir/libferry.7"
    put 644 "$BUILD/generated/$rule" "$udevrulesdir/$rule"
    rm -f "$DESTDIR$list.new"
    {
        cat "$DESTDIR$list" 2>/dev/null || true
        printf %s "$made"
        for name in $places; do eval "printf '%s\n' \"$name=\$$name\""; done
    } | LC_ALL=C sort -u >"$DESTDIR$list.new"
    put_text "$list" <"$DESTDIR$list.new"
    rm "$DESTDIR$list.new"
    say_where_the_rule_is
    # The loader's cache is the running system's.
    [ -n "$DESTDIR" ] || [ "$(id -u)" -ne 0 ] || ldconfig 2>/dev/null || true
}

# stands NAME: the folders of this name, the one that is given and those of the installs.
stands() {
    {
        eval "printf '%s\n' \"\$$1\""
        printf '%s\n' "$known" | sed -n "s|^$1=/|/|p"
    } | LC_ALL=C sort -u
}

take_library() { # LIBDIR, with DESTDIR
    rm -f "$1/libferry.a" "$1/$shared" "$1/pkgconfig/ferry.pc"
    # Another release beside this one keeps its links; the soname's, which an upgrade took from an older one, it has back.
    other=$(cd "$1" 2>/dev/null && ls -d "$soname".* 2>/dev/null | sort -t. -k4,4n -k5,5n | tail -n 1) || other=
    [ -z "$other" ] || [ -e "$1/$soname" ] || ln -sfn "$other" "$1/$soname"
    for link in "$soname" libferry.so; do
        [ -e "$1/$link" ] || rm -f "$1/$link"
    done
}

take_headers() { # INCLUDEDIR, with DESTDIR
    for header in $headers; do rm -f "$1/ferry/$header"; done
    # This folder is ours alone; with somebody else's file in it, it stays.
    rmdir "$1/ferry" 2>/dev/null || true
}

take_all() {
    known=
    why="no $DESTDIR$list, which says where things were put"
    if [ -f "$DESTDIR$list" ]; then
        known=$(LC_ALL=C sort -r "$DESTDIR$list") # the inner folders first
        why="$DESTDIR$list does not say where things were put"
        if printf '%s\n' "$known" | grep -qxF "datarootdir=$datarootdir"; then
            why=
        elif printf '%s\n' "$known" | grep -q "^datarootdir="; then
            known=
            why="$DESTDIR$list is of an install that has it elsewhere, and that stays"
        fi
    fi
    [ -z "$why" ] || echo "uninstall: $why: looked in $bindir, $libdir, $includedir, $man1dir, $man7dir and $udevrulesdir alone" >&2
    stands bindir | while IFS= read -r at; do
        for tool in $tools; do rm -f "$DESTDIR$at/$tool"; done
    done
    stands libdir | while IFS= read -r at; do take_library "$DESTDIR$at"; done
    stands includedir | while IFS= read -r at; do take_headers "$DESTDIR$at"; done
    stands man1dir | while IFS= read -r at; do
        for tool in $tools; do rm -f "$DESTDIR$at/$tool.1"; done
    done
    stands man7dir | while IFS= read -r at; do rm -f "$DESTDIR$at/libferry.7"; done
    stands udevrulesdir | while IFS= read -r at; do rm -f "$DESTDIR$at/$rule"; done
    rm -f "$DESTDIR$list"
    printf '%s\n' "$known" | while IFS= read -r made; do
        case $made in /*) rmdir "$DESTDIR$made" 2>/dev/null || true ;; esac
    done
    [ -n "$DESTDIR" ] || [ "$(id -u)" -ne 0 ] || ldconfig 2>/dev/null || true
}

action=$1
for directory in "$prefix" "$exec_prefix" "$bindir" "$libdir" "$includedir" "$datarootdir" "$man1dir" "$man7dir" "$udevrulesdir"; do
    case $directory in /*) ;; *) fail "'$directory' does not begin with a slash; folders are given whole" ;; esac
done
# A comment, a quote, a variable and a line that goes on, in ferry.pc.
for directory in "$prefix" "$exec_prefix" "$libdir" "$includedir"; do
    case $action$directory in install*[\#\"]* | install*'${'* | install*\\)
        fail "pkg-config cannot be told of '$directory': no #, no \", no \${ and no backslash at the end" ;;
    esac
done
case $action in
    install) put_all ;;
    uninstall) take_all ;;
    *) fail "no such action" ;;
esac
