# SPDX-License-Identifier: Apache-2.0
# The reference model, part of libferry.a as the back end `model`.

MODEL_SOURCES := $(wildcard sim/model/*.c)
SIM_OBJECTS += $(MODEL_SOURCES:%.c=$(BUILD)/obj/%.o)
SIM_OBJECTS_SAN += $(MODEL_SOURCES:%.c=$(BUILD)/obj-san/%.o)
