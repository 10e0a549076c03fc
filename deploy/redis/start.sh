#!/bin/sh
# Starts Redis with the users of users.acl, whose passwords come from the environment, and the name of the cell, too
# (SLUICE_CELL). Passwords are letters and digits. With SLUICE_SHARDS above 1 the users have the same rights in every shard.
# With REDIS_CLUSTER_PASSWORD there is one more, which makes a Cluster of nodes (make-cluster.sh) and reads no key.
# The default user is off and has every right all the same: Redis reads its append-only file as that user, and drops the
# transactions in it that the user may not make. With a plain `user default off` a restart loses nearly everything.
set -eu
umask 077
case "${REDIS_API_PASSWORD:?}${REDIS_ADMIN_PASSWORD:?}${REDIS_WORKER_PASSWORD:?}${REDIS_CLUSTER_PASSWORD:-}" in *[!A-Za-z0-9]*)
  echo 'start.sh: a password of Redis may have letters and digits only' >&2
  exit 1 ;;
esac
case ${SLUICE_SHARDS:-1} in *[!0-9]*)
  echo 'start.sh: SLUICE_SHARDS is a number' >&2
  exit 1 ;;
esac
users="${TMPDIR:-/tmp}/users.acl"
shards=''
if [ "${SLUICE_SHARDS:-1}" -gt 1 ]; then shards='s/ \(%R\)\{0,1\}~{sluice}:\([^ ]*\)/& \1~{sluice\/*}:\2/g'; fi
sed -e "$shards" \
  -e "s/change-me-api/${REDIS_API_PASSWORD:?}/" \
  -e "s/change-me-admin/${REDIS_ADMIN_PASSWORD:?}/" \
  -e "s/change-me-worker/${REDIS_WORKER_PASSWORD:?}/" \
  -e "s/{sluice\([}\/]\)/{${SLUICE_CELL:-sluice}\1/g" \
  "$(dirname "$0")/users.acl" > "$users"
if [ -n "${REDIS_CLUSTER_PASSWORD:-}" ]; then
  echo "user sluice-cluster on >$REDIS_CLUSTER_PASSWORD resetkeys resetchannels -@all +auth +hello +ping +info +cluster" >> "$users"
fi
exec redis-server --aclfile "$users" "$@"
