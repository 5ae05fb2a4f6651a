/** First step of a start: storage, mail, reports of faults, and the order in which everything is closed. */

import { randomBytes } from 'node:crypto';
import { PlatformError } from '@freehold/contracts';
import type { IncidentSink } from '@freehold/store';
import { type Mail, openMail, reportingFailures } from '../applications/mail.ts';
import type { PlatformClient } from '../applications/verticals.ts';
import { type Feeds, makeFeeds } from '../feeds/feeds.ts';
import { idleScopesUnit } from '../jobs/idle-scopes.ts';
import { ScopeActivity } from '../network/activity.ts';
import type { Settings } from '../settings/settings.ts';
import { requireDirectoryDatabase } from '../storage/installation.ts';
import { withRecovery } from '../storage/recover.ts';
import { type PlatformSecrets, platformSecretsOf } from '../storage/secrets.ts';
import { openStorage, type Storage, within } from '../storage/storage.ts';
import { prepareUpgrade } from '../storage/upgrades.ts';
import { ownClientOf } from './issuer.ts';

export interface World {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** That many bytes from a cryptographic source. */
  readonly random: (bytes: number) => Uint8Array;
  /** Aborted when a stop begins, while the accepted requests are finished. */
  readonly stopping: AbortSignal;
}

export interface Core {
  readonly world: World;
  readonly feeds: Feeds;
  readonly activity: ScopeActivity;
  /** The versions of the verticals that run here, by slug. */
  readonly versions: Map<string, string>;
  readonly storage: Storage;
  readonly platformSecrets: PlatformSecrets;
  readonly mail: Mail;
  /** The platform's client at the issuer that the operator or this process provides; null in production without one. */
  readonly ownClient: PlatformClient | null;
  /** The path of the copy that was made before the migrations of this start; null where none was. */
  readonly upgradeCopy: string | null;
}

export interface CoreOptions {
  readonly settings: Settings;
  /** The operator's own log. */
  readonly report: IncidentSink;
  readonly isUp: () => boolean;
  readonly cleanup: Cleanup;
}

const isDerived = (kind: string): boolean => kind === idleScopesUnit.kind;

/** @throws SettingsError or PlatformError, with one sentence. */
export async function openCore({ settings, report, isUp, cleanup }: CoreOptions): Promise<Core> {
  const world: World = { now: Date.now, random: randomBytes, stopping: cleanup.stopping };
  const activity = new ScopeActivity();
  const versions = new Map<string, string>();
  const feeds = makeFeeds({
    report,
    now: world.now,
    tenantOf: activity.tenantOf,
    versionOf: (slug) => versions.get(slug),
  });
  // During a start, the archive of another data directory is the sentence that the start fails with, and no incident.
  const onStorageIncident: IncidentSink = (error, where) => {
    const failsStart = !isUp() && error instanceof PlatformError && error.reason === 'archive_not_ours';
    if (!failsStart) feeds.onIncident(withRecovery(error, { tenantOf: activity.tenantOf, isDerived }), where);
  };
  requireDirectoryDatabase(settings.dataDirectory);
  const upgradeCopy = prepareUpgrade(settings.dataDirectory, world.now);
  const storage = await openStorage(settings, { now: world.now, onIncident: onStorageIncident });
  cleanup.add(() => storage.close());
  const mail = openMail(settings, world.now);
  cleanup.add(async () => mail.close());
  return {
    upgradeCopy,
    world,
    feeds,
    activity,
    versions,
    storage,
    platformSecrets: platformSecretsOf(settings, storage.secrets),
    mail: { ...mail, mailer: reportingFailures(mail.mailer, feeds.onFailure) },
    ownClient: ownClientOf(settings, storage.secrets),
  };
}

/** Tasks that close what a start opened, when the platform stops or when its start fails. */
export interface Cleanup {
  add(task: () => Promise<void>): void;
  /** Aborted before the first of the tasks. */
  readonly stopping: AbortSignal;
  /** Runs all tasks once, in reverse order. */
  run(): Promise<void>;
}

export function makeCleanup(): Cleanup {
  const tasks: (() => Promise<void>)[] = [];
  const begun = new AbortController();
  return {
    stopping: begun.signal,
    add: (task) => void tasks.push(task),
    run: async () => {
      begun.abort();
      for (const task of tasks.splice(0).reverse()) await task();
    },
  };
}

/** Less than the deadline of a monitor. */
const PATIENCE_MS = 2_000;

export interface Readiness {
  /** Whether the start is complete and no stop has begun. */
  readonly isUp: () => boolean;
  /** Never rejects. `ask` is a question that only a working directory answers. */
  readonly isReady: (ask: () => Promise<unknown>) => Promise<boolean>;
  up(): void;
  down(): void;
}

export function makeReadiness(patienceMs = PATIENCE_MS): Readiness {
  let isUp = false;
  return {
    isUp: () => isUp,
    isReady: async (ask) => {
      if (!isUp) return false;
      const answered = ask().then(
        () => true,
        () => false,
      );
      return (await within(patienceMs, answered)) === true && isUp;
    },
    up: () => {
      isUp = true;
    },
    down: () => {
      isUp = false;
    },
  };
}
