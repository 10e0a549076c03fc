#!/bin/sh
# Starts Alertmanager, which sends the alerts of Prometheus where the environment says: to ALERTS_WEBHOOK_URL, and by mail to
# ALERTS_MAIL_TO through SMTP_URL, the server of Sluice's own alerts. Without either they are shown on its page only.
set -eu
umask 077
config="${TMPDIR:-/tmp}/alertmanager.yml"

quoted() { printf "'%s'" "$(printf %s "$1" | sed "s/'/''/g")"; }

# Of a user or password in an address: %40 is @.
decoded() {
  left=$1
  while [ "${left#*%}" != "$left" ]; do
    rest=${left#*%}
    printf %s "${left%%\%*}"
    printf "\\$(printf %03o "0x$(printf %.2s "$rest")")"
    left=${rest#??}
  done
  printf %s "$left"
}

webhook() {
  printf '    webhook_configs:\n      - url: %s\n' "$(quoted "$ALERTS_WEBHOOK_URL")"
}

mail() {
  : "${SMTP_URL:?ALERTS_MAIL_TO needs SMTP_URL}" "${SMTP_FROM:?ALERTS_MAIL_TO needs SMTP_FROM}"
  place=${SMTP_URL#*://}
  host=${place##*@}
  host=${host%%[/?]*}
  case $host in
    *:[0-9]*) ;;
    *) case $SMTP_URL in smtps:*) host=$host:465 ;; *) host=$host:587 ;; esac ;;
  esac
  printf '    email_configs:\n      - to: %s\n        from: %s\n        smarthost: %s\n' \
    "$(quoted "$ALERTS_MAIL_TO")" "$(quoted "$SMTP_FROM")" "$(quoted "$host")"
  printf '        send_resolved: true\n'
  case $SMTP_URL in *[?\&]tls=off*) printf '        require_tls: false\n' ;; esac
  case $place in
    *@*)
      user=${place%@*}
      printf '        auth_username: %s\n        auth_password: %s\n' \
        "$(quoted "$(decoded "${user%%:*}")")" "$(quoted "$(decoded "${user#*:}")")"
      ;;
  esac
}

{
  echo 'route: { receiver: people, group_by: [alertname], group_wait: 10s, group_interval: 1m, repeat_interval: 4h }'
  echo 'receivers:'
  echo '  - name: people'
  [ -z "${ALERTS_WEBHOOK_URL:-}" ] || webhook
  [ -z "${ALERTS_MAIL_TO:-}" ] || mail
} > "$config"
exec alertmanager --config.file="$config" "$@"
