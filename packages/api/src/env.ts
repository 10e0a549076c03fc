import { choice, integer, port, secret, text, url } from '@sluice/shared/process/env';
import { databaseEnv, payloadEnv, pepperEnv, sharedEnv } from '@sluice/shared/process/shared-env';

export const apiEnv = {
  ...sharedEnv,
  ...payloadEnv,
  ...pepperEnv,
  ...databaseEnv,
  HOST: text({ default: '127.0.0.1', description: 'address of the public listener' }),
  PORT: port({ default: 8080, description: 'port of the public listener' }),
  ADMIN_HOST: text({ default: '127.0.0.1', description: 'address of the admin listener' }),
  ADMIN_HOSTS: text({
    description:
      'host names that the admin listener answers to besides localhost and IP addresses, with commas',
  }),
  ADMIN_PORT: port({ default: 8081, description: 'port of the admin listener' }),
  ADMIN_TOKEN: secret({
    minLength: 16,
    description:
      'its token, 16 characters or more; without it `npm start` makes one, and `npm run api` has no admin listener',
  }),
  SMTP_URL: url({
    protocols: ['smtps', 'smtp'],
    description:
      'server for mails of alerts, such as smtps://user:password@mail.example.com; smtp:// demands STARTTLS, unless it ends with ?tls=off',
  }),
  SMTP_FROM: text({ description: 'sender of these mails; needed with SMTP_URL' }),
  LOG_REQUESTS: choice(['all', 'errors'], {
    default: 'all',
    description: 'which requests have a line in the log: all, or those that were not served',
  }),
  FILES_FOLDER: text({
    default: '.sluice/files',
    description:
      'folder of the files of batches, encrypted with PAYLOAD_KEY; a shared volume for several machines',
  }),
  FILES_BUCKET: url({
    protocols: ['s3'],
    description:
      'bucket in place of the folder, such as s3://bucket/prefix; credentials and region come from the variables of AWS',
  }),
  FILES_ENDPOINT: url({
    protocols: ['http', 'https'],
    description: 'S3-compatible server that has the bucket; without it AWS',
  }),
  DRAIN_DELAY_MS: integer({
    default: 1_000,
    min: 0,
    max: 600_000,
    description:
      'how long an api process takes new connections after SIGTERM, so that balancers first see /readyz fail',
  }),
  DRAIN_MS: integer({
    default: 310_000,
    min: 0,
    max: 3_600_000,
    description: 'how long accepted requests may take to be answered after SIGTERM',
  }),
};
