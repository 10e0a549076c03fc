#!/bin/sh
# Writes a folder for `kubectl apply -k`: a kustomization on base, and what its secrets are made of, at random.
# It changes nothing that is there. Usage: sh deploy/kubernetes/make-overlay.sh FOLDER [HOST:PORT of Redis]
set -eu
[ $# -ge 1 ] || { echo "usage: sh deploy/kubernetes/make-overlay.sh FOLDER [HOST:PORT of Redis]" >&2; exit 2; }
redis=${2:-redis.redis.svc:6379}
mkdir -p "$1"
folder=$(cd "$1" && pwd -P)
base=$(cd "$(dirname "$0")/base" && pwd -P)
components=${base%/base}/components
# kustomize takes relative paths only.
up=
common=$folder
while [ "${base#"${common%/}"/}" = "$base" ]; do
  common=$(dirname "$common")
  up=../$up
done
hex() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
secret() { head -c 32 /dev/urandom | base64; }
write() {
  if [ -e "$folder/$1" ]; then echo "$folder/$1 is there already; it is left as it is." >&2; else cat > "$folder/$1.new" && mv "$folder/$1.new" "$folder/$1"; fi
}
umask 077
write secrets.env <<END
# The passwords of the users of deploy/redis/users.acl: give them to your Redis, or write yours here.
REDIS_URL_API=redis://sluice-api:$(hex)@$redis
REDIS_URL_WORKER=redis://sluice-worker:$(hex)@$redis
REDIS_URL_ADMIN=redis://sluice-admin:$(hex)@$redis
PAYLOAD_KEY=$(secret)
KEY_PEPPER=$(secret)
ADMIN_TOKEN=$(hex)
# With PostgreSQL: docs/archive.md.
#DATABASE_URL=
#DATABASE_OWNER_URL=
END
write providers.env <<END
# The variables of gateway.yaml with the providers' keys. Only workers are given them.
OPENAI_API_KEY=${OPENAI_API_KEY:-}
ANTHROPIC_API_KEY=${ANTHROPIC_API_KEY:-}
END
write keys.env <<END
# The variables of gateway.yaml with the workspaces' keys.
GATEWAY_KEY=$(hex)
END
write kustomization.yaml <<END
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: sluice
resources:
  - $up${base#"${common%/}"/} # or operators
# components:
#   - $up${components#"${common%/}"/}/ipv6
images:
  - { name: sluice, newName: registry.example/sluice }
secretGenerator:
  - { name: sluice-secrets, envs: [secrets.env] }
  - { name: sluice-providers, envs: [providers.env] }
  - { name: sluice-keys, envs: [keys.env] }
END
echo "Name your image in $folder/kustomization.yaml, and keep the .env files secret." >&2
