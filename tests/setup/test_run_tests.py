#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/run_tests.py: what it reads of a program's output, what it counts, and with which seeds it runs."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, "tests/setup")
from cases import run_cases

RUN_TESTS = Path("scripts/run_tests.py").resolve()
RANDOM = 'echo "FERRY_SEED=$FERRY_SEED"; echo "[       OK ] R7_walk"'


def run(folder, *bodies, seed=None, options=(), where=None):
    """Runs programs of these shell bodies; returns what was printed, the exit status and the registry."""
    environment = {name: value for name, value in os.environ.items() if name != "FERRY_SEED"}
    programs = []
    for index, body in enumerate(bodies):
        program = Path(folder) / f"program{index}"
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        programs.append(program)
    done = subprocess.run([sys.executable, RUN_TESTS, "--registry", f"{folder}/registry", "--logs", f"{folder}/logs", *options,
                           *programs], capture_output=True, text=True, check=False, cwd=where,
                          env=environment | ({"FERRY_SEED": seed} if seed else {}))
    registry = Path(folder) / "registry"
    return done.stdout + done.stderr, done.returncode, registry.read_text() if registry.exists() else ""


def last_line(output):
    return output.strip().splitlines()[-1]


def cases_are_counted_and_registered(folder):
    output, status, registry = run(folder, 'echo "[       OK ] R1_R2_good"; echo "[       OK ] plain"')
    assert status == 0 and last_line(output) == "2 passed, 0 failed", output
    assert registry == "R1\tprogram0/R1_R2_good\tpass\nR2\tprogram0/R1_R2_good\tpass\n", registry


def a_failed_case_counts_with_and_without_a_reason(folder):
    for line in ("R3_bad", "R3_bad: expected 1, found 2", "R3_bad:", "R3_bad (0.2 s)"):
        output, status, registry = run(folder, f'echo "[       OK ] R4_good"; echo "[  FAILED  ] {line}"')
        assert status == 1 and last_line(output) == "1 passed, 1 failed", (line, output)
        assert registry == "R3\tprogram0/R3_bad\tFAIL\nR4\tprogram0/R4_good\tpass\n", (line, registry)


def a_long_random_program_runs_once_with_the_fresh_seed(folder):
    long, short = f"{folder}/program0", f"{folder}/program1"
    output, status, _ = run(folder, RANDOM, RANDOM, options=[f"--once={long}"])
    fresh = re.search(r"FERRY_SEED=1 and (\d+)\n", output)[1]
    assert status == 0 and last_line(output) == "3 passed, 0 failed", output
    names = sorted(line.split("  ")[1].strip() for line in output.splitlines() if line.startswith("ok"))
    assert names == sorted([f"program0 {fresh}", "program1 1", f"program1 {fresh}"]), (names, short)
    output, _, _ = run(folder, RANDOM, seed="77", options=[f"--once={long}"])
    assert "program0 77 " in output and last_line(output) == "1 passed, 0 failed", output


def the_other_seed_follows_from_what_git_knows_under_the_sources(folder):
    tree, other = Path(folder) / "tree", Path(folder) / "other"

    def seed_in(where):
        output, status, _ = run(folder, RANDOM, options=["--sources=rtl", "--sources=Makefile"], where=where)
        assert status == 0 and last_line(output) == "2 passed, 0 failed", output
        return re.search(r"FERRY_SEED=1 and (\d+)\n", output)[1]

    for where in (tree, other):
        (where / "rtl").mkdir(parents=True)
        (where / "docs").mkdir()
        for name in ("rtl/a.v", "docs/page.md", "Makefile"):
            (where / name).write_text(f"{name}\n")
        assert seed_in(where) != seed_in(where), "one seed without git"
        for words in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *words], cwd=where, check=True)
    first = seed_in(tree)
    (tree / "rtl/built.o").write_text("not git's\n")
    (tree / "docs/page.md").write_text("no source\n")
    assert seed_in(tree) == seed_in(other) == first, "the same sources, another seed"
    found = {first}
    (tree / "rtl/a.v").write_text("changed\n")
    found.add(seed_in(tree))
    subprocess.run(["git", "mv", "rtl/a.v", "rtl/b.v"], cwd=tree, check=True)
    found.add(seed_in(tree))
    (tree / "rtl/b.v").unlink()
    found.add(seed_in(tree))
    (other / "Makefile").write_text("changed\n")
    found.add(seed_in(other))
    assert len(found) == 5, found


