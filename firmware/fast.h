// SPDX-License-Identifier: Apache-2.0
// The fast path for common packets: a conjunction of tests that together imply every rule of check.c for them. The
// tests hold it and the full check against an oracle on random packets.
//
// The core this is written for has no multiplier and shifts one bit a cycle, so fields are compared in place, and masks
// come from hal_constant() where the compiler would otherwise make shifts of them. Part of queues.c, so that claim,
// fast path and retirement are one function on the core and nothing is saved and restored between them.
#ifndef FERRY_FIRMWARE_FAST_H
#define FERRY_FIRMWARE_FAST_H

#include "decode.h"

_Static_assert(FERRY_PACKET_HEADER_WORDS_SHIFT == FERRY_CORE_JOB_CONTROL_PACKET_OFFSET_SHIFT, "place += 4 * step");

// Header of COPY_PAGES without its length but for the bit that makes it odd, and without the unordered bit.
#define LIST_HEADER_MASK                                                                                               \
    (FERRY_PACKET_HEADER_OPCODE_MASK | FERRY_PACKET_HEADER_PROTECTED_MASK | FERRY_PACKET_HEADER_RESERVED_MASK |        \
     1u << FERRY_PACKET_HEADER_WORDS_SHIFT)

// Places and job words of page lists between host pages and video memory, the paging buffer's daily bread.
#define PAGE_IN_PLACES (PLACES(SOURCE_KIND, FERRY_ADDRESS_KIND_SYSTEM) | PLACES(LIST, FERRY_LIST_SIDE_SOURCE))
#define PAGE_OUT_PLACES                                                                                                \
    (PLACES(DESTINATION_KIND, FERRY_ADDRESS_KIND_SYSTEM) | PLACES(LIST, FERRY_LIST_SIDE_DESTINATION))
#define PAGE_IN_CONTROL (CONTROL(SOURCE_KIND, FERRY_ADDRESS_KIND_SYSTEM) | CONTROL(LIST, FERRY_LIST_SIDE_SOURCE))
#define PAGE_OUT_CONTROL                                                                                               \
    (CONTROL(DESTINATION_KIND, FERRY_ADDRESS_KIND_SYSTEM) | CONTROL(LIST, FERRY_LIST_SIDE_DESTINATION))

// What the fast path takes of a COPY with these places: last bytes up to a limit, and no bit of a mask in the high
// words.
struct fast_places {
    uint32_t from_limit, to_limit, from_high, to_high; // 16 bytes: JOB_CONTROL's kinds in place lead to the entry.
};

_Static_assert(sizeof(struct fast_places) == 1u << FERRY_CORE_JOB_CONTROL_SOURCE_KIND_SHIFT, "place of the kinds");

static struct {
    uint32_t limit;     // Video memory below it needs no further question.
    uint32_t no_system; // 1 when the buffer's ring may not name the host's memory.
    uint32_t aperture_limit;
    struct fast_places places[16];
} fast;

// The limit that tells something of an address of the kind.
static uint32_t kind_limit(uint32_t kind, uint32_t limit)
{
    if (kind == FERRY_ADDRESS_KIND_LOCAL)
        return limit;
    return kind == FERRY_ADDRESS_KIND_APERTURE ? fast.aperture_limit : UINT32_MAX;
}

static __attribute__((noinline)) void fast_set_limit(uint32_t limit)
{
    fast.limit = limit;
    for (uint32_t places = 0; places < 16; places++) {
        uint32_t from = FERRY_GET(FERRY_PACKET_PLACES_SOURCE_KIND, places);
        uint32_t to = FERRY_GET(FERRY_PACKET_PLACES_DESTINATION_KIND, places);

        fast.places[places].from_limit = kind_limit(from, limit);
        fast.places[places].to_limit = kind_limit(to, limit);
        fast.places[places].from_high = from == FERRY_ADDRESS_KIND_SYSTEM ? 0 : UINT32_MAX;
        fast.places[places].to_high = to == FERRY_ADDRESS_KIND_SYSTEM ? 0 : UINT32_MAX;
    }
}

static inline void fast_start(void)
{
    uint32_t pages = hal_read(FERRY_CORE_APERTURE_PAGES);

    fast.aperture_limit = pages < UINT32_MAX / FERRY_PAGE ? pages * FERRY_PAGE : UINT32_MAX;
    fast_set_limit(hal_read(FERRY_CORE_LOCAL_LIMIT_LOW));
}

