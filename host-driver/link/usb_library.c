// SPDX-License-Identifier: Apache-2.0
#include "link/usb_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "link/problem.h"

#define NAME "libusb-1.0.so.0"

static struct ferry_usb_library library;
static bool there;

/// It stays loaded: threads of its own may run in it.
static void load(void)
{
    void *handle = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
    there = handle != NULL;
    // POSIX has functions come as pointers to void.
#define FIND(name) there = there && (*(void **)&library.name = dlsym(handle, "libusb_" #name)) != NULL;
    FERRY_USB_CALLS(FIND)
#undef FIND
}

const struct ferry_usb_library *ferry_usb_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!there) {
        ferry_problem_set("there is no " NAME " that is new enough: apt install libusb-1.0-0");
        return NULL;
    }
    return &library;
}
