#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Proves the FORMAL properties of one module: from reset for some steps, then by induction for ever; then shows that each
# of its covers can be reached, so that no property holds for want of anything happening.
# Usage: prove.sh WORK_FOLDER INCLUDE_FOLDER TOP STEPS PARAMETERS [FILE... --] FILE...
# Files in front of -- are read as they are built, without the properties that stand in them.
# STEPS is "3" or "3,12" (12 steps for the covers, 0 for none, else 10); "7:bounded" leaves the induction out: the
# properties hold for that many cycles from reset on; "0" reads the files alone: whether there is a design of them to prove.
set -e
work=$1; include=$2; top=$3; steps=$4; parameters=$5
shift 5
mkdir -p "$work"
rules="tests/formal/valid_ready_properties.v tests/formal/axi4_address_properties.v"
plain=
files=$*
case $files in
*" -- "*) plain="read_verilog -I$include ${files%% -- *};"; files=${files#* -- } ;;
esac
read="$plain read_verilog -formal -I$include $files $rules; ${parameters:+chparam $parameters $top;} hierarchy -check -top $top;"
if [ "$steps" = 0 ]; then
    yosys -q -p "$read"
    exit
fi
yosys -q -p "$read prep -flatten -nordff -top $top; write_smt2 -wires $work/$top.smt2"
cover=10
case $steps in
*:bounded) steps=${steps%:bounded}; ways=base; said="holds for ${steps%,*} cycles from reset" ;;
*) ways="base induction"; said=proved ;;
esac
case $steps in
*,*) cover=${steps#*,}; steps=${steps%,*} ;;
esac
if [ "$cover" != 0 ] && grep -q "yosys-smt2-cover" "$work/$top.smt2"; then
    ways="$ways covers"
fi
for way in $ways; do
    # A proof's steps are asked of a new solver each, which is faster; the covers of one that goes on, in half the time.
    option=--noincr; length=$steps
    [ $way = induction ] && option="--noincr -i"
    [ $way = covers ] && option=-c && length=$cover
    if ! yosys-smtbmc --noprogress -s z3 --unroll $option -t "$length" "$work/$top.smt2" > "$work/$top-$way.log" 2>&1; then
        grep -h "Unreached\|Assert failed" "$work/$top-$way.log" || tail -3 "$work/$top-$way.log"
        echo "formal: $top: not proved ($work/$top-$way.log)"
        exit 1
    fi
done
echo "formal: $top $said"
