// SPDX-License-Identifier: Apache-2.0
// First instructions. The image stands at address 0 as the host loaded it; .bss is cleared and the stack set up here.
    .section .text.start, "ax"
    .globl _start
_start:
    la      sp, ferry_stack_top
    lui     gp, 0x20000             // Core registers; see hal_riscv.h
    la      t0, ferry_trap
    csrw    mtvec, t0
    la      t0, ferry_bss_start
    la      t1, ferry_bss_end
1:  bgeu    t0, t1, 2f
    sw      zero, 0(t0)
    addi    t0, t0, 4
    j       1b
2:  la      t0, ferry_stack_guard
    li      t1, 0x46455252          // FERRY_STACK_MARK of boot.c
    sw      t1, 0(t0)
    call    ferry_main
3:  j       3b

// Interrupts are never enabled and no instruction of ours traps: getting here is a broken invariant.
    .balign 4
ferry_trap:
    csrr    a1, mcause
    li      a0, 11                  // FERRY_HALT_TRAP
    la      sp, ferry_stack_top
    j       ferry_halt
