connections=etc/NetworkManager/system-connections

host_name() {
    cat "$connections"/fabricc-*.nmconnection 2>/dev/null | sed -n 's/^# {{ whose }} port of \([^;]*\);.*/\1/p' | sort -u
}

expected() {
    awk -F= '
        $1 == "interface-name" { port = $2 }
        $1 == "mtu" { print "mtu", port, $2 }
        $1 ~ /^address[0-9]+$/ { print "address", port, $2 }
        $1 ~ /^route[0-9]+$/ { count = split($2, route, ","); if (count == 3) print "main", port, route[1], route[2], route[3] }
        $1 ~ /^route[0-9]+_options$/ {
            print (route[2] ? "route" : "link"), port, route[1], (route[2] ? route[2] : "-"), $3
        }
        $1 ~ /^routing-rule[0-9]+$/ { split($2, rule, " "); print "rule", port, rule[4], rule[6], rule[2] }
    ' "$connections"/fabricc-*.nmconnection
}

rebuild_initramfs() {
    dracut -f
}

# The connection that NetworkManager has on a port.
verify_owner() {
    owner=$(nmcli -g GENERAL.CON-UUID device show "$1" 2>/dev/null) || owner=
    planned=$(sed -n 's/^uuid=//p' "$connections/fabricc-$1.nmconnection")
    [ -z "$owner" ] || [ "$owner" = "$planned" ] ||
        differs "$1: NetworkManager uses connection $owner and not the planned $planned"
}

# NetworkManager takes a file when it is loaded; one that it refuses must not stay.
install_network() {
    for file in etc/NetworkManager/conf.d/*.conf "$connections"/*.nmconnection; do
        if [ ! -e "$file" ] || is_installed "$file"; then
            continue
        fi
        install_file "$file"
        case $file in
        *.nmconnection)
            if nmcli connection load "/$file"; then
                basename "$file" .nmconnection | sed 's/^fabricc-//' >> "$scratch/ports"
            else
                restore_file "$file"
                nmcli connection load "/$file" || :
                return 1
            fi
            ;;
        esac
    done
}

# A connection takes effect when it is brought up again, and so does what NetworkManager does about a lost carrier.
activate_network() {
    ! is_open network || nmcli general reload conf
    ! is_open network || ports >> "$scratch/ports"
    broken=
    sort -u -o "$scratch/ports" "$scratch/ports"
    while read -r port; do
        [ -d "/sys/class/net/{{ parent }}" ] || continue
        nmcli connection load "/$connections/fabricc-$port.nmconnection"
        if nmcli -w 60 connection up "fabricc-$port" >/dev/null < /dev/null; then
            changed "connection of $port"
        else
            broken="$broken $port"
        fi
    done < "$scratch/ports"
    [ -z "$broken" ] || { echo "no connection:$broken" >&2; return 1; }
    rm -f "$STATE_FOLDER/open/network"
}
