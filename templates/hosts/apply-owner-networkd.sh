# The file that networkd applies to a port.
verify_owner() {
    owner=$(networkd_file "$1")
    case $owner in
    '' | */10-netplan-"$1".network | */60-fabricc-"$1".network) ;;
    unmanaged) differs "$1: networkd leaves it alone (unmanaged); see $(excluding_files | words)" ;;
    *) differs "$1: networkd uses $owner and not the planned file; remove the port from where that comes from" ;;
    esac
    case $(nmcli -g GENERAL.STATE device show "$1" 2>/dev/null) in
    '' | '10 '*) ;;
    *) differs "$1: NetworkManager manages it as well ($(nmcli -g GENERAL.CONNECTION device show "$1")); set managed=0 for it" ;;
    esac
}

# What gives a port to NetworkManager at boot although netplan has a rule of udev that keeps it away.
verify_rivals() {
    [ -n "$(nmcli -g GENERAL.STATE device show "$1" 2>/dev/null)" ] || return 0
    ! udevadm info --query=property --path="/sys/class/net/$1" 2>/dev/null | grep -qx NM_UNMANAGED=0 ||
        differs "$1: netplan or a rule of udev gives it to NetworkManager (NM_UNMANAGED=0); remove the port there"
    decisive=
    while read -r file devices settings; do
        case $settings in
        *managed=*) [ -z "$file" ] || ! is_among "$1" "$devices" || decisive="$file $settings" ;;
        esac
    done << DEVICES
$(device_settings /usr/lib/NetworkManager/conf.d/*.conf /run/NetworkManager/conf.d/*.conf \
        /etc/NetworkManager/NetworkManager.conf /etc/NetworkManager/conf.d/*.conf)
DEVICES
    case $decisive in
    *managed=[1ty]*) differs "$1: ${decisive%% *} sets managed=1 for it, and NetworkManager takes it at boot; leave it out there" ;;
    esac
}

excluding_files() {
    grep -lsiE '^[[:space:]]*Unmanaged[[:space:]]*=[[:space:]]*(yes|true|on|1)' /etc/systemd/network/*.network \
        /etc/systemd/network/*.network.d/*.conf /run/systemd/network/*.network /usr/lib/systemd/network/*.network || :
}

# NetworkManager reads that a port is not its own (NM_UNMANAGED of udev) only when the port appears.
take_from_networkmanager() {
    for port in $(ports); do
        case $(nmcli -g GENERAL.STATE device show "$port" 2>/dev/null) in
        '' | '10 '*) ;;
        *) nmcli device set "$port" managed no ;;
        esac
    done
}

