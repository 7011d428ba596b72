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

# Intel's driver has congestion control off and its switch in a folder that somebody makes (README of irdma); the
# kernel's own driver has neither.
switches=$SYSFS/kernel/config/irdma
dcqcn=$switches/$rdma/roce_dcqcn_enable

wants_dcqcn() {
    [ -n "$ROCE_TOS" ] && [ -n "$ECN_PRIORITIES" ]
}

verify_nic() {
    same 'DCBX of the firmware' \
        "$(ethtool --show-priv-flags "$netdev" | sed -n 's/^fw-lldp-agent *: *//p')" off
    for pair in $(protocols); do
        same "${pair%=*}" "$(parameter "${pair%=*}")" "${pair#*=}"
    done
    verify_dcb
    wants_dcqcn || return 0
    if [ -d "$switches" ]; then
        same 'DCQCN' "$(value_of "$dcqcn")" 1
    else
        not_seen "DCQCN: this driver has no $switches"
    fi
}

# The driver refuses this once PFC is on, and another `autoneg` than that of the link (ice_ethtool.c,
# ice_set_pauseparam): hence before PFC, and without it.
configure_pause() {
    turn_pause_off
}

configure_nic() {
    ethtool --set-priv-flags "$netdev" fw-lldp-agent off
    configure_pause
    for pair in $(protocols); do
        devlink dev param set "pci/$(pci_address)" name "${pair%=*}" value "${pair#*=}" cmode runtime
    done
    configure_dcb
    wants_dcqcn && [ -d "$switches" ] || return 0
    await_device
    mkdir -p "${dcqcn%/*}"
    printf '1\n' > "$dcqcn"
}

