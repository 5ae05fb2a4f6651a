/** Everything the platform reads from its environment: one list, parsed once. README.md documents the same list. */
import { resolve } from 'node:path';
import { z } from 'zod';

const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);
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
  OIDC_ISSUER: z.url().optional(),
  OIDC_CLIENT_ID: z.string().min(1).optional(),
  OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  NODE_ENV: z.string().optional(),
});

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
    production,
  };
}
