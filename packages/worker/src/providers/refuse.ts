import { GatewayError } from '@sluice/shared/errors';

export function refuse(param: string, message: string): never {
  throw new GatewayError('invalid_request', message, { param });
}
