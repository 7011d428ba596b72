# Reads of GPU memory go in the largest requests, and no bridge sends peers' traffic up to the root complex.
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

verify_pci() {
    address=$(pci_address)
    [ -n "$address" ] || return 0
    if ! command -v setpci >/dev/null; then
        not_seen 'PCIe read requests and access control, for want of setpci (pciutils)'
        return 0
    fi
    control=$(setpci -s "$address" CAP_EXP+08.w)
    same 'PCIe read request (code)' "$((0x$control >> 12 & 7))" "$(read_request_code)"
    leaves_out access-control || for bridge in $(bridges); do
        # Without the capability setpci fails, and there is nothing to turn off.
        access=$(setpci -s "$bridge" ECAP_ACS+6.w 2>/dev/null) || continue
        same "PCIe access control of $bridge" "$access" 0000
    done
}

configure_pci() {
    address=$(pci_address)
    [ -n "$address" ] && command -v setpci >/dev/null || return 0
    setpci -s "$address" "CAP_EXP+08.w=$(read_request_code)000:7000"
    leaves_out access-control || for bridge in $(bridges); do
        ! setpci -s "$bridge" ECAP_ACS+6.w >/dev/null 2>&1 || setpci -s "$bridge" ECAP_ACS+6.w=0000
    done
}

