/**
 * The versions of an application, one after the other: a save is bundled, loaded and opened beside the requests, which wait
 * for a moment at most; a broken one leaves the last good version in its place.
 */
import { createHash } from 'node:crypto';
import type { WebFiles } from '@freehold/app';
import { asBundleError, type Bundle, type Bundler } from '../build/bundle.ts';
import type { AppLoader, LoadedApp } from '../build/loader.ts';
import type { Positions } from '../build/positions.ts';
import { DevError } from '../lib/dev-error.ts';
import type { Fault } from '../lib/events.ts';
import { type Generation, openGeneration, ProvisionError, type Surroundings } from './generation.ts';
import type { ScopeCopy } from './scope-copy.ts';
import { webSignature } from './web-signature.ts';

/** The longest wait of a save for the requests of the version before it. */
const DRAIN_MS = 5_000;

export interface VersionsOptions {
  readonly bundler: Bundler;
  readonly loader: AppLoader;
  readonly positions: Positions;
  readonly copy: ScopeCopy;
  readonly around: Surroundings;
  readonly incidents: Incidents;
  /** {@link migrationsOf} of the version that opened the data last; null for new data. */
  readonly migrated: string | null;
  /** Called with each version before its first request. */
  readonly onOpen: (generation: Generation) => Promise<void>;
}

/** The unexpected errors of the engine and the application. The versions know when one belongs to an opening. */
export interface Incidents {
  /** The latest error of the present opening; undefined for none. */
  last: unknown;
  isOpening: boolean;
}

/** The result of a save. */
export type Saved =
  | { readonly outcome: 'served'; readonly version: number }
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'broken'; readonly faults: readonly Fault[] };

export class Versions {
  readonly #options: VersionsOptions;
  #current: Generation | null = null;
  #version = 0;
  /** The content of the pages that are served. */
  #web = '';
  #inFlight = 0;
  #onDrained: (() => void) | null = null;
  /** Resolves when a version is in place again; null while requests pass. */
  #switching: Promise<void> | null = null;

  /** The migrations that the data has. */
  #migrated: string | null;

  constructor(options: VersionsOptions) {
    this.#options = options;
    this.#migrated = options.migrated;
  }

  get current(): Generation | null {
    return this.#current;
  }

  /** From 1; the number of versions that were served. */
  get version(): number {
    return this.#version;
  }

  /** Serves a request with the version of its beginning. Returns null while there is none. */
  fetch(request: Request, clientAddress: string | null): Promise<Response | null> {
    return this.use((generation) => generation?.fetch(request, clientAddress) ?? null);
  }

