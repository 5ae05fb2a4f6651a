/** Everything the platform reads from its environment: one list, parsed once. README.md documents the same list. */
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { type GuardedFetchOptions, isRange } from './guarded-fetch.ts';

const port = (fallback: number) =>
  z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number from 0 to 65535')
    .transform(Number)
    .refine((value) => value <= 65_535, 'must be a whole number from 0 to 65535')
    .default(fallback);
const secret = z.string().min(32, 'must have at least 32 characters');

const environment = z.object({
  /** The port of the control plane and of every tenant's application. */
  PORT: port(8787),
  /** The port of the development issuer. */
  ISSUER_PORT: port(8788),
  /** The data directory. */
  FREEHOLD_DATA: z.string().min(1).default('.freehold'),
  /** The address to listen on. */
  FREEHOLD_HOST: z.string().min(1).default('127.0.0.1'),
  /** The secret of `/internal/*`; made and kept in the data directory unless NODE_ENV is production. */
  PLATFORM_SECRET: secret.optional(),
  /** A file outside the data directory that keeps the head of the admin log, so that a cut-off tail is noticed. */
  FREEHOLD_ANCHOR_FILE: z.string().min(1).optional(),
  /** An issuer to sign in at. Unset: the development issuer runs beside the platform. */
  OIDC_ISSUER: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  OIDC_CLIENT_ID: z.string().min(1).optional(),
  OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  /** Host names, addresses and CIDR ranges that issuers of tenants may lie at although they are not public. */
  FREEHOLD_ALLOWED_ISSUERS: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((entry) => entry.trim())
        .filter(Boolean),
    )
    .refine(
      (entries) => entries.every(isAllowEntry),
      'must be host names, addresses or ranges such as 10.1.0.0/16, separated by commas',
    ),
  NODE_ENV: z.string().optional(),
});

function isAllowEntry(entry: string): boolean {
  if (!isRange(entry)) return /^[a-z0-9.-]+$/i.test(entry);
  const [address = '', bits, more] = entry.split('/');
  const longest = isIP(address) === 6 ? 128 : 32;
  return more === undefined && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest));
}

export interface Settings {
  readonly port: number;
  readonly issuerPort: number;
  readonly dataDirectory: string;
  readonly host: string;
  readonly platformSecret: string | undefined;
  readonly anchorFile: string | undefined;
  /** The operator's own issuer, or null for the development issuer. */
  readonly issuer: {
    readonly url: string;
    readonly clientId: string;
    readonly clientSecret: string | undefined;
  } | null;
  /** See {@link GuardedFetchOptions.allowed}. */
  readonly allowedIssuers: readonly string[];
  readonly production: boolean;
}

/** A setting that cannot be used; the message is one sentence that says what to do. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** Reads the settings. @throws SettingsError with one sentence about the first fault. */
export function parseSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  // An empty variable is an unset one: that is how people switch a setting off in a shell or a unit file.
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    const [fault] = parsed.error.issues;
    throw new SettingsError(`${fault?.path.join('.')} cannot be used: ${fault?.message}.`);
  }
  const values = parsed.data;
  const production = values.NODE_ENV === 'production';
  if (production && values.PLATFORM_SECRET === undefined) {
    throw new SettingsError(
      'PLATFORM_SECRET is missing: in production set it to a random text of at least 32 characters.',
    );
  }
  if (production && values.OIDC_ISSUER === undefined) {
    throw new SettingsError(
      'OIDC_ISSUER is missing: in production set it, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET; the development issuer lets anybody in.',
    );
  }
  if (values.OIDC_ISSUER === undefined && values.PORT === values.ISSUER_PORT && values.PORT !== 0) {
    throw new SettingsError(
      'ISSUER_PORT cannot be used: it is the same as PORT, and each needs a port of its own.',
    );
  }
  if (values.OIDC_ISSUER !== undefined && values.OIDC_CLIENT_ID === undefined) {
    throw new SettingsError(
      'OIDC_CLIENT_ID is missing: an OIDC_ISSUER needs the client id it knows this platform by.',
    );
  }
  return {
    port: values.PORT,
    issuerPort: values.ISSUER_PORT,
    dataDirectory: resolve(values.FREEHOLD_DATA),
    host: values.FREEHOLD_HOST,
    platformSecret: values.PLATFORM_SECRET,
    anchorFile: values.FREEHOLD_ANCHOR_FILE,
    issuer:
      values.OIDC_ISSUER === undefined
        ? null
        : {
            url: values.OIDC_ISSUER,
            clientId: values.OIDC_CLIENT_ID as string,
            clientSecret: values.OIDC_CLIENT_SECRET,
          },
    allowedIssuers: values.FREEHOLD_ALLOWED_ISSUERS,
    production,
  };
}
