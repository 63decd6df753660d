#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Style that no compiler checks: licence lines, format, names that must not appear, long files.
set -u
unset CDPATH
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C.UTF-8 # A column is a letter, not a byte.
status=0
complain() { echo "lint: $*"; status=1; }

sources=$(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp' '*.v' '*.vh' '*.rdl' '*.py' '*.sh' '*.mk' '*.S' Makefile)
[ -n "$sources" ] || complain "git does not say which files there are"
for file in $sources; do
    [ -f "$file" ] || continue
    head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || complain "$file: no SPDX line"
    # A description in the contract is one sentence on one line; generated pages fold it.
    [[ $file == *.rdl ]] || ! grep -nE '^.{141,}$' "$file" /dev/null || complain "$file: longer than 140 columns"
    grep -nP '\t' "$file" >/dev/null && [[ $file != *.mk && $file != Makefile && $file != *.S ]] && complain "$file: tab"
    grep -nE 'lint_off|\bTODO\b|\bFIXME\b|\bXXX\b' "$file" | grep -v scripts/lint.sh | grep . && complain "$file: unfinished or waived"
done
python3 scripts/verilog_style.py --selftest || status=1
python3 scripts/verilog_style.py $(git ls-files --cached --others --exclude-standard -- '*.v') || status=1
formatter=${FORMATTER:-build/venv/bin/clang-format} # Pinned in requirements.txt; another version breaks lines elsewhere.
[ -x "$formatter" ] || complain "no $formatter, run 'make lint'"
formatted=$(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp')
if ! said=$("$formatter" --dry-run -Werror $formatted 2>&1); then
    unformatted=$(grep ' error: ' <<<"$said" | cut -d: -f1 | sort -u)
    complain "${unformatted:+not as clang-format writes it, run 'make format':} ${unformatted:-$formatter failed: $said}"
fi
exit $status
