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

# Files that leave a port to others. A rule of udev does so too, which the planned `managed=1` replaces.
excluding_files() {
    grep -lsE '^[[:space:]]*(unmanaged-devices[+]?|managed)[[:space:]]*=' /usr/lib/NetworkManager/conf.d/*.conf \
        /run/NetworkManager/conf.d/*.conf /etc/NetworkManager/NetworkManager.conf /etc/NetworkManager/conf.d/*.conf || :
}

# Settings of devices that NetworkManager reads after the planned ones, which they replace.
later_settings() {
    for file in /etc/NetworkManager/conf.d/*.conf; do
        if [ ! -e "${file#/}" ] && [ "$(printf '%s\n' "$file" "$1" | LC_ALL=C sort | tail -n 1)" = "$file" ]; then
            device_settings "$file"
        fi
    done
}

# Other connections that NetworkManager may take when the port appears: it takes the highest priority, and the latest
# one among equals. UUIDs, one a line.
rivals() {
    for uuid in $(nmcli -t -f CONNECTIONS device show "$1" 2>/dev/null |
        sed -n 's/^CONNECTIONS.AVAILABLE-CONNECTIONS\[[0-9]*\]:\([0-9a-f-]*\) .*/\1/p'); do
        [ "$uuid" = "$2" ] ||
            case $(nmcli -g connection.autoconnect,connection.autoconnect-priority connection show uuid "$uuid" | tr '\n' ' ') in
            'yes 999 ') echo "$uuid" ;;
            esac
    done
}

# The connection that NetworkManager has on a port.
verify_owner() {
    owner=$(nmcli -g GENERAL.CON-UUID device show "$1" 2>/dev/null) || owner=
    planned=$(sed -n 's/^uuid=//p' "$connections/fabricc-$1.nmconnection")
    [ -z "$owner" ] || [ "$owner" = "$planned" ] ||
        differs "$1: NetworkManager uses connection $owner and not the planned $planned"
    case $(nmcli -g GENERAL.STATE device show "$1" 2>/dev/null) in
    '10 '*) differs "$1: NetworkManager leaves it alone (unmanaged); see $(excluding_files | grep -v /90-fabricc | words)" ;;
    esac
}

# The folder of connections that NetworkManager reads at its next start.
verify_folder() {
    folder=$(NetworkManager --print-config 2>/dev/null | awk -F= '/^\[/ { found = ($0 == "[keyfile]") } found && $1 == "path" { print $2 }')
    case $folder in
    '' | "/$connections") ;;
    *) differs "NetworkManager reads connections in $folder at its next start, not in /$connections; see path in its conf.d" ;;
    esac
}

# What gives a port another connection or other settings at the next boot. Bringing it up again changes nothing of that.
verify_rivals() {
    [ -e "$scratch/service" ] || verify_folder
    verify_service NetworkManager
    planned=$(sed -n 's/^uuid=//p' "$connections/fabricc-$1.nmconnection")
    for uuid in $(rivals "$1" "$planned"); do
        file=$(nmcli -t -f UUID,FILENAME connection show | sed -n "s/^$uuid://p")
        differs "$1: $file has autoconnect-priority 999 too, and NetworkManager may take it; lower it there"
    done
    carrier=$(grep -lsF "interface-name:=$1" etc/NetworkManager/conf.d/90-fabricc*.conf | head -n 1)
    while read -r file devices settings; do
        [ -z "$file" ] || ! is_among "$1" "$devices" ||
            differs "$1: $file comes after ${carrier##*/} and sets ${settings% }; rename it so that it comes before"
    done << LATER
$([ -z "$carrier" ] || later_settings "/$carrier")
LATER
    file=$(networkd_file "$1")
    case $file in
    '' | unmanaged) ;;
    *) differs "$1: systemd-networkd configures it as well, by $file; remove the port there" ;;
    esac
}

# Changes of `nmcli connection modify --temporary` are in a file that hides the planned one until the next boot.
remove_temporary() {
    for file in "/run/NetworkManager/system-connections"/fabricc-*.nmconnection; do
        if [ -e "$file" ] && [ -e "$connections/${file##*/}" ]; then
            rm "$file"
            nmcli connection load "$file" "/$connections/${file##*/}" || :
            changed "$file is removed, which hid the planned one"
            basename "$file" .nmconnection | sed 's/^fabricc-//' >> "$scratch/ports"
        fi
    done
}

# NetworkManager takes a file when it is loaded; one that it refuses must not stay.
install_network() {
    remove_temporary
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
