// SPDX-License-Identifier: Apache-2.0
// The firmware's native hal over the double: each access takes one step of time.
#include "double_hal.h"

#include "double_parts.h"
#include "hal.h"

jmp_buf double_left;
uint64_t double_deadline;

// A broken rule may leave the firmware waiting for what then never comes.
static void leave_if_wrong(void)
{
    if (machine.wrong[0])
        longjmp(double_left, 1);
}

static void one_tick(unsigned offset)
{
    double_tick();
    if (machine.now > double_deadline)
        double_wrong("the firmware waits for ever; last access", offset);
    leave_if_wrong();
}

uint32_t hal_read(unsigned offset)
{
    one_tick(offset);

    uint32_t value = double_read(offset);

    leave_if_wrong();
    return value;
}

void hal_write(unsigned offset, uint32_t value)
{
    one_tick(offset);
    while (double_write_waits(offset))
        one_tick(offset);
    double_write(offset, value);
    leave_if_wrong();
}

const uint32_t *hal_command(uint32_t at)
{
    return &machine.command_ram[at / 4];
}

uint32_t hal_command_at(const volatile uint32_t *word)
{
    return (uint32_t)(word - machine.command_ram) * 4;
}

_Noreturn void hal_stop(void)
{
    longjmp(double_left, 1);
}
