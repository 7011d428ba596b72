# Settings of a port end in its number, those of the whole NIC do not.
kept() {
    case $1 in
    ROCE_ADAPTIVE_ROUTING_EN | INTERNAL_CPU_*) echo "$1" ;;
    *) echo "$1_P$port" ;;
    esac
}

# What mlxconfig shows of a setting: its value, or with ` until reset` when another one comes with the next boot.
query() {
    printf '%s\n' "$kept_now" | awk -v key="$1" '
        $1 == key || $2 == key { for (i = NF - 1; i <= NF; i++) { sub(/.*\(/, "", $i); sub(/\).*/, "", $i) }
            print ($(NF - 1) == $NF) ? $NF : $(NF - 1) " until reset" }'
}

# The maker's tool, or the same one of mstflint, which the distributions have (sriov-network-operator uses that one).
firmware_tool() {
    command -v mlxconfig || command -v mstconfig
}

# Everything that the NIC keeps; a NIC that mlxconfig cannot open has nothing to compare.
read_kept() {
    kept_now=$("$(firmware_tool)" -d "$address" -e query 2>/dev/null) || kept_now=
    [ -n "$kept_now" ]
}

# A port that has no LINK_TYPE has one type by its make (sriov-network-operator calls it static).
lacks() {
    [ -z "$(query "$1")" ] || return 1
    case $1 in
    LINK_TYPE_*) ;;
    *) not_seen "$1: this NIC or its firmware has no such setting" ;;
    esac
}

# In DPU mode a BlueField's own system owns the port, and the settings of this host have no effect.
refuse_dpu() {
    case $FIRMWARE in
    *INTERNAL_CPU_OFFLOAD_ENGINE=1*) ;;
    *) return 0 ;;
    esac
    address=$(pci_address)
    if [ -z "$address" ] || ! firmware_tool >/dev/null; then
        return 0
    fi
    read_kept || return 0
    case $(query INTERNAL_CPU_OFFLOAD_ENGINE) in
    0*)
        echo "${0##*/}: $netdev: the BlueField is in DPU mode: run --firmware, reset the NIC, then apply" >&2
        exit 5
        ;;
    esac
}

# Settings that the NIC keeps: what is in force must be what comes with the next boot.
verify_firmware() {
    address=$(pci_address)
    [ -n "$FIRMWARE" ] || return 0
    if [ -z "$address" ] || ! firmware_tool >/dev/null; then
        not_seen 'the settings that the NIC keeps, for want of mlxconfig or mstconfig'
        return 0
    fi
    if ! read_kept; then
        not_seen "the settings that the NIC keeps: mlxconfig cannot read $address"
        return 0
    fi
    for pair in $FIRMWARE; do
        key=$(kept "${pair%=*}")
        lacks "$key" || same "$key" "$(query "$key")" "${pair#*=}"
    done
    [ -n "${ECN_PRIORITIES:-}" ] || return 0
    case $(query ROCE_CC_LEGACY_DCQCN)/$(query USER_PROGRAMMABLE_CC) in
    0* | */1*) note 'its firmware may choose another congestion control than DCQCN (ROCE_CC_LEGACY_DCQCN, USER_PROGRAMMABLE_CC)' ;;
    esac
}

configure_firmware() {
    address=$(pci_address)
    set --
    read_kept || :
    for pair in $FIRMWARE; do
        key=$(kept "${pair%=*}")
        # mlxconfig refuses all of a list that has one setting which the NIC lacks.
        if [ -z "$kept_now" ] || ! lacks "$key"; then
            set -- "$@" "$key=${pair#*=}"
        fi
    done
    [ $# -gt 0 ] || return 0
    firmware_tool >/dev/null || {
        echo "${0##*/}: $netdev: neither mlxconfig nor mstconfig (package mstflint) is installed" >&2
        exit 1
    }
    "$(firmware_tool)" -y -d "$address" set "$@" || {
        status=$?
        ! is_locked || echo "${0##*/}: $netdev: Secure Boot locks the kernel, which may keep mlxconfig from the card" >&2
        exit "$status"
    }
    echo "$netdev: takes effect with mlxfwreset (mstfwreset) -y -d $address reset, or the next cold boot"
    case $FIRMWARE in
    *INTERNAL_CPU_*) echo "$netdev: another mode of a BlueField takes effect when the host was without power" ;;
    esac
}

