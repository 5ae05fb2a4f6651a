/** Everything the platform reads from its environment: one list, parsed once. docs/settings.md documents the same list. */
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { findModelFault } from '@freehold/app';
import { slug } from '@freehold/contracts';
import type { BackupPolicy } from '@freehold/directory';
import { MailError, parseSender, parseSmtpUrl } from '@freehold/mail';
import { isConfidentialUrl } from '@freehold/oidc-rp';
import { OTLP_VARIABLES, type OtlpSettings, OtlpSettingsError, parseOtlpSettings } from '@freehold/telemetry';
import { z } from 'zod';
import { isRange, isSoundRange } from './address-list.ts';
import { type AlertSettings, alertEnvironment, alertSettingsOf } from './alert-settings.ts';
import {
  type ArchiveSettings,
  archiveEnvironment,
  archiveOf,
  backupEnvironment,
  backupPolicyOf,
  findArchiveFault,
  isInside,
} from './archive-settings.ts';
import type { ProvidersSource } from './providers.ts';
import { type StaffSettings, staffEnvironment, staffSettingsOf } from './staff-settings.ts';

const port = (fallback: number) =>
  z
    .string()
    .regex(/^\d{1,5}$/, 'must be a whole number from 0 to 65535')
    .transform(Number)
    .refine((value) => value <= 65_535, 'must be a whole number from 0 to 65535')
    .default(fallback);
const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((entry) => entry.trim())
      .filter(Boolean),
  );
/** Secrets: the first is used for new values, all open existing ones; undefined for none. */
const secrets = (lengthOf: (text: string) => number) =>
  list
    .refine(
      (texts) => texts.every((text) => lengthOf(text) >= 32),
      'must be texts of at least 32 characters, separated by commas',
    )
    .transform((texts) => (texts.length === 0 ? undefined : texts));
const signInMode = z.enum(['hosted', 'tokens', 'directory'], {
  error: 'must be hosted, tokens or directory',
});
/** The way people sign in: at an issuer, with its access tokens, or with accounts of this platform. */
export type SignInMode = z.infer<typeof signInMode>;

const HOUR_MS = 3_600_000;
/** A longer history needs an archive. */
const HISTORY_MAX_MS = 366 * 24 * HOUR_MS;
const HISTORY_WORDS = 'must be a number of hours or days such as 36h or 7d, up to 366d, or off';
/** `7d`, `36h` or `off`, in milliseconds. */
const historyWindow = z
  .string()
  .default('7d')
  .transform((text, ctx): number => {
    const [, count, unit] = /^(\d{1,4})(h|d)$/.exec(text) ?? [];
    const ms = text === 'off' ? 0 : Number(count) * (unit === 'd' ? 24 : 1) * HOUR_MS;
    if (text === 'off' || (ms > 0 && ms <= HISTORY_MAX_MS)) return ms;
    ctx.addIssue({ code: 'custom', message: HISTORY_WORDS });
    return z.NEVER;
  });

const PERCENT_WORDS = 'must be a percentage from 0% to 1000% such as 20% or 12.5%, of two decimals at most';
/** `12.5%`, in basis points. */
const percentage = z
  .string()
  .default('0%')
  .transform((text, ctx): number => {
    const [, whole, decimals = ''] = /^(\d{1,4})(?:\.(\d{1,2}))?%$/.exec(text) ?? [];
    const basisPoints = Number(whole) * 100 + Number(decimals.padEnd(2, '0'));
    if (basisPoints <= 100_000) return basisPoints;
    ctx.addIssue({ code: 'custom', message: PERCENT_WORDS });
    return z.NEVER;
  });
const hosts = list.refine(
  (entries) => entries.every(isAllowEntry),
  'must be host names, addresses or ranges such as 10.1.0.0/16, separated by commas',
);

