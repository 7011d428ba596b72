# --- IEEE 802.1Qaz through the kernel: dcb of iproute2 ---
# KEY:VALUE words: what dcb shows after the name of a list.
shown() {
    dcb -N "$1" show dev "$netdev" "$2" | sed "s/^$2//" | words
}

# A comma list as `0:first 1:second`.
numbered() {
    printf '%s\n' "$1" | awk -F, '{ for (i = 1; i <= NF; i++) print (i - 1) ":" $i }' | words
}

# Traffic classes that share bandwidth, with their share.
shares() {
    printf '%s %s\n' "$TC_SCHEDULER" "$TC_WEIGHT" | awk '{
        count = split($1, kind, ","); split($2, weight, ",")
        for (i = 1; i <= count; i++) if (kind[i] == "ets") print (i - 1) ":" weight[i] }' | words
}

pfc_words() {
    printf '%s\n' "$PFC" | awk -F, '{ for (i = 1; i <= NF; i++) print (i - 1) ":" ($i ? "on" : "off") }' | words
}

# WHAT HAVE WANTED: every wanted word is there.
includes() {
    for wanted in $3; do
        case " $2 " in
        *" $wanted "*) ;;
        *)
            same "$1" "$2" "$3"
            return 0
            ;;
        esac
    done
}

sorted() {
    tr ' ' '\n' | sort -n | words
}

dscp_words() {
    for pair in $DSCP_TO_PRIORITY; do
        [ "${pair#*,}" = "$(default_priority "${pair%,*}")" ] || echo "${pair%,*}:${pair#*,}"
    done | words
}

# WHAT OFFERED WANTED; 0 stands for all eight (IEEE 802.1Q, annex D).
offers() {
    [ "${2:-0}" -eq 0 ] || [ "$2" -ge "$3" ] || same "$1 of the firmware" "$2" "$3"
}

# The driver refuses what its firmware has no queues for (bnxt_dcb.c, bnxt_ets_validate and bnxt_hwrm_queue_pfc_cfg).
verify_offer() {
    offers 'number of traffic classes' "$(shown ets ets-cap)" \
        "$(printf '%s\n' "$PRIORITY_TO_TC" | awk -F, '{ for (i = 1; i <= NF; i++) if ($i >= n) n = $i + 1; print n }')"
    offers 'number of lossless classes' "$(shown pfc pfc-cap)" "$(printf '%s\n' "$PFC" | awk -F, '{ print gsub(1, 1) }')"
}

verify_dcb() {
    verify_offer
    includes 'priority to class' "$(shown ets prio-tc)" "$(numbered "$PRIORITY_TO_TC")"
    includes 'scheduling' "$(shown ets tc-tsa)" "$(numbered "$TC_SCHEDULER")"
    includes 'bandwidth' "$(shown ets tc-bw)" "$(shares)"
    includes 'PFC' "$(shown pfc prio-pfc)" "$(pfc_words)"
    same 'DSCP map' "$(shown app dscp-prio | sorted)" "$(dscp_words | sorted)"
}

# Classes that the plan does not use: where a port has all eight, Broadcom sets these as well (bnxt_setupcc.sh 233.2).
unused_classes() {
    printf '%s\n' "$TC_SCHEDULER" | awk -F, '{ for (i = NF; i < 8; i++) print i ":strict" }' | words
}

# shellcheck disable=SC2046,SC2086  # every word is an argument
configure_dcb() {
    lack=$(quiet='' && verify_offer)
    if [ -n "$lack" ]; then
        echo "${0##*/}: $lack: update it, or merge classes of the spec" >&2
        exit 5
    fi
    set -- tc-bw $(shares) prio-tc $(numbered "$PRIORITY_TO_TC")
    dcb ets set dev "$netdev" tc-tsa $(numbered "$TC_SCHEDULER") "$@" || {
        unused=$(unused_classes)
        [ -n "$unused" ] && dcb ets set dev "$netdev" tc-tsa $(numbered "$TC_SCHEDULER") $unused "$@"
    }
    dcb pfc set dev "$netdev" prio-pfc $(pfc_words) delay "$cable_m"
    dcb app flush dev "$netdev" dscp-prio
    [ -z "$(dscp_words)" ] || dcb app add dev "$netdev" dscp-prio $(dscp_words)
}

