// SPDX-License-Identifier: Apache-2.0
// ferry_usb_device as the simulation runs it: a flip-flop before every input of its clock, for the reasons of ferry_simulated.v, and
// what tells whether a cycle more would change anything. The bus' pins have flip-flops of their own inside.
`default_nettype none

module ferry_usb_simulated #(
    // As ferry_usb_device's.
    parameter [63:0] CPU_CORE = "vexriscv",
    parameter LOCAL_ADDRESS_BITS = 26
) (
    input  wire                          clk,
    input  wire                          rst,
    input  wire                          usb_clk,
    input  wire                          usb_rst,
    input  wire                          usb_io_clk,
    input  wire                          usb_dp_i,
    input  wire                          usb_dn_i,
    output wire                          usb_dp_o,
    output wire                          usb_dn_o,
    output wire                          usb_oe,
    output wire                          usb_pullup,
    output wire                          session_open,
    output wire                          busy,
    output wire [1:0]                    m_axi_awid,
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_awaddr,
    output wire [7:0]                    m_axi_awlen,
    output wire [2:0]                    m_axi_awsize,
    output wire [1:0]                    m_axi_awburst,
    output wire                          m_axi_awvalid,
    input  wire                          m_axi_awready,
    output wire [63:0]                   m_axi_wdata,
    output wire [7:0]                    m_axi_wstrb,
    output wire                          m_axi_wlast,
    output wire                          m_axi_wvalid,
    input  wire                          m_axi_wready,
    input  wire [1:0]                    m_axi_bid,
    input  wire [1:0]                    m_axi_bresp,
    input  wire                          m_axi_bvalid,
    output wire                          m_axi_bready,
    output wire [1:0]                    m_axi_arid,
    output wire [LOCAL_ADDRESS_BITS-1:0] m_axi_araddr,
    output wire [7:0]                    m_axi_arlen,
    output wire [2:0]                    m_axi_arsize,
    output wire [1:0]                    m_axi_arburst,
    output wire                          m_axi_arvalid,
    input  wire                          m_axi_arready,
    input  wire [1:0]                    m_axi_rid,
    input  wire [63:0]                   m_axi_rdata,
    input  wire [1:0]                    m_axi_rresp,
    input  wire                          m_axi_rlast,
    input  wire                          m_axi_rvalid,
    output wire                          m_axi_rready
);

    // Inputs as they were at the last rising edge.
    reg        rst_reg, awready_reg, wready_reg, bvalid_reg, arready_reg, rlast_reg, rvalid_reg;
    reg [63:0] rdata_reg;
    reg [1:0]  bid_reg, bresp_reg, rid_reg, rresp_reg;
    wire       link_busy;
    wire [1:0] unused_bytes;

    always @(posedge clk) begin
        rst_reg <= rst;
        awready_reg <= m_axi_awready;
        wready_reg <= m_axi_wready;
        bid_reg <= m_axi_bid;
        bresp_reg <= m_axi_bresp;
        bvalid_reg <= m_axi_bvalid;
        arready_reg <= m_axi_arready;
        rid_reg <= m_axi_rid;
        rdata_reg <= m_axi_rdata;
        rresp_reg <= m_axi_rresp;
        rlast_reg <= m_axi_rlast;
        rvalid_reg <= m_axi_rvalid;
    end

    // On the bus, or in the device: a read of the host's that waits for its answer or its time-out is work too.
    assign busy = link_busy || device.framed.device.units.observe.core_busy || device.framed.device.units.observe.read_busy ||
                  device.framed.device.units.observe.write_busy || device.framed.device.units.observe.requester_busy;

    ferry_usb_device #(.CPU_CORE(CPU_CORE), .LOCAL_ADDRESS_BITS(LOCAL_ADDRESS_BITS), .CLOCKS_PER_US(12)) device (
        .clk(clk), .rst(rst_reg), .usb_clk(usb_clk), .usb_rst(usb_rst), .usb_io_clk(usb_io_clk), .usb_dp_i(usb_dp_i),
        .usb_dn_i(usb_dn_i), .usb_dp_o(usb_dp_o), .usb_dn_o(usb_dn_o), .usb_oe(usb_oe), .usb_pullup(usb_pullup),
        .session_open(session_open), .byte_comes(unused_bytes[0]), .byte_goes(unused_bytes[1]), .link_busy(link_busy),
        .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr), .m_axi_awlen(m_axi_awlen), .m_axi_awsize(m_axi_awsize),
        .m_axi_awburst(m_axi_awburst), .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(awready_reg),
        .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(wready_reg),
        .m_axi_bid(bid_reg), .m_axi_bresp(bresp_reg), .m_axi_bvalid(bvalid_reg), .m_axi_bready(m_axi_bready),
        .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen), .m_axi_arsize(m_axi_arsize),
        .m_axi_arburst(m_axi_arburst), .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(arready_reg),
        .m_axi_rid(rid_reg), .m_axi_rdata(rdata_reg), .m_axi_rresp(rresp_reg), .m_axi_rlast(rlast_reg),
        .m_axi_rvalid(rvalid_reg), .m_axi_rready(m_axi_rready)
    );

    wire unused = &{1'b0, unused_bytes};
endmodule

`default_nettype wire
