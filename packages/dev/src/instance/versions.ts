/**
 * The versions of an application, one after the other: a save is bundled, its declaration is read, and the instance is moved to
 * it while requests wait for a moment; a broken one leaves the last good version in its place.
 */
import type { WebFiles } from '@freehold/app';
import type { AppBundler } from '@freehold/app/worker/bundle';
import { PlatformError } from '@freehold/contracts';
import { asBundleError, type Bundle, type Bundler } from '../build/bundle.ts';
import type { AppLoader, LoadedApp } from '../build/loader.ts';
import type { Positions } from '../build/positions.ts';
import { DevError } from '../lib/dev-error.ts';
import type { Fault } from '../lib/events.ts';
import type { Lines } from './lines.ts';
import type { LocalPlatform, Version } from './local-platform.ts';
import { webSignature } from './web-signature.ts';

export interface VersionsOptions {
  /** The project's folder. */
  readonly root: string;
  /** Bundles the source alone, for its declaration. */
  readonly bundler: Bundler;
  /** Bundles what the runtime loads. */
  readonly appBundler: AppBundler;
  readonly loader: AppLoader;
  readonly positions: Positions;
  readonly platform: LocalPlatform;
  readonly lines: Lines;
  /** Called with each version before its first request. */
  readonly onOpen: (generation: Generation) => Promise<void>;
}

/** One version of the application, which serves. */
export interface Generation {
  readonly loaded: LoadedApp;
  readonly version: Version;
  readonly platform: LocalPlatform;
}

/** The result of a save. */
export type Saved =
  | { readonly outcome: 'served'; readonly version: number }
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'broken'; readonly faults: readonly Fault[] };

/** The number of times that the process is asked for the error of an opening: it tells it a moment after the answer. */
const ASKED_MAX = 5;
const ASK_AGAIN_MS = 50;

export class Versions {
  readonly #options: VersionsOptions;
  #current: Generation | null = null;
  #number = 0;
  /** The content of the pages that are served. */
  #web = '';
  /** Resolves when a version is in place again; null while requests pass. */
  #switching: Promise<void> | null = null;

  constructor(options: VersionsOptions) {
    this.#options = options;
  }

  get current(): Generation | null {
    return this.#current;
  }

  /** From 1; the number of versions that were served. */
  get version(): number {
    return this.#number;
  }

  /** Serves a request. Returns null while there is no version. */
  fetch(request: Request, clientAddress: string | null): Promise<Response | null> {
    return this.use((generation) => generation?.platform.fetch(request, clientAddress) ?? null);
  }

  /** Does something with the version that is served, or null while there is none. It waits for one that is being opened. */
  async use<T>(work: (generation: Generation | null) => Promise<T> | T): Promise<T> {
    while (this.#switching !== null) await this.#switching;
    return work(this.#current);
  }

  /** Serves what is on disk now. One call at a time. */
  async update(): Promise<Saved> {
    const { root, bundler, appBundler, loader, positions } = this.#options;
    let bundle: Bundle | null = null;
    let loaded: LoadedApp;
    let web: string;
    let modules: Awaited<ReturnType<AppBundler['bundle']>>;
    try {
      bundle = await bundler.bundle();
      positions.add(bundle);
      const current = this.#current?.loaded;
      loaded = current && bundle.digest === current.bundle.digest ? current : await loader.load(bundle);
      web = webSignature(root, loaded.app.web);
      if (loaded === current && web === this.#web) return { outcome: 'unchanged' };
      const webFiles: WebFiles | undefined = loaded.webFilesOf(loaded.app, root);
      const seam = loaded.app.authenticatedPrincipal;
      const declaredAt = seam.kind === 'unauthenticated' ? seam.declaredAt : null;
      modules = await appBundler.bundle({ webFiles, developed: { declaredAt } });
    } catch (error) {
      return { outcome: 'broken', faults: positions.describeAll(asBundleError(error), bundle) };
    }
    const fault = await this.#replace(loaded, modules);
    if (fault !== null) return { outcome: 'broken', faults: [fault] };
    this.#web = web;
    this.#number++;
    return { outcome: 'served', version: this.#number };
  }

  /** Gives up what is kept of earlier versions. */
  async tidy(): Promise<void> {
    if (this.#current !== null) await this.#options.platform.tidy();
  }

  /** Opens a version in the place of the present one. Returns the fault that stopped it, with the old one back. */
  async #replace(
    loaded: LoadedApp,
    modules: Awaited<ReturnType<AppBundler['bundle']>>,
  ): Promise<Fault | null> {
    const { platform, lines, onOpen } = this.#options;
    const version = await platform.keep(loaded, modules);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#switching = promise;
    lines.beginOpening();
    const before = this.#current;
    const opened = { loaded, version, platform };
    try {
      await platform.serve(version);
      this.#current = opened;
      await onOpen(opened);
      return null;
    } catch (error) {
      const fault = await this.#faultOf(error, loaded);
      if (before !== null && this.#current === opened) await platform.serve(before.version);
      this.#current = before;
      return fault;
    } finally {
      await lines.endOpening();
      this.#switching = null;
      resolve();
    }
  }

  async #faultOf(error: unknown, loaded: LoadedApp): Promise<Fault> {
    const { positions } = this.#options;
    const cause = await this.#causeOf(loaded.app.manifest.slug);
    const reason = error instanceof PlatformError ? error.reason : undefined;
    if (reason === undefined || !Object.hasOwn(HINTS, reason)) {
      if (this.#current === null) requireData(error);
      return cause ? { ...cause, kind: 'declaration' } : positions.describe(error, 'declaration');
    }
    const message = error instanceof Error ? error.message : String(error);
    const why = reason === 'migration_failed' && cause ? ` ${cause.message}.` : '';
    const [, version = ''] = /^(?:Migration|.*it has migration) vertical (\d+)/.exec(message) ?? [];
    const migration = loaded.app.migrations.find((each) => String(each.version) === version);
    const place =
      migration === undefined
        ? null
        : positions.find(loaded.bundle, migration.sql, new RegExp(`version:\\s*${version}\\b`));
    if (this.#current === null) requireData(error);
    return positions.at(place, {
      kind: 'migration',
      message: `${message}${why}`,
      hint: HINTS[reason] ?? null,
      stack: [],
    });
  }

  /** The last error of the version that is being opened, as its process told it; null for none. */
  async #causeOf(slug: string): Promise<Fault | null> {
    const { platform, lines } = this.#options;
    for (let asked = 1; asked <= ASKED_MAX; asked++) {
      await platform.flush(slug).catch(() => undefined);
      const last = (await lines.endOpening()).at(-1);
      lines.beginOpening();
      if (last) return last;
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
    return null;
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
function requireData(error: unknown): void {
  const { reason, message } = error as { reason?: string; message: string };
  if (reason === 'unit_unreadable')
    throw new DevError(
      'unavailable',
      'The data in .freehold is damaged: put a copy of the folder back, or begin anew with freehold dev --fresh.',
      { cause: error },
    );
  if (reason === 'migration_unknown' && !/ migration vertical /.test(message))
    throw new DevError(
      'conflict',
      'The data in .freehold was written by a newer version of Freehold: install that version, or begin anew with freehold dev --fresh.',
      { cause: error },
    );
}
