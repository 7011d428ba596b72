# --- AMD Pollara: nicctl, which acts on every NIC unless a port is named; its settings have no documented output ---
# `ID ADDRESS` of the card that the port is on: the address of a card is that of a bridge above its functions.
card_of_port() {
    path=$(readlink -f "$SYSFS/class/net/$netdev/device")
    nicctl show card | tr '|' ' ' | awk -v path="$path/" '{
        id = address = ""
        for (i = 1; i <= NF; i++) {
            if ($i ~ /^[0-9a-f]+-[0-9a-f-]+$/) id = $i
            if ($i ~ /^[0-9a-f]+:[0-9a-f]+:[0-9a-f]+\.[0-9]$/) address = $i
        }
        if (id != "" && address != "" && index(path, "/" address "/")) { print id, address; exit }
    }'
}

# The identity of this port alone, so that an event of it leaves the other NICs and their jobs alone.
port_identity() {
    nicctl show port --card "${1%% *}" | awk -v wanted="$port" '
        $1 == "Port" { count++; only = $3; if (count == wanted) { found = $3 } }
        END { print (found != "" ? found : count == 1 ? only : "") }'
}

# What is set cannot be read, so a stamp says which settings the device has. A new device has another index.
stamp=${RUN_FOLDER:-/run}/fabricc-roce.$netdev
settings_now() {
    cat "$SYSFS/class/net/$netdev/ifindex" 2>/dev/null
    printf '%s\n' "$DSCP_TO_PRIORITY" "$PFC" "$TC_SCHEDULER" "$TC_WEIGHT" "$STRICT_RATE_LIMIT" "$ECN_PRIORITIES" \
        "$CNP_DSCP" "$CONGESTION"
}
# The code points of one priority as 0-25,27-47.
points_of() {
    printf '%s\n' "$DSCP_TO_PRIORITY" | awk -v priority="$1" '
        { for (i = 1; i <= NF; i++) { split($i, pair, ","); if (pair[2] == priority) wanted[pair[1]] = 1 } }
        END {
            for (from = 0; from < 64; from++) {
                if (!(from in wanted)) continue
                for (to = from; (to + 1) in wanted; to++);
                list = list (list == "" ? "" : ",") from (to > from ? "-" to : "")
                from = to
            }
            print list
        }'
}

# Priority, weight and rate limit of every class in use, as three comma lists.
schedule() {
    printf '%s %s\n' "$TC_SCHEDULER" "$TC_WEIGHT" | awk -v limit="$STRICT_RATE_LIMIT" '{
        count = split($1, kind, ","); split($2, weight, ",")
        for (i = 1; i <= count; i++) {
            strict = kind[i] == "strict"
            if (!strict && weight[i] == 0) continue
            comma = priorities == "" ? "" : ","
            priorities = priorities comma (i - 1)
            weights = weights comma weight[i]
            limits = limits comma (strict ? limit : 0)
        }
        print "--priority " priorities " --dwrr " weights " --rate-limit " limits
    }'
}

verify_nic() {
    if [ "$mode" = check ]; then
        not_seen 'classes, PFC and DCQCN: nicctl has no documented output of them'
    fi
    if [ ! -e "$stamp" ] || [ "$(settings_now)" != "$(cat "$stamp")" ]; then
        same 'state of its settings' 'not written since the device appeared' written
    fi
}

configure_nic() {
    # Units of several ports start together, and nicctl is not made for that.
    exec 9> "${RUN_FOLDER:-/run}/fabricc-roce.lock"
    flock 9
    card=$(card_of_port)
    uuid=$([ -z "$card" ] || port_identity "$card")
    if [ -z "$uuid" ]; then
        echo "fabricc-roce: $netdev: nicctl shows no card and port of it; nothing is configured" >&2
        exit 1
    fi
    nicctl update port -p "$uuid" --pause-type pfc --rx-pause enable --tx-pause enable
    nicctl update qos --classification-type "$TRUST" -b "${card#* }"
    priority=0
    for lossless in $(printf '%s\n' "$PFC" | tr , ' '); do
        points=$(points_of "$priority")
        [ -z "$points" ] || nicctl update qos dscp-to-priority -p "$uuid" --dscp "$points" --priority "$priority"
        case $lossless in
        1) nicctl update qos pfc -p "$uuid" --priority "$priority" --no-drop enable ;;
        # Published recipes expect an error where it is off already.
        *) nicctl update qos pfc -p "$uuid" --priority "$priority" --no-drop disable ||
            echo "fabricc-roce: $netdev: PFC of priority $priority was off already, or stays on: see nicctl show qos" >&2 ;;
        esac
        priority=$((priority + 1))
    done
    # shellcheck disable=SC2046  # every word is an argument
    nicctl update qos scheduling -p "$uuid" $(schedule)
}

configure_device() {
    if [ -n "$ECN_PRIORITIES" ]; then
        set --
        for pair in $CONGESTION; do
            set -- "$@" "--${pair%=*}" "${pair#*=}"
        done
        [ -z "$CNP_DSCP" ] || set -- "$@" --cnp-dscp "$CNP_DSCP"
        nicctl update dcqcn -r "$rdma" -i 1 "$@"
    fi
    settings_now > "$stamp"
}

verify_firmware() {
    :
}

configure_firmware() {
    note 'this NIC keeps no settings that the fabric needs'
}

