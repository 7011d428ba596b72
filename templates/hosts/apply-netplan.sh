host_name() {
    sed -n 's/^# {{ whose }} ports of \([^;]*\);.*/\1/p' etc/netplan/{{ own }}
}

expected() {
    awk '
        { gsub(/"/, "") }
        /^    [^ ].*:$/ { port = $1; sub(/:$/, "", port); next }
        /^      [^ ]/ { section = $1; if (section == "mtu:") print "mtu", port, $2; next }
        section == "addresses:" { print "address", port, $2 }
        section == "routes:" && $2 == "to:" { to = $3; via = "" }
        section == "routes:" && $1 == "via:" { via = $2 }
        section == "routes:" && $1 == "table:" { print (via ? "route" : "link"), port, to, (via ? via : "-"), $2 }
        section == "routes:" && $1 == "metric:" { print "main", port, to, via, $2 }
        section == "routing-policy:" && $2 == "from:" { from = $3 }
        section == "routing-policy:" && $1 == "table:" { table = $2 }
        section == "routing-policy:" && $1 == "priority:" { print "rule", port, from, table, $2 }
    ' etc/netplan/{{ netplan }}
}

rebuild_initramfs() {
    update-initramfs -u
}

# netplan reads all files together, so they are tried together before one is installed.
install_network() {
    trial=$scratch/trial
    for folder in usr/lib/netplan etc/netplan run/netplan; do
        mkdir -p "$trial/$folder"
        ! ls "/$folder"/*.yaml >/dev/null 2>&1 || cp "/$folder"/*.yaml "$trial/$folder/"
    done
    cp etc/netplan/*.yaml "$trial/etc/netplan/"
    chmod 600 "$trial/etc/netplan"/*
    netplan generate --root-dir "$trial"
    for file in etc/netplan/*.yaml; do
        if ! is_installed "$file"; then
            install_file "$file"
            echo "$file" >> "$scratch/installed"
        fi
    done
}

# The families of addresses with a default route.
default_routes() {
    for family in -4 -6; do
        [ -z "$(ip "$family" route show default)" ] || echo "$family"
    done
}

# Whether this host still has each way out that it had: people may come by either family.
keeps_default() {
    for family in $1; do
        tries=0
        while [ -z "$(ip "$family" route show default)" ]; do
            [ "$tries" -lt 15 ] || return 1
            sleep 1
            tries=$((tries + 1))
        done
    done
}

# netplan takes all ports at once; networkd leaves those alone whose settings stay.
activate_network() {
    if ! booted; then
        netplan generate
        rm -rf /run/systemd/system # which means a running systemd, and netplan makes it
        rm -f "$STATE_FOLDER/open/network"
        : > "$scratch/waits"
        return 0
    fi
    before=$(default_routes)
    take_from_networkmanager
    if netplan apply && keeps_default "$before"; then
        rm -f "$STATE_FOLDER/open/network"
        changed network
        return 0
    fi
    echo 'netplan apply failed, or took the default route away' >&2
    : >> "$scratch/installed"
    while read -r file; do
        restore_file "$file"
    done < "$scratch/installed"
    netplan apply
    return 1
}

