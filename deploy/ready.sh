#!/bin/bash
# The image's health check: asks a listener of this container for a path, and fails unless the answer is 200. It is all
# built into bash, because starting Node every few seconds would cost some percent of a core.
# Usage: ready PORT PATH
exec 3<> "/dev/tcp/127.0.0.1/$1" || exit 1
printf 'GET %s HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n' "$2" >&3
read -r -t 3 _ status _ <&3
[ "$status" = 200 ]
