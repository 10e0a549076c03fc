#!/bin/sh
# Prints the headers, which say who served it, and the answer.
set -eu
curl --fail --silent --show-error --include "$GATEWAY_URL/chat/completions" \
  -H "authorization: Bearer $GATEWAY_KEY" \
  -H 'content-type: application/json' \
  -d '{"model": "fast", "messages": [{"role": "user", "content": "Say hello."}]}'
