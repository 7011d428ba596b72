# Starts the daemons of a switch as Debian's frr package does, then waits. It runs inside the box; see box.py.
set -uf
start() {
    # Words of the options are meant to split; they hold letters, digits and a few signs (frr/daemons.py).
    # shellcheck disable=SC2086
    "/usr/lib/frr/$1" -d --log "file:/var/log/$1.log" --log-level warnings $2 3<&- 2>> /var/log/start.log ||
        echo "$1 did not start"
}
{
    read -r files <&3
    ulimit -n "$files"
    while read -r daemon options <&3; do
        start "$daemon" "$options"
    done
    vtysh -f /etc/frr/overlay.conf
    vtysh -b
} 3< /etc/fabricc-lab/daemons > /var/log/boot.log 2>&1
if [ -e /etc/frr/lldp.conf ]; then
    lldpd -I '*,!eth0' -O /etc/frr/lldp.conf > /var/log/lldpd.log 2>&1
fi
if [ -e /etc/fabricc-lab/sshd_config ]; then
    /usr/sbin/sshd -f /etc/fabricc-lab/sshd_config -E /var/log/sshd.log
fi
touch /run/lab/ready
while :; do
    sleep 1000000 &
    wait $!
done
