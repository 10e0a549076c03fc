#!/bin/sh
# Starts Redis with the users of users.acl, whose passwords come from the environment. The user for api processes without
# an admin listener is left out, because docker-compose.yml has none. Passwords are letters and digits.
set -eu
umask 077
users="${TMPDIR:-/tmp}/users.acl"
sed -e '/^user sluice-api /d' \
  -e "s/change-me-admin/${REDIS_ADMIN_PASSWORD:?}/" \
  -e "s/change-me-worker/${REDIS_WORKER_PASSWORD:?}/" \
  "$(dirname "$0")/users.acl" > "$users"
exec redis-server --aclfile "$users" "$@"
