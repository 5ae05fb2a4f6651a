/** The verticals that run in this process. */

import { apiDocs } from '@freehold/api-docs/node';
import type { VerticalManifest } from '@freehold/contracts';
import { verticalSecret } from '@freehold/contracts/http';
import { type DirectoryHostAdmin, declaredMigrations, type VerticalGateway } from '@freehold/directory';
import { makeFieldwork, manifest } from '@freehold/fieldwork';
import { readWebFiles } from '@freehold/fieldwork/web-files';
import type { ScopeHost, Vault } from '@freehold/kernel';
import type { Outbox } from '@freehold/mail';
import type { BlobStore, Engine, EngineTools, IncidentSink, Keyring } from '@freehold/store';
import type { Fetch } from '../network/guarded-fetch.ts';
import type { NodeEnv } from '../network/router.ts';

/** A vertical in this process: its worker, and its scopes. */
export interface CoLocatedVertical {
  readonly manifest: VerticalManifest;
  readonly fetch: (request: Request, env: NodeEnv) => Response | Promise<Response>;
  readonly host: ScopeHost;
  readonly units: ReturnType<typeof makeFieldwork>['units'];
  /** Its own: it opens this vertical's management, and the platform's doors to this vertical alone. */
  readonly platformSecret: string;
}

export interface VerticalsOptions {
  readonly engine: Engine & EngineTools;
  readonly vault: Vault;
  /** What secrets of tenants are sealed under. */
  readonly sealing: Keyring;
  readonly blobs: (scopeId: string) => BlobStore;
  /** What each vertical's own secret is derived from: the newest one. None of them is told it. */
  readonly platformSecret: string;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** Fetches from the issuers that tenants choose. */
  readonly fetch: Fetch;
  readonly onIncident: IncidentSink;
  /** Something was put in line in a scope of a vertical. */
  readonly onWork: (slug: string, scopeId: string) => void;
  readonly mailer: Pick<Outbox, 'send'>;
  /** What every instance is bound to. Nothing here may be one tenant's alone. */
  readonly bindings: () => Readonly<Record<string, string>>;
}

/** Opens them, by slug. */
export async function openVerticals({
  bindings,
  onWork,
  ...deps
}: VerticalsOptions): Promise<ReadonlyMap<string, CoLocatedVertical>> {
  const webFiles = readWebFiles();
  const { slug } = manifest;
  const platformSecret = await verticalSecret(deps.platformSecret, slug);
  const fieldwork = makeFieldwork({
    ...deps,
    platformSecret,
    onWork: (scopeId) => onWork(slug, scopeId),
    docs: apiDocs,
    ...(webFiles === undefined ? {} : { webFiles }),
  });
  const { app, host, units } = fieldwork;
  const fetch: CoLocatedVertical['fetch'] = (request, env) => app.fetch(request, { ...bindings(), ...env });
  return new Map([[slug, { manifest: fieldwork.manifest, host, units, platformSecret, fetch }]]);
}

export function makeGateway(
  verticals: ReadonlyMap<string, Pick<CoLocatedVertical, 'fetch' | 'host' | 'platformSecret'>>,
): VerticalGateway {
  return {
    bound: (slug) => {
      const vertical = verticals.get(slug);
      return vertical
        ? {
            platformSecret: vertical.platformSecret,
            fetch: async (request) => vertical.fetch(request, { node: null, clientAddress: null }),
          }
        : null;
    },
    // For what the contract has no route for: snapshots, and the erasure of a person.
    local: (slug) => verticals.get(slug)?.host ?? null,
  };
}

/** Writes down each build that is new. Its own migrations count, and the ones of the platform below them do not. */
export async function registerVerticals(
  hostAdmin: Pick<DirectoryHostAdmin, 'registerBuiltIn'>,
  verticals: ReadonlyMap<string, Pick<CoLocatedVertical, 'manifest' | 'units'>>,
): Promise<void> {
  for (const { manifest, units } of verticals.values()) {
    const own = units.scope.migrations.filter(({ guarded }) => guarded);
    await hostAdmin.registerBuiltIn({ manifest, migrations: declaredMigrations(own) });
  }
}
