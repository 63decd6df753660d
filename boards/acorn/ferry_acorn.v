// SPDX-License-Identifier: Apache-2.0
// Acorn CLE-215(+), NiteFury: an Artix-7 200T on an M.2 card with four lanes, of which one is used. Everything runs with
// the link block's clock of 62.5 MHz; video memory is block RAM, since the card's DDR3 wants a controller of its own.
`default_nettype none

module ferry_acorn #(
    // The firmware that the bitstream brings along, set by the Makefile.
    parameter FIRMWARE_HEX = "",
    // What the board says to the host, at most 15 letters.
    parameter [127:0] NAME = "acorn",
    // Which soft core is among the sources.
    parameter [63:0] CPU_CORE = "vexriscv"
) (
    // The slot: its clock, its reset, one lane; "the clock is wanted", always.
    input  wire       pcie_clk_p,
    input  wire       pcie_clk_n,
    input  wire       pcie_rst_n,
    output wire       pcie_clkreq_n,
    output wire       pcie_tx_p,
    output wire       pcie_tx_n,
    input  wire       pcie_rx_p,
    input  wire       pcie_rx_n,
    // Lights, lit when low: the link is up; the host has switched it on, lets it send; packets go either way.
    output wire [3:0] led_n
);
    wire        slot_clk, clk, user_reset, link_up, unused_half;
    wire [63:0] tx_data, rx_data;
    wire [7:0]  tx_keep, rx_keep, ph, nph, cplh, bus;
    wire        tx_last, tx_valid, tx_ready, rx_last, rx_valid, rx_ready, np_ok;
    wire [2:0]  fc_sel, number;
    wire [21:0] rx_user;
    wire [11:0] pd, cpld;
    wire [9:0]  manage_word;
    wire        manage_read, manage_done, function_reset, msi_enable, turnoff, busy, requests_pending;
    wire [31:0] manage_data;
    wire [15:0] command, device_control;
    wire [1:0]  power_state;
    wire [4:0]  device;
    reg         rst_reg;

    always @(posedge clk)
        rst_reg <= user_reset || !link_up;

    assign pcie_clkreq_n = 1'b0;
    assign led_n = ~{busy, command[2], command[1], link_up};

    IBUFDS_GTE2 slot_clock (.I(pcie_clk_p), .IB(pcie_clk_n), .CEB(1'b0), .O(slot_clk), .ODIV2(unused_half));

    pcie_7x link (
        .pci_exp_txp(pcie_tx_p), .pci_exp_txn(pcie_tx_n), .pci_exp_rxp(pcie_rx_p), .pci_exp_rxn(pcie_rx_n),
        .sys_clk(slot_clk), .sys_rst_n(pcie_rst_n), .user_clk_out(clk), .user_reset_out(user_reset), .user_lnk_up(link_up),
        .s_axis_tx_tready(tx_ready), .s_axis_tx_tdata(tx_data), .s_axis_tx_tkeep(tx_keep), .s_axis_tx_tlast(tx_last),
        // A packet is sent when the block has all of it: the device may pause within one. Its own answers go first.
        .s_axis_tx_tvalid(tx_valid), .s_axis_tx_tuser(4'd0), .tx_cfg_gnt(1'b1),
        .m_axis_rx_tdata(rx_data), .m_axis_rx_tkeep(rx_keep), .m_axis_rx_tlast(rx_last), .m_axis_rx_tvalid(rx_valid),
        .m_axis_rx_tready(rx_ready), .m_axis_rx_tuser(rx_user), .rx_np_ok(np_ok), .rx_np_req(1'b1), .fc_sel(fc_sel), .fc_ph(ph), .fc_pd(pd),
        .fc_nph(nph), .fc_cplh(cplh), .fc_cpld(cpld),
        .cfg_mgmt_do(manage_data), .cfg_mgmt_rd_wr_done(manage_done), .cfg_mgmt_di(32'd0), .cfg_mgmt_byte_en(4'd0),
        .cfg_mgmt_dwaddr(manage_word), .cfg_mgmt_wr_en(1'b0), .cfg_mgmt_rd_en(manage_read), .cfg_mgmt_wr_readonly(1'b0),
        .cfg_mgmt_wr_rw1c_as_rw(1'b0), .cfg_command(command), .cfg_dcommand(device_control),
        .cfg_pmcsr_powerstate(power_state), .cfg_received_func_lvl_rst(function_reset),
        .cfg_interrupt_msienable(msi_enable), .cfg_bus_number(bus), .cfg_device_number(device),
        .cfg_function_number(number), .cfg_trn_pending(requests_pending), .cfg_pm_halt_aspm_l0s(1'b0), .cfg_pm_halt_aspm_l1(1'b0),
        .cfg_pm_force_state_en(1'b0), .cfg_pm_force_state(2'd0), .cfg_dsn(64'd0),
        // The device sends its message as the memory write that it is.
        .cfg_interrupt(1'b0), .cfg_interrupt_assert(1'b0), .cfg_interrupt_di(8'd0), .cfg_interrupt_stat(1'b0),
        .cfg_pciecap_interrupt_msgnum(5'd0), .cfg_to_turnoff(turnoff), .cfg_turnoff_ok(turnoff), .cfg_pm_wake(1'b0),
        .cfg_pm_send_pme_to(1'b0), .cfg_ds_bus_number(8'd0), .cfg_ds_device_number(5'd0), .cfg_ds_function_number(3'd0)
    );

    // 1 MiB: 256 of the chip's 365 block RAMs.
    ferry_slot_board #(.FIRMWARE_HEX(FIRMWARE_HEX), .NAME(NAME), .CPU_CORE(CPU_CORE), .ADDRESS_BITS(20)) board (
        .clk(clk), .rst(rst_reg), .m_axis_rx_tdata(rx_data), .m_axis_rx_tkeep(rx_keep), .m_axis_rx_tlast(rx_last),
        .m_axis_rx_tvalid(rx_valid), .m_axis_rx_tready(rx_ready), .rx_bar_hit(rx_user[9:2]), .rx_np_ok(np_ok), .s_axis_tx_tdata(tx_data),
        .s_axis_tx_tkeep(tx_keep), .s_axis_tx_tlast(tx_last), .s_axis_tx_tvalid(tx_valid), .s_axis_tx_tready(tx_ready),
        .fc_sel(fc_sel), .fc_ph(ph), .fc_pd(pd), .fc_nph(nph), .fc_cplh(cplh), .fc_cpld(cpld),
        .cfg_mgmt_dwaddr(manage_word), .cfg_mgmt_rd_en(manage_read), .cfg_mgmt_do(manage_data),
        .cfg_mgmt_rd_wr_done(manage_done), .cfg_bus_number(bus), .cfg_device_number(device), .cfg_function_number(number),
        .cfg_command(command), .cfg_dcommand(device_control), .cfg_pmcsr_powerstate(power_state),
        .cfg_interrupt_msienable(msi_enable), .cfg_received_func_lvl_rst(function_reset), .cfg_trn_pending(requests_pending)
    );

    ferry_light #(.LG_CLOCKS(20)) traffic (
        .clk(clk), .rst(rst_reg), .happens((tx_valid && tx_ready) || (rx_valid && rx_ready)), .lit(busy)
    );
endmodule

`default_nettype wire
