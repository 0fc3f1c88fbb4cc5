#!/bin/sh
# Installs, as root, the Debian packages given as arguments, without starting their daemons.
set -eu

# Debian starts a daemon as soon as it is installed, and web servers then listen on port 80.
# Debian's policy hook prevents that; if the machine already has such a hook, it is left unchanged.
hook=/usr/sbin/policy-rc.d
if [ ! -e "$hook" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$hook"
    chmod 755 "$hook"
    trap 'rm -f "$hook"' EXIT
    trap 'exit 130' INT TERM
fi
export DEBIAN_FRONTEND=noninteractive
# Another apt-get may hold the lock for a while.
wait_for_lock='-oDPkg::Lock::Timeout=300'
apt-get "$wait_for_lock" update
apt-get "$wait_for_lock" install --yes --no-install-recommends "$@"
