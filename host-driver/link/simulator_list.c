// SPDX-License-Identifier: Apache-2.0
// They are asked nothing: one that is would take the next host for the second. What they were started with says where
// they are.
#include "link/simulator_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/candidate.h"
#include "link/serial_port.h"
#include "link/socket_address.h"

/// A file of the process's; bytes that were read, of which the last is followed by a 0.
static size_t read_file(const char *root, unsigned process, const char *name, char *text, size_t room)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/proc/%u/%s", root, process, name);
    FILE *file = fopen(path, "r");
    const size_t got = file == NULL ? 0 : fread(text, 1, room - 1, file);
    text[got] = 0;
    if (file != NULL) {
        fclose(file);
    }
    return got;
}

/// The argument behind `option`; "" if that is the last one, NULL if it is not there.
static const char *argument(const char *arguments, size_t bytes, const char *option)
{
    for (const char *at = arguments; at < arguments + bytes; at += strlen(at) + 1) {
        if (strcmp(at, option) == 0) {
            at += strlen(at) + 1;
            return at < arguments + bytes ? at : "";
        }
    }
    return NULL;
}

/// As whom a process runs. false = it is gone.
static bool owner(const char *root, unsigned process, unsigned *user)
{
    char text[2048];
    const char *line = read_file(root, process, "status", text, sizeof(text)) == 0 ? NULL : strstr(text, "\nUid:");
    return line != NULL && sscanf(line, " Uid: %*u %u", user) == 1;
}

/// Whoever opens what a process names connects to where that says, and believes what comes: of another user's that is
/// for people to decide. Root may be believed.
static void tell(const char *root, unsigned process, struct ferry_candidate *candidate, int error,
                 ferry_candidate_callback *callback, void *context)
{
    snprintf(candidate->what, sizeof(candidate->what), "ferry-sim, process %u", process);
    ferry_candidate_judge(candidate, error, FERRY_REACH_READY);
    unsigned user = 0;
    if (error == FERRY_OK && owner(root, process, &user) && user != 0 && user != geteuid()) {
        candidate->reach = FERRY_REACH_FOREIGN;
        snprintf(candidate->problem, sizeof(candidate->problem),
                 "it is user %u's, and asked only where you name it: `ferry info --backend %s`", user,
                 candidate->backend);
    }
    callback(context, candidate);
}

static void tell_socket(const char *root, unsigned process, const char *address, ferry_candidate_callback *callback,
                        void *context)
{
    struct ferry_candidate candidate = {0};
    const char *path = ferry_socket_path(address);
    char folder[512] = "", link[256], whole[640];
    const bool here = path == NULL || path[0] == '/';
    bool known = here;
    if (!here) {
        snprintf(link, sizeof(link), "%s/proc/%u/cwd", root, process);
        const ssize_t length = readlink(link, folder, sizeof(folder) - 2);
        known = length > 0;
        folder[length < 0 ? 0 : length] = 0;
        strcat(folder, known ? "/" : "");
    }
    snprintf(whole, sizeof(whole), "%s%s%.120s", path == NULL ? "" : "unix:", folder, path == NULL ? address : path);
    const int length = snprintf(candidate.backend, sizeof(candidate.backend), "socket:%.120s", whole);
    if (strlen(whole) > 120 || length >= (int)sizeof(candidate.backend)) {
        return; // No address of a socket is as long.
    }
    int error = FERRY_OK;
    if (!known) {
        ferry_problem_set("it listens in a folder of its own, which the system tells its user and root alone");
        error = FERRY_ERROR_BACKEND;
    } else if (path != NULL && faccessat(AT_FDCWD, whole + strlen("unix:"), W_OK, AT_EACCESS) != 0) {
        ferry_problem_set("you may not connect to %s: it is another user's, or gone", whole);
        error = FERRY_ERROR_BACKEND;
    }
    tell(root, process, &candidate, error, callback, context);
}

/// The other end of a pseudo terminal has a number, which the kernel tells of this one.
static void tell_terminals(const char *root, unsigned process, ferry_candidate_callback *callback, void *context)
{
    char path[256], text[512];
    struct dirent *entry;
    snprintf(path, sizeof(path), "%s/proc/%u/fdinfo", root, process);
    DIR *folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof(path), "fdinfo/%.20s", entry->d_name);
        const char *index = read_file(root, process, path, text, sizeof(text)) == 0 ? NULL : strstr(text, "tty-index:");
        if (index != NULL) {
            struct ferry_candidate candidate = {0};
            snprintf(path, sizeof(path), "/dev/pts/%ld", strtol(index + strlen("tty-index:"), NULL, 10));
            snprintf(candidate.backend, sizeof(candidate.backend), "uart:%.60s", path);
            tell(root, process, &candidate, ferry_serial_look(path), callback, context);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static void look_at(const char *root, unsigned process, ferry_candidate_callback *callback, void *context)
{
    char name[32], arguments[4096];
    if (read_file(root, process, "comm", name, sizeof(name)) == 0 || strcmp(name, "ferry-sim\n") != 0) {
        return;
    }
    const size_t bytes = read_file(root, process, "cmdline", arguments, sizeof(arguments));
    const char *address = argument(arguments, bytes, "--listen");
    if (argument(arguments, bytes, "--uart") != NULL) {
        tell_terminals(root, process, callback, context);
    } else if (argument(arguments, bytes, "--pci") == NULL && address != NULL && address[0] != 0) {
        tell_socket(root, process, address, callback, context);
    }
}

void ferry_simulator_list(const char *root, ferry_candidate_callback *callback, void *context)
{
    char path[256];
    struct dirent *entry;
    snprintf(path, sizeof(path), "%s/proc", root);
    DIR *folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const unsigned process = (unsigned)strtoul(entry->d_name, NULL, 10);
        if (process != 0) {
            look_at(root, process, callback, context);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}
