#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# synthesis.sh FAMILY TOP INCLUDE CORE_FILE STAT_JSON SOURCES...: synthesizes one module and writes Yosys' cell counts.
# FAMILY ecp5 takes the full configuration, ice40 the tiny one. KEEP="MODULE..." in the environment keeps these modules as
# boundaries, so that each is counted with the parameters that it has inside TOP, and with what is inside it.
# SET="NAME VALUE ..." sets parameters of TOP.
set -eu
family=$1 top=$2 include=$3 core=$4 out=$5
shift 5
case $family in
ecp5) tool=synth_ecp5 set=full ;;
ice40) tool=synth_ice40 set=tiny ;;
*) echo "synthesis.sh: unknown family $family" >&2; exit 2 ;;
esac
parameters=""
[ "$top" != ferry_device ] || parameters="-set CONFIGURATION \"$set\""
# shellcheck disable=SC2086
set -- "$*" ${SET-}
sources=$1
shift
while [ $# -gt 1 ]; do
    parameters="$parameters -set $1 $2"
    shift 2
done
boundaries=""
for module in ${KEEP-}; do
    # A module with parameters is called $paramod$HASH\NAME or $paramod\NAME\PARAMETERS.
    boundaries="$boundaries setattr -mod -set keep_hierarchy 1 $module *paramod*\\\\$module *paramod*\\\\$module\\\\*;"
done
${YOSYS:-yosys} -q -w 'did not match any module' -l "${out%.json}.log" \
    -p "read_verilog -I$include $core $sources; ${parameters:+chparam $parameters $top;} hierarchy -top $top; $boundaries
        $tool -top $top; tee -q -o $out stat -json"
