#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md as it stands: its commands run, its figures are those of the runs, its policy compiles and stands in the table,
and its mistake is stopped."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path.cwd()
PAGE = (ROOT / "docs/tutorial.md").read_text()
folder = Path(tempfile.mkdtemp(prefix="ferry-tutorial-"))
passed = failed = 0


def check(good, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}\n    {detail}")


def tool_with(source, name):
    """The tool's own objects, and one policy more. Who has followed the page has it in the tree already."""
    made = folder / name / "lab/policies"
    made.mkdir(parents=True)
    (made / "camera.c").write_text(source)
    listed = (ROOT / "host-driver/lab/policies/policies.h").read_text().replace(" X(camera)", "")
    (made / "policies.h").write_text(listed.replace("X(furthest)", "X(furthest) X(camera)"))
    rooms = ROOT / "build/obj/host-driver"
    objects = [o for room in ("tools", "tools/import", "lab", "lab/policies") for o in (rooms / room).glob("*.o")
               if o.name not in ("bench.o", "camera.o")]
    libraries = subprocess.run(["make", "-s", "print-libs"], capture_output=True, text=True, check=True).stdout.split()
    includes = [f"-I{folder / name}", *(f"-I{ROOT}/{part}" for part in ("host-driver", "host-driver/include", "build/generated"))]
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", *includes, "-c", made / "camera.c", ROOT / "host-driver/lab/bench.c"],
                   check=True, cwd=made)
    subprocess.run(["c++", *objects, made / "camera.o", made / "bench.o", "build/libferry.a", *libraries, "-o", made / "ferry"], check=True)
    return made / "ferry"


commands = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
for number, text in enumerate(commands, 1):
    done = subprocess.run(["sh", "-ec", text], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"commands_{number}_of_{len(commands)}_run", done)
runs = json.loads((ROOT / "build/tutorial/scene.json").read_text())["runs"]
size = max(run["video_memory_bytes"] for run in runs)
came_in = {run["policy"]: run["bytes_in"] for run in runs if run["video_memory_bytes"] == size}

policy, mistake = re.findall(r"^```c\n(.*?)^```", PAGE, re.M | re.S)
figures = folder / "camera.json"
arguments = [ROOT / "build/tutorial/scene.memtrace.gz", "--vram", "0.95W", "--policy", "lru,camera,furthest", "--quiet"]
done = subprocess.run([tool_with(policy, "right"), "policy", *arguments, "--json", figures], capture_output=True, text=True, check=False)
check(done.returncode == 0 and "camera" in done.stdout, "the_tutorials_policy_stands_in_the_table", done)
came_in |= {run["policy"]: run["bytes_in"] for run in json.loads(figures.read_text())["runs"]}
said = dict(re.findall(r"^\| ([\w-]+) \| ([\d.]+) MiB \|", PAGE, re.M))
check(set(said) == set(came_in) and all(f"{came_in[n] / (1 << 20):.1f}" == s for n, s in said.items()), "its_figures_are_right",
      (said, came_in))

# One of a long name has its figures below the others' all the same: the last column ends in one place.
long = tool_with(policy.replace('"camera"', '"camera-of-a-long-name"'), "long")
for name, more in (("table", []), ("sweep", ["--sweep", "--points", "2"])):
    done = subprocess.run([long, "policy", arguments[0], "--policy", "lru,camera-of-a-long-name", "--no-advice", "--quiet", *more],
                          capture_output=True, text=True, check=False)
    table = done.stdout.splitlines()[-3:]
    check("camera-of-a-long-name" in done.stdout and len({len(line) for line in table}) == 1,
          f"a_long_name_moves_no_column_of_the_{name}", table)

wrong = policy.replace("    return ferry_lab_highest(memory, rank);\n", mistake)
wrong = re.sub(r"static uint64_t rank.*?\n}\n\n", "", wrong, flags=re.S)  # Taken out, as the page says: else it does not compile.
done = subprocess.run([tool_with(wrong, "wrong"), "policy", *arguments], capture_output=True, text=True, check=False)
words = re.search(r"^    (policy camera names .*)$", PAGE, re.M)[1]
check(done.returncode != 0 and re.search(re.escape(words) + r".*\d+.* in frame \d+", done.stderr), "its_mistake_is_stopped_by_name", done)