const environment = z.object({
  /** The port of the control plane and of every tenant's application. */
  PORT: port(8787),
  /** The port of the development issuer. */
  ISSUER_PORT: port(8788),
  /** The data directory. */
  FREEHOLD_DATA: z.string().min(1).default('.freehold'),
  /** The address to listen on. */
  FREEHOLD_HOST: z.string().min(1).default('127.0.0.1'),
  /** Applications' secrets are derived from the first; those derived from the others are accepted. Unset: a file. */
  PLATFORM_SECRET: secrets((text) => text.length),
  /** Personal data and stored secrets are sealed under the first; all open. Unset: a file that the first start makes. */
  SEAL_KEY: secrets(Buffer.byteLength),
  /** The time that every scope can be rewound by. */
  FREEHOLD_HISTORY: historyWindow,
  ...archiveEnvironment,
  /** The directory of backups. Unset: the archive's bucket, or a directory beside the data directory. */
  FREEHOLD_BACKUPS: z.string().min(1).optional(),
  ...backupEnvironment,
  /**
   * A file outside the data directory with the head of the admin log, so that a cut-off tail is noticed. `none` for none.
   * Unset while developing: a file beside the data directory.
   */
  FREEHOLD_ANCHOR_FILE: z.string().min(1).optional(),
  /** The same at an address that answers GET with the last PUT, with this bearer token. */
  FREEHOLD_ANCHOR_URL: z
    .string()
    .refine(isConfidential, 'must be an https address, or one of this machine')
    .optional(),
  FREEHOLD_ANCHOR_TOKEN: z.string().min(1).optional(),
  /** An issuer to sign in at. Unset: the development issuer runs beside the platform. */
  OIDC_ISSUER: z
    .string()
    .refine(isConfidential, 'must be an https address; http is for an issuer of this machine')
    .optional(),
  OIDC_CLIENT_ID: z.string().min(1).optional(),
  OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  /** Host names, addresses and CIDR ranges that issuers of tenants may lie at although they are not public. */
  FREEHOLD_ALLOWED_ISSUERS: hosts,
  /** The file of the providers that tenants can be connected to: docs/connections.md. */
  FREEHOLD_PROVIDERS_FILE: z.string().min(1).optional(),
  /** Host names, addresses and CIDR ranges that those providers may lie at although they are not public. */
  FREEHOLD_ALLOWED_PROVIDERS: hosts,
  /** A surcharge on the list price of model calls, when usage is read. */
  FREEHOLD_USAGE_MARGIN: percentage,
  /** `json`: one line for each request, on standard output. */
  FREEHOLD_LOG: z.enum(['json', 'off'], { error: 'must be json or off' }).default('off'),
  /** The number of days that measurements of requests are kept, today included; 0 keeps none, and their reads answer 501. */
  FREEHOLD_TELEMETRY_DAYS: z
    .string()
    .regex(/^(?:[0-9]|[12][0-9]|3[01])$/, 'must be a number of days from 0 to 31')
    .default('7')
    .transform(Number),
  /** Deployed verticals that may call the hosts alone that they declare: slugs, or `all`. Others are observed. */
  FREEHOLD_EGRESS_DECLARED: list.refine(
    (entries) => entries.every((entry) => slug.safeParse(entry).success),
    'must be slugs of verticals, or all, separated by commas',
  ),
  /** The way people sign in at the demo, and at every instance to which no choice was delivered. */
  FREEHOLD_SIGN_IN: signInMode.default('hosted'),
  /** The mail server, and the sender. Unset: an outbox to read while developing, and no mail in production. */
  FREEHOLD_SMTP_URL: z.string().superRefine(parsesWith(parseSmtpUrl)).optional(),
  FREEHOLD_MAIL_FROM: z.string().superRefine(parsesWith(parseSender)).optional(),
  /** The address at which people reach the platform behind a proxy: `https://apps.example.org`. */
  FREEHOLD_PUBLIC_URL: z
    .string()
    .refine(
      isPublicUrl,
      'must be an http or https address of a host name and nothing behind it, such as https://apps.example.org',
    )
    .transform((text) => new URL(text))
    .optional(),
  /** Addresses and ranges of proxies whose `X-Forwarded-*` headers are believed. */
  FREEHOLD_TRUSTED_PROXIES: list.refine(
    (entries) => entries.every(isSoundRange),
    'must be addresses or ranges such as 10.1.0.0/16, separated by commas',
  ),
  /** Name servers that host names are verified with, instead of the machine's own: `192.0.2.53`, `192.0.2.53:5353`. */
  FREEHOLD_DNS_SERVERS: list.refine(
    (entries) => entries.every(isDnsServer),
    'must be addresses, with or without a port, separated by commas',
  ),
  /** The contact that a person who is not on the staff roster is referred to: `it@example.org`. */
  FREEHOLD_STAFF_CONTACT: z.string().trim().min(1).max(200).optional(),
  /** The file of the limits of tenants and of plans. */
  FREEHOLD_LIMITS_FILE: z.string().min(1).optional(),
  ...staffEnvironment,
  ...alertEnvironment,
  NODE_ENV: z.string().optional(),
});

