// SPDX-License-Identifier: Apache-2.0
// The device's own packets: reads and writes of host memory, interrupt messages, completions of the host's reads.
#include <string.h>

#include "link/root_complex_state.h"

static uint32_t next_random(struct ferry_root_complex *rc)
{
    rc->random = rc->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(rc->random >> 33);
}

static void unmapped(struct ferry_root_complex *rc, uint64_t address)
{
    rc->counts.unmapped_accesses++;
    rc->counts.last_unmapped_address = address;
}

/// Bytes of the next completion: to the last boundary that the payload size lets it reach, or the rest. A shorter
/// piece, to any boundary before, is as legal (section 2.3.1.1).
static uint32_t piece_bytes(struct ferry_root_complex *rc, uint64_t address, uint32_t left)
{
    uint32_t offset = (uint32_t)(address % rc->boundary);
    uint32_t blocks = rc->max_payload / rc->boundary;
    if (rc->random_split) {
        blocks = 1 + next_random(rc) % blocks;
    }
    uint32_t piece = blocks * rc->boundary - offset;
    return piece < left ? piece : left;
}

static void answer_error(struct ferry_root_complex *rc, const struct ferry_tlp *read, enum ferry_tlp_status status)
{
    struct ferry_tlp answer = {.kind = FERRY_TLP_COMPLETION,
                               .traffic_class = read->traffic_class,
                               .requester = read->requester,
                               .tag = read->tag,
                               .completer = FERRY_RC_REQUESTER,
                               .status = (uint8_t)status,
                               .byte_count =
                                   (uint16_t)ferry_tlp_span(read->length, read->first_enable, read->last_enable),
                               .lower_address = (read->address + ferry_tlp_first_byte(read->first_enable)) & 0x7f};
    ferry_rc_send(rc, &answer);
}

/// The byte that is to be flipped, when it is among these of a packet's payload: they stand for `address` and on.
static void flip_payload(struct ferry_root_complex *rc, void *payload, uint64_t address, uint32_t bytes, bool write)
{
    if (rc->flip_armed && rc->flip_write == write && rc->flip_bus >= address && rc->flip_bus - address < bytes) {
        ((unsigned char *)payload)[rc->flip_bus - address] ^= 1;
        rc->flip_armed = false;
    }
}

static void serve_read(struct ferry_root_complex *rc, const struct ferry_tlp *read)
{
    if (4 * read->length > rc->max_read) {
        rc->traffic.malformed++;
        return;
    }
    const unsigned char *memory = rc->find(rc->memory, read->address, NULL);
    if (memory == NULL) {
        unmapped(rc, read->address);
        answer_error(rc, read, FERRY_TLP_UNSUPPORTED_REQUEST);
        return;
    }
    if (rc->inject_lose != 0) {
        rc->inject_lose--;
        return;
    }
    if (rc->inject_abort != 0) {
        rc->inject_abort--;
        answer_error(rc, read, FERRY_TLP_COMPLETER_ABORT);
        return;
    }
    rc->traffic.reads_served++;
    uint32_t first = ferry_tlp_first_byte(read->first_enable);
    uint32_t left = ferry_tlp_span(read->length, read->first_enable, read->last_enable);
    uint64_t address = read->address + first;
    uint32_t payload[FERRY_TLP_MAX_WORDS];
    struct ferry_tlp answer = {.kind = FERRY_TLP_COMPLETION_DATA,
                               .traffic_class = read->traffic_class,
                               .relaxed = read->relaxed,
                               .no_snoop = read->no_snoop,
                               .requester = read->requester,
                               .tag = read->tag,
                               .completer = FERRY_RC_REQUESTER,
                               .payload = payload};
    if (rc->inject_poison != 0) {
        rc->inject_poison--;
        answer.poisoned = true;
    }
    while (left != 0) {
        uint32_t piece = piece_bytes(rc, address, left);
        uint64_t word_address = address & ~3ull;
        answer.length = (uint32_t)((address + piece + 3 - word_address) / 4);
        answer.byte_count = (uint16_t)left;
        answer.lower_address = address & 0x7f;
        memcpy(payload, memory + (word_address - read->address), 4 * (size_t)answer.length);
        flip_payload(rc, (unsigned char *)payload + (address - word_address), address, piece, false);
        ferry_rc_send(rc, &answer);
        address += piece;
        left -= piece;
    }
}

/// Store a write's payload under its byte enables.
static void store(unsigned char *memory, const struct ferry_tlp *write)
{
    const unsigned char *data = (const unsigned char *)write->payload;
    if (write->first_enable == 0xf && (write->last_enable == 0xf || write->length == 1)) {
        memcpy(memory, data, 4 * (size_t)write->length);
        return;
    }
    for (uint32_t word = 0; word < write->length; word++) {
        uint8_t enable = word == 0 ? write->first_enable : word == write->length - 1 ? write->last_enable : 0xf;
        for (uint32_t byte = 0; byte < 4; byte++) {
            if (enable >> byte & 1u) {
                memory[4 * word + byte] = data[4 * word + byte];
            }
        }
    }
}

