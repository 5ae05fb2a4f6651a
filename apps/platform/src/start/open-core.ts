/** First step of a start: what is kept, the ways out (mail, the network), and where what goes wrong is told. */

import { randomBytes } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { IncidentSink } from '@freehold/store';
import { type Mail, openMail, tellingFailures } from '../applications/mail.ts';
import { type Feeds, makeFeeds } from '../feeds/feeds.ts';
import { makeKnownFleet } from '../feeds/incident-of.ts';
import type { Settings } from '../settings/settings.ts';
import { type PlatformSecrets, platformSecretsOf } from '../storage/secrets.ts';
import { openStorage, type Storage } from '../storage/storage.ts';
import type { Cleanup } from './lifecycle.ts';

/** What nothing below the wiring takes for itself. */
export interface World {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
}

export interface Core {
  readonly world: World;
  readonly feeds: Feeds;
  readonly knownFleet: ReturnType<typeof makeKnownFleet>;
  readonly storage: Storage;
  readonly platformSecrets: PlatformSecrets;
  readonly mail: Mail;
  /** The issuer that the operator or this process provides; null in production without one. */
  readonly ownIssuer: string | null;
}

export interface CoreOptions {
  readonly settings: Settings;
  /** The operator's own log. */
  readonly report: IncidentSink;
  readonly isUp: () => boolean;
  readonly cleanup: Cleanup;
}

/** @throws SettingsError or PlatformError, with one sentence. */
export async function openCore({ settings, report, isUp, cleanup }: CoreOptions): Promise<Core> {
  const world: World = { now: Date.now, random: (bytes) => randomBytes(bytes) };
  const knownFleet = makeKnownFleet();
  const feeds = makeFeeds({ report, now: world.now, ...knownFleet });
  // Before it is up, an archive that is another's is the one sentence that the start fails with.
  const onStorageIncident: IncidentSink = (error, where) => {
    const isTold = !isUp() && error instanceof PlatformError && error.reason === 'archive_not_ours';
    if (!isTold) feeds.onIncident(error, where);
  };
  const storage = await openStorage(settings, { now: world.now, onIncident: onStorageIncident });
  cleanup.add(() => storage.close());
  const mail = openMail(settings, world.now);
  cleanup.add(async () => mail.close());
  return {
    world,
    feeds,
    knownFleet,
    storage,
    platformSecrets: platformSecretsOf(settings, storage.secrets),
    mail: { ...mail, mailer: tellingFailures(mail.mailer, feeds.onFailure) },
    ownIssuer:
      settings.issuer?.url ?? (settings.production ? null : `http://localhost:${settings.issuerPort}`),
  };
}
