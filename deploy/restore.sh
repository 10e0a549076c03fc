#!/bin/sh
# Brings a backup into empty volumes and starts the gateway. It needs the .env and the gateway.yaml of the time of the backup.
# Usage: sh deploy/restore.sh FOLDER [options of docker compose]
# COMPOSE names another command than `docker compose`; READY_SECONDS is how long PostgreSQL may take to start (300).
set -eu
folder=$(cd "${1:?usage: sh deploy/restore.sh FOLDER}" && pwd)
shift
cd "$(dirname "$0")/.."
compose="${COMPOSE:-docker compose} $*"

say() { echo "restore: $*"; }

# Unpacks stdin into a folder of a service's volume, unless there is something in it.
unpack() {
  $compose run --rm --no-deps -T --entrypoint sh "$1" -c \
    "[ -z \"\$(ls -A $2)\" ] || { echo '$2 of $1 is not empty; nothing was changed.' >&2; exit 1; }; tar -C $2 -xf -"
}

if [ -n "$($compose ps -q)" ]; then
  say 'The gateway runs. Stop it with docker compose down --volumes, which also deletes what it has.' >&2
  exit 1
fi
$compose build apply
for copy in "$folder"/redis*.tar; do
  unpack "$(basename "$copy" .tar)" /data < "$copy"
done
unpack admin /var/lib/sluice < "$folder/files.tar"
say 'Redis and the files of batches are back'
$compose up --detach postgres
left=${READY_SECONDS:-300}
until $compose exec -T postgres pg_isready --quiet --host=127.0.0.1 --username=sluice --dbname=sluice; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || { say 'PostgreSQL did not start' >&2; exit 1; }
  sleep 1
done
$compose exec -T postgres pg_restore --username=sluice_owner --dbname=sluice --exit-on-error < "$folder/postgres.dump"
say 'PostgreSQL is back'
$compose up --detach
say 'done'