def fresh_seeds_are_as_many_as_are_asked_for(folder):
    options = ["--fresh=3", "--sources=.", f"--once={folder}/program0", f"--once={folder}/program2"]
    output, status, _ = run(folder, RANDOM, RANDOM, 'echo "[       OK ] plain"', options=options)
    seeds = re.search(r"FERRY_SEED=1 and (\d+) and (\d+) and (\d+)\n", output).groups()
    ran = sorted(re.findall(r"^ok   (program\d)(?: (\d+))?", output, re.M))
    expected = [("program0", seed) for seed in seeds] + [("program1", seed) for seed in ("1", *seeds)] + [("program2", "")]
    assert status == 0 and ran == sorted(expected) and last_line(output) == "8 passed, 0 failed", output
    again, _, _ = run(folder, RANDOM, options=options)
    assert not set(seeds) & set(re.findall(r"\d+", again)), again
    refused, status, _ = run(folder, RANDOM, options=["--fresh=-1"])
    assert status != 0 and refused == "run_tests: --fresh -1: want how many seeds\n", refused


def the_headings_of_cmocka_are_no_cases(folder):
    """1.1.5 and 1.1.7 put the list of failed cases under different headings."""
    for heading in ("1 test(s), listed below:", "tests: 1 test(s), listed below:"):
        output, _, _ = run(folder, f'echo "[       OK ] a"; echo "[  FAILED  ] b"; echo "[  PASSED  ] 1 test(s)."; '
                                   f'echo "[  FAILED  ] {heading}"; echo "[  FAILED  ] b"; exit 1')
        assert last_line(output) == "1 passed, 1 failed", (heading, output)


def a_sum_wins_and_a_crash_counts(folder):
    output, status, _ = run(folder, 'echo "41 passed, 1 failed"; exit 1', 'echo "[       OK ] a"; kill -SEGV $$', "true")
    assert status == 1 and last_line(output) == "42 passed, 3 failed", output
    output, _, _ = run(folder, 'echo "1 passed, 0 failed"; echo "7 passed, 0 failed"')
    assert last_line(output) == "7 passed, 0 failed", "a part's sum is not the program's"


def a_random_program_runs_with_two_seeds_that_are_printed(folder):
    output, status, registry = run(folder, RANDOM, 'echo "[       OK ] plain"')
    seeds = re.findall(r"^ok   program0 (\d+)", output, re.M)
    assert status == 0 and last_line(output) == "3 passed, 0 failed" and seeds[0] == "1" and len(set(seeds)) == 2, output
    assert f"FERRY_SEED=1 and {seeds[1]}\n" in output and registry == "R7\tprogram0/R7_walk\tpass\n", (output, registry)
    assert (Path(folder) / f"logs/program0-{seeds[1]}.log").read_text().startswith(f"FERRY_SEED={seeds[1]}\n")
    again, _, _ = run(folder, RANDOM)
    assert f" {seeds[1]} " not in again, "the second seed is not fresh"


def a_failing_seed_is_named_and_replayed(folder):
    body = RANDOM + '\n[ "$FERRY_SEED" -lt 2 ] || { echo "[  FAILED  ] R7_walk: wrong turn"; exit 1; }'
    output, status, registry = run(folder, body)
    replay = re.search(r"replay: FERRY_SEED=(\d+) \S+/program0\n", output)
    assert status == 1 and registry == "R7\tprogram0/R7_walk\tFAIL\n" and replay, (output, registry)
    again, status, _ = run(folder, body, seed=replay.group(1))
    assert status == 1 and last_line(again) == "0 passed, 1 failed" and f"FERRY_SEED={replay.group(1)}\n" in again, again


def a_seed_that_is_no_number_is_refused(folder):
    output, status, _ = run(folder, RANDOM, seed="dice")
    assert status != 0 and output == "run_tests: FERRY_SEED=dice: want a number, as a test printed it\n", output


def what_goes_to_the_error_output_counts(folder):
    output, status, _ = run(folder, 'echo "[       OK ] a"; echo "[  FAILED  ] b" >&2')
    assert status == 1 and last_line(output) == "1 passed, 1 failed", output


