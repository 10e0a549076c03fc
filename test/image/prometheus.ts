/** Debian's Prometheus in the place of compose's: prometheus.yml as it is, on a read-only file system, as nobody. */
import { type ChildProcess, spawn } from 'node:child_process';
import { PROMETHEUS, programOf } from '../helpers/tools.js';

const CONFINE = `
set -e
mount -t tmpfs tmpfs /mnt && mkdir /mnt/prometheus
cp "$1/prometheus.yml" /mnt/ && cp "$1"/prometheus/*.yml /mnt/prometheus/ && echo "nameserver $2" > /mnt/resolv.conf
mount --bind /mnt/resolv.conf /etc/resolv.conf && mount -o remount,ro /mnt
mount -t tmpfs -o noexec,nosuid,nodev tmpfs /tmp && mount -o remount,ro,bind /
exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --no-new-privs "$0" \\
  --config.file=/mnt/prometheus.yml --storage.tsdb.path=/tmp/data --web.listen-address="$3" --log.level=warn`;

export interface Target {
  labels: { job: string; instance: string };
  health: string;
}

export class Prometheus {
  readonly child: ChildProcess;
  output = '';

  constructor(
    repository: string,
    nameServer: string,
    private readonly address: string,
  ) {
    const args = [programOf(PROMETHEUS), repository, nameServer, address];
    this.child = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', CONFINE, ...args]);
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.output += chunk.toString();
    });
  }

  /** None while it is not there yet. */
  async targets(): Promise<Target[]> {
    const response = await fetch(`http://${this.address}/api/v1/targets`).catch(() => undefined);
    if (!response?.ok) return [];
    return ((await response.json()) as { data: { activeTargets: Target[] } }).data.activeTargets;
  }
}
