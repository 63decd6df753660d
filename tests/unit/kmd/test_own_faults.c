// SPDX-License-Identifier: Apache-2.0
// A job's own fault that comes to light amid the reset of another node. It is told as one, and not as what the reset
// cut off: that goes again, and a copy over itself that faulted in its middle would read what it wrote.
#include "virtual_order.h"

#define PAGE 4096u

// Its last page leads nowhere; the job is over, and nobody has heard of it.
static void fault_in_the_middle(struct rig *rig, struct program *p)
{
    uint8_t bytes[2 * PAGE];

    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    assert_int_equal(ferry_gpu_window_write(rig->gpu, LARGE, bytes, sizeof bytes), FERRY_OK);
    write_entries(p, 0, 0x40000, 2, to_local(LARGE));
    send_buffer(p);
    begin_job(p);
    by_address(p, 0x40000 + 100, 0x40000, 2 * PAGE);
    patch_job(p);
    ferry_gpu_run(rig->gpu, 1000); // What came before is told.
    ferry_gpu_set_interrupt(rig->gpu, NULL, NULL);
    submit_job(p, false, sizeof p->private_data);
    assert_int_equal(ferry_gpu_wait_retired(rig->gpu, 2, ferry_gpu_ring_newest(rig->gpu, 2), 0), FERRY_OK);
    ferry_gpu_set_interrupt(rig->gpu, on_interrupt, rig);
}

static void a_fault_of_its_own_is_told_as_one_amid_the_reset_of_another_node(void **state)
{
    struct rig *rig = *state;
    struct program p;
    DXGKARG_RESETENGINE reset = {.NodeOrdinal = 1};

    begin(rig, &p);
    fault_in_the_middle(rig, &p);
    unsigned notes = rig->note_count;
    assert_int_equal(rig->kmd->DxgkDdiResetEngine(rig->adapter, &reset), STATUS_SUCCESS);
    assert_int_equal(rig->note_count, notes + 1);
    assert_int_equal(rig->notes[notes].type, DXGK_INTERRUPT_DMA_FAULTED);
    assert_int_equal(rig->notes[notes].fence, p.fence);
    assert_false(rig->notes[notes].cut);
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(a_fault_of_its_own_is_told_as_one_amid_the_reset_of_another_node)};

    rig_model = 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
