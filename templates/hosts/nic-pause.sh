# PFC and 802.3x pause exclude each other.
pause_state() {
    ethtool -a "$netdev" 2>/dev/null | awk '/^(RX|TX):/ { print $2 }' | words
}

verify_pause() {
    pause=$(pause_state)
    [ -z "$pause" ] || same 'pause' "$pause" 'off off'
}

# Words of ethtool, such as `autoneg off`: those that the driver needs besides.
turn_pause_off() {
    case $(pause_state) in
    *on*) ethtool -A "$netdev" "$@" rx off tx off ;;
    esac
}

