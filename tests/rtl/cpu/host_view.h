// SPDX-License-Identifier: Apache-2.0
// The cases of rtl_host_view that stand in files of their own.
#ifndef FERRY_TESTS_RTL_CPU_HOST_VIEW_H
#define FERRY_TESTS_RTL_CPU_HOST_VIEW_H

#include "device_bench.h"

// The CPU reads video memory while bus mastering is off and a job that is thrown away stands behind data for the host.
void window_behind_a_fault(Checks &checks, Random &random);
// Random jobs, good and bad, while the link takes no writes, or nothing at all.
void window_while_the_link_takes_nothing(Checks &checks, Random &random);
// Bus mastering off, or D3hot, in the middle of random jobs.
void no_leave_to_speak(Checks &checks, Random &random);
// A fault is to be told of behind a record that cannot leave, and the paging ring has work.
void paging_while_no_record_leaves(Checks &checks, Random &random);
// Packets of every kind, right and wrong, into the running device, which works on. FERRY_HOSTILE: how many.
void hostile_packets(Checks &checks, Random &random);

#endif
