# --- ConnectX and BlueField: mlnx_qos, or dcb of iproute2 without it, and the driver's ecn folder ---
has_mlnx_qos() {
    command -v mlnx_qos >/dev/null
}

# Every code point has an entry: a driver that was loaded with some keeps them for those that have none.
default_priority() {
    echo none
}

field() {
    printf '%s\n' "$state" | sed -n "s/^$1: *//p"
}

scheduled() {
    printf '%s\n' "$state" | awk -v column="$1" '
        /^tc: / {
            tsa = weight = $0
            sub(/.*tsa: /, "", tsa); sub(/,.*/, "", tsa)
            if (!sub(/.*bw: /, "", weight)) weight = 0
            sub(/%.*/, "", weight)
            list = list (list == "" ? "" : ",") (column == "tsa" ? tsa : weight)
        }
        END { print list }'
}

mapped() {
    printf '%s\n' "$state" | awk '
        /prio:[0-7] dscp:/ {
            split($1, priority, ":")
            sub(/.*dscp:/, "")
            count = split($0, points, ",")
            for (i = 1; i <= count; i++) if (points[i] != "") map[points[i] + 0] = priority[2]
        }
        END { for (i = 0; i < 64; i++) print i "," map[i] }' | words
}

# Traffic classes with a rate limit of somebody else.
limited() {
    printf '%s\n' "$state" | awk '/^tc: / && !/ratelimit: unlimited/ { sub(/,.*/, ""); print $2 ":" $4 $5 }' | words
}

# File below the port's ecn folder and its value, one pair a line.
ecn_settings() {
    for priority in $ECN_PRIORITIES; do
        echo "roce_np/enable/$priority 1"
        echo "roce_rp/enable/$priority 1"
    done
    if [ -n "$CNP_DSCP" ]; then
        echo "roce_np/cnp_dscp $CNP_DSCP"
        echo "roce_np/cnp_802p_prio $CNP_PRIORITY"
    fi
    for pair in $CONGESTION; do
        echo "${pair%=*} ${pair#*=}"
    done
}

# Where switches take a path for every packet, all queue pairs have their packets placed in any order.
spread() {
    case $FIRMWARE in
    *ROCE_ADAPTIVE_ROUTING_EN=1*) ;;
    *) return 1 ;;
    esac
    address=$(pci_address)
    [ -n "$address" ] || return 1
    command -v mlxreg >/dev/null || {
        note 'no mlxreg: adaptive routing of RDMA stays as it is'
        return 1
    }
}

verify_mlnx_qos() {
    state=$(mlnx_qos -i "$netdev")
    same 'DCBX mode' "$(field 'DCBX mode')" 'OS controlled'
    same 'trust' "$(field 'Priority trust state')" "$TRUST"
    same 'DSCP map' "$(mapped)" "$(printf '%s\n' "$DSCP_TO_PRIORITY" | words)"
    same 'scheduling' "$(scheduled tsa)" "$TC_SCHEDULER"
    same 'bandwidth' "$(scheduled weight)" "$TC_WEIGHT"
    same 'rate limits' "$(limited)" ''
    same 'PFC' "$(printf '%s\n' "$state" | awk '$1 == "enabled" { $1 = ""; print }' | words | tr ' ' ,)" "$PFC"
    case $PFC in
    *1*) same 'cable length' "$(field 'Cable len')" "$cable_m" ;;
    esac
}

verify_nic() {
    if has_own_system; then
        not_seen 'classes, PFC and ECN: the card is in DPU mode, and its own system sets them'
        return 0
    fi
    if has_mlnx_qos; then
        verify_mlnx_qos
    else
        verify_dcb
        case $PFC in
        *1*) same 'cable length' "$(shown pfc delay)" "$cable_m" ;;
        esac
    fi
    ecn=$SYSFS/class/net/$netdev/ecn
    if [ -d "$ecn" ]; then
        while read -r file value; do
            [ -z "$file" ] || [ ! -e "$ecn/$file" ] || same "$file" "$(value_of "$ecn/$file")" "$value"
        done << SETTINGS
$(ecn_settings)
SETTINGS
    fi
    if spread; then
        have=$(mlxreg -d "$address" --reg_name ROCE_ACCL --get | awk '$1 == "adaptive_routing_forced_en" { print $NF }')
        same 'adaptive routing' "$((${have:-0}))" 1
    fi
    # All queue pairs, whatever traffic class they ask for (vendor driver only).
    if [ -n "$ROCE_TOS" ] && [ -e "$device/tc/1/traffic_class" ]; then
        same 'traffic class' "$(value_of "$device/tc/1/traffic_class")" "$ROCE_TOS"
    fi
}

configure_mlnx_qos() {
    # DCBX in the hands of the operating system: lldpad must not run beside this.
    mlnx_qos -i "$netdev" -d os
    mlnx_qos -i "$netdev" --trust="$TRUST"
    set --
    for pair in $DSCP_TO_PRIORITY; do
        set -- "$@" "--dscp2prio=set,$pair"
    done
    mlnx_qos -i "$netdev" "$@"
    mlnx_qos -i "$netdev" -p "$PRIORITY_TO_TC" -s "$TC_SCHEDULER" -t "$TC_WEIGHT"
    [ -z "$(limited)" ] || mlnx_qos -i "$netdev" -r 0,0,0,0,0,0,0,0
    mlnx_qos -i "$netdev" --pfc="$PFC"
    case $PFC in
    *1*) mlnx_qos -i "$netdev" --cable_len="$cable_m" ;;
    esac
}

configure_pause() {
    has_own_system || turn_pause_off autoneg off
}

configure_nic() {
    ! has_own_system || return 0
    refuse_dpu
    if has_mlnx_qos; then
        configure_mlnx_qos
    else
        dcb dcbx set dev "$netdev" host cee ieee # the driver takes all three or none
        configure_dcb
    fi
    ecn=$SYSFS/class/net/$netdev/ecn
    if [ ! -d "$ecn" ]; then
        quiet=
        note "no $ecn (inbox driver): congestion control stays as the firmware has it"
        return 0
    fi
    while read -r file value; do
        [ -z "$file" ] || [ ! -e "$ecn/$file" ] || printf '%s\n' "$value" > "$ecn/$file"
    done << SETTINGS
$(ecn_settings)
SETTINGS
}

configure_device() {
    ! has_own_system || return 0
    if spread; then
        mlxreg -d "$address" --yes --reg_name ROCE_ACCL --set adaptive_routing_forced_en=0x1 ||
            echo "${0##*/}: $netdev: adaptive routing is refused: run --firmware and reset the NIC" >&2
    fi
    if [ -n "$ROCE_TOS" ] && [ -e "$device/tc/1/traffic_class" ]; then
        printf '%s\n' "$ROCE_TOS" > "$device/tc/1/traffic_class"
    fi
}

