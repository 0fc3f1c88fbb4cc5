#!/bin/sh
# Installs the Debian packages that are its arguments, as root, without starting their daemons.
set -eu

# Debian starts a daemon as soon as it is installed, on port 80. Its own policy hook forbids that;
# one that the machine already has is left alone.
hook=/usr/sbin/policy-rc.d
if [ ! -e "$hook" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$hook"
    chmod 755 "$hook"
    trap 'rm -f "$hook"' EXIT
    trap 'exit 130' INT TERM
fi
export DEBIAN_FRONTEND=noninteractive
# Somebody else's apt-get may hold the lock for a while.
wait_for_lock='-oDPkg::Lock::Timeout=300'
apt-get "$wait_for_lock" update
apt-get "$wait_for_lock" install --yes --no-install-recommends "$@"
