#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a program on devices of a ferry-sim of its own: on_simulator.py PROGRAM [ARGUMENTS...], to which --backend is added."""
import subprocess
import sys
import tempfile


def main():
    with tempfile.TemporaryDirectory(prefix="ferry-link-") as folder:
        address = f"unix:{folder}/devices"
        # Two: some tests have two adapters.
        with subprocess.Popen(["build/ferry-sim", "--listen", address, "--devices", "2"], stdout=subprocess.PIPE, text=True) as simulator:
            try:
                if simulator.stdout.readline() != f"listening on {address}\n":
                    return 1
                return subprocess.run([*sys.argv[1:], "--backend", f"socket:{address}"], check=False).returncode
            finally:
                simulator.terminate()


if __name__ == "__main__":
    sys.exit(main())
