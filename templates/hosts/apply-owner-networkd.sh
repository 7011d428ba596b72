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

# FILE PORT: a file of networkd is for the port; one with conditions of other kinds is not looked at.
takes_port() {
    sed -n '/^\[Match\]/,/^\[[^M]/ { s/[[:space:]]*=[[:space:]]*/=/; /^[A-Za-z]*=./p; }' "$1" > "$scratch/match"
    [ -s "$scratch/match" ] || return 1
    while IFS='=' read -r key patterns; do
        case $key in
        Name) have=$2 ;;
        Type) have=ether ;;
        Driver) have=$(basename "$(readlink -f "/sys/class/net/$2/device/driver")") ;;
        *) return 1 ;;
        esac
        set -f
        found=
        for pattern in $patterns; do
            # shellcheck disable=SC2254  # patterns
            case $have in $pattern) found=yes ;; esac
        done
        set +f
        [ -n "$found" ] || return 1
    done < "$scratch/match"
}

# The first file by name that is for the port (systemd.network(5)), after what netplan makes of all of its files.
coming_file() {
    if [ ! -d "$scratch/coming" ]; then
        for folder in usr/lib/netplan etc/netplan run/netplan; do
            mkdir -p "$scratch/coming/$folder"
            cp "/$folder"/*.yaml "$scratch/coming/$folder/" 2>/dev/null || :
        done
        ! command -v netplan >/dev/null || netplan generate --root-dir "$scratch/coming" >/dev/null 2>&1 || :
    fi
    for file in /etc/systemd/network/*.network "$scratch/coming"/run/systemd/network/*.network \
        /run/systemd/network/*.network /usr/local/lib/systemd/network/*.network /usr/lib/systemd/network/*.network; do
        case $file in
        /run/systemd/network/10-netplan-*) ;;
        *) [ ! -f "$file" ] || echo "${file##*/} $file" ;;
        esac
    done | LC_ALL=C sort -s -k 1,1 | while read -r _ file; do
        if takes_port "$file" "$1"; then
            echo "${file#"$scratch/coming"}"
            break
        fi
    done
}

# What gives a port to another file or to NetworkManager at boot, although netplan has a rule of udev that keeps it away.
verify_rivals() {
    verify_service systemd-networkd
    coming=$(coming_file "$1")
    case $coming in
    '')
        for file in etc/netplan/*.yaml; do
            [ ! -e "$file" ] || ! is_installed "$file" ||
                differs "$1: netplan makes no file for it at the next boot; netplan generate shows which of its files is wrong"
        done
        ;;
    */10-netplan-"$1".network | */60-fabricc-"$1".network | "$(networkd_file "$1")") ;;
    *) differs "$1: networkd takes $coming at the next boot, which comes before the planned file; leave the port out there" ;;
    esac
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

