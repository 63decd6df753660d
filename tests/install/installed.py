# SPDX-License-Identifier: Apache-2.0
"""A tree that `make install` made, for the tests in this folder; these run from the repository root."""
import os
import re
import shlex
import subprocess
from pathlib import Path

ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ("V", "DESTDIR", "PREFIX", "prefix") and not name.startswith(("MAKE", "MFLAGS", "GNUMAKE", "PKG_CONFIG"))}
VERSION = ".".join(re.findall(r"^#define FERRY_VERSION_\w+ (\d+)$", Path("host-driver/include/ferry/version.h").read_text(), re.M))
SONAME = f"libferry.so.{VERSION.split('.', maxsplit=1)[0]}"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT | options.pop("environment", {}), **options)
    assert done.returncode == 0, f"{shlex.join(map(str, command))[:300]}: {done.stdout[-500:]}{done.stderr[-1500:]}"
    return done.stdout


def make(*arguments, **environment):
    return run("make", *arguments, environment=environment)


class Installed:
    """A tree that `make install` made, with a blank and a quote in its path."""

    def __init__(self, folder, prefix="/usr/local"):
        self.root, self.prefix = Path(folder, "an 'odd' place"), prefix
        make(f"DESTDIR={self.root}", f"PREFIX={prefix}", "install")
        self.at = Path(f"{self.root}{prefix}")

    def files(self):
        return sorted(str(path.relative_to(self.at)) for path in self.at.rglob("*") if path.is_symlink() or path.is_file())

    def options(self, *asked):
        """What pkg-config says for a program of this tree."""
        found = run("pkg-config", *asked, "ferry", environment={
            "PKG_CONFIG_LIBDIR": f"{self.at}/lib/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": str(self.root)})
        return shlex.split(found)
