#!/bin/sh
# Makes a Cluster of masters, unless there is one. REDIS_CLUSTER_PASSWORD is of the user that start.sh makes for this.
# Usage: sh make-cluster.sh ADDRESS:PORT ADDRESS:PORT ADDRESS:PORT
set -eu
export REDISCLI_AUTH="${REDIS_CLUSTER_PASSWORD:?}"
ask() { redis-cli --user sluice-cluster -h "${1%:*}" -p "${1##*:}" "$2" "$3"; }

# A node that has met others knows them from its file, and finds them by itself.
if ! ask "$1" cluster info | grep -q '^cluster_known_nodes:1.$'; then
  echo 'These nodes are a Cluster already.'
  exit 0
fi
redis-cli --user sluice-cluster --cluster create "$@" --cluster-yes
for node in "$@"; do
  until ask "$node" cluster info | grep -q '^cluster_state:ok'; do sleep 1; done
done
