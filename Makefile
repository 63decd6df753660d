# SPDX-License-Identifier: Apache-2.0
# Pageferry. `make help` lists what can be asked for. Every room has a rules.mk of its own, included below.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDEXPANSION:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

# Verilator and make itself take no path with a blank.
ifneq ($(words $(CURDIR)),1)
$(error the path of this folder has a blank in it: "$(CURDIR)")
endif

# All cores, unless the user says how many: a -j on the command line wins over this line, one that comes in the
# environment is looked for here (make 4.3 shows it to the shell only).
GIVEN_FLAGS := $(MAKEFLAGS) $(shell echo "$$MAKEFLAGS $$GNUMAKEFLAGS")
ifeq ($(filter -j% --jobs%,$(GIVEN_FLAGS))$(findstring j,$(filter-out --% %=%,$(GIVEN_FLAGS))),)
MAKEFLAGS += -j$(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 1)
endif

# Commands are shown with V=1.
ifndef V
.SILENT:
MAKEFLAGS += --silent --no-print-directory
endif

# The same on every machine: texts are UTF-8, and what is imported is of the pinned environment.
export PYTHONUTF8 := 1
unexport PYTHONPATH PYTHONHOME

BUILD := build
GENERATED := $(BUILD)/generated
VENV := $(BUILD)/venv
PYTHON := $(VENV)/bin/python

CC := gcc
CXX := g++
# Verilator calls make too, and cannot share this one's jobs. (Called as $(MAKE), make would run even under -n.)
ALONE := env MAKEFLAGS=$(if $(V),,-s)
VERILATOR := $(ALONE) verilator
# What Verilator writes is compiled as one file, which takes less than half the time, and its run time once for all programs.
VERILATED_RUNTIME := $(BUILD)/sim/verilated_runtime.o
VERILATE_MAKE := VM_PARALLEL_BUILDS=0 VM_GLOBAL_FAST= VM_GLOBAL_SLOW= LOADLIBES=$(abspath $(VERILATED_RUNTIME))
VERILATE := env MAKEFLAGS='$(if $(V),,s) -- $(VERILATE_MAKE)' verilator
YOSYS := yosys
WARNINGS := -Wall -Wextra -Wpedantic -Werror
# For what is installed, CFLAGS, CXXFLAGS, CPPFLAGS and LDFLAGS of the environment or the command line are added, as those who make a
# package give them. Tests are compiled without.
HOST_CFLAGS := -std=c11 -O2 -g $(WARNINGS) -D_POSIX_C_SOURCE=200809L
HOST_CPPFLAGS := -I$(GENERATED) -Ihost-driver/include -Ihost-driver -Isim
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# What takes longer to compile than it runs: tests' own C where what they test is compiled as above, and what runs under the thread
# sanitizer. Behind the flags above.
FOR_A_SECOND := -Og -g1
LDLIBS := -lz -lpthread -lm

# What is compiled depends on this file, which is new when a compiler, its flags or the core are others than before.
FLAGS := $(BUILD)/flags
$(FLAGS): ;

# Each rules.mk adds to these: TEST_PROGRAMS holds executables that `make test` runs, LINTS style checks, BENCHES targets
# that write rows into build/bench/*.json, FORMAL proofs, SOAKS the long campaigns. LONG_RANDOM are those TEST_PROGRAMS that,
# if they are random, leave out the seed that is always the same (tests/rules.mk). SIM_OBJECTS (and its
# sanitized twin) and SIM_LIBS are what sim/ adds to libferry.a and to the programs that link it.
TEST_PROGRAMS :=
LONG_RANDOM :=
SIM_OBJECTS :=
SIM_OBJECTS_SAN :=
SIM_LIBS :=
LINTS :=
BENCHES :=
FORMAL :=
SOAKS :=

include scripts/rules.mk

# Make builds this file before it reads on: on a fresh machine that installs what is missing.
ifneq ($(filter-out $(NEEDS_NOTHING),$(or $(MAKECMDGOALS),help)),)
include $(BUILD)/tools.mk $(BUILD)/setup.mk
endif

include contract/rules.mk
-include rtl/rules.mk
-include firmware/rules.mk
-include sim/rules.mk
-include host-driver/rules.mk
-include tests/rules.mk

FLAGS_NOW := $(strip $(CC) $(CXX) $(HOST_CFLAGS) $(HOST_CPPFLAGS) $(SANITIZE) $(FOR_A_SECOND) $(SIM_CXXFLAGS) $(LDLIBS) $(CPU_CORE) \
    $(CPU_VARIANT) $(CPPFLAGS) $(CFLAGS) $(CXXFLAGS) $(LDFLAGS))
# Written once set-up has told whoever may not write here.
ifeq ($(CHANGES_NOTHING)$(if $(wildcard $(TOOLS)),,yes),)
ifneq ($(file <$(FLAGS)),$(FLAGS_NOW))
# The first time nothing is known to be another.
NEW_FLAGS := $(if $(wildcard $(FLAGS)),,yes)
$(file >$(FLAGS),$(FLAGS_NOW))$(if $(NEW_FLAGS),$(shell touch -d @0 $(FLAGS)))
endif
endif
