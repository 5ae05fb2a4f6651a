/**
 * The runtime of a platform on one machine: keeps what is deployed, runs a process for each vertical that is asked for, and
 * moves requests and orders to it.
 */
import { join } from 'node:path';
import type { AppLook } from '@freehold/app';
import { type Declared, type DeclaredMigration, look } from '@freehold/app/hosting';
import type { HostedCall, HostedCaller } from '@freehold/app/worker/capabilities';
import {
  canonicalJson,
  MANAGED_SCOPE_HEADER,
  MANAGED_TENANT_HEADER,
  PLATFORM_SECRET_HEADER,
  PlatformError,
  problemDocument,
  type VerticalManifest,
} from '@freehold/contracts';
import type { Engine, IncidentSink } from '@freehold/store';
import { isDamaged, type PutAside, putAside, removeAside } from './copies/damage.ts';
import type { DatabaseCopies } from './copies/database-copies.ts';
import { databaseBytes, isGone, objectIdOf } from './copies/object-files.ts';
import type { Moved, MoveOrder } from './host/orders.ts';
import {
  COMPATIBILITY_DATE,
  COMPATIBILITY_FLAGS,
  type Isolate,
  MAIN_MODULE,
  type StoredBundle,
} from './lib/bundle.ts';
import { liveSecrets, type PreviewPlace } from './previews/ports.ts';
import { Previews } from './previews/previews.ts';
import { BundleChecks } from './process/bundle-checks.ts';
import { hostModule } from './process/config.ts';
import { sendCall } from './process/send-call.ts';
import {
  PROCESS_LIMITS,
  type ProcessFault,
  type ProcessLimits,
  VerticalProcess,
  type VerticalProcessOptions,
} from './process/vertical-process.ts';
import { ORDERS } from './services/identity-calls.ts';
import { OrdersInFlight } from './services/orders-in-flight.ts';
import type { PlatformPorts } from './services/ports.ts';
import { openServices } from './services/serve.ts';
import { SignIns, withoutSessionCookies } from './services/sign-ins.ts';
import {
  type BundleCalls,
  bundleUnit,
  digestOf,
  type FreedFiles,
  type ModuleName,
  type ScriptRow,
} from './store/bundle-unit.ts';
import { SourcePositions } from './store/source-positions.ts';

/** One file of an upload: its bytes, or its digest where the platform has it already. */
export interface UploadedModule {
  readonly name: string;
  readonly mediaType: string;
  readonly digest?: string;
  readonly bytes?: Uint8Array;
}

export interface Upload {
  readonly vertical: string;
  readonly version: string;
  /** The name under which the version is kept. */
  readonly script: string;
  readonly manifest: VerticalManifest;
  readonly migrations: readonly DeclaredMigration[];
  /** The hosts that it declares to call. */
  readonly egress: readonly string[];
  readonly modules: readonly UploadedModule[];
  /** The declaration of the bundle, where the caller loaded its source. Default: asked of the bundle, in a process of its own. */
  readonly declared?: Declared;
}

export interface RuntimeOptions {
  /** The folder of the processes: `runtime` in the data directory. */
  readonly folder: string;
  readonly engine: Pick<Engine, 'unit'>;
  readonly ports: PlatformPorts;
  readonly now: () => number;
  /** Aborted when the platform stops: calls that wait for a person end then. Default: they wait on. */
  readonly stopping?: AbortSignal;
  readonly onIncident: IncidentSink;
  readonly limits?: Partial<ProcessLimits>;
  /** Keeps copies of the instances' databases, for the archive. Default: there are none. */
  readonly copies?: Pick<DatabaseCopies, 'look' | 'forget' | 'pause'>;
  /** The ids of objects that lack a database which could not be laid out again: they are not served. Default: none. */
  readonly missing?: ReadonlySet<string>;
  /** Opens the place of a preview in its folder. Default: there are no previews. */
  readonly openPreviewPlace?: (folder: string) => PreviewPlace;
  /** Receives the end of a process that hung or died. It does not throw. */
  readonly onFault: (fault: ProcessFault) => void;
}

