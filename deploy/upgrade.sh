#!/bin/sh
# Builds the image of this checkout and replaces the running containers one service after the other, without a failed call:
# new containers come up beside the old ones, and then the old ones drain and go. When a new one does not get ready, the
# new ones are taken away again and the old ones go on.
# Usage: sh deploy/upgrade.sh [options of docker compose, such as -f docker-compose.yml -f deploy/compose/tls.yml]
# With the checkout of the version before it is a rollback: it then waits until the newer workers have done what only they
# understand, for WAIT_SECONDS at most (330). With 0 it does not wait, and the workers that are left do not run those requests.
# COMPOSE names another command than `docker compose`; READY_SECONDS is how long a new container may take (120).
set -eu
cd "$(dirname "$0")/.."
compose="${COMPOSE:-docker compose} $*"

say() { echo "upgrade: $*"; }

# Fails when a container is not ready in time. It asks by itself, because Docker does so seldom.
wait_until_ready() {
  left=${READY_SECONDS:-120}
  for id in "$@"; do
    until docker exec "$id" ready 9464 /readyz 2> /dev/null; do
      left=$((left - 1))
      [ "$left" -gt 0 ] || return 1
      sleep 1
    done
  done
}

# `docker compose run` starts the image of this checkout.
wait_until_understood() {
  [ "${WAIT_SECONDS:-330}" = 0 ] ||
    $compose run --rm --no-deps apply node packages/cli/dist/apply/wait-for-newer-jobs.js "${WAIT_SECONDS:-330}"
}

# They may have begun something.
take_away() {
  docker stop --time 360 "$@" > /dev/null
  docker rm --force "$@" > /dev/null
  say 'The old containers go on; nothing else was replaced.'
  exit 1
}

replace() {
  service=$1
  old=$($compose ps -q "$service")
  [ -n "$old" ] || { say "$service: none runs, so there is nothing to replace. Run: $compose up --detach"; exit 1; }
  count=$(echo "$old" | wc -l)
  say "$service: starting $count beside the $count that run"
  $compose up --detach --no-deps --no-recreate --scale "$service=$((2 * count))" "$service"
  new=$($compose ps -q "$service" | grep -vF "$old")
  if ! wait_until_ready $new; then
    say "$service: a new container did not get ready. Its log ends with:"
    docker logs --tail 20 "$(echo "$new" | head -n 1)" >&2
    take_away $new
  fi
  if [ "$service" = worker ] && ! wait_until_understood; then
    say 'Requests are left that only the old workers understand, or Redis could not be asked.'
    say 'Run this again when there is less to do, or with a larger WAIT_SECONDS.'
    take_away $new
  fi
  say "$service: draining the old ones"
  docker stop --time 360 $old > /dev/null
  docker rm $old > /dev/null
}

$compose build apply
$compose run --rm --no-deps apply
replace worker
replace api
# The console is away for some seconds; callers do not use it.
$compose up --detach --no-deps admin
# This changes nothing unless their files did.
$compose up --detach --no-recreate
say 'done'
