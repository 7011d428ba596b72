# This fabric has no IP: there are no addresses to look at.
expected() {
    :
}

rebuild_initramfs() {
    if command -v update-initramfs >/dev/null; then update-initramfs -u; else dracut -f; fi
}

install_network() {
    :
}

activate_network() {
    rm -f "$STATE_FOLDER/open/network"
}

