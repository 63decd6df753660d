# SPDX-License-Identifier: Apache-2.0
"""The closing loop of the tests in this folder: runs cases and prints what became of each, as scripts/run_tests.py reads it."""
import inspect
import tempfile


def run_cases(cases):
    """A case that takes an argument is given an empty folder."""
    failed = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(*[folder] * len(inspect.signature(case).parameters))
                print(f"[       OK ] {case.__name__}", flush=True)
            except Exception as error:  # A case that stops is one that fails; those behind it still run.
                failed += 1
                print(f"    {type(error).__name__}: {error}\n[  FAILED  ] {case.__name__}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0
