/** `startDev`: a development server for the application in one folder. */
import { existsSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { openAppBundler } from '@freehold/app/worker/bundle';
import { lockDataDirectory } from '@freehold/engine-node';
import { generateIssuerKeys, type Issuer, IssuerError, type IssuerKeys, startIssuer } from '@freehold/issuer';
import { makeDevAgent } from './agent/dev-agent.ts';
import { clearBundles, openBundler } from './build/bundle.ts';
import { type AppLoader, appSource, makeInProcessLoader } from './build/loader.ts';
import { Positions } from './build/positions.ts';
import { Lines } from './instance/lines.ts';
import { CLIENT_ID, LocalPlatform } from './instance/local-platform.ts';
import { type Addresses, People } from './instance/people.ts';
import { RequestLog } from './instance/request-log.ts';
import { type Generation, Versions } from './instance/versions.ts';
import { DevError } from './lib/dev-error.ts';
import type { DevEvent, Fault, Ready } from './lib/events.ts';
import { type Project, readProject, requireOneCopy } from './project/project.ts';
import { type DevState, dataDirectoryOf, loadState, removeState, saveState } from './project/state.ts';
import { watchProject } from './project/watch.ts';
import { runSeed } from './seed.ts';
import { DEV_PATH } from './serve/banner.ts';
import { DevServer } from './serve/dev-server.ts';

export interface DevOptions {
  /** The builder's folder, with `package.json`. */
  readonly folder: string;
  /** Default 8790; 0 takes a free one. */
  readonly port?: number;
  /** Where people sign in. Default: that of the first start, which is 8788 if it is not given; 0 takes a free one then. */
  readonly issuerPort?: number;
  /** Deletes what earlier starts kept. */
  readonly fresh?: boolean;
  /** A seed module, relative to the folder. It is run once for the data that is kept. */
  readonly seed?: string;
  readonly onEvent: (event: DevEvent) => void;
  /** True where the process is this server's own: an error that no request caught is reported, and does not end it. */
  readonly ownsProcess?: boolean;
  /** Default: loads the application into this process. */
  readonly loader?: AppLoader;
}

export interface Dev {
  readonly ready: Ready;
  /** Resolves when every save that was noticed has been dealt with. */
  settled(): Promise<void>;
  /** Deals with a save now, for a caller that does not wait for the watch. */
  save(): Promise<void>;
  /** Finishes requests, and closes everything. May be called again. */
  close(): Promise<void>;
}

const FAULTS_MAX = 20;

/** @throws DevError with one sentence. */
export async function startDev(options: DevOptions): Promise<Dev> {
  const project = readProject(options.folder);
  requireOneCopy(project);
  if (options.fresh) beginAnew(project, options.onEvent);
  const dev = new DevRun(project, options, await loadState(project, generateIssuerKeys));
  try {
    return await dev.start();
  } catch (error) {
    await dev.close();
    throw error;
  }
}

function beginAnew(project: Project, onEvent: DevOptions['onEvent']): void {
  if (!existsSync(project.folder)) return;
  requireFree(project);
  onEvent({
    type: 'note',
    text: `Deleting ${project.folder}: the data of the instance, its people and its sign-ins.`,
  });
  removeState(project);
}

/** Refuses a folder that another `freehold dev` has open. */
function requireFree(project: Project): void {
  const data = dataDirectoryOf(project);
  let unlock: () => void;
  try {
    unlock = lockDataDirectory(data);
  } catch (cause) {
    const { reason, message } = cause as { reason?: string; message: string };
    throw new DevError(
      'conflict',
      reason === 'data_directory_in_use'
        ? `freehold dev is running in ${project.root} already: stop it first.`
        : message,
      { cause },
    );
  }
  unlock();
}

/** One run of the server. */
class DevRun {
  readonly #project: Project;
  readonly #options: DevOptions;
  #state: DevState;
  readonly #positions: Positions;
  readonly #server = new DevServer();
  readonly #recent: Fault[] = [];
  #broken: readonly Fault[] = [];
  /** The note of the last version that lets no person in. */
  #closedBecause: string | null = null;
  #versions: Versions | null = null;
  #addresses: Addresses | null = null;
  #isReady = false;
  /** The saves, one after the other. */
  #work: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;
  readonly #cleanup: (() => void | Promise<void>)[] = [];

  constructor(project: Project, options: DevOptions, state: DevState) {
    this.#project = project;
    this.#options = options;
    this.#state = state;
    this.#positions = new Positions(project);
  }

  async start(): Promise<Dev> {
    const { port = 8790 } = this.#options;
    const project = this.#project;
    requireFree(project);
    if (this.#options.ownsProcess) this.#reportUncaught();
    clearBundles(project);
    const origin = await this.#server.listen(port);
    this.#cleanup.push(() => this.#server.close());
    const issuer = await this.#startIssuer(origin);
    const addresses = { origin, issuer: issuer.url };
    this.#addresses = addresses;
    const requests = new RequestLog();
    const platform = new LocalPlatform({
      requests,
      ...{ root: project.root, dataDirectory: dataDirectoryOf(project), secrets: this.#state, ...addresses },
      onIncident: (error, { kind, method }) => this.#report(error, `${kind} ${method}`),
      onMail: ({ to, subject, text }) => this.#emit({ type: 'mail', to, subject, text }),
      onLines: (slug, told) => lines.take(slug, told),
      onFault: ({ detail }) => this.#report(new Error(detail), 'the process of the application'),
    });
    this.#cleanup.push(() => platform.close());
    const lines = new Lines({
      requests,
      positions: this.#positions,
      mapStack: (...told) => platform.mapStack(...told),
      isDeclared: (host) => platform.declares(host),
      onEvent: (event) => this.#emit(event),
      onFault: (where, fault) => this.#showFault(where, fault),
    });
    const { root, entry } = project;
    const bundler = await openBundler(project, appSource(project));
    this.#cleanup.push(() => bundler.close());
    const appBundler = await openAppBundler({ root, entry });
    this.#cleanup.push(() => appBundler.close());
    const versions = new Versions({
      ...{ root, bundler, appBundler, platform, lines },
      loader: this.#options.loader ?? makeInProcessLoader(project),
      positions: this.#positions,
      onOpen: (generation) => this.#onOpen(generation, addresses),
    });
    this.#versions = versions;
    const agent = makeDevAgent({
      project,
      versions,
      origin,
      peopleOf: (generation) => peopleOf(generation, addresses),
      requests,
      // Lines that were told a moment ago are shown, too.
      settle: () => platform.flush().then(() => lines.settled),
      faults: () => ({ save: this.#broken, requests: this.#recent }),
    });
    this.#server.serve({ versions, agent });
    // A file that is saved while the first version is opened comes after it.
    this.#cleanup.push(watchProject(project.root, (savedAtMs) => void this.#queue(savedAtMs)));
    const first = this.#save(Date.now());
    this.#work = first.catch(() => undefined);
    await first;
    this.#isReady = true;
    return {
      ready: await this.#ready(issuer.url),
      settled: () => this.#work,
      save: () => this.#queue(Date.now()),
      close: () => this.close(),
    };
  }

  #reportUncaught(): void {
    const report = (error: unknown) => this.#report(error, 'the background');
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, report);
      this.#cleanup.push(() => void process.off(event, report));
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    // In reverse: the watch, then the data, then the ports.
    for (const step of this.#cleanup.reverse()) {
      await step();
      await this.#work;
    }
    this.#emit({ type: 'stopped' });
  }

  async #startIssuer(origin: string): Promise<Issuer> {
    const issuerPort = issuerPortOf(this.#options, this.#state);
    const { issuerKeys, cookieKey, clientSecret } = this.#state;
    try {
      const issuer = await startIssuer({
        port: issuerPort,
        keys: issuerKeys as unknown as IssuerKeys,
        cookieKeys: [cookieKey],
        clients: [
          {
            clientId: CLIENT_ID,
            clientSecret,
            name: 'freehold dev',
            redirectUris: [`${origin}/api/auth/callback`],
            postLogoutRedirectUris: [`${origin}/`],
          },
          {
            clientId: 'freehold-cli',
            name: 'A program on this machine',
            redirectUris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
            postLogoutRedirectUris: [],
          },
        ],
        onError: (error) => this.#report(error, 'development issuer'),
      });
      this.#cleanup.push(() => issuer.close());
      this.#keep({ issuerPort: issuer.port });
      return issuer;
    } catch (error) {
      if (!(error instanceof IssuerError)) throw error;
      const next =
        error.code === 'port_taken'
          ? `Port ${issuerPort}, where people sign in, is taken by another program: stop that one, or choose another port with --issuer-port.`
          : error.message;
      throw new DevError('conflict', next, { cause: error });
    }
  }

  #queue(savedAtMs: number): Promise<void> {
    this.#work = this.#work
      .then(() => (this.#closing === null ? this.#save(savedAtMs) : undefined))
      // A full disk, for example. The next save tries again.
      .catch((error: unknown) => this.#report(error, 'the save'));
    return this.#work;
  }

  /** Serves what is on disk, and says what became of it. */
  async #save(savedAtMs: number): Promise<void> {
    const versions = this.#versions as Versions;
    const saved = await versions.update();
    if (saved.outcome === 'broken') {
      // Nothing new: the output may be a file in the folder that is watched, and would be a save itself.
      if (isDeepStrictEqual(saved.faults, this.#broken)) return;
      this.#broken = saved.faults;
      const serving = versions.current === null ? null : versions.version;
      this.#emit({ type: 'broken', serving, faults: saved.faults });
    } else {
      const wasBroken = this.#broken.length > 0;
      this.#broken = [];
      if (saved.outcome === 'served' || wasBroken)
        this.#emit({ type: 'served', version: versions.version, ms: Date.now() - savedAtMs });
      await this.#seed();
      await versions.tidy();
    }
    this.#server.show({ version: versions.version, faults: this.#broken });
  }

  async #onOpen(generation: Generation, addresses: Addresses): Promise<void> {
    const seam = generation.loaded.app.authenticatedPrincipal;
    if (seam.kind === 'unauthenticated') {
      const at = seam.declaredAt === null ? '' : ` (${seam.declaredAt})`;
      const text = `No person is let in yet: everything under /api answers 401 until authenticatedPrincipal is signedIn()${at}.`;
      if (text !== this.#closedBecause) this.#emit({ type: 'note', text });
      this.#closedBecause = text;
    } else if (!this.#state.peopled) {
      const people = new People(generation, addresses);
      for (const text of await people.makeFirst()) this.#emit({ type: 'note', text });
      if (this.#isReady) this.#emit({ type: 'people', people: await people.list() });
      this.#keep({ peopled: true });
    }
  }

  /** Runs the seed module once, when there is a version that it can call. */
  async #seed(): Promise<void> {
    const { seed } = this.#options;
    const people = this.#people();
    if (seed === undefined || people === null || this.#state.seeded !== null) return;
    try {
      await runSeed(this.#project, seed, { people, positions: this.#positions });
      this.#keep({ seeded: seed });
      this.#emit({ type: 'note', text: `${seed} was run. It is run again after freehold dev --fresh.` });
    } catch (error) {
      for (const fault of this.#positions.describeAll(error, null))
        this.#emit({ type: 'fault', where: seed, fault });
    }
  }

  /** Null while no version lets people in. */
  #people(): People | null {
    const generation = this.#versions?.current;
    return generation && this.#addresses ? peopleOf(generation, this.#addresses) : null;
  }

  async #ready(issuer: string): Promise<Ready> {
    const { origin } = this.#server;
    return {
      type: 'ready',
      name: this.#versions?.current?.loaded.app.manifest.name ?? null,
      url: origin,
      mcp: `${origin}/api/mcp`,
      devMcp: `${origin}${DEV_PATH}/mcp`,
      issuer,
      data: this.#project.folder,
      people: (await this.#people()?.list()) ?? [],
    };
  }

  #report(error: unknown, where: string): void {
    this.#showFault(where, this.#positions.describe(error, 'request'));
  }

  #showFault(where: string, fault: Fault): void {
    this.#recent.push(fault);
    if (this.#recent.length > FAULTS_MAX) this.#recent.shift();
    this.#emit({ type: 'fault', where, fault });
  }

  #keep(change: Partial<DevState>): void {
    this.#state = { ...this.#state, ...change };
    saveState(this.#project, this.#state);
  }

  #emit(event: DevEvent): void {
    this.#options.onEvent(event);
  }
}

/** Null for a version that lets no person in. */
function peopleOf(generation: Generation, addresses: Addresses): People | null {
  const { kind } = generation.loaded.app.authenticatedPrincipal;
  return kind === 'unauthenticated' ? null : new People(generation, addresses);
}

/**
 * A person is known by the address of the issuer, so that data belongs to one port.
 * @throws DevError for another port than that of the data.
 */
function issuerPortOf({ issuerPort }: DevOptions, { issuerPort: known }: DevState): number {
  if (known === null) return issuerPort ?? 8788;
  if (issuerPort === undefined || issuerPort === 0 || issuerPort === known) return known;
  throw new DevError(
    'conflict',
    `The people of this data sign in at port ${known}: leave --issuer-port out, or begin anew with --fresh.`,
  );
}
