/**
 * The providers that tenants can be connected to, from the file that `FREEHOLD_PROVIDERS_FILE` names. It is read once, at
 * the start; a fault in it ends the start with one sentence that names the field, and repeats no value.
 */

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import { providerKey } from '@freehold/contracts/http';
import {
  type ConnectionProvider,
  type ConnectionProviders,
  isLoopbackHost,
  providerSchema,
} from '@freehold/directory';
import { z } from 'zod';
import { type AddressList, isPublic, isRange, makeAddressList } from './address-list.ts';
import { SettingsError } from './settings.ts';

export interface ProvidersSource {
  /** Absolute. Null: there are no providers. */
  readonly file: string | null;
  /** Names, addresses and ranges that providers may lie at although they are not public. */
  readonly allowed: readonly string[];
  /** The environment that `{ "env": … }` refers to. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Reads the providers. @throws SettingsError with one sentence about the first fault. */
export function loadProviders({ file, allowed, env }: ProvidersSource): ConnectionProviders {
  if (file === null) return {};
  const parsed = providersFile.safeParse(readJson(file));
  if (!parsed.success) throw unusable(faultOf(parsed.error));
  const isAllowed = allowedBy(allowed);
  return Object.fromEntries(
    Object.entries(parsed.data.providers).map(([key, written]) => {
      const at = `providers.${key}`;
      requireReachable(at, written, isAllowed);
      return [key, resolved(written, (reference) => readSecret(`${at}.clientSecret`, reference, file, env))];
    }),
  );
}

function resolved(
  written: WrittenProvider,
  secretOf: (reference: SecretReference) => string,
): ConnectionProvider {
  if (written.kind === 'api-key') return written;
  const { clientSecret, ...rest } = written;
  return clientSecret === undefined ? rest : { ...rest, clientSecret: secretOf(clientSecret) };
}

/** The parser's own message quotes the file, so only its position is repeated. */
function readJson(file: string): unknown {
  const text = readText(file, 'the file');
  try {
    return JSON.parse(text);
  } catch (error) {
    const place = /line \d+ column \d+/.exec(error instanceof Error ? error.message : '')?.[0];
    throw unusable(`${file} is not JSON${place === undefined ? '' : ` (${place})`}`);
  }
}

function faultOf({ issues: [fault] }: z.ZodError): string {
  const path = fault?.path.join('.') ?? '';
  // For an invalid key of a record, the useful message is one level deeper.
  const deepest = fault?.code === 'invalid_key' ? fault.issues[0] : fault;
  const words = (deepest?.message ?? 'it is not one').replace(/\.$/, '');
  return path === '' ? words : `${path}: ${words.charAt(0).toLowerCase()}${words.slice(1)}`;
}

function readSecret(
  at: string,
  reference: SecretReference,
  providersAt: string,
  env: ProvidersSource['env'],
): string {
  const secret =
    'env' in reference
      ? env[reference.env]
      : readText(resolve(dirname(providersAt), reference.file), `${at}: the file`).replace(/\r?\n$/, '');
  if (secret === undefined || secret === '')
    throw unusable(
      'env' in reference
        ? `${at}: the environment variable ${reference.env} is not set`
        : `${at}: the file is empty`,
    );
  if (secret.length > 500) throw unusable(`${at}: more than 500 characters are no client secret`);
  return secret;
}

function readText(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unusable(`${what} cannot be read: ${path} (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

/**
 * Refuses at the start an address that the guarded fetch would refuse at each connection. The addresses of a name are
 * judged at the connection.
 */
function requireReachable(at: string, provider: WrittenProvider, isAllowed: (host: string) => boolean): void {
  for (const [field, endpoint] of endpointsOf(provider)) {
    const { hostname } = new URL(endpoint);
    const host = hostname.replace(/^\[|\]$/g, '');
    const isPrivate = isLoopbackHost(hostname) || (isIP(host) !== 0 && !isPublic(host));
    if (isPrivate && !isAllowed(host))
      throw unusable(
        `${at}.${field}: ${host} is not public; an operator can allow it with FREEHOLD_ALLOWED_PROVIDERS`,
      );
  }
}

/** The endpoints that this process calls; the authorization endpoint is for browsers. */
function endpointsOf(provider: WrittenProvider): [field: string, endpoint: string][] {
  if (provider.kind === 'api-key') return [['probe.endpoint', provider.probe.endpoint]];
  const { tokenEndpoint, revocationEndpoint, identity } = provider;
  return [
    ['tokenEndpoint', tokenEndpoint],
    ...(revocationEndpoint === undefined
      ? []
      : [['revocationEndpoint', revocationEndpoint] satisfies [string, string]]),
    ...(identity === undefined ? [] : [['identity.endpoint', identity.endpoint] satisfies [string, string]]),
  ];
}

function allowedBy(entries: readonly string[]): (host: string) => boolean {
  const names = new Set(entries.filter((entry) => !isRange(entry)).map((entry) => entry.toLowerCase()));
  const isInRange: AddressList = makeAddressList(entries.filter(isRange));
  // `localhost` always leads to the loopback address.
  return (host) => names.has(host) || isInRange(isIP(host) === 0 ? '127.0.0.1' : host);
}

function unusable(fault: string): SettingsError {
  return new SettingsError(`FREEHOLD_PROVIDERS_FILE cannot be used: ${fault}.`);
}

/** The place of a secret: an environment variable, or a file, relative to the folder of the file that names it. */
const secretReference = z.union(
  [z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })],
  { error: 'must be { "env": "NAME" } or { "file": "PATH" }: no secret stands in this file itself' },
);
export type SecretReference = z.output<typeof secretReference>;

const provider = providerSchema(secretReference);
export type WrittenProvider = z.output<typeof provider>;

/** The whole file. Unknown fields are refused: a misspelt one would be a rule without effect. */
export const providersFile = z.strictObject({ providers: z.record(providerKey, provider) });
