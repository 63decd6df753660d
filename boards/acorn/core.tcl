# SPDX-License-Identifier: Apache-2.0
# For Vivado, which alone can place the PCI Express block: `vivado -mode batch -source core.tcl -tclargs NETLIST.edf OUT`. It makes the
# core that pcie_7x.v has the ports of, with the contract's numbers, and places Yosys' netlist around it.
set netlist [lindex $argv 0]
set out [lindex $argv 1]
create_project -in_memory -part xc7a200tfbg484-2
create_ip -name pcie_7x -vendor xilinx.com -library ip -module_name pcie_7x
set_property -dict [list \
    CONFIG.Maximum_Link_Width X1 CONFIG.Link_Speed 2.5_GT/s CONFIG.Interface_Width 64_bit CONFIG.User_Clk_Freq 62.5 \
    CONFIG.Ref_Clk_Freq 100_MHz CONFIG.Max_Payload_Size 256_bytes CONFIG.Extended_Tag_Field true \
    CONFIG.Vendor_ID 1209 CONFIG.Device_ID FE01 CONFIG.Revision_ID 06 CONFIG.Subsystem_Vendor_ID 1209 CONFIG.Subsystem_ID FE01 \
    CONFIG.Class_Code_Base 03 CONFIG.Class_Code_Sub 02 CONFIG.Class_Code_Interface 00 \
    CONFIG.Bar0_Enabled true CONFIG.Bar0_Type Memory CONFIG.Bar0_Scale Kilobytes CONFIG.Bar0_Size 64 \
    CONFIG.Bar1_Enabled false CONFIG.Bar2_Enabled true CONFIG.Bar2_Type Memory CONFIG.Bar2_64bit true CONFIG.Bar2_Prefetchable true \
    CONFIG.Bar2_Scale Megabytes CONFIG.Bar2_Size 2 \
    CONFIG.IntX_Generation false CONFIG.MSI_Enabled true CONFIG.MSI_64b true CONFIG.Multiple_Message_Capable 1_vector \
    CONFIG.Function_Level_Reset true CONFIG.Enable_ACK_NAK_Timer false CONFIG.en_ext_clk false CONFIG.en_ext_pipe_interface false \
    CONFIG.cfg_mgmt_if true CONFIG.cfg_fc_if true CONFIG.err_reporting_if false CONFIG.rcv_msg_if false CONFIG.pl_interface false \
] [get_ips pcie_7x]
generate_target all [get_ips]
synth_ip [get_ips]
read_edif $netlist
read_xdc acorn.xdc
link_design -top ferry_acorn -part xc7a200tfbg484-2
opt_design
place_design
route_design
report_timing_summary -file $out/timing.txt
report_utilization -file $out/utilization.txt
write_bitstream -force $out/acorn.bit
