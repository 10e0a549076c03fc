#!/bin/sh
# Writes .env for docker compose, with every secret made at random. It leaves a .env that is already there alone.
# Usage: sh deploy/make-env.sh [FILE]
set -eu
cd "$(dirname "$0")/.."
file=${1:-.env}
if [ -e "$file" ]; then
  echo "$file is there already; nothing was changed." >&2
  exit 0
fi
hex() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
umask 077
# A file that is only half written is never taken for a whole one.
trap 'rm -f "$file.new"' EXIT
while IFS= read -r line; do
  case $line in
    PAYLOAD_KEY= | KEY_PEPPER=) echo "$line$(head -c 32 /dev/urandom | base64)" ;;
    REDIS_*_PASSWORD= | POSTGRES_*PASSWORD= | ADMIN_TOKEN= | GATEWAY_KEY=) echo "$line$(hex)" ;;
    *) echo "$line" ;;
  esac
done < .env.example > "$file.new"
mv "$file.new" "$file"
echo "$file is written. GATEWAY_KEY in it is the key of workspace demo; ADMIN_TOKEN opens the console." >&2