  /** Does something with the version that is served, or null while there is none. A save waits until it is done. */
  async use<T>(work: (generation: Generation | null) => Promise<T> | T): Promise<T> {
    while (this.#switching !== null) await this.#switching;
    this.#inFlight++;
    try {
      return await work(this.#current);
    } finally {
      this.#inFlight--;
      if (this.#inFlight === 0) this.#onDrained?.();
    }
  }

  /** Serves what is on disk now. One call at a time. */
  async update(): Promise<Saved> {
    const { bundler, loader, positions } = this.#options;
    let bundle: Bundle | null = null;
    let loaded: LoadedApp;
    let web: string;
    let webFiles: WebFiles | undefined;
    try {
      bundle = await bundler.bundle();
      positions.add(bundle);
      loaded =
        bundle.digest === this.#current?.loaded.bundle.digest
          ? this.#current.loaded
          : await loader.load(bundle);
      const { root } = this.#options.around;
      web = webSignature(root, loaded.app.web);
      if (loaded === this.#current?.loaded && web === this.#web) return { outcome: 'unchanged' };
      webFiles = loaded.webFilesOf(loaded.app, root);
    } catch (error) {
      return { outcome: 'broken', faults: positions.describeAll(asBundleError(error), bundle) };
    }
    const fault = await this.#replace(loaded, webFiles);
    if (fault !== null) return { outcome: 'broken', faults: [fault] };
    this.#web = web;
    this.#version++;
    return { outcome: 'served', version: this.#version };
  }

  /** Finishes the requests, and closes the data. */
  async close(): Promise<void> {
    await this.#drained();
    await this.#current?.close();
    this.#current = null;
  }

  /** Opens a version in the place of the present one. Returns the fault that stopped it, with the old one back. */
  async #replace(loaded: LoadedApp, webFiles: WebFiles | undefined): Promise<Fault | null> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#switching = promise;
    const before = this.#current;
    try {
      await this.#drained();
      await before?.close();
      this.#current = null;
      return await this.#open({ loaded, webFiles }, before);
    } finally {
      this.#switching = null;
      resolve();
    }
  }

  async #open(
    { loaded, webFiles }: Pick<Generation, 'loaded' | 'webFiles'>,
    before: Generation | null,
  ): Promise<Fault | null> {
    const { copy, around, onOpen, incidents } = this.#options;
    incidents.last = undefined;
    incidents.isOpening = true;
    const migrations = migrationsOf(loaded);
    let opened: Generation | null = null;
    try {
      if (migrations !== this.#migrated) copy.take();
      opened = await openGeneration(loaded, around, webFiles);
      await onOpen(opened);
      copy.drop();
      this.#migrated = migrations;
      this.#current = opened;
      return null;
    } catch (error) {
      const fault = this.#faultOf(error, loaded);
      await opened?.close();
      copy.putBack();
      if (before === null) requireData(error, around.dataDirectory);
      else this.#current = await openGeneration(before.loaded, around, before.webFiles);
      return fault;
    } finally {
      incidents.isOpening = false;
    }
  }

  #faultOf(error: unknown, loaded: LoadedApp): Fault {
    const { positions, incidents } = this.#options;
    const reason = error instanceof ProvisionError ? error.reason : undefined;
    const cause = incidents.last;
    if (reason === undefined || !Object.hasOwn(HINTS, reason))
      return positions.describe(cause ?? error, 'declaration');
    const message = error instanceof Error ? error.message : String(error);
    const why = reason === 'migration_failed' && cause instanceof Error ? ` ${cause.message}.` : '';
    const [, version = ''] = /^(?:Migration|.*it has migration) vertical (\d+)/.exec(message) ?? [];
    const migration = loaded.app.migrations.find((each) => String(each.version) === version);
    const place =
      migration === undefined
        ? null
        : positions.find(loaded.bundle, migration.sql, new RegExp(`version:\\s*${version}\\b`));
    return positions.at(place, {
      kind: 'migration',
      message: `${message}${why}`,
      hint: HINTS[reason] ?? null,
      stack: [],
    });
  }

  async #drained(): Promise<void> {
    if (this.#inFlight === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onDrained = resolve;
    const timer = setTimeout(resolve, DRAIN_MS);
    await promise;
    clearTimeout(timer);
    this.#onDrained = null;
  }
}

/** The next step after a refused migration, by the reason of the refusal. */
const HINTS: Readonly<Record<string, string>> = {
  migration_failed: 'The data is as it was before this save.',
  migration_changed:
    'Put its text back and add a migration with the next number, or begin with empty data: freehold dev --fresh.',
  migration_unknown:
    'Put the migration back into the declaration, or begin with empty data: freehold dev --fresh.',
};

/** @throws DevError for data that no version of the application can open. */
function requireData(error: unknown, dataDirectory: string): void {
  const { reason, message } = error as { reason?: string; message: string };
  if (reason === 'unit_unreadable')
    throw new DevError(
      'unavailable',
      `The data in ${dataDirectory} is damaged: put a copy of the folder back, or begin anew with freehold dev --fresh.`,
      { cause: error },
    );
  if (reason === 'migration_unknown' && !/ migration vertical /.test(message))
    throw new DevError(
      'conflict',
      `The data in ${dataDirectory} was written by a newer version of Freehold: install that version, or begin anew with freehold dev --fresh.`,
      { cause: error },
    );
}

/** A digest of the migrations that a version applies. */
export function migrationsOf({ app }: LoadedApp): string {
  const texts = app.vertical.migrations.map(({ version, sql }) => [version, sql]);
  return createHash('sha256')
    .update(JSON.stringify([app.manifest.slug, texts]))
    .digest('hex');
}
