/** The platform as a preview sees it: a place of its own, and nothing outside of it. */
import { createHmac } from 'node:crypto';
import type { IdentityDirectoryUnit } from '@freehold/auth';
import { PlatformError } from '@freehold/contracts';
import type { Vault } from '@freehold/kernel';
import type { BlobStore, Engine } from '@freehold/store';
import type { PlatformPorts } from '../services/ports.ts';

/** A version that runs beside the live one, on data of its own. */
export interface PreviewRef {
  readonly id: string;
  readonly vertical: string;
  /** The script of its bundle. */
  readonly script: string;
  /** Those of the scope that was copied: the same ids, and other data. */
  readonly tenant: string;
  readonly scope: string;
  /** Whether its code may call public hosts. */
  readonly network: boolean;
}

/** The place of a preview beside its database. All of it is in its folder, and goes with it. */
export interface PreviewPlace {
  readonly engine: Pick<Engine, 'unit'>;
  readonly identity: IdentityDirectoryUnit;
  readonly vault: Vault;
  readonly blobs: (scope: string) => BlobStore;
  close(): Promise<void>;
}

/** A secret of this prefix is for previews alone, which get it without the prefix. */
const SECRET_PREFIX = 'PREVIEW_';

export interface PreviewPortsOptions {
  readonly preview: PreviewRef;
  /** The digest of its bundle, for its lines. */
  readonly digest: string;
  readonly place: () => PreviewPlace;
  readonly live: PlatformPorts;
  readonly now: () => number;
}

/** Mail is shown in the log and not sent, issuers and models are out of reach, and no secret of the live version is there. */
export function previewPorts({ preview, digest, place, live, now }: PreviewPortsOptions): PlatformPorts {
  const { id, vertical, tenant, scope, network } = preview;
  return {
    verticalOf: async (ref) => (ref.tenant === tenant && ref.scope === scope ? vertical : null),
    nameOf: async (ref) => (ref.scope === scope ? `${vertical} (preview)` : null),
    signInBindings: () => ({ ...live.signInBindings(), AUTH_PROVIDER: 'directory' }),
    settingsOf: async () => {
      const { settings, platformSecret } = await live.settingsOf(vertical);
      return {
        settings: { ...settings, AUTH_PROVIDER: 'directory' },
        platformSecret: platformSecret.map((secret) =>
          createHmac('sha256', secret).update(`preview/${id}`).digest('base64url'),
        ),
      };
    },
    secretsOf: async () =>
      Object.fromEntries(
        Object.entries(await live.secretsOf(vertical))
          .filter(([name]) => name.startsWith(SECRET_PREFIX))
          .map(([name, secret]) => [name.slice(SECRET_PREFIX.length), secret]),
      ),
    get engine() {
      return place().engine;
    },
    get identity() {
      return place().identity;
    },
    get vault() {
      return place().vault;
    },
    blobs: (of) => place().blobs(of),
    mailer: {
      send: async ({ to, subject, text }) =>
        live.onLines(vertical, [
          {
            ...{ kind: 'console', level: 'info', digest, tenant, scope, atMs: now() },
            text: `A preview sends no mail. To: ${to}\nSubject: ${subject}\n\n${text}`.slice(0, 5_000),
          },
        ]),
    },
    issuerFetch: () => Promise.reject(unreachable()),
    isModelProvider: () => false,
    modelFetch: () => Promise.reject(unreachable()),
    modelSecret: () => null,
    egressPolicy: async () => ({ mode: network ? 'observe' : 'declared-only', hosts: [] }),
    // The operations of a preview are in no meter.
    onLines: (of, lines) =>
      live.onLines(
        of,
        lines.filter(({ kind }) => kind !== 'invoked'),
      ),
    foreignSeals: true,
  };
}

/** The secrets of the live versions: those of previews are not among them. */
export function liveSecrets(secrets: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(secrets).filter(([name]) => !name.startsWith(SECRET_PREFIX)));
}

function unreachable(): PlatformError {
  return new PlatformError('unsupported', 'A preview reaches no issuer and no language model.', {
    reason: 'preview_is_closed',
  });
}
