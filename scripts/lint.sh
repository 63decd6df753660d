#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Style that no compiler checks: licence lines, format, names that must not appear, long files.
set -u
cd "$(dirname "$0")/.." || exit 1
status=0
complain() { echo "lint: $*"; status=1; }

sources=$(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp' '*.v' '*.vh' '*.rdl' '*.py' '*.sh' '*.mk' '*.S' Makefile)
for file in $sources; do
    [ -f "$file" ] || continue
    head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || complain "$file: no SPDX line"
    awk -v f="$file" 'length($0) > 140 { print f ":" FNR ": longer than 140 columns"; bad = 1 } END { exit bad }' "$file" \
        || [[ $file == *.rdl ]] || status=1
    grep -nP '\t' "$file" >/dev/null && [[ $file != *.mk && $file != Makefile && $file != *.S ]] && complain "$file: tab"
    grep -nE 'lint_off|\bTODO\b|\bFIXME\b|\bXXX\b' "$file" | grep -v scripts/lint.sh | grep . && complain "$file: unfinished or waived"
done
formatted=$(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp')
clang-format --dry-run -Werror $formatted 2>&1 | grep -E 'error' | cut -d: -f1 | sort | uniq -c | sed 's/^/lint: not as clang-format writes it: /'
[ "${PIPESTATUS[0]}" -eq 0 ] || status=1
exit $status
