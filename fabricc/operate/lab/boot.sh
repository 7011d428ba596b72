#!/bin/sh
# Process 1 of a switch: its files in place, its daemons started as Debian's frr package starts them, then waiting.
set -u
box=$1
hostname "$(cat "$box/etc/hostname")"
# The folder of the box may itself lie below /run or /tmp, so these two are covered last.
mount --bind "$box/etc/frr" /etc/frr
mount --bind "$box/etc/hosts" /etc/hosts
mount --bind "$box/log" /var/log
mount --bind "$box/vartmp" /var/tmp
mount --bind "$box/tmp" /tmp
mount -t tmpfs -o size=16m tmpfs /run
mkdir -p /run/frr /run/lab
chown frr:frr /run/frr

# The file of the daemons is shell, as frrinit.sh reads it.
. /etc/frr/daemons
ulimit -n "${MAX_FDS:-1024}"
start() {
    # Words of the options are meant to split.
    # shellcheck disable=SC2086
    "/usr/lib/frr/$1" -d --log "file:/var/log/$1.log" --log-level warnings $2 2>> /var/log/start.log ||
        echo "$1 did not start"
}
{
    start zebra "${zebra_options:-}"
    start staticd "${staticd_options:-}"
    [ "${bfdd:-no}" = yes ] && start bfdd "${bfdd_options:-}"
    [ "${bgpd:-no}" = yes ] && start bgpd "${bgpd_options:-}"
    vtysh -f /etc/frr/overlay.conf
    vtysh -b
} > /var/log/boot.log 2>&1
if [ -e /etc/frr/lldp.conf ]; then
    # Its socket and the folder of its unprivileged half lie in this box's own /run.
    mkdir -p /run/lldpd
    chown _lldpd:_lldpd /run/lldpd
    lldpd -I '*,!eth0' -O /etc/frr/lldp.conf > /var/log/lldpd.log 2>&1
fi
touch /run/lab/ready
while :; do
    sleep 1000000 &
    wait $!
done
