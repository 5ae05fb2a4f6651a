/** Sends messages through a mail server by SMTP (RFC 5321), over a few connections that are kept. */
import type { Mail, Mailer } from '@freehold/auth';
import { createTransport } from 'nodemailer';
import { MailError } from './errors.ts';
import { parseSender, requireSound } from './message.ts';
import { parseSmtpUrl, type SmtpServer } from './smtp-url.ts';

/** The caller waits for the message, so that a server gets seconds and not minutes. */
const CONNECT_MS = 10_000;
const IDLE_MS = 20_000;
const CONNECTIONS_MAX = 3;
/** A connection that broke under a message is made anew once; after that the caller decides. */
const REQUEUES_MAX = 1;

export interface SmtpMailerOptions {
  /**
   * `smtp://user:password@host:587` (STARTTLS, which must succeed) or `smtps://…:465`. A server on this machine is
   * reached without TLS. `?tls=required` and `?tls=off` say otherwise.
   */
  readonly url: string;
  /** `robot@example.org`, or `Acme Trades <robot@example.org>`. */
  readonly from: string;
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string;
}

export interface SmtpMailer extends Mailer {
  /** Lets what is being sent end, and closes the connections. */
  close(): void;
}

/**
 * Makes a mailer. Nothing is connected to before the first message. `send` rejects with a {@link MailError}.
 * @throws MailError `settings_invalid` for an address of a server, or a sender, that cannot be used.
 */
export function makeSmtpMailer({ url, from, ca }: SmtpMailerOptions): SmtpMailer {
  const server = parseSmtpUrl(url);
  const sender = parseSender(from);
  const transport = createTransport({
    pool: true,
    host: server.host,
    port: server.port,
    secure: server.protection === 'implicit',
    requireTLS: server.protection === 'required',
    ignoreTLS: server.protection === 'off',
    tls: { minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) },
    ...(server.credentials === null
      ? {}
      : { auth: { user: server.credentials.user, pass: server.credentials.password } }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    socketTimeout: IDLE_MS,
    maxConnections: CONNECTIONS_MAX,
    maxRequeues: REQUEUES_MAX,
    // A message is text that was handed in. Nothing in it is ever fetched or read from a disk.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  // An idle connection that breaks fails no message: the next one makes a new connection.
  transport.on('error', () => undefined);

  return {
    send: async (mail) => {
      requireSound(mail);
      try {
        await transport.sendMail({
          // The envelope is given apart, so that no header decides where a message goes.
          envelope: { from: sender.address, to: [mail.to] },
          from: sender,
          to: { name: '', address: mail.to },
          subject: mail.subject,
          ...bodyOf(mail),
          // Asks for no out-of-office replies: a robot cannot read them (RFC 3834, section 5).
          headers: { 'auto-submitted': 'auto-generated' },
        });
      } catch (cause) {
        throw toMailError(cause, server);
      }
    },
    close: () => transport.close(),
  };
}

function bodyOf({ text, html }: Mail): { readonly text: string; readonly html?: string } {
  return html === undefined ? { text } : { text, html };
}

/** Translates a failure of the library for the operator. The server's own text stays in the cause. */
function toMailError(cause: unknown, { host, port }: SmtpServer): MailError {
  const { code, responseCode } = cause as { readonly code?: string; readonly responseCode?: number };
  const at = `The mail server at ${host}:${port}`;
  switch (true) {
    case code === 'EAUTH' || code === 'ENOAUTH':
      return new MailError('sign_in_refused', `${at} does not take the user and password it was given.`, {
        cause,
        // A server that cannot look the user up at the moment says so with 454 (RFC 4954, section 6).
        retryable: responseCode !== undefined && responseCode < 500,
      });
    case code === 'ETLS' || isCertificateFault(cause):
      return new MailError(
        'not_secure',
        `${at} offers no TLS that can be trusted, so nothing was sent to it.`,
        { cause },
      );
    case responseCode !== undefined && responseCode >= 400: {
      const retryable = responseCode < 500;
      const when = retryable ? 'does not take messages at the moment' : 'refused the message';
      return new MailError('refused', `${at} ${when} (${responseCode}).`, { cause, retryable });
    }
    default:
      return new MailError('unreachable', `${at} cannot be reached.`, { cause, retryable: true });
  }
}

/** A certificate is judged while the socket connects, so that its fault arrives as one of the socket's. */
function isCertificateFault(cause: unknown): boolean {
  const chain = [cause, (cause as { readonly cause?: unknown }).cause];
  return chain.some(
    (error) => error instanceof Error && /certificate|altname|self-signed|CERT_/i.test(error.message),
  );
}
