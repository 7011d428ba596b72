#!/bin/sh
# The root file system of a box: the machine's programs, read-only, and everything else in the box's own memory.
set -eu
box=$1
root=$box/root
mount -t tmpfs -o size=64m,mode=755,nosuid,nodev tmpfs "$root"
mkdir -p "$root/usr" "$root/etc/frr" "$root/home" "$root/opt" "$root/srv" "$root/proc" "$root/sys" "$root/dev" \
    "$root/run/frr" "$root/run/lab" "$root/run/lldpd" "$root/run/sshd" "$root/var/log" "$root/var/lib" \
    "$root/var/empty" "$root/var/cache" "$root/var/spool"
mkdir -m 700 "$root/root"
mkdir -m 1777 "$root/tmp" "$root/var/tmp"
ln -s ../run "$root/var/run"

read_only() {
    # A part of the machine as the box sees it.
    mount --bind "$1" "$root$1"
    mount -o remount,bind,ro,nosuid,nodev "$root$1"
}
# Links such as /lib64 become mounts, because a box could replace a link, and so the loader of the lab's own commands.
read_only /usr
for place in /bin /sbin /lib /lib32 /lib64 /libx32; do
    if [ -d "$place" ]; then
        mkdir "$root$place"
        read_only "$place"
    fi
done

# Of the machine's /etc what programs need to start; no keys, no passwords, no configuration of other services.
cd /etc
for name in alternatives bash.bashrc debian_version group host.conf inputrc iproute2 ld.so.cache ld.so.conf \
    ld.so.conf.d localtime networks nsswitch.conf os-release pam.conf pam.d passwd profile protocols python3* security services shells \
    ssl/openssl.cnf ssh/moduli terminfo timezone; do
    if [ -e "$name" ]; then
        cp -a --parents "$name" "$root/etc/"
    fi
done
chown frr:frr "$root/etc/frr" "$root/run/frr"
chmod 750 "$root/etc/frr"
[ "$(id -u _lldpd 2> /dev/null)" ] && chown _lldpd:_lldpd "$root/run/lldpd"
printf 'root:*:19000:0:99999:7:::\n' > "$root/etc/shadow"
chmod 600 "$root/etc/shadow"
cp -a "$box/files/." "$root/"

# No library of a box's own is loaded into the programs that the lab starts in it. /etc is a mount, which the box cannot
# rename.
mount --bind "$root/etc" "$root/etc"
: > "$root/etc/ld.so.preload"
for name in ld.so.preload ld.so.cache; do
    mount --bind "$root/etc/$name" "$root/etc/$name"
    mount -o remount,bind,ro,nosuid,nodev "$root/etc/$name"
done

# Of the kernel's settings a box can change the network's, which are its own.
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,bind,ro,nosuid,nodev,noexec "$root/proc"
mount --bind /sys "$root/sys"
mount -o remount,bind,ro,nosuid,nodev,noexec "$root/sys"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
chmod 1777 "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for device in null zero full random urandom tty; do
    : > "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done

# VRFs are network namespaces of the lab's own.
if [ -s "$box/vrfs" ]; then
    mkdir "$root/run/netns"
    while read -r vrf namespace; do
        : > "$root/run/netns/$vrf"
        mount --bind "/run/netns/$namespace" "$root/run/netns/$vrf"
    done < "$box/vrfs"
fi

mkdir "$root/run/old"
cd "$root"
pivot_root . run/old
umount -l /run/old
rmdir /run/old
