// SPDX-License-Identifier: Apache-2.0
// The IOMMU model by the public interface: what has left the aperture is out of the device's reach, by the root
// complex's own map and by what a read of the device gets; what comes back is whole.
#include "adapter_inside.h"
#include "system.h"

#include "device/device_state.h"
#include "ferry_contract.h"
#include "kmd/internal.h"
#include "link/dma_map.h"

#define PAGES 24u
#define BYTES (PAGES * FERRY_PAGE_BYTES)

static int open_iommu(struct ferry_adapter **adapter, uint32_t model)
{
    struct ferry_adapter_options options = {.size = sizeof options,
                                            .backend = backend,
                                            .video_memory_bytes = 2u << 20,
                                            .aperture_bytes = 64 * FERRY_PAGE_BYTES,
                                            .seed = seed,
                                            .model = model,
                                            .iommu = true};
    return ferry_adapter_open(&options, adapter);
}

static struct umd_adapter *inside_of(struct ferry_adapter *handle)
{
    struct umd_adapter *adapter = adapter_inside(handle);

    return adapter;
}

// Bus addresses under which the root complex finds these pages of the program.
static unsigned find(struct ferry_link *link, const uint8_t *memory, uint64_t bus[PAGES])
{
    static const uint64_t base[2] = {FERRY_DMA_LOW_BASE, FERRY_DMA_HIGH_BASE};
    unsigned found = 0;

    for (unsigned window = 0; window < 2; window++)
        for (uint64_t page = 0; page < 0x4000; page++) {
            uint64_t at = base[window] + page * FERRY_PAGE_BYTES;
            const uint8_t *memory_there = link->operations->dma_find(link, at);

            if (memory_there >= memory && memory_there < memory + BYTES)
                bus[found++] = at;
        }
    return found;
}

// Behind the manager's back. For the miniport it is an entry that is nobody's: it would wait for one of its own with
// this number as long as for a device that is dead.
static uint32_t read_by_device(struct umd_adapter *adapter, uint64_t bus)
{
    struct ferry_gpu *gpu = adapter->gpu;
    struct kmd_ring *ring = &((struct kmd_adapter *)adapter->kmd)->rings[KMD_PAGING_RING];
    ferry_gpu_interrupt *handler = gpu->handler;
    struct ferry_gpu_memory command = {0};
    struct ferry_gpu_fence fence;
    uint32_t packet[FERRY_PACKET_READ_SIZE / 4] = {0}, number;

    ferry_gpu_set_interrupt(gpu, NULL, NULL);
    ok(ferry_gpu_memory_allocate(gpu, FERRY_PAGE_BYTES, 0, &command));
    packet[0] = FERRY_PUT(FERRY_PACKET_HEADER_OPCODE, FERRY_OPCODE_READ) |
                FERRY_PUT(FERRY_PACKET_HEADER_WORDS, FERRY_PACKET_READ_SIZE / 4u);
    packet[1] = FERRY_PUT(FERRY_PACKET_PLACES_SOURCE_KIND, FERRY_ADDRESS_KIND_SYSTEM);
    packet[FERRY_PACKET_READ_BYTES / 4] = 8;
    memcpy(&packet[FERRY_PACKET_READ_SOURCE / 4], &bus, sizeof bus);
    memcpy(command.address, packet, sizeof packet);
    struct ferry_gpu_entry entry = {.buffer_address = command.bus, .buffer_bytes = sizeof packet};
    ok(ferry_gpu_ring_submit(gpu, 0, &entry, &number));
    ok(ferry_gpu_wait_retired(gpu, 0, number, 0));
    ok(ferry_gpu_ring_completed(gpu, 0, &fence));
    ferry_gpu_memory_free(gpu, &command);
    ring->submitted = number;
    ring->ends[number % KMD_RING_ENTRIES] = KMD_END_NOBODYS;
    ferry_gpu_set_interrupt(gpu, handler, adapter);
    return fence.status;
}