def a_good_sum_hides_no_bad_status(folder):
    output, status, _ = run(folder, 'echo "5 passed, 0 failed"; exit 1')
    assert status == 1 and last_line(output) == "5 passed, 1 failed", output


def a_case_that_fails_once_has_failed(folder):
    output, _, registry = run(folder, 'echo "[  FAILED  ] R5_a"; echo "[       OK ] R5_a"; exit 1')
    assert last_line(output) == "0 passed, 1 failed" and registry.endswith("FAIL\n"), (output, registry)


def a_case_passes_when_it_passes_with_every_seed(folder):
    _, _, registry = run(folder, RANDOM + '\n[ "$FERRY_SEED" -gt 1 ] || { echo "[  FAILED  ] R7_walk"; exit 1; }')
    assert registry == "R7\tprogram0/R7_walk\tFAIL\n", registry


def a_case_that_is_left_out_has_its_row_and_each_miniport_too(folder):
    _, status, registry = run(folder, 'echo "miniport: double"; echo "[       OK ] R6_a"; echo "[       OK ] R6_b"',
                              'echo "miniport: real"; echo "left out: R6_a: no such thing"; echo "[       OK ] R6_b"')
    assert status == 0 and registry == ("R6\tprogram0/R6_a\tpass\tdouble\nR6\tprogram1/R6_a\tleft out: no such thing\treal\n"
                                        "R6\tprogram0/R6_b\tpass\tdouble\nR6\tprogram1/R6_b\tpass\treal\n"), registry


def a_miniport_that_is_named_while_a_case_runs_is_that_cases(folder):
    _, _, registry = run(folder, """echo "miniport: double"; echo "[ RUN      ] R6_a"; echo "miniport: double/model-2"
        echo "[       OK ] R6_a"; echo "[ RUN      ] R6_b"; echo "[       OK ] R6_b"; echo "[ RUN      ] R6_c"
        echo "miniport: double/model-2"; echo "miniport: double"; echo "[  FAILED  ] R6_c"; echo "left out: R6_d: no such thing"; true""")
    rows = [row.split("\t")[1:] for row in registry.splitlines()]
    assert rows == [["program0/R6_a", "pass", "double/model-2"], ["program0/R6_b", "pass", "double"],
                    ["program0/R6_c", "FAIL", "double"], ["program0/R6_c", "FAIL", "double/model-2"],
                    ["program0/R6_d", "left out: no such thing", "double"]], registry


def a_row_tells_the_back_end_under_the_miniport(folder):
    _, _, registry = run(folder, 'echo "miniport: real"; echo "back end sim, driver model 2, seed 1"; echo "[       OK ] R6_a"',
                         'echo "miniport: real"; echo "[       OK ] R6_a"; echo "back end model"',
                         'echo "back end uart:/dev/x,115200"; echo "[       OK ] R6_a"',
                         'echo "the back end of sim"; echo "[       OK ] R6_a"')
    assert registry == ("R6\tprogram0/R6_a\tpass\treal\tsim\nR6\tprogram1/R6_a\tpass\treal\tmodel\n"
                        "R6\tprogram2/R6_a\tpass\t\tuart:/dev/x\nR6\tprogram3/R6_a\tpass\n"), registry


def requirements_stand_in_the_order_of_their_numbers(folder):
    _, _, registry = run(folder, 'echo "[       OK ] R10_R9_a"')
    assert registry == "R9\tprogram0/R10_R9_a\tpass\nR10\tprogram0/R10_R9_a\tpass\n", registry


def bytes_that_are_no_text_stop_nothing(folder):
    output, status, _ = run(folder, 'printf "\\377\\n[       OK ] a\\n"')
    assert status == 0 and last_line(output) == "1 passed, 0 failed", output


def a_hang_is_a_failure(folder):
    sys.path.insert(0, str(RUN_TESTS.parent))
    import run_tests
    run_tests.LIMIT_SECONDS = 0.5
    program = Path(folder) / "hang"
    program.write_text(f'#!/bin/sh\necho "[       OK ] a"\nsleep 30 & echo $! > {folder}/child\nwait\n')
    program.chmod(0o755)
    result = run_tests.run(str(program), 1)
    assert (result.passed, result.failed) == (1, 1), result.output
    # Nor do its children go on.
    time.sleep(0.2)
    child = Path(f"/proc/{Path(folder, 'child').read_text().strip()}/stat")
    assert not child.exists() or child.read_text().split()[2] == "Z", "a child lives on"


