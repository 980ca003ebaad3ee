#!/bin/sh
# Install what some tests drive satchel with: a browser, and the servers and clients of others (tests/peers). Without
# them those tests are skipped, with their reason. Debian's packages need the rights to install them.
set -eu
cd "$(dirname "$0")/.."

if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null
fi
cd tests/peers
npm install --no-package-lock --no-audit --no-fund --loglevel=error