// The first byte of video memory that the fast path leaves to the full check is the limit or the protected range's
// base, or the end of 4 GiB.
static inline void fast_limits(uint32_t ring)
{
    uint32_t rights, limit, high, base, base_high, end, end_high, no, all;

    STEP(base = hal_read(FERRY_CORE_PROTECT_BASE_LOW), base);
    STEP(end = hal_read(FERRY_CORE_PROTECT_LIMIT_LOW), end);
    STEP(base_high = hal_read(FERRY_CORE_PROTECT_BASE_HIGH), base_high);
    STEP(end_high = hal_read(FERRY_CORE_PROTECT_LIMIT_HIGH), end_high);
    STEP(all = 0, all);
    STEP(end = end ^ base, end);
    STEP(high = hal_read(FERRY_CORE_LOCAL_LIMIT_HIGH), high);
    STEP(no = base_high != 0, no);
    STEP(end_high = end_high ^ base_high, end_high);
    STEP(rights = hal_ring_read(ring, FERRY_CORE_RING_RIGHTS), rights);
    STEP(no = all - no, no);
    STEP(high = high != 0, high);
    STEP(end = end | end_high, end);
    STEP(limit = hal_read(FERRY_CORE_LOCAL_LIMIT_LOW), limit);
    STEP(base = base | no, base);
    STEP(high = all - high, high);
    STEP(no = end < 1, no);
    STEP(rights = rights & FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK, rights);
    STEP(limit = limit | high, limit);
    STEP(no = all - no, no);
    STEP(rights = rights ^ FERRY_BAR0_RING_RIGHTS_SYSTEM_MASK, rights);
    fast.no_system = rights;
    STEP(base = base | no, base);
    if (base < limit)
        limit = base;
    if (unlikely(limit != fast.limit))
        fast_set_limit(limit);
}

#define FENCE_CONTROL                                                                                                  \
    (CONTROL(OP, FERRY_JOB_OP_FILL) | CONTROL(PATTERN_LOG2, 3) | CONTROL(DESTINATION_KIND, FERRY_ADDRESS_KIND_SYSTEM))