function isDnsServer(entry: string): boolean {
  const [, address = entry] = /^\[?([^[\]]+?)\]?:\d{1,5}$/.exec(entry) ?? [];
  return isIP(entry) !== 0 || isIP(address) !== 0;
}

function isAllowEntry(entry: string): boolean {
  return isRange(entry) ? isSoundRange(entry) : /^[a-z0-9.-]+$/i.test(entry);
}

function isConfidential(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && isConfidentialUrl(url);
}

function isPublicUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !(url.protocol === 'https:' || url.protocol === 'http:')) return false;
  // Applications have names under this one, and an address has no names under it.
  const isName = isIP(url.hostname) === 0 && !url.hostname.startsWith('[');
  return isName && url.href === `${url.origin}/`;
}

/** Judges a text by parsing it; the issue is the parser's own message. */
function parsesWith(parse: (text: string) => unknown): (text: string, ctx: z.RefinementCtx) => void {
  return (text, ctx) => {
    try {
      parse(text);
    } catch (error) {
      if (!(error instanceof MailError)) throw error;
      const words = error.message.replace(/\.$/, '');
      ctx.addIssue({ code: 'custom', message: words.charAt(0).toLowerCase() + words.slice(1) });
    }
  };
}

/** The value of `FREEHOLD_ANCHOR_FILE` for no witness. */
const NO_ANCHOR = 'none';

export type AnchorSettings =
  | {
      readonly file: string;
      /** True for the file beside the data of a platform in development. */
      readonly isDefault?: boolean;
    }
  | {
      readonly url: string;
      /** Shown as a bearer token. */
      readonly token: string | undefined;
    };

export interface Settings {
  readonly port: number;
  readonly issuerPort: number;
  readonly dataDirectory: string;
  readonly host: string;
  /** The first is current, the others are former ones. Undefined: it is in a file of the data directory. */
  readonly platformSecrets: readonly string[] | undefined;
  /** Undefined: the keys are in a file of the data directory. */
  readonly sealKeys: readonly string[] | undefined;
  /** In milliseconds; 0 keeps no history. */
  readonly historyMs: number;
  /** Null: there is no archive. */
  readonly archive: ArchiveSettings | null;
  /** A directory outside of the data directory; undefined for the default. */
  readonly backupsDirectory: string | undefined;
  /** Null: the platform makes no backups by itself. */
  readonly backupPolicy: BackupPolicy | null;
  /** The outside witness of the admin log; null for none. */
  readonly anchor: AnchorSettings | null;
  /** The operator's own issuer; null for the development issuer, or for none in production. */
  readonly issuer: {
    readonly url: string;
    /** Undefined where no browser is sent there to sign in. */
    readonly clientId: string | undefined;
    readonly clientSecret: string | undefined;
  } | null;
  /** See `GuardedFetchOptions.allowed`. */
  readonly allowedIssuers: readonly string[];
  readonly providers: ProvidersSource;
  /** 2000 is a fifth on top of the list price. */
  readonly modelMarginBasisPoints: number;
  /** Whether each request is a line on standard output. */
  readonly logsRequests: boolean;
  /** The number of days that measurements are kept; 0 for none. */
  readonly telemetryDays: number;
  /** The export of measurements; null for none. */
  readonly otlp: OtlpSettings | null;
  /** The deployed verticals that may call declared hosts alone; `all` for every one. */
  readonly declaredOnly: readonly string[];
  readonly signIn: SignInMode;
  readonly mail: { readonly url: string; readonly from: string } | null;
  /** An origin with a host name, or null when the platform is reached directly at `localhost`. */
  readonly publicUrl: URL | null;
  readonly trustedProxies: readonly string[];
  /** Null for the machine's own. */
  readonly dnsServers: readonly string[] | null;
  /** The variables about language models that applications are bound to (`FREEHOLD_MODEL…`), by name. */
  readonly models: Readonly<Record<string, string>>;
  readonly staffContact: string | undefined;
  readonly staff: StaffSettings;
  readonly alerts: AlertSettings;
  /** Null: the defaults. */
  readonly limitsFile: string | null;
  readonly production: boolean;
  /** Names that look like settings and are none: probably misspelt. */
  readonly strayNames: readonly string[];
}