def a_flood_is_a_failure_and_its_end_is_read(folder):
    sys.path.insert(0, str(RUN_TESTS.parent))
    import run_tests
    run_tests.LIMIT_FILE_BYTES, run_tests.SHOWN_BYTES, run_tests.LIMIT_SECONDS = 1 << 20, 1 << 10, 30
    program = Path(folder) / "flood"
    program.write_text('#!/bin/sh\necho "[       OK ] a"\nexec yes\n')
    program.chmod(0o755)
    result = run_tests.run(str(program), 1)
    assert (result.passed, result.failed) == (1, 1) and len(result.output) < 4096, len(result.output)
    program.write_text('#!/bin/sh\nyes | head -c 100000; echo "3 passed, 0 failed"\n')
    assert (run_tests.run(str(program), 1).passed) == 3


def a_sum_hides_no_failed_case(folder):
    output, status, registry = run(folder, 'echo "[  FAILED  ] R2_b: reason"; echo "5 passed, 0 failed"')
    assert status == 1 and last_line(output) == "5 passed, 1 failed" and registry.endswith("FAIL\n"), output


def a_case_that_was_begun_has_failed_when_its_program_crashed(folder):
    begun = 'echo "[ RUN      ] R4_a"; echo "[       OK ] R4_a"; echo "[ RUN      ] R5_b"; '
    output, status, registry = run(folder, begun + "kill -SEGV $$")
    assert status == 1 and last_line(output) == "1 passed, 1 failed", output
    assert registry == "R4\tprogram0/R4_a\tpass\nR5\tprogram0/R5_b\tFAIL\n", registry
    _, status, registry = run(folder, begun + 'echo "[  SKIPPED ] R5_b"')
    assert status == 0 and "FAIL" not in registry, registry


def cases_that_a_good_end_leaves_out_have_failed(folder):
    """What is tested may call exit(): inside of a case, or between two of them. A child that was forked repeats what was said."""
    first = 'echo "[==========] tests: Running 3 test(s)."; echo "[ RUN      ] a"; echo "[       OK ] a"; '
    rest = 'echo "[ RUN      ] R6_b"; echo "[  SKIPPED ] R6_b"; echo "[ RUN      ] R7_c"; '
    for body, passed, rows in (
            (first + rest + "exit 0", "1 passed, 1 failed", "R7\tprogram0/R7_c\tFAIL\n"),
            (first + "exit 0", "1 passed, 1 failed", ""),
            (first.replace("tests: ", "") + "exit 0", "1 passed, 1 failed", ""),
            (first + rest + first + rest + 'echo "[       OK ] R7_c"; echo "[==========] tests: 3 test(s) run."', "2 passed, 0 failed",
             "R7\tprogram0/R7_c\tpass\n")):
        output, status, registry = run(folder, body)
        assert (last_line(output), status, registry) == (passed, int("1 failed" in passed), rows), (body, output, registry)


def a_case_whose_set_up_failed_has_failed(folder):
    output, _, registry = run(folder, 'echo "[  ERROR   ] --- 1 != 2"; echo "[       OK ] a"; echo "[  ERROR   ] R6_b"; exit 1')
    assert last_line(output) == "1 passed, 1 failed" and registry == "R6\tprogram0/R6_b\tFAIL\n", (output, registry)


def a_seed_whose_line_a_crash_took_is_named(folder):
    """The fresh seed crashes before its line is written."""
    output, _, _ = run(folder, f'[ "$FERRY_SEED" = 1 ] || kill -SEGV $$\n{RANDOM}')
    fresh = re.search(r"FERRY_SEED=1 and (\d+)\n", output)[1]
    assert f"FAIL program0 {fresh} " in output and Path(folder, f"logs/program0-{fresh}.log").exists(), output
    assert not Path(folder, "logs/program0.log").exists()


def seeds_of_sixty_four_bits_are_taken(folder):
    output, status, _ = run(folder, RANDOM, seed="18446744073709551615")
    assert status == 0 and "FERRY_SEED=18446744073709551615\n" in output, output
    assert run(folder, RANDOM, seed="18446744073709551616")[1] != 0


