// SPDX-License-Identifier: Apache-2.0
// What the manager and the link report, on its way to the observer and to the programs.
#ifndef FERRY_UMD_EVENTS_H
#define FERRY_UMD_EVENTS_H

#include "umd/objects.h"

// The manager's observer; the context is the adapter.
void umd_on_vidmm_event(void *context, const struct ferry_vidmm_event *event);
// No program is told of its budget any more: the adapter closes.
void umd_silence_budgets(struct umd_adapter *adapter);
// The public number of a segment of the manager.
uint32_t umd_segment_number(uint32_t segment);

#endif
