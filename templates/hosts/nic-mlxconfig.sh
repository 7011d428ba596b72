# Settings of a port end in its number, those of the whole NIC do not.
kept() {
    case $1 in
    ROCE_ADAPTIVE_ROUTING_EN | INTERNAL_CPU_OFFLOAD_ENGINE) echo "$1" ;;
    *) echo "$1_P$port" ;;
    esac
}

# What mlxconfig shows of a setting: its value, or with ` until reset` when another one comes with the next boot.
query() {
    mlxconfig -d "$address" -e query "$1" 2>/dev/null | awk -v key="$1" '
        $1 == key || $2 == key { for (i = NF - 1; i <= NF; i++) { sub(/.*\(/, "", $i); sub(/\).*/, "", $i) }
            print ($(NF - 1) == $NF) ? $NF : $(NF - 1) " until reset" }'
}

# A port that has no LINK_TYPE is an Ethernet port by its make (sriov-network-operator calls the type static).
lacks() {
    case $1 in
    LINK_TYPE_*) [ -z "$(query "$1")" ] ;;
    *) return 1 ;;
    esac
}

# In DPU mode a BlueField's own system owns the port, and the settings of this host have no effect.
refuse_dpu() {
    case $FIRMWARE in
    *INTERNAL_CPU_OFFLOAD_ENGINE=*) ;;
    *) return 0 ;;
    esac
    address=$(pci_address)
    if [ -z "$address" ] || ! command -v mlxconfig >/dev/null; then
        return 0
    fi
    case $(query INTERNAL_CPU_OFFLOAD_ENGINE) in
    0*)
        echo "fabricc-roce: $netdev: the BlueField is in DPU mode: run --firmware, reset the NIC, then apply" >&2
        exit 5
        ;;
    esac
}

# Settings that the NIC keeps: what is in force must be what comes with the next boot.
verify_firmware() {
    address=$(pci_address)
    [ -n "$FIRMWARE" ] || return 0
    if [ -z "$address" ] || ! command -v mlxconfig >/dev/null; then
        not_seen 'the settings that the NIC keeps, for want of mlxconfig'
        return 0
    fi
    for pair in $FIRMWARE; do
        key=$(kept "${pair%=*}")
        lacks "$key" || same "$key" "$(query "$key")" "${pair#*=}"
    done
}

configure_firmware() {
    address=$(pci_address)
    set --
    for pair in $FIRMWARE; do
        key=$(kept "${pair%=*}")
        lacks "$key" || set -- "$@" "$key=${pair#*=}"
    done
    [ $# -gt 0 ] || return 0
    mlxconfig -y -d "$address" set "$@"
    echo "$netdev: takes effect with mlxfwreset -y -d $address reset, or the next cold boot"
}

