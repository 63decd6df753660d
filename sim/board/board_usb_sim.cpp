// SPDX-License-Identifier: Apache-2.0
// A board with its USB wires at a host controller's port, which speaks usbredir at a socket: prints a line once guests
// may come, and runs until SIGINT or SIGTERM. What the memory chip, or the host controller, has against the board ends
// it with a line. The clock stands while nothing is under way. Usage: ADDRESS, unix:PATH or HOST:PORT.
#include "board.h"
#include "usb_host.h"

extern "C" {
#include "link/socket_address.h"
#include "server/redir.h"
}

namespace
{

/// The cable: what UsbHost asks of it. A tick is 1/48 microsecond, which is no whole number of picoseconds.
class Cable
{
  public:
    void drive(bool dp, bool dn)
    {
        board.top.host_drives = 1;
        board.top.host_dp = dp;
        board.top.host_dn = dn;
        board.top.eval();
    }
    void release()
    {
        board.top.host_drives = 0;
        board.top.eval();
    }
    bool dp() const { return board.top.usb_dp; }
    bool dn() const { return board.top.usb_dn; }
    void tick()
    {
        ticks_++;
        board.advance(ticks_ * 62500 / 3 - board.now());
        if (board.top.host_drives && board.top.board_drives && clash == nullptr) {
            clash = "host and board drive the bus at once";
        }
    }

    ferry::Board board;
    const char *clash = nullptr;

  private:
    uint64_t ticks_ = 0;
};

struct Port {
    Cable cable;
    ferry::UsbHost<Cable> host{cable};

    const char *broken() const
    {
        return cable.board.broken() != nullptr ? cable.board.broken()
               : cable.clash != nullptr        ? cable.clash
                                               : host.violation();
    }
};

constexpr uint64_t attach_most = 100 * ferry::UsbHost<Cable>::millisecond; // Until somebody pulls D+ up.
constexpr uint64_t reset_ticks = ferry::UsbHost<Cable>::millisecond / 5;   // A hub's takes fifty times as long.
constexpr uint64_t idle_ticks = 4800;                                      // Between two looks at the guest.

redir_result told(ferry::UsbResult result)
{
    switch (result) {
    case ferry::UsbResult::done: return REDIR_DONE;
    case ferry::UsbResult::nak: return REDIR_NAK;
    case ferry::UsbResult::stall: return REDIR_STALL;
    default: return REDIR_FAULT;
    }
}

Port &of(void *context)
{
    return *static_cast<Port *>(context);
}

} // namespace

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: %s unix:PATH | HOST:PORT\n", arguments[0]);
        return 2;
    }
    ferry::stop_on_signals();
    const int listener = ferry_socket_listen(arguments[1]);
    if (listener < 0) {
        return 4;
    }
    Port port;
    port.host.reset_ticks = reset_ticks;
    redir_host host = {};
    host.context = &port;
    host.reset = [](void *context) {
        Port &ours = of(context);
        for (uint64_t n = 0; n < attach_most && !ours.cable.dp() && ours.broken() == nullptr; n++) {
            ours.cable.tick();
        }
        return ours.cable.dp() ? told(ours.host.reset()) : REDIR_FAULT;
    };
    host.control = [](void *context, const uint8_t *setup, uint8_t *data, size_t *moved) {
        return told(of(context).host.control(setup, data, *moved));
    };
    host.out = [](void *context, unsigned endpoint, const uint8_t *data, size_t bytes) {
        of(context).cable.board.wake();
        return told(of(context).host.bulk_out(endpoint, data, bytes));
    };
    host.in = [](void *context, unsigned endpoint, uint8_t *data, size_t *bytes) {
        const ferry::UsbResult result = of(context).host.bulk_in(endpoint, data, *bytes);
        if (result == ferry::UsbResult::done) {
            of(context).cable.board.wake();
        }
        return told(result);
    };
    host.idle = [](void *context) { of(context).host.idle(idle_ticks); };
    host.busy = [](void *context) { return of(context).cable.board.busy(); };
    host.broken = [](void *context) { return of(context).broken(); };
    printf("USB port at %s\n", arguments[1]);
    fflush(stdout);
    const int error = redir_run(listener, &host, &ferry::stop);
    port.cable.release();
    port.cable.board.tell(port.broken());
    return error == 0 && port.broken() == nullptr ? 0 : 1;
}
