# --- Broadcom Thor: the driver's congestion folder in configfs ---
cc=$SYSFS/kernel/config/bnxt_re/$rdma/ports/1/cc

# Code points without an entry are in priority 0.
default_priority() {
    echo 0
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
    if [ -n "$CNP_DSCP" ]; then
        printf 'cnp_prio 0x%x\ncnp_dscp 0x%x\n' "$CNP_PRIORITY" "$CNP_DSCP"
    fi
    if [ -n "$ROCE_TOS" ]; then
        for pair in $DSCP_TO_PRIORITY; do
            [ "${pair%,*}" -ne "$((ROCE_TOS >> 2))" ] ||
                printf 'roce_prio 0x%x\nroce_dscp 0x%x\n' "${pair#*,}" "${pair%,*}"
        done
    fi
    for pair in $CONGESTION; do
        echo "${pair%=*} ${pair#*=}"
    done
}

verify_nic() {
    verify_dcb
    [ -d "${cc%/ports*}" ] || {
        # The folder shows the driver's state only after it is made, which a check does not do.
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

configure_nic() {
    configure_dcb
    await_device
    mkdir -p "${cc%/ports*}"
    while read -r file value; do
        [ ! -e "$cc/$file" ] || printf '%s' "$value" > "$cc/$file"
    done << SETTINGS
$(cc_settings)
SETTINGS
    printf '%s' 0x1 > "$cc/apply"
}