/** A setting that cannot be used; the message is one sentence that says what to do. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** Reads the settings. @throws SettingsError with one sentence about the first fault. */
export function parseSettings(env: Readonly<Record<string, string | undefined>>): Settings {
  // An empty variable counts as unset: people switch a setting off so in a shell or a unit file.
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    const [fault] = parsed.error.issues;
    throw new SettingsError(`${fault?.path.join('.')} cannot be used: ${fault?.message}.`);
  }
  const values = parsed.data;
  const fault = findFault(values);
  if (fault !== null) throw new SettingsError(fault);
  const models = Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => MODEL_NAME.test(entry[0])),
  );
  const modelFault = findModelFault(models);
  if (modelFault !== null) throw new SettingsError(modelFault);
  return {
    port: values.PORT,
    issuerPort: values.ISSUER_PORT,
    dataDirectory: resolve(values.FREEHOLD_DATA),
    host: values.FREEHOLD_HOST,
    platformSecrets: values.PLATFORM_SECRET,
    sealKeys: values.SEAL_KEY,
    historyMs: values.FREEHOLD_HISTORY,
    archive: archiveOf(values),
    backupsDirectory: values.FREEHOLD_BACKUPS === undefined ? undefined : resolve(values.FREEHOLD_BACKUPS),
    backupPolicy: backupPolicyOf(values),
    anchor: anchorOf(values),
    issuer:
      values.OIDC_ISSUER === undefined
        ? null
        : {
            url: values.OIDC_ISSUER,
            clientId: values.OIDC_CLIENT_ID,
            clientSecret: values.OIDC_CLIENT_SECRET,
          },
    allowedIssuers: values.FREEHOLD_ALLOWED_ISSUERS,
    providers: {
      file: values.FREEHOLD_PROVIDERS_FILE === undefined ? null : resolve(values.FREEHOLD_PROVIDERS_FILE),
      allowed: values.FREEHOLD_ALLOWED_PROVIDERS,
      env: given,
    },
    modelMarginBasisPoints: values.FREEHOLD_USAGE_MARGIN,
    logsRequests: values.FREEHOLD_LOG === 'json',
    telemetryDays: values.FREEHOLD_TELEMETRY_DAYS,
    otlp: otlpOf(given),
    declaredOnly: values.FREEHOLD_EGRESS_DECLARED,
    signIn: values.FREEHOLD_SIGN_IN,
    mail:
      values.FREEHOLD_SMTP_URL === undefined || values.FREEHOLD_MAIL_FROM === undefined
        ? null
        : { url: values.FREEHOLD_SMTP_URL, from: values.FREEHOLD_MAIL_FROM },
    publicUrl: values.FREEHOLD_PUBLIC_URL ?? null,
    trustedProxies: values.FREEHOLD_TRUSTED_PROXIES,
    dnsServers: values.FREEHOLD_DNS_SERVERS.length === 0 ? null : values.FREEHOLD_DNS_SERVERS,
    models,
    staffContact: values.FREEHOLD_STAFF_CONTACT,
    staff: staffSettingsOf(values, isProduction(values)),
    alerts: alertSettingsOf(values),
    limitsFile: values.FREEHOLD_LIMITS_FILE === undefined ? null : resolve(values.FREEHOLD_LIMITS_FILE),
    production: isProduction(values),
    strayNames: Object.keys(given).filter(isStray),
  };
}

/** @throws SettingsError for a variable of OpenTelemetry that cannot be used. */
function otlpOf(given: Readonly<Record<string, string | undefined>>): OtlpSettings | null {
  try {
    return parseOtlpSettings(given);
  } catch (error) {
    if (error instanceof OtlpSettingsError) throw new SettingsError(error.message);
    throw error;
  }
}

/** Settings about language models: the applications know their names. */
const MODEL_NAME = /^FREEHOLD_MODEL(?:_|$)/;
/** Settings of the command line, which often has the same environment. */
const OF_COMMAND_LINE = new Set(['FREEHOLD_URL', 'FREEHOLD_TOKEN', 'FREEHOLD_PROFILE']);

