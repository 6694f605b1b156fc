#!/bin/sh
# Install what the tests need besides Python packages: a Chromium and bubblewrap. Where it cannot, it says so and
# goes on: the tests that need a missing tool say which.
# Usage: install_tools.sh PLAYWRIGHT
missing=""
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
command -v bwrap >/dev/null 2>&1 || missing="$missing bubblewrap"
[ -n "$missing" ] || exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # a list of words
    { apt-get -qq update && apt-get -qq install -y --no-install-recommends $missing; } >/dev/null 2>&1 && exit 0
fi
case "$missing" in
    *chromium*) "$1" install chromium >/dev/null 2>&1 || echo "no Chromium: install the package chromium" >&2 ;;
esac
case "$missing" in
    *bubblewrap*) echo "no sandbox: install the package bubblewrap" >&2 ;;
esac
exit 0
