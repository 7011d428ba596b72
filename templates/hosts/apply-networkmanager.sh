connections=etc/NetworkManager/system-connections

host_name() {
    cat "$connections"/fabricc-*.nmconnection 2>/dev/null | sed -n 's/^# {{ whose }} port of \([^;]*\);.*/\1/p' | sort -u
}

expected() {
    awk -F= '
        $1 == "interface-name" { port = $2 }
        $1 == "mtu" { print "mtu", port, $2 }
        $1 ~ /^address[0-9]+$/ { print "address", port, $2 }
        $1 ~ /^route[0-9]+$/ { split($2, route, ",") }
        $1 ~ /^route[0-9]+_options$/ { print "route", port, route[1], route[2], $3 }
        $1 ~ /^routing-rule[0-9]+$/ { split($2, rule, " "); print "rule", port, rule[4], rule[6], rule[2] }
    ' "$connections"/fabricc-*.nmconnection
}

rebuild_initramfs() {
    dracut -f
}

# Loaded anew, a connection takes effect when it is brought up again.
activate_port() {
    nmcli connection load "/$connections/fabricc-$1.nmconnection"
    nmcli -w 60 connection up "fabricc-$1" >/dev/null
    changed="$changed $1"
    echo "changed: connection of $1"
}

activate_network() {
    :
}