function isStray(name: string): boolean {
  if (name.startsWith('OTEL_EXPORTER_OTLP_')) return !OTLP_VARIABLES.includes(name);
  if (!name.startsWith('FREEHOLD_') || MODEL_NAME.test(name)) return false;
  return !Object.hasOwn(environment.shape, name) && !OF_COMMAND_LINE.has(name);
}

function isProduction({ NODE_ENV }: z.infer<typeof environment>): boolean {
  return NODE_ENV === 'production';
}

function anchorOf(values: z.infer<typeof environment>): AnchorSettings | null {
  const { FREEHOLD_ANCHOR_FILE: file, FREEHOLD_ANCHOR_URL: url, FREEHOLD_ANCHOR_TOKEN: token } = values;
  if (url !== undefined) return { url, token };
  if (file === NO_ANCHOR) return null;
  if (file !== undefined) return { file };
  // Beside the data it witnesses nothing against a person who can write there: in production it would be no witness.
  if (isProduction(values)) return null;
  return { file: `${resolve(values.FREEHOLD_DATA)}.anchor.json`, isDefault: true };
}

/** The first contradiction between settings, in one sentence; null when there is none. */
function findFault(values: z.infer<typeof environment>): string | null {
  const { OIDC_ISSUER: issuer, FREEHOLD_SIGN_IN: signIn } = values;
  const { FREEHOLD_SMTP_URL: smtp, FREEHOLD_MAIL_FROM: from } = values;
  if (isProduction(values) && values.PLATFORM_SECRET === undefined)
    return 'PLATFORM_SECRET is missing: in production set it to a random text of at least 32 characters.';
  if (isProduction(values) && values.FREEHOLD_PUBLIC_URL === undefined)
    return 'FREEHOLD_PUBLIC_URL is missing: in production set it to the address that people reach the platform at, such as https://apps.example.org.';
  if (isProduction(values) && issuer === undefined && signIn !== 'directory')
    return 'OIDC_ISSUER is missing: in production set it, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET; the development issuer lets every visitor in.';
  if (values.FREEHOLD_ANCHOR_URL !== undefined && values.FREEHOLD_ANCHOR_FILE !== undefined)
    return 'FREEHOLD_ANCHOR_URL cannot be used: FREEHOLD_ANCHOR_FILE is set too, and one of them keeps the head of the admin log.';
  if (
    values.FREEHOLD_ANCHOR_FILE !== undefined &&
    isInside(resolve(values.FREEHOLD_DATA), resolve(values.FREEHOLD_ANCHOR_FILE))
  )
    return 'FREEHOLD_ANCHOR_FILE cannot be used: it lies in the data directory, and a person who changes the log there could change it too.';
  if (values.FREEHOLD_ANCHOR_TOKEN !== undefined && values.FREEHOLD_ANCHOR_URL === undefined)
    return 'FREEHOLD_ANCHOR_TOKEN cannot be used: it is for FREEHOLD_ANCHOR_URL, which is missing.';
  if (
    issuer === undefined &&
    !isProduction(values) &&
    values.PORT === values.ISSUER_PORT &&
    values.PORT !== 0
  )
    return 'ISSUER_PORT cannot be used: it is the same as PORT, and each needs a port of its own.';
  if (issuer !== undefined && values.OIDC_CLIENT_ID === undefined && signIn === 'hosted')
    return 'OIDC_CLIENT_ID is missing: an OIDC_ISSUER needs the client id it knows this platform by.';
  if (smtp !== undefined && from === undefined)
    return 'FREEHOLD_MAIL_FROM is missing: set it to the address that mail through FREEHOLD_SMTP_URL is from.';
  if (smtp === undefined && values.FREEHOLD_ALERT_MAIL.length > 0 && isProduction(values))
    return 'FREEHOLD_SMTP_URL is missing: without it no alert reaches FREEHOLD_ALERT_MAIL.';
  if (smtp === undefined && from !== undefined)
    return 'FREEHOLD_SMTP_URL is missing: set it to the server that mail from FREEHOLD_MAIL_FROM leaves through.';
  if (
    values.FREEHOLD_BACKUPS !== undefined &&
    isInside(resolve(values.FREEHOLD_DATA), resolve(values.FREEHOLD_BACKUPS))
  )
    return 'FREEHOLD_BACKUPS cannot be used: it lies in the data directory, and would be lost with it.';
  return findArchiveFault(values, resolve(values.FREEHOLD_DATA));
}
