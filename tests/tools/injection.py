# SPDX-License-Identifier: Apache-2.0
"""Where a replay can flip a byte: how often a trace pages in and out is the seed's, so the replay itself is asked."""
import re
import subprocess


def flip(chance, side, *command):
    """Flips one byte, taken by chance, of one of the page-ins or page-outs ("in", "out", "link-in", "link-out") of a replay.
    Gives the place and what the replay answered."""
    def run(place):
        return subprocess.run([*command, "--inject", place], capture_output=True, text=True, timeout=600, check=False)

    never = run(f"{side}:{10**9}")
    said = re.search(r"nothing was flipped, the replay has (\d+) page-", never.stderr)
    if never.returncode != 2 or not said or said[1] == "0":
        return f"{side}:{10**9}", never
    which, offset = chance.randrange(1, int(said[1]) + 1), chance.randrange(1 << 20)
    while True:
        place = f"{side}:{which}:{offset}"
        done = run(place)
        # What is still in system memory leaves without a transfer: over the link go fewer than the replay has.
        if not side.startswith("link-") or done.returncode != 2 or "nothing was flipped" not in done.stderr or which == 1:
            return place, done
        which //= 2
