#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Proves the FORMAL properties of one module: from reset for some steps, then by induction for ever.
# Usage: prove.sh WORK_FOLDER INCLUDE_FOLDER TOP STEPS PARAMETERS FILE...
# STEPS written as "7:bounded" leaves the induction out: the properties hold for that many cycles from reset on.
set -e
work=$1; include=$2; top=$3; steps=$4; parameters=$5
shift 5
mkdir -p "$work"
yosys -q -p "read_verilog -formal -I$include $*; ${parameters:+chparam $parameters $top;} hierarchy -top $top;
    prep -flatten -nordff -top $top; write_smt2 -wires $work/$top.smt2"
case $steps in
*:bounded) steps=${steps%:bounded}; ways=base; said="holds for $steps cycles from reset" ;;
*) ways="base induction"; said=proved ;;
esac
for way in $ways; do
    option=; [ $way = base ] || option=-i
    if ! yosys-smtbmc --noprogress -s z3 --unroll --noincr $option -t "$steps" "$work/$top.smt2" > "$work/$top-$way.log" 2>&1; then
        tail -3 "$work/$top-$way.log"
        echo "formal: $top: not proved ($work/$top-$way.log)"
        exit 1
    fi
done
echo "formal: $top $said"
