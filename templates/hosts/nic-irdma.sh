# --- Intel E810: devlink chooses RoCEv2 or iWARP, never both ---
# Code points without an entry go by their class selector.
default_priority() {
    echo "$(($1 >> 3))"
}

parameter() {
    devlink dev param show "pci/$(pci_address)" name "$1" 2>/dev/null | sed -n 's/.*cmode runtime value //p'
}

protocols() {
    case $TRANSPORT in
    iwarp) echo 'enable_roce=false enable_iwarp=true' ;;
    *) echo 'enable_iwarp=false enable_roce=true' ;;
    esac
}

dcqcn=$SYSFS/kernel/config/irdma/$rdma/roce_dcqcn_enable

verify_nic() {
    same 'DCBX of the firmware' \
        "$(ethtool --show-priv-flags "$netdev" | sed -n 's/^fw-lldp-agent *: *//p')" off
    for pair in $(protocols); do
        same "${pair%=*}" "$(parameter "${pair%=*}")" "${pair#*=}"
    done
    verify_dcb
    [ ! -e "$dcqcn" ] || [ -z "$ROCE_TOS" ] || [ -z "$ECN_PRIORITIES" ] || same 'DCQCN' "$(value_of "$dcqcn")" 1
}

configure_nic() {
    ethtool --set-priv-flags "$netdev" fw-lldp-agent off
    for pair in $(protocols); do
        devlink dev param set "pci/$(pci_address)" name "${pair%=*}" value "${pair#*=}" cmode runtime
    done
    configure_dcb
    [ ! -e "$dcqcn" ] || [ -z "$ROCE_TOS" ] || [ -z "$ECN_PRIORITIES" ] || printf '1\n' > "$dcqcn"
}

