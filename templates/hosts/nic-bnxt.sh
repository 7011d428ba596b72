# --- Broadcom Thor: the congestion folder of Broadcom's own driver in configfs; the kernel's has none ---
switches=$SYSFS/kernel/config/bnxt_re
cc=$switches/$rdma/ports/1/cc

# Code points without an entry are in priority 0.
default_priority() {
    echo 0
}

# The priority of RDMA. The driver gives it to the firmware with the entry of UDP port 4791 (bnxt_dcb.c,
# bnxt_dcbnl_ieee_setapp), as bnxt_setupcc.sh of Broadcom does.
rdma_priority() {
    [ -z "$ROCE_TOS" ] || for pair in $DSCP_TO_PRIORITY; do
        [ "${pair%,*}" -ne "$((ROCE_TOS >> 2))" ] || echo "${pair#*,}"
    done
}

rdma_entry() {
    rdma_priority | sed 's/^/4791:/'
}

# Firmware with service profiles takes priorities and code points from DCB alone, and refuses them here
# (bnxt_setupcc.sh 236.1: CNP_SERVICE_TYPE).
# The answer is 1, 0, or nothing without this driver.
has_profiles() {
    grep -qs "fw_service_prof_type_sup *: *${1:-1}\$" "$SYSFS/kernel/debug/bnxt_re/$rdma/info"
}

cc_settings() {
    echo 'disable_prio_vlan_tx 0x1'
    if [ -n "$ECN_PRIORITIES" ]; then
        echo 'ecn_marking 0x1'
        echo 'ecn_enable 0x1'
        echo 'cc_mode 1'
    else
        echo 'ecn_marking 0x0'
        echo 'ecn_enable 0x0'
    fi
    if ! has_profiles; then
        [ -z "$CNP_DSCP" ] || printf 'cnp_prio 0x%x\ncnp_dscp 0x%x\n' "$CNP_PRIORITY" "$CNP_DSCP"
        [ -z "$ROCE_TOS" ] || printf 'roce_prio 0x%x\nroce_dscp 0x%x\n' "$(rdma_priority)" "$((ROCE_TOS >> 2))"
    fi
    for pair in $CONGESTION; do
        echo "${pair%=*} ${pair#*=}"
    done
}

# The driver refuses all settings of dcb while the firmware runs DCBX (bnxt_dcb.c, bnxt_dcbnl_ieee_setets).
runs_dcbx() {
    case " $(dcb dcbx show dev "$netdev" 2>/dev/null) " in
    *' lld-managed '*) return 0 ;;
    esac
    return 1
}

# NetXtreme-E user's guide (UG100), DCBX: the setting is in the UEFI menu of the card.
DCBX_SETUP='turn it off in the UEFI setup of the NIC, Device Level Configuration'

verify_nic() {
    ! runs_dcbx || same 'DCBX' 'in the firmware' "in the host ($DCBX_SETUP)"
    verify_dcb
    same 'priority of RDMA' "$(shown app dgram-port-prio)" "$(rdma_entry)"
    # Broadcom then leaves congestion notifications in class 0 (bnxt_setupcc.sh 233.2).
    [ -z "$CNP_DSCP" ] || ! has_profiles 0 ||
        not_seen 'the class of congestion notifications: this firmware has no service profiles, update it'
    [ -d "${cc%/ports*}" ] || {
        # The folder shows the driver's state only after it is made, which a check does not do, and a run does.
        [ "$mode" = check ] || [ ! -d "$switches" ] || drift=1
        not_seen "congestion control, for want of ${cc%/ports*}"
        return 0
    }
    while read -r file value; do
        [ -e "$cc/$file" ] || continue
        have=$(value_of "$cc/$file")
        same "$file" "$((${have:-0}))" "$((value))"
    done << SETTINGS
$(cc_settings)
SETTINGS
}

configure_pause() {
    turn_pause_off autoneg off
}

configure_nic() {
    if runs_dcbx; then
        echo "${0##*/}: $netdev: its firmware runs DCBX and the driver refuses other settings: $DCBX_SETUP" >&2
        exit 5
    fi
    configure_dcb
    dcb app flush dev "$netdev" dgram-port-prio
    [ -z "$ROCE_TOS" ] || dcb app add dev "$netdev" dgram-port-prio "$(rdma_entry)"
    await_device
    if [ ! -d "$switches" ]; then
        quiet=
        note "no $switches (inbox driver): congestion control stays as the driver has it"
        return 0
    fi
    mkdir -p "${cc%/ports*}"
    while read -r file value; do
        [ ! -e "$cc/$file" ] || printf '%s' "$value" > "$cc/$file"
    done << SETTINGS
$(cc_settings)
SETTINGS
    printf '%s' 0x1 > "$cc/apply"
}

