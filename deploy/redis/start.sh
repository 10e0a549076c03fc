#!/bin/sh
# Starts Redis with the users of users.acl, whose passwords come from the environment. Passwords are letters and digits.
set -eu
umask 077
users="${TMPDIR:-/tmp}/users.acl"
sed -e "s/change-me-api/${REDIS_API_PASSWORD:?}/" \
  -e "s/change-me-admin/${REDIS_ADMIN_PASSWORD:?}/" \
  -e "s/change-me-worker/${REDIS_WORKER_PASSWORD:?}/" \
  "$(dirname "$0")/users.acl" > "$users"
exec redis-server --aclfile "$users" "$@"
