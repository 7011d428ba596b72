# --- AMD Pollara: nicctl, which acts on every NIC unless a port is named ---
# The output of `nicctl show port`, `show qos` and `show dcqcn` is that of AMD's page "SGLang distributed inference with
# MoRI" (ROCm documentation 7.1, cluster network setup).
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

# A new device has another index.
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

# What `nicctl show qos` has of a port: `class KIND`, `map DSCP,PRIORITY ...`, `drops PRIORITIES`, `share LIST`.
port_state() {
    nicctl show qos 2>/dev/null | awk -v wanted="$1" '
        $1 == "NIC" { here = 0 }
        $1 == "Port" && $2 == ":" { here = ($3 == wanted); next }
        !here { next }
        /Classification type/ { print "class " $NF }
        /PFC no-drop priorities/ { sub(/.*:/, ""); gsub(/[ \t]/, ""); print "drops " $0 }
        $1 == "DSCP" && $2 == ":" {
            priority = $NF
            sub(/^[^:]*:/, ""); sub(/==>.*/, ""); gsub(/[ \t]/, "")
            count = split($0, ranges, ",")
            for (i = 1; i <= count; i++) {
                ends = split(ranges[i], range, "-")
                for (dscp = range[1] + 0; dscp <= range[ends] + 0; dscp++) map[dscp] = priority
            }
            mapped = 1
        }
        $2 == "DWRR" && $3 + 0 > 0 { share = share " " $1 ":" $3 }
        $2 == "strict" { share = share " " $1 ":strict:" $NF }
        END {
            if (mapped) {
                printf "map"
                for (dscp = 0; dscp < 64; dscp++) printf " %d,%s", dscp, map[dscp]
                print ""
            }
            if (share != "") print "share" share
        }'
}

# PRIORITY:WEIGHT and PRIORITY:strict:LIMIT of the classes in use, as `nicctl show qos` orders them.
shares() {
    printf '%s %s\n' "$TC_SCHEDULER" "$TC_WEIGHT" | awk -v limit="$STRICT_RATE_LIMIT" '{
        count = split($1, kind, ","); split($2, weight, ",")
        for (i = 1; i <= count; i++) {
            if (kind[i] == "strict") list = list " " (i - 1) ":strict:" limit
            else if (weight[i] > 0) list = list " " (i - 1) ":" weight[i]
        }
        print list
    }' | words
}

no_drop() {
    printf '%s\n' "$PFC" | awk -F, '{ for (i = 1; i <= NF; i++) if ($i) list = list (list == "" ? "" : ",") (i - 1); print list }'
}

# OPTION=VALUE of the first profile of this device in `nicctl show dcqcn`.
dcqcn_state() {
    nicctl show dcqcn 2>/dev/null | awk -F' *: *' -v device="$rdma" '
        BEGIN {
            option["Rate increase in AI phase"] = "ai-rate"
            option["Rate increase byte count"] = "rate-increase-byte-count"
            option["Alpha update G value"] = "alpha-update-g"
            option["Alpha update interval"] = "alpha-update-interval"
            option["Rate increase in HAI phase"] = "hai-rate"
            option["Initial alpha value"] = "initial-alpha-value"
            option["Rate reduce monitor period"] = "rate-reduce-monitor-period"
            option["Rate increase threshold"] = "rate-increase-threshold"
            option["Rate increase interval"] = "rate-increase-interval"
            option["T" "oken bucket size"] = "t" "oken-bucket-size"
            option["DSCP value used for CNP"] = "cnp-dscp"
        }
        { sub(/^ */, "", $1); sub(/ *$/, "", $2) }
        $1 == "ROCE device" { here = ($2 == device); profile = "" }
        $1 == "DCQCN profile id" { profile = $2 }
        here && profile == 1 && $1 == "Status" { print "status=" $2 }
        here && profile == 1 && ($1 in option) { print option[$1] "=" $2 }'
}

# A port has one kind of pause: `ethtool -a` shows PFC as pause, and `ethtool -A` would end PFC (ionic_ethtool.c,
# ionic_set_pauseparam). nicctl sets and shows the kind.
verify_pause() {
    :
}

