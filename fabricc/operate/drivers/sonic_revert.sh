#!/bin/sh
# Restores what ran before a commit on SONiC: at once, or when the deadline passes and nobody confirmed.
#   sonic_revert.sh FOLDER now|wait TOKEN
# sonic_frr.py lies beside it.
set -u
cd "$1" || exit 1
token=$3
ours() { [ "$(cat pending 2>/dev/null)" = "$token" ]; }
if [ "$2" = wait ]; then
    while ours && [ "$(date +%s)" -lt "$(cat deadline)" ]; do sleep 1; done
    # Whoever moves the file decides: this process, or a confirmation.
    mv pending claimed 2> /dev/null || exit 0
    echo "not confirmed in time" > why
fi
echo reverting > phase
failed=
config rollback "$(cat checkpoint)" > rollback.log 2>&1 || failed="$(tail -n 1 rollback.log)"
if [ -e backup-frr.conf ]; then
    cp backup-frr.conf /etc/sonic/frr/frr.conf
    python3 ./sonic_frr.py /etc/frr/frr.conf > frr.log 2>&1 ||
        failed="$failed FRR: $(tail -n 1 frr.log)"
fi
rm -f pending claimed
if [ -z "$failed" ]; then echo reverted > phase; else
    echo failed > phase
    echo "$failed" >> why
    exit 1
fi
