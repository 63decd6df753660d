# SPDX-License-Identifier: Apache-2.0
# What is installed: the library, shared and static, with its headers, pkg-config file, manual pages, the tools, and a udev rule for
# devices on USB. The
# variables are GNU's; `PREFIX` is the same as `prefix`.

PREFIX ?= /usr/local
prefix ?= $(PREFIX)
exec_prefix ?= $(prefix)
bindir ?= $(exec_prefix)/bin
libdir ?= $(exec_prefix)/lib
includedir ?= $(prefix)/include
datarootdir ?= $(prefix)/share
mandir ?= $(datarootdir)/man
man1dir ?= $(mandir)/man1
man7dir ?= $(mandir)/man7
udevrulesdir ?= $(prefix)/lib/udev/rules.d

LIBRARY := $(BUILD)/library
LIBRARY_MAP := host-driver/package/ferry.map
LIBRARY_VERSION_OF = $(shell sed -n 's/^\#define FERRY_VERSION_$(1) //p' host-driver/include/ferry/version.h)
LIBRARY_MAJOR := $(call LIBRARY_VERSION_OF,MAJOR)
LIBRARY_VERSION := $(LIBRARY_MAJOR).$(call LIBRARY_VERSION_OF,MINOR).$(call LIBRARY_VERSION_OF,PATCH)
LIBRARY_SHARED := $(LIBRARY)/libferry.so.$(LIBRARY_VERSION)

# -z defs: what it needs is linked to it, or the link fails.
$(LIBRARY_SHARED): $(BUILD)/libferry.a $(LIBRARY_MAP) host-driver/package/rules.mk
	@mkdir -p $(@D)
	$(CXX) $(LDFLAGS) -shared -Wl,-soname,libferry.so.$(LIBRARY_MAJOR) -Wl,--version-script=$(LIBRARY_MAP) -Wl,-z,defs -Wl,-z,relro \
	    -Wl,-z,now -Wl,--whole-archive $(BUILD)/libferry.a -Wl,--no-whole-archive $(SIM_LIBS) $(LDLIBS) -o $@

# One object, in which only the public calls have names that another object sees: Verilator's run time is in it, and a
# program with a Verilated model of its own has another one.
$(LIBRARY)/libferry.a: $(BUILD)/libferry.a $(LIBRARY_MAP) host-driver/package/rules.mk
	@mkdir -p $(@D)
	ld -r --force-group-allocation --whole-archive $(BUILD)/libferry.a -o $(LIBRARY)/ferry.o
	sed -n 's/^ *\(ferry_[a-z0-9_]*\);$$/\1/p' $(LIBRARY_MAP) > $(LIBRARY)/ferry.symbols
	objcopy --keep-global-symbols=$(LIBRARY)/ferry.symbols $(LIBRARY)/ferry.o
	@rm -f $@
	ar rcs $@ $(LIBRARY)/ferry.o

INSTALLED := $(BUILD)/ferry $(BUILD)/ferry-sim $(LIBRARY)/libferry.a $(LIBRARY_SHARED) $(GENERATED)/70-pageferry.rules

# Paths reach the script in its environment, where a blank or a quote in them is nothing special.
install uninstall: export DESTDIR := $(DESTDIR)
install uninstall: export prefix := $(prefix)
install uninstall: export exec_prefix := $(exec_prefix)
install uninstall: export bindir := $(bindir)
install uninstall: export libdir := $(libdir)
install uninstall: export includedir := $(includedir)
install uninstall: export datarootdir := $(datarootdir)
install uninstall: export man1dir := $(man1dir)
install uninstall: export man7dir := $(man7dir)
install uninstall: export udevrulesdir := $(udevrulesdir)
install uninstall: export BUILD := $(BUILD)
install uninstall: export version := $(LIBRARY_VERSION)
install uninstall: export libs_private = $(SIM_LIBS) $(LDLIBS)

.PHONY: install uninstall library
library: $(LIBRARY)/libferry.a $(LIBRARY_SHARED)

install: $(INSTALLED)
	@host-driver/package/install.sh install

uninstall:
	@host-driver/package/install.sh uninstall
