#!/bin/sh
# Copies what cannot be made again into a new folder, while the gateway runs: Redis, the files of batches, PostgreSQL.
# Usage: sh deploy/backup.sh FOLDER [options of docker compose]
# COMPOSE names another command than `docker compose`. docs/production.md says what a restore brings back.
set -eu
folder=${1:?usage: sh deploy/backup.sh FOLDER}
shift
umask 077
mkdir "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/.."
compose="${COMPOSE:-docker compose} $*"

say() { echo "backup: $*"; }

# Redis is first: what it names is then in the files, and what it has dropped from its log is then in PostgreSQL.
# Of a Cluster every node is copied.
for node in $($compose config --services | grep '^redis'); do
  $compose exec -T "$node" sh < deploy/redis/copy-file.sh > "$folder/$node.tar"
  say "$node: $(wc -c < "$folder/$node.tar") bytes"
done
# The status 1 of tar says that a file went or came meanwhile; no file ever changes.
$compose exec -T admin sh -c 'tar -C /var/lib/sluice --exclude="*.part" -cf - . || [ $? -eq 1 ]' > "$folder/files.tar"
say "files of batches: $(wc -c < "$folder/files.tar") bytes"
$compose exec -T postgres pg_dump --username=sluice_owner --format=custom sluice > "$folder/postgres.dump"
say "PostgreSQL: $(wc -c < "$folder/postgres.dump") bytes"
say "done: $folder. Keep .env and gateway.yaml too, in another place: without PAYLOAD_KEY nobody reads what waits in Redis and
the files, and without KEY_PEPPER no key of a workspace is known."
