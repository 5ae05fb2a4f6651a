/** The verticals that run in this process. */

import { makeFieldwork } from '@freehold/fieldwork';
import { readWebFiles } from '@freehold/fieldwork/web-files';
import type { Outbox } from '@freehold/mail';
import type { Engine, IncidentSink } from '@freehold/store';
import type { NodeEnv } from './router.ts';

/** A vertical in this process: its manifest's version, and its worker. */
export interface CoLocatedVertical {
  readonly version: string;
  readonly fetch: (request: Request, env: NodeEnv) => Response | Promise<Response>;
}

export interface VerticalsOptions {
  readonly engine: Engine;
  readonly platformSecret: string;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** Fetches from the issuers that tenants choose. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly onIncident: IncidentSink;
  readonly mailer: Pick<Outbox, 'send'>;
  /** What every instance is bound to. Nothing here may be one tenant's alone. */
  readonly bindings: Readonly<Record<string, string>>;
}

/** Opens them, by slug. */
export function openVerticals({
  bindings,
  ...deps
}: VerticalsOptions): ReadonlyMap<string, CoLocatedVertical> {
  const webFiles = readWebFiles();
  const fieldwork = makeFieldwork({
    ...deps,
    ...(webFiles === undefined ? {} : { webFiles }),
  });
  const { slug, version } = fieldwork.manifest;
  return new Map([
    [slug, { version, fetch: (request, env) => fieldwork.app.fetch(request, { ...bindings, ...env }) }],
  ]);
}