/** The declaration of a bundle, as it says itself: one that was made for an earlier platform lacks some. */
type ToldDeclaration = Pick<Declared, 'manifest' | 'migrations' | 'egress' | 'publicPaths'> &
  Partial<Declared>;

/** A scope, and the script of the version that it is to run. */
export interface ScopeMove {
  readonly vertical: string;
  readonly tenant: string;
  readonly scope: string;
  readonly script: string;
}

/** A version that is to be forgotten. */
export interface DiscardOrder {
  readonly vertical: string;
  readonly script: string;
  readonly scopes: readonly { readonly scope: string }[];
  readonly dryRun: boolean;
}

/** The instance of a request, as the router knows it. */
export type HostedNode = NonNullable<HostedCall['node']>;

type SentCall = Omit<HostedCall, 'serving'>;

interface ProcessParts {
  readonly vertical: string;
  /** The name of its folder. Default: the vertical's. */
  readonly name?: string;
  /** Default: the platform's own. */
  readonly ports?: PlatformPorts;
  readonly limits?: Partial<ProcessLimits>;
  readonly signIns?: SignIns;
  readonly orders?: OrdersInFlight;
  readonly bundle: (digest: string) => Promise<StoredBundle | null>;
  /** {@link VerticalProcess.makeRoom}. Default: nothing, for a process that loads one bundle. */
  readonly makeRoom?: (isolate: string) => Promise<void>;
}

/** The process that asks bundles what they declare. No slug of a vertical begins so. */
const CHECKS = '-checks';
/** Where the management contract is. */
const INTERNAL = '/internal/';
/** The requests of the management contract that need nothing of a damaged database. */
const REPLACING: ReadonlySet<string> = new Set(['restore', 'examine-copy', 'delete-scope']);
/** The least time between two looks into the database of an instance that does not answer. */
const LOOK_AGAIN_MS = 60_000;
/** The longest wait of `setTimeout`. */
const WAIT_MAX_MS = 2 ** 31 - 1;

