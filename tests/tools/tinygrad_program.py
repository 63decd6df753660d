# SPDX-License-Identifier: Apache-2.0
"""A program for the recorder: four layers of 1,024 x 1,024, six batches, each looked at; it says what tinygrad counted."""
import sys

from tinygrad import GlobalCounters, Tensor, TinyJit

weights = [Tensor.full((1024, 1024), 2.0).contiguous().realize() for _ in range(4)]
table = Tensor([float(i) for i in range(1000)]).realize()


@TinyJit
def step(x):
    for weight in weights:
        x = (x @ weight).relu()
    return (x.sum() + table.sum()).realize()


for batch in range(6):
    step(Tensor.empty(16, 1024).contiguous().realize()).item()
print(GlobalCounters.kernel_count, GlobalCounters.mem_used, sys.argv[1])
