# Reads of GPU memory go in the largest requests, and no bridge sends peers' traffic up to the root complex (NCCL's
# troubleshooting page, PCI Access Control Services).
read_request_code() {
    code=0
    bytes=128
    while [ "$bytes" -lt "$READ_REQUEST_BYTES" ]; do
        bytes=$((bytes * 2))
        code=$((code + 1))
    done
    echo "$code"
}

bridges() {
    for bridge in "$SYSFS"/bus/pci/devices/*; do
        case $(cat "$bridge/class" 2>/dev/null) in
        0x0604*) basename "$bridge" ;;
        esac
    done
}

# Words of the spec, or of an operator in this file, leave a setting of the plan to somebody else.
leaves_out() {
    case " $LEAVES_OUT " in
    *" $1 "*) return 0 ;;
    esac
    sed 's/#.*//' "${LEAVE_OUT:-/etc/fabricc/leave-out}" 2>/dev/null | tr -d ' \t\r' | grep -qx "$1"
}

# Secure Boot locks the kernel, which refuses to write to PCIe configuration (kernel_lockdown(7)).
is_locked() {
    case $(cat "$SYSFS/kernel/security/lockdown" 2>/dev/null) in
    *'[integrity]'* | *'[confidentiality]'*) return 0 ;;
    esac
    return 1
}

# A run that cannot write these leaves the rest of the port alone.
verify_pci() {
    address=$(pci_address)
    [ -n "$address" ] || return 0
    if ! command -v setpci >/dev/null; then
        not_seen 'PCIe read requests and access control, for want of setpci (pciutils)'
        return 0
    fi
    if is_locked; then
        [ "$mode" = check ] || return 0
        note 'Secure Boot locks the kernel, which refuses PCIe settings: set them in the setup of the host, or turn it off'
    fi
    control=$(setpci -s "$address" CAP_EXP+08.w)
    same 'PCIe read request (code)' "$((0x$control >> 12 & 7))" "$(read_request_code)"
    if leaves_out access-control; then
        return 0
    elif has_own_access_control; then
        [ "$mode" != check ] || report_access_control
        return 0
    fi
    for bridge in $(bridges); do
        # Without the capability setpci fails, and there is nothing to turn off.
        access=$(setpci -s "$bridge" ECAP_ACS+6.w 2>/dev/null) || continue
        same "PCIe access control of $bridge" "$access" 0000
    done
}

# Where the NIC reaches GPUs by a PCIe function of its own (DMA controller of ConnectX-8), or GPUs are below root ports of
# Grace or Vera, bridges need other bits than none (rdma-core, kernel-boot/rdma_topo, whose identifiers these are).
has_own_access_control() {
    for function in "$SYSFS"/bus/pci/devices/*; do
        case $(cat "$function/vendor" "$function/device" 2>/dev/null | words) in
        '0x15b3 0x2100' | '0x10de 0x22b'[128] | '0x10de 0x2f9'[56]) return 0 ;;
        esac
    done
    return 1
}

# The kernel sets these bits at boot, by what `rdma_topo write-grub-acs` writes.
report_access_control() {
    if ! command -v rdma_topo >/dev/null; then
        not_seen 'PCIe access control of this platform, for want of rdma_topo (rdma-core)'
        return 0
    fi
    found=$(rdma_topo check 2>&1) && return 0
    fault=$(printf '%s\n' "$found" | sed -n 's/^FAIL[[:space:]]*//p' | head -n 1)
    if [ -n "$fault" ]; then
        same 'PCIe access control' "wrong ($fault)" 'that of rdma_topo write-grub-acs, and a reboot'
    else
        not_seen "PCIe access control of this platform: rdma_topo says: $(printf '%s\n' "$found" | tail -n 1)"
    fi
}

configure_pci() {
    ! is_locked || return 0
    address=$(pci_address)
    [ -n "$address" ] && command -v setpci >/dev/null || return 0
    setpci -s "$address" "CAP_EXP+08.w=$(read_request_code)000:7000"
    leaves_out access-control || has_own_access_control || for bridge in $(bridges); do
        ! setpci -s "$bridge" ECAP_ACS+6.w >/dev/null 2>&1 || setpci -s "$bridge" ECAP_ACS+6.w=0000
    done
}