export class WorkerdRuntime {
  readonly #options: RuntimeOptions;
  readonly #processes = new Map<string, VerticalProcess>();
  /** Slug → the version that serves. */
  readonly #serving = new Map<string, ScriptRow>();
  /** Slug and digest → the version. */
  readonly #versions = new Map<string, string>();
  /** Slug and version → the script of the version. */
  readonly #scripts = new Map<string, ScriptRow>();
  /** The ids of objects whose database is damaged, or gone and not laid out again: they are not served. */
  readonly #unreadable: Set<string>;
  /** Scope → the last look into its database, with the time of the process's own clock. */
  readonly #looks = new Map<string, { readonly atMs: number; readonly done: Promise<boolean> }>();
  readonly #moves = new Set<Promise<unknown>>();
  /** The scripts that are being forgotten: no scope is moved to one. */
  readonly #discarding = new Set<string>();
  readonly #orders = new OrdersInFlight();
  readonly #signIns: SignIns;
  /** Slug → the timer of a process that rests. */
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #isClosed = false;
  readonly #positions = new SourcePositions(async (vertical, bundle) => {
    const bytes = await this.#bundles(vertical).file({ bundle, name: `${MAIN_MODULE}.map` });
    return bytes && Buffer.from(bytes).toString('utf8');
  });
  readonly #checks: BundleChecks;

  /** The versions that run beside the live ones. */
  readonly previews: Previews;

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.#unreadable = new Set(options.missing);
    this.#signIns = new SignIns(options);
    const limits = { idleMs: 5_000, silenceMs: 3 * (options.limits?.silenceMs ?? PROCESS_LIMITS.silenceMs) };
    this.#checks = new BundleChecks(
      this.#processOptions({ vertical: CHECKS, limits, bundle: (name) => this.#bundleOf(name) }),
    );
    const { folder, ports, now, onIncident, onFault, openPreviewPlace: openPlace = noPreviews } = options;
    this.previews = new Previews({
      ...{ folder, ports, now, onIncident, openPlace },
      bundles: (vertical) => this.#bundles(vertical),
      newProcess: ({ vertical, ...parts }) => {
        const process: VerticalProcess = new VerticalProcess({
          ...this.#processOptions({
            ...{ vertical, ...parts },
            bundle: (digest) => this.#bundle(vertical, digest),
            makeRoom: (isolate) => process.makeRoom(isolate),
          }),
          onFault: (fault) => onFault({ ...fault, detail: `A preview of it. ${fault.detail}` }),
          // Its due work waits for its next request.
          onDown: () => undefined,
        });
        return process;
      },
    });
  }

  /** The SHA-256 of each file that is here of a vertical: it need not be sent again. */
  modules(vertical: string): Promise<readonly string[]> {
    // The caller is about to upload.
    this.#checks.warm();
    return this.#bundles(vertical).modules({});
  }

  /**
   * Keeps a version. What its bundle declares must be what was submitted.
   * @throws PlatformError `validation_failed`, reason `manifest_differs`, `bundle_broken`, `module_missing` or
   * `digest_mismatch`.
   */
  async upload(upload: Upload, onTaken: (taken: { modules: number; bytes: number }) => void): Promise<void> {
    if (!upload.declared) this.#checks.warm();
    const bundles = this.#bundles(upload.vertical);
    const modules: ModuleName[] = [];
    let bytes = 0;
    for (const module of upload.modules) {
      const digest = module.bytes ? digestOf(module.bytes) : module.digest;
      if (digest === undefined) throw new TypeError('a module has its bytes or its digest');
      if (module.bytes) await bundles.putModule({ digest, bytes: module.bytes });
      bytes += module.bytes?.length ?? 0;
      modules.push({ name: module.name, mediaType: module.mediaType, digest });
      onTaken({ modules: modules.length, bytes });
    }
    if (!modules.some(({ name }) => name === MAIN_MODULE))
      throw new PlatformError(
        'validation_failed',
        `A deployment has the module ${MAIN_MODULE}. Deploy with the command freehold deploy.`,
        {
          reason: 'bundle_broken',
        },
      );
    const { script, version, vertical } = upload;
    const named = { script, version, modules };
    const blank = { publicPaths: [], egress: [], personal: {}, isolate: 'vertical', declared: null } as const;
    const stored = await bundles.putScript({ ...named, ...blank });
    this.#versions.set(`${vertical} ${stored.bundle}`, version);
    const declared =
      upload.declared ??
      ((await this.#checks.declarationOf(`${vertical}:${stored.bundle}`)) as ToldDeclaration);
    requireSame(upload, declared);
    const { publicPaths, egress, personal = {}, letsPeopleIn, manifest } = declared;
    const isolate: Isolate = declared.isolate === 'tenant' ? 'tenant' : 'vertical';
    if (letsPeopleIn === undefined) throw outdated();
    const signIn = {
      letsPeopleIn,
      look: requireLook(declared.look),
      manifest: { slug: manifest.slug, env: manifest.env, permissions: manifest.permissions },
    };
    const known = { publicPaths, egress, personal, isolate, declared: signIn };
    this.#remember(vertical, await bundles.putScript({ ...named, ...known }));
  }

  #isolateOf(vertical: string, digest: string): Isolate {
    const version = this.versionOf(vertical, digest);
    return this.#scripts.get(`${vertical} ${version}`)?.isolate ?? 'vertical';
  }

  #remember(vertical: string, row: ScriptRow): void {
    this.#versions.set(`${vertical} ${row.bundle}`, row.version);
    this.#scripts.set(`${vertical} ${row.version}`, row);
  }

  /**
   * Reads what serves of these verticals, and starts those whose work is due. Call it once, before the first request. One
   * whose bundles cannot be read is reported and not served; the others are.
   */
  async open(verticals: readonly string[]): Promise<void> {
    for (const vertical of verticals)
      await this.#openVertical(vertical).catch((error: unknown) =>
        this.#options.onIncident(error, { kind: bundleUnit.kind, key: vertical, method: 'open' }),
      );
  }

  async #openVertical(vertical: string): Promise<void> {
    for (const script of await this.#bundles(vertical).scripts({})) this.#remember(vertical, script);
    const row = await this.#bundles(vertical).serving({});
    if (!row) return;
    this.#serving.set(vertical, row);
    this.#wakeWhenDue(vertical);
  }

  /** Makes an uploaded version the one that new instances run. */
  async serve({ vertical, archiveScript }: { vertical: string; archiveScript: string }): Promise<void> {
    this.#serving.set(vertical, await this.#bundles(vertical).serve({ script: archiveScript }));
  }

  /**
   * Lets the version serve that the directory names. One that names none, or one that is not here, lets none serve: after a
   * restore of the directory what was deployed since is admitted by none.
   */
  async follow(vertical: string, version: string | null): Promise<void> {
    const serving = this.serving(vertical);
    if (serving === null || serving.version === version) return;
    const named = version === null ? undefined : this.#scripts.get(`${vertical} ${version}`);
    if (named) return this.serve({ vertical, archiveScript: named.script });
    await this.#bundles(vertical).withdraw({});
    this.#serving.delete(vertical);
    await this.end(vertical);
  }

  /** The verticals of which a version serves. */
  verticals(): readonly string[] {
    return [...this.#serving.keys()];
  }

  /** The version that serves of a vertical; null where none is deployed. */
  serving(vertical: string): ScriptRow | null {
    return this.#serving.get(vertical) ?? null;
  }

  /** The version of a bundle that was uploaded here; null for another one. */
  versionOf(vertical: string, digest: string): string | null {
    return this.#versions.get(`${vertical} ${digest}`) ?? null;
  }

  /** Takes the lines that the process of a vertical gathered, and did not send yet. */
  async flush(vertical: string): Promise<void> {
    if (this.isUp(vertical)) await this.#order(vertical, 'POST', '/lines');
  }

  /** A stack of a bundle, with the places of its builder's source. It never rejects. */
  mapStack(vertical: string, bundle: string, stack: string): Promise<string> {
    return this.#positions.map(vertical, bundle, stack);
  }

  /**
   * Serves a request of an instance. What is below `/api/auth/` is answered here; of other requests the instance is told who
   * is calling, in place of the cookies and tokens that say so.
   */
  async fetch(
    vertical: string,
    request: Request,
    node: HostedNode,
    clientAddress: string | null,
  ): Promise<Response> {
    const { tenant, scope, version } = node;
    const script = this.#scripts.get(`${vertical} ${version}`) ?? this.#requireServing(vertical);
    const ask = (sent: Request, caller: HostedCaller) =>
      this.#send(vertical, sent, { tenant, scope, node, clientAddress, caller });
    const met = await this.#signIns.meet(script, request, { node, clientAddress, ask });
    if ('answer' in met) return met.answer;
    return withoutSessionCookies(await ask(request, met.caller));
  }

  /** Serves a request of the management contract, with the vertical's secret. Its headers name the scope. */
  async manage(vertical: string, request: Request): Promise<Response> {
    const tenant = request.headers.get(MANAGED_TENANT_HEADER);
    const scope = request.headers.get(MANAGED_SCOPE_HEADER);
    if (tenant === null || scope === null)
      throw new PlatformError('not_found', 'A request to a deployed vertical names its scope.');
    const { platformSecret } = await this.#options.ports.settingsOf(vertical);
    const path = new URL(request.url).pathname.slice(INTERNAL.length);
    const body = ORDERS.has(path) ? ((await request.clone().json()) as Record<string, unknown>) : {};
    const headers = new Headers(request.headers);
    headers.set(PLATFORM_SECRET_HEADER, platformSecret[0] ?? '');
    const call = { tenant, scope, node: null, clientAddress: null, caller: null };
    const order = { tenant, scope, path, body };
    const shown = new Request(request, { headers });
    if (!REPLACING.has(path)) {
      // The platform is told at once, and not by the second request as visitors are: it asks because it wants to know.
      const answered = this.#isUnreadable(scope)
        ? null
        : await this.#orders.during(order, () => this.#send(vertical, shown, call));
      if (answered && !(await hasFailed(answered))) return answered;
      if (answered) await this.#look(vertical, scope);
      return answered && !this.#isUnreadable(scope) ? answered : problemDocument(unreadable());
    }
    return this.#replacing(vertical, shown, { path, scope }, (sent) =>
      this.#orders.during(order, () => this.#send(vertical, sent, call, { evenIfUnreadable: true })),
    );
  }

  /**
   * Answers a request that needs nothing of a damaged database: that is put aside before, and comes back where nothing took
   * its place.
   */
  async #replacing(
    vertical: string,
    request: Request,
    { path, scope }: { readonly path: string; readonly scope: string },
    send: (request: Request) => Promise<Response>,
  ): Promise<Response> {
    const aside = await this.#putDamagedAside(vertical, scope);
    const putBack = async (): Promise<void> => {
      if (aside === null) return;
      await this.#process(vertical).end();
      aside.undo();
    };
    try {
      const isGone = aside !== null || this.#isUnreadable(scope);
      const answered = await send(isGone ? evenIfMissing(request) : request);
      // Read first: the end of the instance would cut its answer off.
      const said = await answered.text();
      // An answer about another tenant's scope has no reason.
      const isDeleted = path === 'delete-scope' && (answered.ok || reasonIn(said) === 'unknown_scope');
      const isRestored = path === 'restore' && answered.ok;
      if (isDeleted || isRestored) {
        aside?.done();
        this.#looks.delete(scope);
        this.#unreadable.delete(objectIdOf(scope));
      } else await putBack();
      if (path === 'delete-scope') this.#signIns.forget(scope);
      if (isDeleted) await this.remove(vertical, scope);
      if (isRestored && aside) return Response.json({ ...JSON.parse(said), setAside: aside.name });
      return new Response(said, answered);
    } catch (error) {
      await putBack();
      throw error;
    } finally {
      aside?.resume();
    }
  }

  /** Makes room for a copy, and for the end of a scope, where the database is damaged. Null for one that is whole. */
  async #putDamagedAside(
    vertical: string,
    scope: string,
  ): Promise<(PutAside & { readonly resume: () => void }) | null> {
    const { folder, copies, now } = this.#options;
    const place = join(folder, vertical);
    if (!(await isDamaged(place, scope))) return null;
    // A copy of what is tried in its place would be all that is left of it.
    const resume = (await copies?.pause(scope)) ?? (() => undefined);
    try {
      await this.#process(vertical).end();
      return { ...putAside(place, scope, now()), resume };
    } catch (error) {
      resume();
      throw error;
    }
  }

  /** Moves a scope to a version. Its failure, if any, left it at the version before. */
  async move({ vertical, tenant, scope, script }: ScopeMove): Promise<Moved> {
    const moved = this.#move({ vertical, tenant, scope, script });
    this.#moves.add(moved);
    try {
      return await moved;
    } finally {
      this.#moves.delete(moved);
    }
  }

  async #move({ vertical, tenant, scope, script }: ScopeMove): Promise<Moved> {
    const row = this.#discarding.has(script) ? null : await this.#bundles(vertical).script({ script });
    if (!row)
      throw new PlatformError('not_found', 'There is no such version here.', { reason: 'unknown_script' });
    const path = `/move?scope=${encodeURIComponent(scope)}`;
    return (await this.#order(vertical, 'POST', path, {
      tenant,
      digest: row.bundle,
    } satisfies MoveOrder)) as Moved;
  }

  /**
   * Forgets a version, and those of its files that no other one has. Returns what went; with `dryRun`, what would go.
   * @param scopes those of the vertical: none of them may run it.
   * @throws PlatformError `conflict`, reason `version_in_use`.
   */
  async discard({ vertical, script, scopes, dryRun }: DiscardOrder): Promise<FreedFiles> {
    const bundles = this.#bundles(vertical);
    const row = await bundles.script({ script });
    if (!row) return { files: 0, bytes: 0 };
    if (this.serving(vertical)?.script === script) throw inUse('This version serves.');
    this.#discarding.add(script);
    try {
      await Promise.allSettled(this.#moves);
      const running = await this.#runningOf(
        vertical,
        scopes.map(({ scope }) => scope),
      );
      if (running.includes(row.bundle))
        throw inUse('A scope still runs this version: move the scopes of the vertical first.');
      if (dryRun) return await bundles.freedBy({ script });
      const freed = await bundles.forget({ script });
      this.#versions.delete(`${vertical} ${row.bundle}`);
      this.#scripts.delete(`${vertical} ${row.version}`);
      return freed;
    } finally {
      this.#discarding.delete(script);
    }
  }

  /** The version that a scope runs; null before its first request. */
  async running(vertical: string, scope: string): Promise<string | null> {
    const [digest = null] = await this.#runningOf(vertical, [scope]);
    if (digest === null) return null;
    const scripts = await this.#bundles(vertical).scripts({});
    return scripts.find(({ bundle }) => bundle === digest)?.version ?? null;
  }

  /** The digest that each scope runs; null before its first request. */
  async #runningOf(vertical: string, scopes: readonly string[]): Promise<readonly (string | null)[]> {
    if (scopes.length === 0) return [];
    return (await this.#order(vertical, 'POST', '/running', scopes)) as readonly (string | null)[];
  }

  /** Lets an instance start again with its present settings. */
  async restart(vertical: string, scope: string): Promise<void> {
    await this.#order(vertical, 'POST', `/restart?scope=${encodeURIComponent(scope)}`);
  }

  /** Lets the instances that run start again with the present settings, before their next request. One that rests reads them at its start. */
  async settingsChanged(vertical: string): Promise<void> {
    if (this.#processes.get(vertical)?.isUp) await this.#order(vertical, 'POST', '/settings-changed');
    await this.previews.settingsChanged(vertical);
  }

  /** Removes what the runtime itself keeps about a scope, its database included. */
  async remove(vertical: string, scope: string): Promise<void> {
    await this.#order(vertical, 'POST', `/remove?scope=${encodeURIComponent(scope)}`);
    removeAside(join(this.#options.folder, vertical), scope);
    await this.#options.copies?.forget(scope);
  }

  /** The size of a scope's databases, in bytes; null where it has none here. No process is started for it. */
  databaseBytes(vertical: string, scope: string): number | null {
    return databaseBytes(join(this.#options.folder, vertical), scope);
  }

  /** Whether the process of a vertical runs or starts. */
  isUp(vertical: string): boolean {
    return this.#processes.get(vertical)?.isUp ?? false;
  }

  /** The processes that run, by slug. */
  processes(): readonly { readonly vertical: string; readonly pid: number | null }[] {
    return [...this.#processes].flatMap(([vertical, process]) =>
      process.isUp ? [{ vertical, pid: process.pid }] : [],
    );
  }

  /** The verticals whose process failed several times in a row, and did not recover since. */
  failing(): readonly string[] {
    return [...this.#processes].flatMap(([vertical, { isFailing }]) => (isFailing ? [vertical] : []));
  }

  /** Ends the process of a vertical in order. Its next request starts it again. */
  async end(vertical: string): Promise<void> {
    await this.#processes.get(vertical)?.end();
  }

  /** Ends every process in order. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    const all = [...this.#processes.values(), this.#checks, this.previews];
    await Promise.all(all.map((each) => each.close()));
  }

  /** One that does not run rings no alarm: it is started for the first that is due, and not while it is put off. */
  #wakeWhenDue(vertical: string): void {
    clearTimeout(this.#timers.get(vertical));
    const process = this.#process(vertical);
    const dueAtMs = process.dueAtMs();
    if (dueAtMs === null || this.#isClosed || !this.#serving.has(vertical)) return;
    const waitMs = Math.min(Math.max(process.pauseMs, dueAtMs - this.#options.now()), WAIT_MAX_MS);
    const timer = setTimeout(() => {
      // A start that fails is a fault, after which it is down: that sets the next timer.
      process.wake().catch(() => undefined);
    }, waitMs);
    timer.unref();
    this.#timers.set(vertical, timer);
  }

  async #send(
    vertical: string,
    request: Request,
    call: SentCall,
    { evenIfUnreadable = false } = {},
  ): Promise<Response> {
    const { bundle } = this.#requireServing(vertical);
    // An instance whose database is missing would begin anew, and hide that it is.
    if (!evenIfUnreadable && this.#isUnreadable(call.scope)) throw unreadable();
    const answered = await sendCall(this.#process(vertical), request, { ...call, serving: bundle });
    if (await hasFailed(answered)) void this.#look(vertical, call.scope);
    // The router knows that the scope is there.
    if (call.node !== null && answered.status === 404 && this.#noteIfGone(vertical, call.scope)) {
      await answered.body?.cancel();
      throw unreadable();
    }
    return answered;
  }

  /** Finds out whether an instance fails because its database is damaged, and tells the operator. It never rejects. */
  #look(vertical: string, scope: string): Promise<boolean> {
    const last = this.#looks.get(scope);
    if (last && performance.now() - last.atMs < LOOK_AGAIN_MS) return last.done;
    const done = isDamaged(join(this.#options.folder, vertical), scope).then(
      (damaged) => {
        // A copy may have taken its place meanwhile.
        if (damaged && this.#looks.get(scope) === look) this.#noteDamaged(vertical, scope);
        return damaged;
      },
      () => false,
    );
    const look = { atMs: performance.now(), done };
    this.#looks.set(scope, look);
    return done;
  }

  #noteDamaged(vertical: string, scope: string): void {
    this.#noteUnreadable(
      scope,
      `The database of the instance ${scope} of ${vertical} is damaged; all others are served. Restore a backup of it (freehold scopes restore), or, with an archive, end the platform and run: npm start -- recover deployed/${scope}`,
    );
  }

  /**
   * Finds those of a vertical's scopes whose database is gone: each would begin anew, and answer that there is no such scope.
   * They are not served until a copy is restored. Call it at a start.
   */
  findMissing(vertical: string, scopes: readonly string[]): void {
    for (const scope of scopes) this.#noteIfGone(vertical, scope);
  }

  /** Notes that the database of a scope is gone. Returns whether it is. */
  #noteIfGone(vertical: string, scope: string): boolean {
    if (!isGone(join(this.#options.folder, vertical), scope)) return false;
    if (!this.#isUnreadable(scope))
      this.#noteUnreadable(
        scope,
        `The database of the instance ${scope} of ${vertical} is gone; all others are served. Restore a backup of it: freehold scopes restore.`,
      );
    return true;
  }

  #noteUnreadable(scope: string, text: string): void {
    this.#unreadable.add(objectIdOf(scope));
    this.#options.onIncident(new Error(text), { kind: 'deployed', key: scope, method: 'open' });
  }

  /** The number of instances that are not served, because their database is damaged or gone. */
  unreadable(): number {
    return this.#unreadable.size;
  }

  #isUnreadable(scope: string): boolean {
    return this.#unreadable.size > 0 && this.#unreadable.has(objectIdOf(scope));
  }

  #requireServing(vertical: string): ScriptRow {
    const serving = this.serving(vertical);
    if (serving) return serving;
    throw new PlatformError('unavailable', 'No version of this application is deployed here.', {
      reason: 'nothing_deployed',
    });
  }

  async #order(vertical: string, method: string, path: string, body?: unknown): Promise<unknown> {
    return this.#process(vertical).order(method, path, body);
  }

  async #bundleOf(name: string): Promise<StoredBundle | null> {
    const [vertical = '', digest = ''] = name.split(':');
    return this.#bundle(vertical, digest);
  }

  async #bundle(vertical: string, digest: string): Promise<StoredBundle | null> {
    const files = await this.#bundles(vertical).bundle({ digest });
    if (!files) return null;
    return {
      mainModule: MAIN_MODULE,
      compatibilityDate: COMPATIBILITY_DATE,
      compatibilityFlags: COMPATIBILITY_FLAGS,
      modules: Object.fromEntries(
        files
          // A source map is for people.
          .filter(({ name }) => !name.endsWith('.map'))
          .map(({ name, mediaType, bytes }) => [
            name,
            mediaType.startsWith('application/javascript')
              ? { js: Buffer.from(bytes).toString('utf8') }
              : { data: Buffer.from(bytes).toString('base64') },
          ]),
      ),
    };
  }

  #process(vertical: string): VerticalProcess {
    this.#options.copies?.look(vertical);
    const known = this.#processes.get(vertical);
    if (known) return known;
    const { ports } = this.#options;
    const process: VerticalProcess = new VerticalProcess({
      ...this.#processOptions({
        vertical,
        ports: { ...ports, secretsOf: async (of) => liveSecrets(await ports.secretsOf(of)) },
        bundle: (digest) => this.#bundle(vertical, digest),
        makeRoom: (isolate) => process.makeRoom(isolate),
      }),
      onFault: this.#options.onFault,
      onDown: () => this.#wakeWhenDue(vertical),
    });
    this.#processes.set(vertical, process);
    return process;
  }

  #processOptions({
    vertical,
    name = vertical,
    ports = this.#options.ports,
    limits = {},
    signIns = this.#signIns,
    orders = this.#orders,
    bundle,
    makeRoom = async () => undefined,
  }: ProcessParts): Omit<VerticalProcessOptions, 'onFault' | 'onDown'> {
    const { folder, now, onIncident, stopping } = this.#options;
    return {
      vertical,
      folder: join(folder, name),
      host: hostModule,
      openServices: (socket, waiting) =>
        openServices(socket, {
          ...{ vertical, ports, bundle, makeRoom, onIncident, now, signIns, orders },
          isolateOf: (digest) => this.#isolateOf(vertical, digest),
          waiting: { ...waiting, mayGoOn: () => !stopping?.aborted && waiting.mayGoOn() },
        }),
      limits: { ...PROCESS_LIMITS, ...this.#options.limits, ...limits },
    };
  }

  #bundles(vertical: string): BundleCalls {
    return this.#options.engine.unit(bundleUnit, vertical, { create: true });
  }
}

