// SPDX-License-Identifier: Apache-2.0
// The firmware's native hal over the double: each access takes one step of time.
#include "double_hal.h"

#include "double.h"
#include "hal.h"

jmp_buf double_stopped;

uint32_t hal_read(unsigned offset)
{
    double_tick();
    return double_read(offset);
}

void hal_write(unsigned offset, uint32_t value)
{
    double_tick();
    for (unsigned patience = 0; double_write_waits(offset) && patience < 1000000; patience++)
        double_tick();
    double_write(offset, value);
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
    longjmp(double_stopped, 1);
}