// Takes packets from the cursor on until one is for the full check, there is no room for its job, or the buffer ends.
// bytes: length of the buffer. Each
// packet it takes becomes one job. Calls nothing, so that all it needs stays in registers.
static inline void fast_packets(struct cursor *at, uint32_t bytes)
{
    const uint32_t *packet = at->packet, *const end = at->end;
    const uint32_t limit = fast.limit;
    // Read where it is needed, to leave a register to others.
    const volatile uint32_t *const no_system = &fast.no_system;
    // A constant that would take more than one instruction each time.
    const uint32_t list_mask = hal_constant(LIST_HEADER_MASK);
    // Last place at which a packet of eight words may start; a shorter buffer has none.
    const uintptr_t last_eight = bytes < 32 ? 0 : (uintptr_t)end - 32;
    uint32_t place = at->place;
    // Jobs queued, and how far that may go before the engine is asked again how many it has done.
    uint32_t queued = ferry_engine.queued, until = queued + ferry_engine.room;

    while (packet != end) {
        const uint32_t *next;
        uint32_t header, places, length, word3, low, high, word6, word7, kind, shape, step, cap, bad, more, flag;

        if (unlikely(queued == until)) {
            until = queued + hal_read(FERRY_CORE_JOB_ROOM);
            if (queued == until)
                break;
        }
        if ((uintptr_t)packet > last_eight)
            goto short_of_eight;
        // From front to back, since command RAM has the next word ready then.
        STEP(shape = list_mask, shape);
        STEP(header = packet[0], header);
        STEP(places = packet[1], places);
        STEP(length = packet[2], length);
        STEP(word3 = packet[3], word3);
        STEP(shape = header & shape, shape);
        STEP(kind = header & ~UNORDERED, kind);
        STEP(flag = FERRY_OPCODE_COPY_PAGES, flag);
        STEP(low = packet[4], low);
        STEP(high = packet[5], high);
        STEP(kind = kind - FERRY_OPCODE_COPY, kind);
        STEP(step = HEADER(COPY) - FERRY_OPCODE_COPY, step);
        STEP(cap = limit, cap);
        STEP(word6 = packet[6], word6);
        STEP(word7 = packet[7], word7);
        if (shape == flag) {
            uint32_t words, used, span, last, control, mask;

            STEP(words = hal_upper_half(packet), words);
            STEP(mask = FERRY_PAGE, mask);
            STEP(kind = *no_system, kind);
            STEP(step = FERRY_PACKET_HEADER_WORDS_MASK, step);
            STEP(last = low + length, last);
            STEP(used = word3 + length, used);
            STEP(span = FERRY_PACKET_COPY_PAGES_SIZE / 4 << FERRY_PACKET_HEADER_WORDS_SHIFT, span);
            STEP(mask = mask - 1, mask);
            STEP(step = header & step, step);
            STEP(bad = last < length, bad);
            STEP(more = cap < last, more);
            STEP(shape = words * 4, shape);
            // Bytes of the list's pages, 2048 for each word.
            STEP(span = step - span, span);
            STEP(high = high | kind, high);
            STEP(flag = used < length, flag);
            STEP(last = length < 1, last);
            STEP(next = bytes_after(packet, shape), next);
            STEP(span = span >> 5, span);
            STEP(bad = bad | more, bad);
            STEP(more = mask < word3, more);
            STEP(words = words < FERRY_PACKET_COPY_PAGES_SIZE / 4 + 2, words);
            STEP(flag = flag | last, flag);
            STEP(span = span - used, span);
            STEP(last = end < next, last);
            STEP(bad = bad | more, bad);
            STEP(words = words | flag, words);
            STEP(span = mask < span, span);
            STEP(high = high | last, high);
            STEP(bad = bad | words, bad);
            STEP(control = header & UNORDERED, control);
            hal_write(FERRY_CORE_JOB_LENGTH, length);
            STEP(high = high | span, high);
            STEP(shape = hal_command_at(packet) + FERRY_PACKET_COPY_PAGES_PAGE, shape);
            STEP(control = control * (CONTROL(UNORDERED, 1) / UNORDERED), control);
            STEP(flag = PAGE_IN_PLACES, flag);
            STEP(bad = bad | high, bad);
            STEP(step = 4 * step, step);
            hal_write(FERRY_CORE_JOB_LIST, shape);
            STEP(control = control | place, control);
            if (likely(places == flag)) {
                STEP(queued++, queued);
                hal_write(FERRY_CORE_JOB_SOURCE_LOW, word3);
                STEP(control = control | PAGE_IN_CONTROL, control);
                hal_write(FERRY_CORE_JOB_DESTINATION_LOW, low);
            } else {
                STEP(flag = places ^ PAGE_OUT_PLACES, flag);
                hal_write(FERRY_CORE_JOB_SOURCE_LOW, low);
                STEP(control = control | PAGE_OUT_CONTROL, control);
                STEP(bad = bad | flag, bad);
                STEP(queued++, queued);
                hal_write(FERRY_CORE_JOB_DESTINATION_LOW, word3);
            }
            if (unlikely(bad)) {
                queued--;
                break;
            }
            STEP(packet = next, packet);
            hal_write(FERRY_CORE_JOB_CONTROL, control);
            STEP(place = place + step, place);
            continue;
        }
        if (kind == step) {
            uint32_t last, to_last;

            if (places != 0)
                goto other_kinds;
            STEP(last = low + length, last);
            STEP(to_last = word6 + length, to_last);
            STEP(word3 = word3 | high, word3);
            STEP(next = bytes_after(packet, FERRY_PACKET_COPY_SIZE), next);
            STEP(header = header & UNORDERED, header);
            STEP(bad = last < length, bad);
            STEP(more = cap < last, more);
            STEP(flag = to_last < length, flag);
            STEP(to_last = cap < to_last, to_last);
            STEP(word3 = word3 | word7, word3);
            STEP(header = header * (CONTROL(UNORDERED, 1) / UNORDERED), header);
            STEP(bad = bad | more, bad);
            hal_write(FERRY_CORE_JOB_SOURCE_LOW, low);
            STEP(flag = flag | to_last, flag);
            STEP(step = place | CONTROL(OP, FERRY_JOB_OP_COPY), step);
            hal_write(FERRY_CORE_JOB_DESTINATION_LOW, word6);
            STEP(bad = bad | word3, bad);
            hal_write(FERRY_CORE_JOB_LENGTH, length);
            STEP(header = header | step, header);
            STEP(queued++, queued);
            STEP(bad = bad | flag, bad);
            STEP(step = FERRY_PACKET_COPY_SIZE << FERRY_CORE_JOB_CONTROL_PACKET_OFFSET_SHIFT, step);
            if (unlikely(bad)) {
                queued--;
                break;
            }
            STEP(packet = next, packet);
            hal_write(FERRY_CORE_JOB_CONTROL, header);
            STEP(place = place + step, place);
            continue;
        }
        if (header == HEADER(FILL)) {
            uint32_t last;

            STEP(last = low + length, last);
            STEP(flag = places & ~(PLACES(PATTERN_LOG2, 1) | PLACES(PATTERN_LOG2, 2)), flag);
            STEP(more = places ^ PLACES(PATTERN_LOG2, 3), more);
            STEP(word3 = word3 | high, word3);
            STEP(next = bytes_after(packet, FERRY_PACKET_FILL_SIZE), next);
            STEP(bad = last < length, bad);
            STEP(last = cap < last, last);
            // Patterns of 1, 2 or 4 bytes: the high word of the pattern stays zero.
            STEP(more = more < 1, more);
            STEP(word3 = word3 | flag, word3);
            STEP(step = places *
                        (1u << (FERRY_CORE_JOB_CONTROL_PATTERN_LOG2_SHIFT - FERRY_PACKET_PLACES_PATTERN_LOG2_SHIFT)),
                 step);
            hal_write(FERRY_CORE_JOB_SOURCE_LOW, word6);
            STEP(bad = bad | last, bad);
            STEP(word3 = word3 | more, word3);
            hal_write(FERRY_CORE_JOB_DESTINATION_LOW, low);
            STEP(step = step | place, step);
            hal_write(FERRY_CORE_JOB_LENGTH, length);
            STEP(bad = bad | word3, bad);
            STEP(step = step | CONTROL(OP, FERRY_JOB_OP_FILL), step);
            STEP(queued++, queued);
            STEP(flag = FERRY_PACKET_FILL_SIZE << FERRY_CORE_JOB_CONTROL_PACKET_OFFSET_SHIFT, flag);
            if (unlikely(bad)) {
                queued--;
                break;
            }
            STEP(packet = next, packet);
            hal_write(FERRY_CORE_JOB_CONTROL, step);
            STEP(place = place + flag, place);
            continue;
        }
        if (header == HEADER(FENCE)) {
        fence:;
            // Read anew: the fast paths above have no use for copies of their words.
            const volatile uint32_t *words = packet;

            STEP(places = words[1], places);
            STEP(length = words[WORD(FENCE_ADDRESS)], length);
            STEP(word3 = words[WORD(FENCE_ADDRESS) + 1], word3);
            STEP(low = words[WORD(FENCE_VALUE)], low);
            STEP(high = words[WORD(FENCE_VALUE) + 1], high);
            STEP(bad = places ^ PLACES(DESTINATION_KIND, FERRY_ADDRESS_KIND_SYSTEM), bad);
            // Eight aligned bytes cannot wrap around the end of the address space.
            STEP(more = length & 7, more);
            STEP(flag = *no_system, flag);
            STEP(step = FENCE_CONTROL, step);
            hal_write(FERRY_CORE_JOB_DESTINATION_LOW, length);
            STEP(length = FERRY_PACKET_FENCE_SIZE << FERRY_CORE_JOB_CONTROL_PACKET_OFFSET_SHIFT, length);
            STEP(bad = bad | more, bad);
            STEP(cap = 8, cap);
            hal_write(FERRY_CORE_JOB_SOURCE_LOW, low);
            STEP(step = step | place, step);
            STEP(bad = bad | flag, bad);
            hal_write(FERRY_CORE_JOB_LENGTH, cap);
            STEP(next = bytes_after(packet, FERRY_PACKET_FENCE_SIZE), next);
            STEP(queued++, queued);
            if (unlikely(bad)) {
                queued--;
                break;
            }
            STEP(packet = next, packet);
            hal_write(FERRY_CORE_JOB_DESTINATION_HIGH, word3);
            hal_write(FERRY_CORE_JOB_SOURCE_HIGH, high);
            hal_write(FERRY_CORE_JOB_CONTROL, step);
            STEP(place = place + length, place);
            // As engine.c wants them between jobs.
            hal_write(FERRY_CORE_JOB_SOURCE_HIGH, 0);
            hal_write(FERRY_CORE_JOB_DESTINATION_HIGH, 0);
            continue;
        }
        break;

    other_kinds : {
        const struct fast_places *entry;
        uint32_t last, to_last, from_high, to_high;

        // What is only passed on is passed on first, so that there are registers enough.
        STEP(shape = places & 15, shape);
        STEP(cap = PLACES(DESTINATION_KIND, FERRY_ADDRESS_KIND_VIRTUAL) - 1, cap);
        STEP(kind = places & FERRY_PACKET_PLACES_SOURCE_KIND_MASK, kind);
        STEP(last = low + length, last);
        STEP(to_last = word6 + length, to_last);
        STEP(step = FERRY_ADDRESS_KIND_APERTURE, step);
        STEP(cap = cap < places, cap);
        hal_write(FERRY_CORE_JOB_SOURCE_LOW, low);
        STEP(shape = shape << FERRY_CORE_JOB_CONTROL_SOURCE_KIND_SHIFT, shape);
        STEP(entry = fast.places, entry);
        hal_write(FERRY_CORE_JOB_DESTINATION_LOW, word6);
        STEP(bad = last < length, bad);
        STEP(more = to_last < length, more);
        STEP(entry = (const struct fast_places *)((uintptr_t)entry + shape), entry);
        STEP(kind = step < kind, kind);
        STEP(header = header & UNORDERED, header);
        hal_write(FERRY_CORE_JOB_LENGTH, length);
        STEP(bad = bad | cap, bad);
        STEP(bad = bad | more, bad);
        STEP(low = entry->from_limit, low);
        STEP(word6 = entry->to_limit, word6);
        STEP(from_high = entry->from_high, from_high);
        STEP(to_high = entry->to_high, to_high);
        STEP(cap = *no_system, cap);
        STEP(header = header * (CONTROL(UNORDERED, 1) / UNORDERED), header);
        STEP(low = low < last, low);
        STEP(word6 = word6 < to_last, word6);
        STEP(more = from_high & to_high, more);
        STEP(from_high = from_high & high, from_high);
        STEP(to_high = to_high & word7, to_high);
        STEP(header = header | shape, header);
        STEP(low = low | word6, low);
        STEP(more = ~more, more);
        hal_write(FERRY_CORE_JOB_SOURCE_HIGH, high);
        STEP(word3 = word3 | from_high, word3);
        STEP(bad = bad | to_high, bad);
        STEP(kind = kind | low, kind);
        STEP(more = more & cap, more);
        STEP(header = header | place, header);
        hal_write(FERRY_CORE_JOB_DESTINATION_HIGH, word7);
        STEP(bad = bad | word3, bad);
        STEP(kind = kind | more, kind);
        STEP(step = FERRY_PACKET_COPY_SIZE << FERRY_CORE_JOB_CONTROL_PACKET_OFFSET_SHIFT, step);
        STEP(queued++, queued);
        STEP(header = header | CONTROL(OP, FERRY_JOB_OP_COPY), header);
        STEP(next = bytes_after(packet, FERRY_PACKET_COPY_SIZE), next);
        STEP(bad = bad | kind, bad);
        STEP(place = place + step, place);
        if (unlikely(bad)) {
            queued--;
            place -= step;
            hal_write(FERRY_CORE_JOB_SOURCE_HIGH, 0);
            hal_write(FERRY_CORE_JOB_DESTINATION_HIGH, 0);
            break;
        }
        STEP(packet = next, packet);
        hal_write(FERRY_CORE_JOB_CONTROL, header);
        hal_write(FERRY_CORE_JOB_SOURCE_HIGH, 0);
        hal_write(FERRY_CORE_JOB_DESTINATION_HIGH, 0);
        continue;
    }
    short_of_eight:
        // A fence is the last packet of many a buffer.
        if ((uintptr_t)end - (uintptr_t)packet == FERRY_PACKET_FENCE_SIZE && packet[0] == HEADER(FENCE))
            goto fence;
        break;
    }
    at->packet = packet;
    at->place = place;
    ferry_engine.queued = queued;
    ferry_engine.room = until - queued;
}

#endif
