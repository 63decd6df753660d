// SPDX-License-Identifier: Apache-2.0
// Page tables for the agreement of two machines: some pages at each end of 48 bits and around a multiple of 4 GiB lead
// to memory that no other kind of address reaches, or nowhere, or nowhere good.
#ifndef FERRY_TESTS_AGREEMENT_SPACES_H
#define FERRY_TESTS_AGREEMENT_SPACES_H

#include "agreement_buffers.h"

#define SPACES_HOST_PAGES  16u
#define SPACES_TABLE_PAGES 16u
#define SPACES_END         49u // Pages of video memory, behind those of LOCAL_BYTES: what is mapped, and a table.

/// Draws new tables and writes them into the host memory of both sides.
void spaces_make(struct side sides[2]);
/// The packets that make them known to the side's device.
void spaces_tell(struct buffer *b, const struct side *side);
/// A space for a buffer: mostly the one with pages.
uint32_t spaces_draw(void);
/// An address for so many bytes: mostly mapped.
uint64_t spaces_address(uint64_t bytes);

#endif
