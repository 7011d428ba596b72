# PFC and 802.3x pause exclude each other.
pause_state() {
    ethtool -a "$netdev" 2>/dev/null | awk '/^(RX|TX):/ { print $2 }' | words
}

# In DPU mode a BlueField's own system sets pause, classes, PFC and ECN of the port.
has_own_system() {
    case $FIRMWARE in
    *INTERNAL_CPU_OFFLOAD_ENGINE=0*) return 0 ;;
    esac
    return 1
}

verify_pause() {
    ! has_own_system || return 0
    command -v ethtool >/dev/null || not_seen '802.3x pause, for want of ethtool'
    pause=$(pause_state)
    [ -z "$pause" ] || same 'pause' "$pause" 'off off'
}

# Words of ethtool, such as `autoneg off`: those that the driver needs besides.
turn_pause_off() {
    case $(pause_state) in
    *on*) ethtool -A "$netdev" "$@" rx off tx off ;;
    esac
}