/**
 * The platform's own pages are written with it, and a bundle declares what it likes.
 * @throws PlatformError `validation_failed`, reason `manifest_differs`.
 */
function requireLook(declared: unknown): AppLook {
  const read = look.safeParse(declared ?? {});
  if (read.success) return read.data as AppLook;
  throw new PlatformError('validation_failed', 'The bundle declares a look that is none.', {
    reason: 'manifest_differs',
    cause: read.error,
  });
}

function outdated(): PlatformError {
  return new PlatformError(
    'validation_failed',
    'The bundle was made by an earlier version of Freehold. Update the packages of your project, and deploy it again.',
    { reason: 'bundle_outdated' },
  );
}

/** @throws PlatformError `validation_failed`, reason `manifest_differs`. */
function requireSame({ manifest, migrations, egress }: Upload, declared: ToldDeclaration): void {
  const parts: readonly [string, unknown, unknown][] = [
    ...Object.keys({ ...manifest, ...declared.manifest }).map((key): [string, unknown, unknown] => [
      `manifest.${key}`,
      manifest[key as keyof VerticalManifest],
      declared.manifest[key as keyof VerticalManifest],
    ]),
    ['migrations', migrations, declared.migrations],
    ['egress', egress, declared.egress],
  ];
  const different = parts.filter(
    ([, submitted, found]) => canonicalJson(submitted ?? null) !== canonicalJson(found ?? null),
  );
  if (different.length === 0) return;
  throw new PlatformError(
    'validation_failed',
    `The bundle is not what was submitted beside it: ${different.map(([name]) => name).join(', ')}.`,
    {
      reason: 'manifest_differs',
      errors: different.map(([path]) => ({ path, message: 'differs from the bundle' })),
    },
  );
}

function reasonIn(problem: string): unknown {
  try {
    return (JSON.parse(problem) as { readonly reason?: unknown } | null)?.reason;
  } catch {
    return undefined;
  }
}

/** A request about a copy, for a scope whose database was put aside: there is none now. */
function evenIfMissing(request: Request): Request {
  const url = new URL(request.url);
  if (url.searchParams.has('format')) url.searchParams.set('ifMissing', 'make');
  return new Request(url, request);
}

function inUse(message: string): PlatformError {
  return new PlatformError('conflict', message, { reason: 'version_in_use' });
}

function unreadable(): PlatformError {
  return new PlatformError('unavailable', 'The database of this cannot be read. The operator was told.', {
    reason: 'unit_unreadable',
  });
}

/** Whether an instance could not answer: the answer of its supervisor. */
async function hasFailed(answered: Response): Promise<boolean> {
  return answered.status === 503 && reasonIn(await answered.clone().text()) === 'instance_failed';
}

function noPreviews(): never {
  throw new PlatformError('unsupported', 'This platform runs no previews.', { reason: 'no_previews' });
}
