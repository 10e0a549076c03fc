/** Sends one mail through the SMTP server of the environment, always over TLS unless its address says otherwise. */
import type { SendOutcome } from '@sluice/api/webhooks/send-message';
import { loadLater } from '@sluice/shared/process/load-later';
import type * as nodemailer from 'nodemailer';

export interface Smtp {
  /** `smtps://user:password@host`, or `smtp://` with STARTTLS; `?tls=off` for a server of the same machine. */
  url: string;
  from: string;
}

export interface Mail {
  /** Makes the Message-ID, so that a mail that comes twice is known as one. */
  id: string;
  to: readonly string[];
  subject: string;
  text: string;
}

const loadNodemailer = loadLater<typeof nodemailer>('nodemailer', import.meta.url);
const TIMEOUT_MS = 20_000;

const WORDS: Readonly<Record<string, string>> = {
  EAUTH: 'login_refused',
  ENOAUTH: 'login_refused',
  EDNS: 'unknown_host',
  ENOTFOUND: 'unknown_host',
  ETIMEDOUT: 'timeout',
  ETLS: 'no_tls',
};

export type SendMail = (mail: Mail) => Promise<SendOutcome>;

export function createSendMail({ url, from }: Smtp): SendMail {
  const { protocol, hostname, port, username, password, searchParams } = new URL(url);
  const secure = protocol === 'smtps:';
  const plain = searchParams.get('tls') === 'off';
  const domain = from.slice(from.lastIndexOf('@') + 1).replace(/\W+$/, '');
  return async ({ id, to, subject, text }) => {
    const transport = loadNodemailer().createTransport({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (secure ? 465 : 587),
      secure,
      requireTLS: !secure && !plain,
      ignoreTLS: !secure && plain,
      ...(username === ''
        ? {}
        : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    try {
      const sent = await transport.sendMail({
        ...{ from, to: [...to], subject, text },
        messageId: `<${id}@${domain}>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
      });
      const status = /^\d{3}/.exec(sent.response)?.[0] ?? '250';
      const refused = sent.rejected.length;
      const outcome = refused === 0 ? status : `${status}, ${refused} of ${to.length} addresses refused`;
      return { as: 'delivered', outcome };
    } catch (error) {
      return { as: 'failed', outcome: wordFor(error) };
    } finally {
      transport.close();
    }
  };
}

/** Never what the server said: it may quote what it was told. */
function wordFor(error: unknown): string {
  if (!(error instanceof Error)) return 'unreachable';
  const code = 'code' in error ? String(error.code) : '';
  if (/CERT|SELF_SIGNED|TLS_/.test(code) || /certificate/i.test(error.message)) return 'certificate';
  const word = WORDS[code];
  if (word !== undefined) return word;
  return 'responseCode' in error && error.responseCode ? String(error.responseCode) : 'unreachable';
}
