/** The address of a mail server as an operator writes it: `smtp://user:password@mail.example.org:587`. */
import { isIP } from 'node:net';
import { MailError } from './errors.ts';

/**
 * The protection of a connection.
 * - `implicit`: TLS from the first byte (`smtps://`, RFC 8314).
 * - `required`: STARTTLS, and nothing is sent without it. What `smtp://` means to every other machine.
 * - `off`: none. What `smtp://` means to this machine, and `?tls=off` to another.
 */
export type Protection = 'implicit' | 'required' | 'off';

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  readonly protection: Protection;
  readonly credentials: { readonly user: string; readonly password: string } | null;
}

/** @throws MailError `settings_invalid` with one sentence, which never repeats the password. */
export function parseSmtpUrl(text: string): SmtpServer {
  const url = URL.parse(text);
  if (url === null || !(url.protocol === 'smtp:' || url.protocol === 'smtps:') || url.hostname === '')
    throw invalid('must look like smtp://user:password@mail.example.org:587, or begin with smtps://');
  if (!(url.pathname === '' || url.pathname === '/') || url.hash !== '')
    throw invalid(
      'has something after the port that means nothing; write a "/" or "#" of the password as %2F or %23',
    );
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isImplicit = url.protocol === 'smtps:';
  return {
    host,
    port: url.port === '' ? (isImplicit ? 465 : 587) : Number(url.port),
    protection: isImplicit ? readImplicit(url) : readProtection(url, host),
    credentials: readCredentials(url),
  };
}

function readImplicit(url: URL): Protection {
  if (readTls(url) === 'off') throw invalid('says smtps:// and tls=off at once');
  return 'implicit';
}

function readProtection(url: URL, host: string): Protection {
  return readTls(url) ?? (isLoopback(host) ? 'off' : 'required');
}

function readTls(url: URL): 'required' | 'off' | null {
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'tls');
  if (unknown !== undefined) throw invalid('knows one parameter: tls');
  const tls = url.searchParams.get('tls');
  if (tls === null || tls === 'required' || tls === 'off') return tls;
  throw invalid('takes tls=required or tls=off');
}

function readCredentials(url: URL): SmtpServer['credentials'] {
  if (url.username === '' && url.password === '') return null;
  if (url.username === '' || url.password === '') throw invalid('needs a user and a password, or neither');
  try {
    return { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  } catch {
    throw invalid('has a "%" in the user or password that must be written as %25');
  }
}

/** Names under `localhost` never leave the machine (RFC 6761, section 6.3). */
function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === '::1' || host === 'localhost' || host.endsWith('.localhost');
}

function invalid(what: string): MailError {
  return new MailError('settings_invalid', `The address of the mail server ${what}.`);
}
