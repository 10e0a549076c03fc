#!/bin/sh
# Run by the image when it makes the database: the role of the gateway's processes. The owner of the tables is another one,
# and grants it what it needs: adding rows and reading them.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$SLUICE_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE sluice LOGIN PASSWORD :'password';
SQL
