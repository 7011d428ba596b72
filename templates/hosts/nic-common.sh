# WHAT HAVE WANTED
same() {
    [ "$2" != "$3" ] || return 0
    drift=1
    [ -n "$quiet" ] || echo "$netdev: $1 is ${2:-not set}, planned $3"
}

note() {
    [ -n "$quiet" ] || echo "${0##*/}: $netdev: $1" >&2
}

# Settings that nothing here shows.
not_seen() {
    unseen=1
    [ -n "$quiet" ] || echo "not looked at: $netdev: $1"
}

# All words of the standard input in one line.
words() {
    awk '{ for (i = 1; i <= NF; i++) line = line (line == "" ? "" : " ") $i } END { print line }'
}

# The last word of a file of sysfs, which may read `Global tclass=106`.
value_of() {
    value=$(cat "$1" 2>/dev/null) || value=
    case $value in
    *=*) value=${value##*=} ;;
    esac
    printf '%s\n' "$value"
}

