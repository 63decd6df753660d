// SPDX-License-Identifier: Apache-2.0
// Back end `pci`: a PCI function of this machine, pci or pci:ADDRESS. The processor reaches its BARs, and it the host's
// pages; nobody here sees a packet.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferry_contract.h"
#include "link/link.h"
#include "link/pci_function.h"
#include "link/problem.h"

#define PAGE_BYTES       4096u
#define BAR0_BYTES       0x10000u
#define LOOKS            200u // At memory, before a wait lets others have the processor.
#define LOOKS_A_QUESTION 8u   // Then, between two looks at the device's time.
#define PAUSE            20u  // Microseconds between those looks.
#define RESET_SECONDS    2.0
#define STANDS_SECONDS   3.0 // And so many looks at a clock that does not go on: this program may have been stopped.
#define STANDS_LOOKS     100u
// A host may take its time to answer: PCI Express (2.8) strongly recommends not to give it up before 10 ms. That
// is so many cycles at 125 MHz, which no board's clock is above.
#define ANSWER_CYCLES 1250000u

/// A page that pump() looks at, and what stood in it the last time.
struct watch {
    uint64_t bus;
    const unsigned char *memory;
    unsigned char seen[PAGE_BYTES];
};

struct pci {
    struct ferry_link link; // First, so that a link leads back here.
    struct ferry_pci_function *function;
    struct ferry_pci_place place;
    struct watch *watch;
    size_t watches;
    unsigned reasons; // FERRY_PUMP_* that pump() has not told yet.
    uint32_t interrupts;
    uint64_t before; // Cycles of the device's before its last reset,
    uint64_t seen;   // and all of them when that was last asked.
    bool lost;
    struct ferry_link_counts counts;
};

static struct pci *of(struct ferry_link *link)
{
    return (struct pci *)link;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// ---- BARs -------------------------------------------------------------------------------------------------------

static volatile unsigned char *place_in(const struct pci *pci, enum ferry_bar bar, uint64_t offset, size_t bytes)
{
    const uint64_t size = bar == FERRY_BAR_REGISTERS || bar == FERRY_BAR_WINDOW ? pci->function->bar[bar].bytes : 0;
    return offset <= size && bytes <= size - offset && size != 0 ? pci->function->bar[bar].memory + offset : NULL;
}

static uint32_t peek(const struct pci *pci, uint32_t offset)
{
    return *(const volatile uint32_t *)(pci->function->bar[FERRY_BAR_REGISTERS].memory + offset);
}

/// All ones are what a read gives that nobody answers, and perhaps a register's value.
static int look_whether_lost(struct pci *pci)
{
    uint32_t id = 0xffffffffu;
    if (peek(pci, FERRY_BAR0_MAGIC) == FERRY_BAR0_MAGIC_RESET) {
        return FERRY_OK;
    }
    if (!pci->lost) {
        pci->lost = true;
        const bool answers =
            pci->function->operations->config_read(pci->function, FERRY_CONFIG_SPACE_ID, &id) && id != 0xffffffffu;
        ferry_problem_set(answers ? "the device at %s answers no more: it was reset, or sleeps"
                                  : "the device at %s is gone: it was unplugged, or has no power",
                          pci->place.address);
    }
    return FERRY_ERROR_DEVICE_LOST;
}

static int read32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    const volatile unsigned char *place = place_in(of(link), bar, offset, 4);
    *value = 0xffffffffu;
    if (place == NULL || offset % 4 != 0) {
        return FERRY_ERROR_RANGE;
    }
    *value = *(const volatile uint32_t *)place;
    return of(link)->lost ? FERRY_ERROR_DEVICE_LOST : *value == 0xffffffffu ? look_whether_lost(of(link)) : FERRY_OK;
}

static int write32(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t value)
{
    volatile unsigned char *place = place_in(of(link), bar, offset, 4);
    if (place == NULL || offset % 4 != 0) {
        return FERRY_ERROR_RANGE;
    }
    // What was written to memory for the device to read is there before it hears of it.
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *(volatile uint32_t *)place = value;
    return of(link)->lost ? FERRY_ERROR_DEVICE_LOST : FERRY_OK;
}

/// Bytes of the next access: 8, 4 or 1, at a multiple of them.
static size_t step(uint64_t offset, size_t left)
{
    return offset % 8 == 0 && left >= 8 ? 8 : offset % 4 == 0 && left >= 4 ? 4 : 1;
}

