import { GatewayError } from '../errors.js';

/**
 * The workspace has left this shard, or is leaving it. Nothing was begun for the request. The api serves it again where the
 * workspace is then (api: http/by-shard.ts), so few callers see this.
 */
export class WorkspaceMoved extends GatewayError {
  constructor() {
    super('service_unavailable', 'The workspace is moving to another shard of the gateway.', {
      retryAfterMs: 1_000,
    });
  }
}
