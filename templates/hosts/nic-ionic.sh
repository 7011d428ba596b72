# --- AMD Pollara: nicctl, which acts on every NIC of the kind; its output is not documented ---
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
        note 'nicctl cannot be asked in a documented form: classes, PFC and DCQCN are not looked at'
    else
        drift=1
    fi
}

configure_nic() {
    nicctl update port --all --pause-type pfc --rx-pause enable --tx-pause enable
    nicctl update qos --classification-type "$TRUST"
    for uuid in $(nicctl show port | awk '$1 == "Port" { print $3 }'); do
        priority=0
        for lossless in $(printf '%s\n' "$PFC" | tr , ' '); do
            points=$(points_of "$priority")
            [ -z "$points" ] || nicctl update qos dscp-to-priority -p "$uuid" --dscp "$points" --priority "$priority"
            case $lossless in
            1) nicctl update qos pfc -p "$uuid" --priority "$priority" --no-drop enable ;;
            *) nicctl update qos pfc -p "$uuid" --priority "$priority" --no-drop disable ;;
            esac
            priority=$((priority + 1))
        done
        # shellcheck disable=SC2046  # every word is an argument
        nicctl update qos scheduling -p "$uuid" $(schedule)
    done
}

configure_device() {
    [ -n "$ECN_PRIORITIES" ] || return 0
    set --
    for pair in $CONGESTION; do
        set -- "$@" "--${pair%=*}" "${pair#*=}"
    done
    [ -z "$CNP_DSCP" ] || set -- "$@" --cnp-dscp "$CNP_DSCP"
    nicctl update dcqcn -r "$rdma" -i 1 "$@"
}

verify_firmware() {
    :
}

configure_firmware() {
    note 'this NIC keeps no settings that the fabric needs'
}