static int read_block(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, void *data, size_t bytes)
{
    const volatile unsigned char *place = place_in(of(link), bar, offset, bytes);
    unsigned char *to = data;
    if (place == NULL) {
        return FERRY_ERROR_RANGE;
    }
    for (size_t done = 0, n; done < bytes; done += n) {
        n = step(offset + done, bytes - done);
        if (n == 1) {
            to[done] = place[done];
        } else {
            const uint64_t part =
                n == 8 ? *(const volatile uint64_t *)(place + done) : *(const volatile uint32_t *)(place + done);
            memcpy(to + done, &part, n);
        }
    }
    // If it went in the middle, the last byte is of the ones too.
    return of(link)->lost                       ? FERRY_ERROR_DEVICE_LOST
           : bytes != 0 && to[bytes - 1] == 255 ? look_whether_lost(of(link))
                                                : FERRY_OK;
}

static int write_block(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, const void *data, size_t bytes)
{
    volatile unsigned char *place = place_in(of(link), bar, offset, bytes);
    const unsigned char *from = data;
    if (place == NULL) {
        return FERRY_ERROR_RANGE;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (size_t done = 0, n; done < bytes; done += n) {
        uint64_t part = 0;
        n = step(offset + done, bytes - done);
        memcpy(&part, from + done, n);
        if (n == 8) {
            *(volatile uint64_t *)(place + done) = part;
        } else if (n == 4) {
            *(volatile uint32_t *)(place + done) = (uint32_t)part;
        } else {
            place[done] = (unsigned char)part;
        }
    }
    return of(link)->lost ? FERRY_ERROR_DEVICE_LOST : FERRY_OK;
}

// ---- Memory -----------------------------------------------------------------------------------------------------

static int dma_map(struct ferry_link *link, void *memory, size_t pages, unsigned flags, uint64_t *bus)
{
    struct pci *pci = of(link);
    if ((flags & ~(FERRY_DMA_CONSECUTIVE | FERRY_DMA_WATCH)) != 0) {
        return FERRY_ERROR_ARGUMENT;
    }
    if ((flags & FERRY_DMA_WATCH) != 0) {
        struct watch *more = realloc(pci->watch, (pci->watches + pages) * sizeof(*more));
        if (more == NULL) {
            return FERRY_ERROR_NO_HOST_MEMORY;
        }
        pci->watch = more;
    }
    const int error =
        pci->function->operations->dma_map(pci->function, memory, pages, flags & FERRY_DMA_CONSECUTIVE, bus);
    for (size_t n = 0; error == FERRY_OK && (flags & FERRY_DMA_WATCH) != 0 && n < pages; n++) {
        struct watch *watch = &pci->watch[pci->watches++];
        watch->bus = bus[n];
        watch->memory = (const unsigned char *)memory + n * PAGE_BYTES;
        memcpy(watch->seen, watch->memory, PAGE_BYTES);
    }
    return error;
}

static void dma_unmap(struct ferry_link *link, const uint64_t *bus, size_t pages)
{
    struct pci *pci = of(link);
    for (size_t n = 0; n < pages && pci->watches != 0; n++) {
        for (size_t at = 0; at < pci->watches; at++) {
            if (pci->watch[at].bus == bus[n]) {
                pci->watch[at] = pci->watch[--pci->watches];
                break;
            }
        }
    }
    pci->function->operations->dma_unmap(pci->function, bus, pages);
}

static const void *dma_find(struct ferry_link *link, uint64_t bus)
{
    return of(link)->function->operations->dma_find(of(link)->function, bus);
}

// ---- Time -------------------------------------------------------------------------------------------------------

/// What has come since the last look.
static void look(struct pci *pci)
{
    if (pci->function->operations->interrupt(pci->function)) {
        pci->interrupts++;
        pci->counts.interrupts++;
        pci->reasons |= FERRY_PUMP_INTERRUPT;
    }
    for (size_t n = 0; n < pci->watches; n++) {
        struct watch *watch = &pci->watch[n];
        __atomic_thread_fence(__ATOMIC_ACQUIRE); // The page is read anew.
        if (memcmp(watch->seen, watch->memory, PAGE_BYTES) != 0) {
            memcpy(watch->seen, watch->memory, PAGE_BYTES);
            pci->reasons |= FERRY_PUMP_WRITE;
        }
    }
}

static uint64_t device_cycles(const struct pci *pci)
{
    const uint32_t at = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES;
    uint32_t high = peek(pci, at + 4);
    for (;;) {
        const uint32_t low = peek(pci, at), again = peek(pci, at + 4);
        if (again == high) {
            return (uint64_t)high << 32 | low;
        }
        high = again;
    }
}

static uint64_t cycles(struct ferry_link *link)
{
    struct pci *pci = of(link);
    const uint64_t ran = pci->lost ? UINT64_MAX : device_cycles(pci);
    if (ran != UINT64_MAX && pci->before + ran < pci->seen) {
        // The kernel did it, which puts back what it knows of. Who waits for a time would wait as long as it had run.
        pci->lost = true;
        ferry_problem_set("the device at %s was reset by somebody else: its clock went back", pci->place.address);
    } else if (ran != UINT64_MAX) { // Ones are nobody's answer.
        pci->seen = pci->before + ran;
    }
    return pci->seen;
}

/// It answers, and no time passes for it: a wait for its time would be for ever.
static int stands(struct pci *pci)
{
    pci->lost = true;
    ferry_problem_set("the device at %s is gone: it answers, but its clock stands; load its bitstream anew",
                      pci->place.address);
    return FERRY_ERROR_DEVICE_LOST;
}

static int pump(struct ferry_link *link, uint64_t cycles, unsigned *reasons)
{
    struct pci *pci = of(link);
    const double start = now();
    int error = pci->lost ? FERRY_ERROR_DEVICE_LOST : FERRY_OK;
    look(pci);
    if (pci->reasons == 0 && cycles != 0 && error == FERRY_OK) {
        // Less than 2^32 cycles pass between two looks at them, so the lower half tells.
        const uint32_t at = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES;
        uint32_t last = peek(pci, at);
        uint64_t ran = 0;
        double went = start;
        unsigned stood = 0;
        for (unsigned n = 1; pci->reasons == 0 && ran < cycles && error == FERRY_OK; n++) {
            if (n >= LOOKS) {
                pci->function->operations->wait(pci->function, PAUSE);
            }
            if (n % (n >= LOOKS ? LOOKS_A_QUESTION : LOOKS) == 0) {
                const uint32_t time = peek(pci, at);
                error = time == 0xffffffffu ? look_whether_lost(pci) : FERRY_OK;
                went = time == last ? went : now();
                stood = time == last ? stood + 1 : 0;
                if (error == FERRY_OK && stood >= STANDS_LOOKS && now() - went > STANDS_SECONDS) {
                    error = stands(pci);
                }
                ran += time - last;
                last = time;
            }
            look(pci);
        }
    }
    if (reasons != NULL) {
        *reasons = pci->reasons;
    }
    pci->reasons = 0;
    pci->counts.run_seconds += now() - start;
    return error;
}

static uint32_t take_interrupts(struct ferry_link *link)
{
    const uint32_t interrupts = of(link)->interrupts;
    of(link)->interrupts = 0;
    return interrupts;
}

static void counts(struct ferry_link *link, struct ferry_link_counts *counts)
{
    *counts = of(link)->counts;
    counts->mapped_pages = of(link)->function->operations->mapped_pages(of(link)->function);
}

// ---- The rest ---------------------------------------------------------------------------------------------------

static int start(struct pci *pci)
{
    const int error = pci->function->operations->interrupts_on(pci->function);
    if (error != FERRY_OK) {
        return error;
    }
    return ferry_pci_enable(pci->function, true, true) ? FERRY_OK : ferry_pci_no_config(&pci->place);
}

static int reset(struct ferry_link *link)
{
    struct pci *pci = of(link);
    const uint64_t ran = cycles(link);
    const int error = pci->function->operations->reset(pci->function);
    if (error != FERRY_OK) {
        return error;
    }
    pci->before = ran;
    (void)pci->function->operations->interrupt(pci->function);
    pci->interrupts = 0; // About nothing that there is now.
    pci->reasons &= ~FERRY_PUMP_INTERRUPT;
    return start(pci);
}

static void silence(struct ferry_link *link)
{
    (void)ferry_pci_enable(of(link)->function, true, false);
}

static void describe(struct ferry_link *link, struct ferry_link_description *description)
{
    const struct pci *pci = of(link);
    char lanes[48] = "";
    if (pci->place.width != 0) {
        snprintf(lanes, sizeof(lanes), ", %s x%u", pci->place.speed, pci->place.width);
    }
    snprintf(description->medium, sizeof(description->medium), "PCI %s, %s%s", pci->place.address,
             pci->function->operations->way, lanes);
}

static void close_link(struct ferry_link *link)
{
    struct pci *pci = of(link);
    pci->function->operations->close(pci->function);
    free(pci->watch);
    free(pci);
}

static uint32_t delay(struct ferry_link *link)
{
    (void)link;
    return ANSWER_CYCLES;
}

static const struct ferry_link_operations operations = {
    .read32 = read32,
    .write32 = write32,
    .read_block = read_block,
    .write_block = write_block,
    .dma_map = dma_map,
    .dma_unmap = dma_unmap,
    .dma_find = dma_find,
    .pump = pump,
    .take_interrupts = take_interrupts,
    .cycles = cycles,
    .counts = counts,
    .reset = reset,
    .delay = delay,
    .silence = silence,
    .describe = describe,
    .close = close_link,
};

// ---- Open -------------------------------------------------------------------------------------------------------

static int open_function(const struct ferry_pci_place *place, struct ferry_pci_function **function)
{
    bool vfio;
    const int error = ferry_pci_way(place, &vfio);
    if (error != FERRY_OK) {
        return error;
    }
    return vfio ? ferry_pci_open_vfio(place, function) : ferry_pci_open_sysfs(place, function);
}

static int identify(struct pci *pci)
{
    if (pci->function->bar[FERRY_BAR_REGISTERS].bytes < BAR0_BYTES) {
        ferry_problem_set("BAR0 of %s has %" PRIu64 " bytes, not %u", pci->place.address,
                          pci->function->bar[FERRY_BAR_REGISTERS].bytes, BAR0_BYTES);
        return FERRY_ERROR_BACKEND;
    }
    if (!ferry_pci_enable(pci->function, true, false)) {
        return ferry_pci_no_config(&pci->place);
    }
    const uint32_t magic = peek(pci, FERRY_BAR0_MAGIC);
    if (magic != FERRY_BAR0_MAGIC_RESET) {
        ferry_problem_set("%s answers with %08x, as no device of this driver's does: is its bitstream whole?",
                          pci->place.address, magic);
        return FERRY_ERROR_BACKEND;
    }
    const uint32_t theirs = peek(pci, FERRY_BAR0_CONTRACT_VERSION);
    return theirs >> 16 == FERRY_CONTRACT_VERSION >> 16 ? FERRY_OK : ferry_problem_contract(pci->place.address, theirs);
}

/// Somebody died and left jobs behind, in memory that is others' by now: they must not see the bus again.
static int forget_before(struct pci *pci)
{
    if (peek(pci, FERRY_BAR0_HOST_CONTRACT) == 0) {
        return FERRY_OK;
    }
    int error = pci->function->operations->reset(pci->function);
    if (error == FERRY_ERROR_UNSUPPORTED) {
        ferry_problem_set("%s has work of a program that died, and cannot be reset: switch the machine off and on",
                          pci->place.address);
        return FERRY_ERROR_BACKEND;
    }
    const double end = now() + RESET_SECONDS;
    while (error == FERRY_OK && (peek(pci, FERRY_BAR0_HOST_CONTRACT) != 0 || peek(pci, FERRY_BAR0_STATUS) != 0)) {
        error = now() < end ? FERRY_OK : FERRY_ERROR_TIMEOUT;
    }
    // What it was waited for may be the ones that nobody answers with.
    if (error == FERRY_ERROR_TIMEOUT && look_whether_lost(pci) != FERRY_OK) {
        return FERRY_ERROR_DEVICE_LOST;
    }
    if (error == FERRY_ERROR_TIMEOUT) {
        ferry_problem_set("%s has work of a program that died, and its reset has no end: switch the machine off and on",
                          pci->place.address);
    }
    return error;
}

static int open_pci(const struct ferry_link_config *config, struct ferry_link **link)
{
    struct pci *pci = calloc(1, sizeof(*pci));
    if (pci == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    pci->link.operations = &operations;
    int error = ferry_pci_find(ferry_pci_root, config->address, &pci->place);
    error = error == FERRY_OK ? open_function(&pci->place, &pci->function) : error;
    if (error != FERRY_OK) {
        free(pci);
        return error;
    }
    ferry_pci_guard_bars(pci->function);
    error = identify(pci);
    error = error == FERRY_OK ? forget_before(pci) : error;
    error = error == FERRY_OK ? start(pci) : error;
    if (error != FERRY_OK) {
        close_link(&pci->link);
        return error;
    }
    *link = &pci->link;
    return FERRY_OK;
}

static void list_pci(ferry_candidate_callback *callback, void *context)
{
    ferry_pci_list(ferry_pci_root, callback, context);
}

const struct ferry_backend ferry_backend_pci = {
    .name = "pci", .has_address = true, .finds_one = true, .open = open_pci, .list = list_pci};
