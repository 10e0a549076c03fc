import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { until } from '../helpers/until.js';

interface Alert {
  status: string;
  labels: { alertname: string };
}

/** Where Alertmanager sends to: a listener of this process, which containers reach by the host's address. */
export class AlertReceiver {
  readonly #server = createServer(async (req, res) => {
    const { alerts } = (await json(req)) as { alerts: Alert[] };
    for (const { status, labels } of alerts) this.#told.push(`${labels.alertname} ${status}`);
    res.end();
  });
  readonly #told: string[] = [];

  async listen(port: number): Promise<void> {
    await once(this.#server.listen(port, '0.0.0.0'), 'listening');
  }

  /** `NoWorkers firing`. */
  async hears(what: string): Promise<void> {
    await until(what, () => this.#told.includes(what));
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
