// SPDX-License-Identifier: Apache-2.0
// The driver contract as data: everything that stands on both sides of the wall between the video memory manager
// (vidmm/) and the miniport (kmd/). Each subject has a header of its own; this one includes them all.
#ifndef FERRY_DDI_D3DKMDDI_H
#define FERRY_DDI_D3DKMDDI_H

#include "ddi/allocation.h"
#include "ddi/allocation_private.h"
#include "ddi/ferry_nt.h"
#include "ddi/interrupt.h"
#include "ddi/paging.h"
#include "ddi/residency.h"
#include "ddi/segments.h"
#include "ddi/submission.h"
#include "ddi/swizzling.h"

#endif