static uint64_t refused(struct ferry_gpu *gpu)
{
    struct ferry_link_counts counts = {0};

    ferry_gpu_link_counts(gpu, &counts);
    return counts.unmapped_accesses;
}

static void R195_R196_R197_R198_R199_what_has_left_the_aperture_is_out_of_reach(void **state)
{
    (void)state;
    struct ferry_adapter *adapter;
    struct ferry_device *device;
    struct ferry_queue *queue;
    void *address;
    uint64_t fence, bus[2 * PAGES];

    ok(open_iommu(&adapter, 2));
    ok(ferry_device_create(adapter, &device));
    ok(ferry_queue_create(device, &queue));
    struct ferry_gpu *gpu = inside_of(adapter)->gpu;
    struct ferry_allocation *source = make(device, BYTES, FERRY_FLAG_CPU_VISIBLE),
                            *one = make_in_aperture(device, PAGES), *large = make_in_aperture(device, 62);
    struct ferry_residency off = {.size = sizeof off, .allocations = &one, .count = 1},
                           large_off = {.size = sizeof off, .allocations = &large, .count = 1};
    must_be_resident(device, &source, 1);
    for (unsigned round = 0; round < 3; round++) {
        struct ferry_statistics counts = {.size = sizeof counts};

        ok(ferry_lock(source, 0, &address));
        for (uint32_t i = 0; i < BYTES; i++)
            ((uint8_t *)address)[i] = content(round, i);
        ok(ferry_unlock(source));
        must_be_resident(device, &source, 1);
        must_be_resident(device, &one, 1);
        ok(ferry_queue_copy(queue, one, 0, source, 0, BYTES));
        ok(ferry_queue_submit(queue, &fence));
        ok(ferry_queue_wait(queue, fence));
        ok(ferry_lock(one, FERRY_LOCK_READ_ONLY, &address));
        const uint8_t *memory = address;
        ok(ferry_unlock(one));
        assert_int_equal(find(gpu->link, memory, bus), PAGES);
        ok(ferry_evict(device, &off));
        must_be_resident(device, &large, 1);
        // Nobody waits for the rest of it: the notice, and then the unmapping. Both leave it, each in its turn.
        for (unsigned i = 0; i < 200 && counts.operations[22] < 2 * round + 1; i++) {
            ferry_vidmm_poll(inside_of(adapter)->vidmm, true);
            ok(ferry_adapter_statistics(adapter, &counts));
        }
        assert_int_equal(counts.operations[22], 2 * round + 1);
        for (unsigned i = 0; i < 3; i++)
            ferry_vidmm_poll(inside_of(adapter)->vidmm, false);
        uint64_t none[2 * PAGES];
        assert_int_equal(find(gpu->link, memory, none), 0);
        ok(ferry_lock(one, FERRY_LOCK_READ_ONLY, &address));
        assert_ptr_equal(address, memory);
        for (uint32_t i = 0; i < BYTES; i++)
            assert_int_equal(memory[i], content(round, i));
        ok(ferry_unlock(one));
        ok(ferry_evict(device, &large_off));
    }
    // The device has obeyed so far. Where it does not, it gets nothing.
    assert_int_equal(refused(gpu), 0);
    assert_int_not_equal(read_by_device(inside_of(adapter), bus[3]), FERRY_BUFFER_STATUS_SUCCESS);
    assert_int_equal(refused(gpu), 1);
    ferry_adapter_close(adapter);
}

static void it_is_of_driver_model_2(void **state)
{
    (void)state;
    struct ferry_adapter *adapter = NULL;

    struct ferry_adapter_info info = {.size = sizeof info};

    assert_int_equal(open_iommu(&adapter, 1), FERRY_ERROR_ARGUMENT);
    assert_null(adapter);
    ok(open_iommu(&adapter, 0));
    ok(ferry_adapter_query(adapter, &info));
    assert_int_equal(info.model, 2);
    ferry_adapter_close(adapter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(R195_R196_R197_R198_R199_what_has_left_the_aperture_is_out_of_reach),
        cmocka_unit_test(it_is_of_driver_model_2),
    };

    read_options(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
