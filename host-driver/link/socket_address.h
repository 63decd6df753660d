// SPDX-License-Identifier: Apache-2.0
// Addresses of stream sockets as people write them: unix:PATH, or a PATH with a slash in it; HOST:PORT, or :PORT and
// PORT alone for this machine. Any thread. What goes wrong is told in ferry_problem().
#ifndef FERRY_LINK_SOCKET_ADDRESS_H
#define FERRY_LINK_SOCKET_ADDRESS_H

#ifdef __cplusplus
extern "C" {
#endif

/// Why it is no address, whoever may listen there, or NULL.
const char *ferry_socket_wrong(const char *address);
/// A connected descriptor, close-on-exec, or -1.
int ferry_socket_connect(const char *address);
/// A listening descriptor, close-on-exec, or -1. The socket file of a program that is gone is replaced.
int ferry_socket_listen(const char *address);
/// The path if the address is one of a UNIX socket, else NULL.
const char *ferry_socket_path(const char *address);

#ifdef __cplusplus
}
#endif
#endif
