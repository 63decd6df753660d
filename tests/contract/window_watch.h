// SPDX-License-Identifier: Apache-2.0
// Looks at every call of BuildPagingBuffer for what it makes of the paging process's addresses: entries are written
// where there are none, content is worked on where they lead to it, and they are taken away and forgotten before others
// come there. It keeps what each address leads to from the entries themselves.
#ifndef FERRY_TESTS_WINDOW_WATCH_H
#define FERRY_TESTS_WINDOW_WATCH_H

#include "vidmm/api/manager.h"
#include "world.h"

#define WATCHED_FIRST (UINT64_C(1) << 28) // page
#define WATCHED_PAGES 4096u

enum watched { WATCHED_FREE, WATCHED_SHOWN, WATCHED_HIDDEN };

struct window_watch {
    struct world *world;
    bool second; // the call is over that it was told of
    enum watched state[WATCHED_PAGES];
    DXGK_PTE leads[WATCHED_PAGES];
    unsigned works, most_chunk; // operations 8 and 9; pages of the largest
    void (*on_work)(struct window_watch *watch, const DXGKARG_BUILDPAGINGBUFFER *argument);
    void *context;
};

void window_watch_begin(struct window_watch *watch, struct world *world);
void window_watch_end(void);
/// Where that address leads, of the paging process.
const DXGK_PTE *window_watch_at(const struct window_watch *watch, uint64_t address);

#endif