static void serve_write(struct ferry_root_complex *rc, const struct ferry_tlp *write)
{
    if (write->poisoned) {
        rc->traffic.poisoned++;
        return;
    }
    if (4 * write->length > rc->max_payload) {
        rc->traffic.malformed++;
        return;
    }
    if (write->address == FERRY_RC_MESSAGE_ADDRESS) {
        if (write->length != 1 || (write->payload[0] & 0xffff) != FERRY_RC_MESSAGE_DATA) {
            rc->traffic.unexpected++;
            return;
        }
        rc->interrupts++;
        rc->counts.interrupts++;
        rc->reasons |= FERRY_PUMP_INTERRUPT;
        return;
    }
    bool watched;
    unsigned char *memory = rc->find(rc->memory, write->address, &watched);
    if (memory == NULL) {
        const uint64_t first = write->address + ferry_tlp_first_byte(write->first_enable);
        unmapped(rc, first);
        if (rc->refused != NULL) {
            rc->refused(rc->refused_context, first, write->tag);
        }
        return;
    }
    uint32_t payload[FERRY_TLP_MAX_WORDS];
    struct ferry_tlp flipped = *write;
    if (rc->flip_armed && rc->flip_write) {
        memcpy(payload, write->payload, 4 * (size_t)write->length);
        const uint32_t first = ferry_tlp_first_byte(write->first_enable);
        flip_payload(rc, (unsigned char *)payload + first, write->address + first,
                     ferry_tlp_span(write->length, write->first_enable, write->last_enable), true);
        flipped.payload = payload;
    }
    store(memory, &flipped);
    rc->traffic.writes_served++;
    if (watched) {
        rc->reasons |= FERRY_PUMP_WRITE;
    }
}

static void finish(struct ferry_rc_request *request, int result)
{
    request->done = true;
    request->result = result;
}

// Of time-outs: what came no sooner was lost. The device's own tags come back as late.
#define LATE_TIMES 16u

void ferry_rc_give_up(struct ferry_root_complex *rc, struct ferry_rc_request *request)
{
    const uint64_t now = rc->transport.cycles(rc->transport.context);
    request->late_until = now + LATE_TIMES * (uint64_t)FERRY_ROOT_COMPLEX_TIMEOUT;
}

/// No other completion of its request follows (section 2.3.1.1).
static bool is_last(const struct ferry_tlp *tlp)
{
    return tlp->kind == FERRY_TLP_COMPLETION || tlp->status != FERRY_TLP_SUCCESS ||
           tlp->byte_count + (tlp->lower_address & 3u) <= 4 * tlp->length;
}

static void take_completion(struct ferry_root_complex *rc, const struct ferry_tlp *tlp)
{
    struct ferry_rc_request *request = tlp->tag < FERRY_RC_TAGS ? &rc->request[tlp->tag] : NULL;
    if (request == NULL || tlp->requester != FERRY_RC_REQUESTER || !request->busy || request->done) {
        if (request != NULL && tlp->requester == FERRY_RC_REQUESTER && is_last(tlp)) {
            request->late_until = 0;
        }
        rc->traffic.unexpected++;
        return;
    }
    if (tlp->status != FERRY_TLP_SUCCESS) {
        finish(request, FERRY_ERROR_RANGE);
        return;
    }
    if (tlp->kind == FERRY_TLP_COMPLETION) {
        // Writes of configuration space end without data; a read must not.
        finish(request, request->left == 0 ? FERRY_OK : FERRY_ERROR_RANGE);
        return;
    }
    uint32_t skip = tlp->lower_address & 3;
    uint32_t bytes = 4 * tlp->length - skip;
    if (tlp->byte_count != request->left || tlp->poisoned || tlp->length == 0) {
        rc->traffic.malformed++;
        finish(request, FERRY_ERROR_RANGE);
        if (!is_last(tlp)) {
            ferry_rc_give_up(rc, request);
        }
        return;
    }
    bytes = bytes < request->left ? bytes : request->left;
    memcpy(request->data, (const unsigned char *)tlp->payload + skip, bytes);
    request->data += bytes;
    request->left -= bytes;
    if (request->left == 0) {
        finish(request, FERRY_OK);
    }
}

void ferry_rc_serve(struct ferry_root_complex *rc, const uint32_t *words, size_t count)
{
    struct ferry_tlp tlp;
    if (!ferry_tlp_decode(words, count, &tlp)) {
        rc->traffic.malformed++;
        return;
    }
    switch (tlp.kind) {
    case FERRY_TLP_MEMORY_READ: serve_read(rc, &tlp); break;
    case FERRY_TLP_MEMORY_WRITE: serve_write(rc, &tlp); break;
    case FERRY_TLP_COMPLETION:
    case FERRY_TLP_COMPLETION_DATA: take_completion(rc, &tlp); break;
    default: rc->traffic.unexpected++; break;
    }
}

bool ferry_rc_drain(struct ferry_root_complex *rc)
{
    size_t count;
    const uint32_t *words;
    bool any = false;
    while ((words = rc->transport.receive(rc->transport.context, &count)) != NULL) {
        ferry_rc_serve(rc, words, count);
        any = true;
    }
    return any;
}

bool ferry_rc_run(struct ferry_root_complex *rc, uint64_t cycles)
{
    // Nothing runs while a packet waits.
    const uint64_t ran = rc->transport.run(rc->transport.context, cycles);
    return ferry_rc_drain(rc) || ran != 0;
}