configure_pause() {
    :
}

verify_pause_type() {
    pause=$(nicctl show port --card "${card%% *}" | awk -v wanted="$uuid" '
        $1 == "Port" { here = ($3 == wanted) }
        here && /Pause type/ { type = $NF }
        here && /TX pause/ { tx = $NF }
        here && /RX pause/ { rx = $NF }
        END { if (type != "") print type, rx, tx }')
    case $pause in
    '') not_seen 'its kind of pause: nicctl shows none' ;;
    *) same 'kind of pause' "$pause" 'PFC enabled enabled' ;;
    esac
}

verify_congestion() {
    [ -n "$ECN_PRIORITIES" ] || return 0
    found=$(dcqcn_state)
    if [ -z "$found" ]; then
        not_seen "DCQCN: nicctl shows none of $rdma"
        return 0
    fi
    for pair in status=Enabled $CONGESTION ${CNP_DSCP:+"cnp-dscp=$CNP_DSCP"}; do
        same "DCQCN ${pair%%=*}" "$(printf '%s\n' "$found" | sed -n "s/^${pair%%=*}=//p" | head -n 1)" "${pair#*=}"
    done
}

# Without readable output a stamp says which settings the device has.
verify_nic() {
    card=$(card_of_port)
    uuid=$([ -z "$card" ] || port_identity "$card")
    state=$([ -z "$uuid" ] || port_state "$uuid")
    if [ -z "$state" ]; then
        not_seen 'classes, PFC and DCQCN: nicctl shows none of this port'
        if [ ! -e "$stamp" ] || [ "$(settings_now)" != "$(cat "$stamp")" ]; then
            same 'state of its settings' 'not written since the device appeared' written
        fi
        return 0
    fi
    same 'trust' "$(part_of_state class | tr '[:upper:]' '[:lower:]')" "$TRUST"
    same 'DSCP map' "$(part_of_state map)" "$(printf '%s\n' "$DSCP_TO_PRIORITY" | words)"
    same 'PFC' "$(part_of_state drops)" "$(no_drop)"
    same 'scheduling' "$(part_of_state share)" "$(shares)"
    verify_pause_type
    verify_congestion
}

part_of_state() {
    printf '%s\n' "$state" | sed -n "s/^$1 *//p" | head -n 1
}

configure_nic() {
    # Units of several ports start together, and nicctl is not made for that.
    exec 9> "${RUN_FOLDER:-/run}/fabricc-roce.lock"
    flock 9
    card=$(card_of_port)
    uuid=$([ -z "$card" ] || port_identity "$card")
    if [ -z "$uuid" ]; then
        echo "${0##*/}: $netdev: nicctl shows no card and port of it; nothing is configured" >&2
        exit 1
    fi
    nicctl update port -p "$uuid" --pause-type pfc --rx-pause enable --tx-pause enable
    nicctl update qos --classification-type "$TRUST" -b "${card#* }"
    # Images may give these code points to acknowledgments, which would leave the class of RDMA (AMD's page clears them).
    for point in 46 48; do
        nicctl update qos dscp-to-purpose --dscp "$point" --purpose none -b "${card#* }" ||
            echo "${0##*/}: $netdev: the purpose of DSCP $point is not cleared: see nicctl show qos" >&2
    done
    # Priorities that drop come first: the card has one that does not, and earlier settings may have another.
    lossless=" $(no_drop | tr , ' ') "
    for priority in 0 1 2 3 4 5 6 7; do
        case $lossless in
        *" $priority "*) ;;
        # Published recipes expect an error where it is off already.
        *) nicctl update qos pfc -p "$uuid" --priority "$priority" --no-drop disable ||
            echo "${0##*/}: $netdev: PFC of priority $priority was off already, or stays on: see nicctl show qos" >&2 ;;
        esac
    done
    for priority in 0 1 2 3 4 5 6 7; do
        points=$(points_of "$priority")
        [ -z "$points" ] || nicctl update qos dscp-to-priority -p "$uuid" --dscp "$points" --priority "$priority"
    done
    for priority in $lossless; do
        nicctl update qos pfc -p "$uuid" --priority "$priority" --no-drop enable
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

