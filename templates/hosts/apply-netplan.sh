host_name() {
    sed -n 's/^# {{ whose }} ports of \([^;]*\);.*/\1/p' etc/netplan/{{ own }}
}

expected() {
    awk '
        { gsub(/"/, "") }
        /^    [^ ].*:$/ { port = $1; sub(/:$/, "", port); next }
        /^      [^ ]/ { section = $1; if (section == "mtu:") print "mtu", port, $2; next }
        section == "addresses:" { print "address", port, $2 }
        section == "routes:" && $2 == "to:" { to = $3 }
        section == "routes:" && $1 == "via:" { via = $2 }
        section == "routes:" && $1 == "table:" { print "route", port, to, via, $2 }
        section == "routing-policy:" && $2 == "from:" { from = $3 }
        section == "routing-policy:" && $1 == "table:" { table = $2 }
        section == "routing-policy:" && $1 == "priority:" { print "rule", port, from, table, $2 }
    ' etc/netplan/{{ netplan }}
}

rebuild_initramfs() {
    update-initramfs -u
}

reload=

activate_port() {
    reload=yes
}

# netplan takes all ports at once; networkd leaves those alone whose settings stay.
activate_network() {
    [ -n "$reload" ] || return 0
    if booted; then
        netplan apply
        changed="$changed network"
        echo 'changed: network'
    else
        netplan generate
        later 'systemd is not running here: addresses, routes and rules come with the next boot'
    fi
}

