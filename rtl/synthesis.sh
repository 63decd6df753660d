#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# synthesis.sh FAMILY TOP INCLUDE CORE_FILE STAT_JSON SOURCES...: synthesizes one module and writes Yosys' cell counts.
# FAMILY ecp5 takes the full configuration, ice40 the tiny one.
set -eu
family=$1 top=$2 include=$3 core=$4 out=$5
shift 5
parameters=""
case $family in
ecp5) tool="synth_ecp5 -top $top" ;;
ice40) tool="synth_ice40 -top $top"; parameters="chparam -set CONFIGURATION \"tiny\" $top;" ;;
*) echo "synthesis.sh: unknown family $family" >&2; exit 2 ;;
esac
${YOSYS:-yosys} -q -l "${out%.json}.log" \
    -p "read_verilog -I$include $core $*; $parameters $tool; tee -q -o $out stat -json"
