host_name() {
    sed -n 's/^# Adapters of \(.*\)\.$/\1/p' "$NIC_SCRIPT"
}

cards() {
    sed -n 's/^\([A-Za-z0-9_.:@-]*\)) port=.*/\1/p' "$NIC_SCRIPT"
}

# A device that this run named is missing until the next boot.
missing_card() {
    if [ -e "$scratch/names" ]; then
        later "there is no device $1 until the next boot, which names it"
    else
        differs "there is no InfiniBand device $1 (its name takes a reboot)"
    fi
}

