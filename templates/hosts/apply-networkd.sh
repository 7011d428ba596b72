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
    take_from_networkmanager
    networkctl reload
    for port in $(ports); do
        [ ! -d "/sys/class/net/$port" ] || networkctl reconfigure "$port"
    done
    rm -f "$STATE_FOLDER/open/network"
    changed network
}