def what_stands_beside_a_sum_counts(folder):
    """A sum that tells of fewer failures than there are failed cases; and a program that waits for a person gets no answer."""
    output, _, _ = run(folder, 'echo "[  FAILED  ] a"; echo "[  FAILED  ] b"; echo "3 passed, 1 failed"')
    assert last_line(output) == "3 passed, 2 failed", output
    with open("/dev/zero", "rb") as typed:
        program = Path(folder) / "asks"
        program.write_text('#!/bin/sh\n[ -z "$(head -c 1 | tr "\\0" x)" ] && echo "[       OK ] a"\n')
        program.chmod(0o755)
        done = subprocess.run([sys.executable, RUN_TESTS, "--registry", f"{folder}/registry", "--logs", f"{folder}/logs", program],
                              stdin=typed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def programs_run_beside_each_other_and_their_end_is_shown(folder):
    """As many as --jobs says, and not one more: each waits a while for the others."""
    for jobs, met in (2, "2 passed, 0 failed"), (1, "1 passed, 1 failed"):
        meet = (f"touch {folder}/{jobs}.$(basename $0); for i in $(seq 20); do "
                f"[ -e {folder}/{jobs}.program0 -a -e {folder}/{jobs}.program1 ] && break; sleep 0.1; done; "
                '[ $i -lt 20 ] && echo "[       OK ] a"')
        output, _, _ = run(folder, meet, meet, options=[f"--jobs={jobs}"])
        assert last_line(output) == met, output
    output, _, _ = run(folder, "seq 1000; exit 1")
    assert "     | 1000\n" in output and "     | 1\n" not in output, output


def a_stopped_runner_stops_its_programs(folder):
    program = Path(folder) / "slow"
    program.write_text(f"#!/bin/sh\necho $$ > {folder}/pid; exec sleep 60\n")
    program.chmod(0o755)
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([sys.executable, RUN_TESTS, "--registry", f"{folder}/registry", "--logs", f"{folder}/logs", program],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as runner:
            while not (Path(folder, "pid").exists() and Path(folder, "pid").read_text()):
                time.sleep(0.05)
            time.sleep(0.1)
            runner.send_signal(number)
            said = runner.communicate(timeout=20)[1]
        assert runner.returncode == 128 + number and said == f"run_tests: stopped by {number.name}\n", (runner.returncode, said)
        state = Path(f"/proc/{Path(folder, 'pid').read_text().strip()}/stat")
        Path(folder, "pid").unlink()
        time.sleep(0.1)
        assert not state.exists() or state.read_text().split()[2] == "Z", "it lives on"


CASES = [what_stands_beside_a_sum_counts, programs_run_beside_each_other_and_their_end_is_shown,
         what_goes_to_the_error_output_counts, a_good_sum_hides_no_bad_status, a_case_that_fails_once_has_failed,
         a_case_passes_when_it_passes_with_every_seed, requirements_stand_in_the_order_of_their_numbers,
         a_case_that_is_left_out_has_its_row_and_each_miniport_too, a_miniport_that_is_named_while_a_case_runs_is_that_cases,
         a_row_tells_the_back_end_under_the_miniport,
         bytes_that_are_no_text_stop_nothing, a_hang_is_a_failure, a_flood_is_a_failure_and_its_end_is_read,
         a_sum_hides_no_failed_case, cases_are_counted_and_registered, a_failed_case_counts_with_and_without_a_reason,
         the_headings_of_cmocka_are_no_cases, a_long_random_program_runs_once_with_the_fresh_seed, a_sum_wins_and_a_crash_counts,
         a_random_program_runs_with_two_seeds_that_are_printed, a_failing_seed_is_named_and_replayed,
         a_seed_that_is_no_number_is_refused, a_case_that_was_begun_has_failed_when_its_program_crashed,
         cases_that_a_good_end_leaves_out_have_failed, a_case_whose_set_up_failed_has_failed,
         a_seed_whose_line_a_crash_took_is_named, seeds_of_sixty_four_bits_are_taken,
         a_stopped_runner_stops_its_programs, the_other_seed_follows_from_what_git_knows_under_the_sources,
         fresh_seeds_are_as_many_as_are_asked_for]


if __name__ == "__main__":
    sys.exit(run_cases(CASES))
