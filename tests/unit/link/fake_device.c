// SPDX-License-Identifier: Apache-2.0
#include "fake_device.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <string.h>

void fake_device_start(struct fake_device *device)
{
    memset(device, 0, sizeof(*device));
}

void fake_device_expect(struct fake_device *device, const struct fake_packet *expect, const struct fake_packet *answer)
{
    assert_true(device->steps < 128);
    device->expect[device->steps] = *expect;
    device->answer[device->steps++] = *answer;
}

void fake_device_send(struct fake_device *device, const uint32_t *words, size_t count)
{
    struct fake_packet *packet = &device->coming[(device->coming_head + device->coming_count++) % FAKE_PACKETS];
    assert_true(device->coming_count <= FAKE_PACKETS);
    memcpy(packet->words, words, 4 * count);
    packet->count = count;
}

static int take(void *context, const uint32_t *words, size_t count)
{
    struct fake_device *device = context;
    if (device->refuse_sends != 0) {
        device->refuse_sends--;
        return FERRY_ERROR_BUSY;
    }
    if (device->step < device->steps) {
        const struct fake_packet *expect = &device->expect[device->step];
        const struct fake_packet *answer = &device->answer[device->step];
        assert_int_equal(count, expect->count);
        assert_memory_equal(words, expect->words, 4 * count);
        device->step++;
        if (answer->count != 0) {
            fake_device_send(device, answer->words, answer->count);
        }
        return FERRY_OK;
    }
    assert_true(device->sent_count < FAKE_PACKETS);
    struct fake_packet *packet = &device->sent[device->sent_count++];
    memcpy(packet->words, words, 4 * count);
    packet->count = count;
    if (device->answer_to != NULL) {
        device->answer_to(device, packet);
    }
    return FERRY_OK;
}

static size_t queued(void *context)
{
    return ((struct fake_device *)context)->queue;
}

static const uint32_t *give(void *context, size_t *count)
{
    struct fake_device *device = context;
    if (device->coming_count == 0) {
        return NULL;
    }
    const struct fake_packet *packet = &device->coming[device->coming_head];
    device->coming_head = (device->coming_head + 1) % FAKE_PACKETS;
    device->coming_count--;
    *count = packet->count;
    return packet->words;
}

static uint64_t run(void *context, uint64_t cycles)
{
    struct fake_device *device = context;
    uint64_t ran = device->gone ? 0 : device->coming_count != 0 ? 1 : cycles;
    if (device->later_in != 0 && ran >= device->later_in) {
        ran = device->later_in;
        fake_device_send(device, device->later.words, device->later.count);
    }
    device->later_in -= device->later_in < ran ? device->later_in : ran;
    device->cycles += ran;
    device->queue -= device->queue < device->drains ? device->queue : device->drains;
    device->runs++;
    return ran;
}

static uint64_t cycles(void *context)
{
    return ((struct fake_device *)context)->cycles;
}

static double run_seconds(void *context)
{
    (void)context;
    return 0.5;
}

static void close_device(void *context)
{
    ((struct fake_device *)context)->closed = true;
}

struct ferry_tlp_transport fake_device_transport(struct fake_device *device)
{
    return (struct ferry_tlp_transport){
        .context = device,
        .send = take,
        .queued = queued,
        .receive = give,
        .run = run,
        .cycles = cycles,
        .run_seconds = run_seconds,
        .close = close_device,
    };
}

// Configuration packets of tag n: CfgRd0 is 04, CfgWr0 is 44; the device is 01:00.0.
static void config(struct fake_device *device, bool write, uint32_t offset, uint32_t value)
{
    const uint32_t tag = (uint32_t)device->steps % 16 << 8;
    struct fake_packet expect = {{0x04000001, tag | 0x0f, 0x01000000 | offset}, 3};
    struct fake_packet answer = {{0x4a000001, 0x01000004, tag, value}, 4};
    if (write) {
        expect = (struct fake_packet){{0x44000001, tag | 0x0f, 0x01000000 | offset, value}, 4};
        answer = (struct fake_packet){{0x0a000000, 0x01000004, tag}, 3};
    }
    fake_device_expect(device, &expect, &answer);
}

void fake_device_expect_reset(struct fake_device *device, bool supported)
{
    config(device, false, 0x44, supported ? 0x10000021 : 0x00000021);
    if (supported) {
        // No request more, and an Unsupported Request for each tag that somebody before may have left waiting.
        config(device, false, 0x04, 0x00100006);
        config(device, true, 0x04, 0x00100002);
        for (uint32_t tag = 0; tag < 32; tag++) {
            const struct fake_packet answer = {{0x0a000000, 0x00002004, 0x01000000 | tag << 8}, 3};
            fake_device_expect(device, &answer, &(struct fake_packet){.count = 0});
        }
        config(device, false, 0x48, 0x00002920);
        config(device, true, 0x48, 0x0000a920);
    }
}

void fake_device_expect_enumeration(struct fake_device *device, bool boundary128)
{
    config(device, false, 0x00, 0xfe011209);
    config(device, true, 0x10, 0xffffffff);
    config(device, false, 0x10, 0xffff0000); // 64 KiB, 32 bits.
    config(device, true, 0x18, 0xffffffff);
    config(device, false, 0x18, 0xf800000c); // 128 MiB, 64 bits, prefetchable.
    config(device, true, 0x1c, 0xffffffff);
    config(device, false, 0x1c, 0xffffffff);
    config(device, true, 0x10, 0xe0000000);
    config(device, true, 0x18, 0x00000000);
    config(device, true, 0x1c, 0x00000040);
    config(device, false, 0x34, 0x40);
    config(device, false, 0x40, 0x00028010);
    config(device, false, 0x44, 0x00000021);
    config(device, false, 0x48, 0x00002800);
    config(device, true, 0x48, 0x00002920); // MPS 256, extended tags, no snoop, MRRS 512.
    config(device, false, 0x50, 0x00000000);
    config(device, true, 0x50, boundary128 ? 8 : 0);
    config(device, false, 0x80, 0x01800005);
    config(device, true, 0x84, 0xfee00000);
    config(device, true, 0x88, 0);
    config(device, true, 0x8c, 0x4021);
    config(device, true, 0x90, 0);
    config(device, false, 0x80, 0x01800005);
    config(device, true, 0x80, 0x01810005);
    config(device, false, 0x04, 0x00100000);
    config(device, true, 0x04, 0x00100006);
}
