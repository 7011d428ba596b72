links=etc/systemd/network

# netplan has no interface of a partition, so these are files of networkd itself.
expected() {
    for file in "$links"/60-fabricc-*.network; do
        [ ! -e "$file" ] || awk -F= '
            $1 == "Name" { port = $2 }
            $1 == "MTUBytes" { print "mtu", port, $2 }
            $1 == "Address" { print "address", port, $2 }
        ' "$file"
    done
}

rebuild_initramfs() {
    update-initramfs -u
}

# The file that networkd applies to a port.
verify_owner() {
    owner=$(networkd_file "$1")
    case $owner in
    '' | */60-fabricc-"$1".network) ;;
    unmanaged) differs "$1: networkd leaves it alone (unmanaged); see $(excluding_files | words)" ;;
    *) differs "$1: networkd uses $owner and not the planned file; remove the port from where that comes from" ;;
    esac
}

verify_rivals() {
    case $(nmcli -g GENERAL.STATE device show "$1" 2>/dev/null) in
    '' | '10 '* | *externally*) ;;
    *) differs "$1: NetworkManager configures it as well, by $(nmcli -g GENERAL.CONNECTION device show "$1"); remove the port there" ;;
    esac
}

excluding_files() {
    grep -lsiE '^[[:space:]]*Unmanaged[[:space:]]*=[[:space:]]*(yes|true|on|1)' /etc/systemd/network/*.network \
        /etc/systemd/network/*.network.d/*.conf /run/systemd/network/*.network /usr/lib/systemd/network/*.network || :
}

install_network() {
    : # with the other files
}

# networkd makes the interfaces of partitions when it reads the files again.
activate_network() {
    if ! booted; then
        rm -f "$STATE_FOLDER/open/network"
        : > "$scratch/waits"
        return 0
    fi
    networkctl reload
    for port in $(ports); do
        [ ! -d "/sys/class/net/$port" ] || networkctl reconfigure "$port"
    done
    rm -f "$STATE_FOLDER/open/network"
    changed network
}
