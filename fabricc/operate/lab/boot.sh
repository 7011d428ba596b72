#!/bin/sh
# Process 1 of a switch: its files in place, its daemons started as Debian's frr package starts them, then waiting.
set -u
box=$1
hostname "$(cat "$box/etc/hostname")"
root=
own() {
    # A folder of the machine as this box sees it: what is written stays in the box's memory.
    mkdir -p "$box/private/over$1" "$box/private/work$1" "$root$1"
    mount -t overlay overlay -o "lowerdir=$1,upperdir=$box/private/over$1,workdir=$box/private/work$1" "$root$1"
}
if [ -d "$box/root" ]; then
    # A switch that can be logged in to has a root file system of its own, and of the kernel's settings the network's.
    root=$box/private/root
    mount -t tmpfs -o size=64m tmpfs "$box/private"
    mkdir "$box/private/over" "$box/private/work" "$root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$box/private/over,workdir=$box/private/work" "$root"
    for place in /boot /etc /home /opt /root /srv /usr /var; do
        mountpoint -q "$place" && own "$place"
    done
    mount -t proc proc "$root/proc"
    mount --bind "$root/proc/sys" "$root/proc/sys"
    mount -o remount,bind,ro "$root/proc/sys"
    mount --bind /proc/sys/net "$root/proc/sys/net"
    mount --bind /sys "$root/sys"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
    mount -t tmpfs tmpfs "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    for device in null zero full random urandom tty; do
        : > "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    # Nothing that root's shell does on the machine happens at a login to the switch.
    mount -t tmpfs -o size=1m,mode=700 tmpfs "$root/root"
    sed -i "s/^root:[^:]*:/root:*:/" "$root/etc/shadow"
    cp -R "$box/root/." "$root/"
fi
# The folder of the box may itself lie below /run or /tmp, so these two are covered last.
mount --bind "$box/etc/frr" "$root/etc/frr"
mount --bind "$box/etc/hosts" "$root/etc/hosts"
mount --bind "$box/log" "$root/var/log"
mount --bind "$box/vartmp" "$root/var/tmp"
mount --bind "$box/tmp" "$root/tmp"
mount -t tmpfs -o size=16m tmpfs "$root/run"
if [ "$root" ]; then
    cd "$root" || exit 1
    mkdir -p run/old
    pivot_root . run/old
    umount -l /run/old
    rmdir /run/old
    cd / || exit 1
fi
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
if [ "$root" ]; then
    mkdir -p /run/sshd
    /usr/sbin/sshd -f /etc/fabricc-lab/sshd_config -E /var/log/sshd.log
fi
touch /run/lab/ready
while :; do
    sleep 1000000 &
    wait $!
done