# README's two tables, and its picture: each figure is that of a run.
GAME, MODEL, SMALL, LARGE = (ROOT / f"tests/data/{name}.memtrace.gz" for name in ("openarena", "smollm2", "neverball", "qwen3"))
README = (ROOT / "README.md").read_text()
KIB = {"KiB": 1, "MiB": 1 << 10, "GiB": 1 << 20}


def came_in_of(*arguments, policies="ours,lru"):
    subprocess.run([ROOT / "build/ferry", "policy", *arguments, "--policy", policies, "--no-advice", "--quiet", "--json", figures],
                   stdout=subprocess.DEVNULL, check=True)
    return {run["policy"]: run["programs_bytes_in"] for run in json.loads(figures.read_text())["runs"]}


def row_says(name, begins, *amounts):
    """The row that begins so has these amounts, to the digits that it gives."""
    cells = [cell.strip() for cell in next(line for line in README.splitlines() if line.startswith(f"| {begins}")).split("|")[2:-1]]
    wrong = [(cell, amount) for cell, amount in zip(cells, amounts) if cell != "0" and not re.fullmatch(r"[\d.]+ [KMG]iB", cell)
             or cell != ("0" if amount == 0 else f"{amount / 1024 / KIB[cell[-3:]]:.{len(cell.split()[0].partition('.')[2])}f}{cell[-4:]}")]
    check(len(cells) == len(amounts) and not wrong, name, (cells, amounts))


for name, begins, trace in (("game", "neverball, a game", SMALL), ("model", "Qwen3-0.6B, a language model", LARGE)):
    came = came_in_of(trace, "--vram", "0.95W", policies="ours,lru,furthest")
    row_says(f"readmes_row_of_a_{name}_is_right", begins, *(came[policy][0] for policy in ("lru", "ours", "furthest")))
# A game beside a model: protected it pages as if alone, which nobody else gives it, and the model still pages less than under LRU.
fits = came_in_of(GAME, MODEL, "--vram", "4G", policies="ours")["ours"]
alike = came_in_of(GAME, MODEL, "--vram", "0.75W")
pair = came_in_of(GAME, MODEL, "--vram", "0.75W", "--weights", "8,1")
for number, begins in enumerate(("openarena, a 3D shooter", "SmolLM2-135M, a language model")):
    row_says(f"readmes_row_of_program_{number + 1}_is_right", begins, *(came[number] - fits[number] for came in
                                                                     (alike["lru"], alike["ours"], pair["ours"])))
check(pair["ours"][0] <= fits[0] * 1.001 and pair["lru"][0] > fits[0] * 1.01 and pair["ours"][1] < pair["lru"][1] * 0.8,
      "a_protected_game_beside_a_model_pages_as_alone", (fits, pair))
# The program that writes its own trace, as the manual has it.
written = re.search(r"^```python\n(.*?)^```", (ROOT / "docs/manual/recording.md").read_text(), re.M | re.S)[1]
layers = folder / "layers.memtrace"
layers.write_text(subprocess.run([sys.executable, "-c", written], capture_output=True, text=True, check=True).stdout)
came = came_in_of(layers, "--vram", "0.8W", policies="lru,furthest")
# Of 240 uses of 3 MiB none finds them with the first rule, and 168 do with the other.
check(came == {"lru": [720 << 20], "furthest": [216 << 20]}, "a_trace_written_by_hand_is_played", came)
picture = folder / "does-it-fit.svg"
subprocess.run([ROOT / "build/ferry", "policy", LARGE, "--vram", "0.95W", "--no-advice", "--quiet", "--svg", picture],
               stdout=subprocess.DEVNULL, check=True)
check(picture.read_bytes() == (ROOT / "docs/does-it-fit.svg").read_bytes(), "readmes_picture_is_of_such_a_run")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
