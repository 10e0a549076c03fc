import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { stir } from './until.js';

export interface ReceivedMail {
  to: string[];
  /** As it came, with its head. */
  text: string;
  overTls: boolean;
  user: string | undefined;
}

export interface MailServerOptions {
  /** It offers no STARTTLS. */
  plain?: boolean;
}

/** A real SMTP server that keeps what it gets. It takes one user with one password, and only one that has logged in. */
export class MailServer {
  readonly mails: ReceivedMail[] = [];
  static readonly LOGIN = { user: 'sluice', password: 'correct-horse' };

  private constructor(
    private readonly server: SMTPServer,
    private readonly folder: string,
    /** The file with its certificate, for whoever trusts it. */
    readonly certificate: string,
  ) {}

  static async start({ plain = false }: MailServerOptions = {}): Promise<MailServer> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-mail-'));
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, '-days', '2'];
    const named = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    execFileSync('openssl', ['req', '-x509', ...made, ...named], { stdio: 'pipe' });
    const server = new SMTPServer({
      key: readFileSync(key),
      cert: readFileSync(certificate),
      ...(plain ? { disabledCommands: ['STARTTLS'] } : {}),
      allowInsecureAuth: plain,
      disableReverseLookup: true,
      onAuth({ username, password }, _session, done) {
        const isRight = username === MailServer.LOGIN.user && password === MailServer.LOGIN.password;
        done(isRight ? null : new Error('no'), { user: username });
      },
      onRcptTo({ address }, _session, done) {
        done(address.startsWith('nobody@') ? new Error('no such mailbox') : null);
      },
      onData(stream, session, done) {
        text(stream).then((mail) => {
          const to = session.envelope.rcptTo.map(({ address }) => address);
          const overTls = session.secure;
          started.mails.push({ to, text: mail, overTls, user: session.user as string | undefined });
          stir();
          done();
        });
      },
    });
    server.listen(0, '127.0.0.1');
    await once(server.server, 'listening');
    const started = new MailServer(server, folder, certificate);
    return started;
  }

  url({ user, password }: { user: string; password: string } = MailServer.LOGIN): string {
    const { port } = this.server.server.address() as AddressInfo;
    return `smtp://${user}:${password}@localhost:${port}`;
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
