# Writes a copy of Redis' append-only file to stdout, as a tar, while Redis runs. It needs no user of Redis. With it goes what a
# node of a Cluster knows of the others.
# Usage: docker compose exec -T redis sh < deploy/redis/copy-file.sh > redis.tar
set -eu
cd "${REDIS_DATA:-/data}"
copy=copy.$$
trap 'rm -rf "$copy"' EXIT
for _ in 1 2 3 4 5; do
  rm -rf "$copy" && mkdir "$copy"
  before=$(cat appendonlydir/*.manifest)
  # A rewrite changes which files there are, and then the copy may lack one. An end that is cut off does no harm.
  if cp -a appendonlydir "$copy/" && [ "$before" = "$(cat appendonlydir/*.manifest)" ]; then
    [ ! -e nodes.conf ] || cp -a nodes.conf "$copy/"
    tar -C "$copy" -cf - $(ls "$copy")
    exit 0
  fi
  sleep 2
done
echo 'Redis kept rewriting its file; nothing was copied.' >&2
exit 1
