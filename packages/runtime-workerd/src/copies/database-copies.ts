/**
 * Keeps a copy of each instance's databases in the platform's own units, so that the archive has them. A round each second
 * looks for instances whose files changed, and reads what changed in them.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import type { Engine, EngineTools, IncidentSink } from '@freehold/store';
import {
  type CopiedDatabase,
  type CopiedPages,
  type CopyCalls,
  type CopyState,
  copyUnit,
  listedDigests,
} from './copy-unit.ts';
import { type ChangeLaidOut, layOut } from './lay-out.ts';
import { hasInstance, isEmptied, listObjects, type ObjectFiles, objectIdOf } from './object-files.ts';
import { DIGEST_BYTES, type Page, type PageDigests, readChanges } from './read-changes.ts';

export interface DatabaseCopiesOptions {
  /** The folder of all processes. */
  readonly folder: string;
  readonly engine: Pick<Engine, 'unit'> & EngineTools;
  /** Changes what is laid out from a copy, which is older than other units know. */
  readonly changeOlder: ChangeLaidOut;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
}

export interface CopiesStatus {
  /** The number of instances with changes that their copies lack. */
  readonly waiting: number;
  /** The age of the oldest such change, in milliseconds. */
  readonly lagMs: number;
}

/** The time between two rounds. */
const ROUND_MS = 1_000;
/** A copy takes at most this share of the time: of a large database under load it is made less often. */
const SHARE = 1 / 20;
/** Number of instances that are read at once. */
const CONCURRENCY = 4;
const CALL_BYTES_MAX = 1_024 * 1_024;
/** The number of tries in one round for an instance that is written meanwhile. The first one touches no lock. */
const ATTEMPTS_MAX = 3;

/** An instance whose files are known. */
interface Known {
  readonly vertical: string;
  /** The files at the last reading; null before the first. */
  signature: string | null;
  /** When a change was seen that the copy lacks; null for none. */
  changedAtMs: number | null;
  /** Times of the process's own clock. */
  notBefore: number;
  hasFailed: boolean;
}

export class DatabaseCopies {
  readonly #options: DatabaseCopiesOptions;
  readonly #known = new Map<string, Known>();
  /** The verticals of which a round looks at every file: their processes run, or ran since the last round. */
  readonly #looked = new Set<string>();
  readonly #reading = new Map<string, Promise<void>>();
  readonly #paused = new Set<string>();
  #isRunning: (vertical: string) => boolean = () => false;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;

  constructor(options: DatabaseCopiesOptions) {
    this.#options = options;
  }

  get status(): CopiesStatus {
    const nowMs = this.#options.now();
    const changed = [...this.#known.values()].flatMap(({ changedAtMs }) => changedAtMs ?? []);
    return { waiting: changed.length, lagMs: Math.max(0, nowMs - Math.min(nowMs, ...changed)) };
  }

  /**
   * Lays out what is missing of these instances. Call it before a process starts.
   * @param objects the ids of all copies that there are.
   * @returns those that could not be laid out: they must not be served.
   */
  async layOut(objects: readonly string[]): Promise<ReadonlySet<string>> {
    const { folder, changeOlder, now, onIncident } = this.#options;
    const missing = new Set<string>();
    for (const object of objects)
      await layOut({ folder, object, copy: this.#copy(object), changeOlder, now }).catch((error: unknown) => {
        missing.add(object);
        onIncident(error, { kind: copyUnit.kind, key: object, method: 'layOut' });
      });
    return missing;
  }

  /** Notes of all copies that the databases go on without them: nothing is archived. */
  async disown(objects: readonly string[]): Promise<void> {
    for (const object of objects) {
      const copy = this.#copy(object);
      if ((await copy.state({}))?.isDisowned === false) await copy.disown({});
    }
  }

  /** Begins the rounds. @param isRunning whether a vertical's process runs. */
  begin(isRunning: (vertical: string) => boolean): void {
    this.#isRunning = isRunning;
    this.#schedule();
  }

  /** A vertical whose files may have changed: its process started, or ended, or it was there before this process. */
  look(vertical: string): void {
    this.#looked.add(vertical);
  }

  /** Reads everything that changed. Failures are reported, and not thrown. */
  async flush(): Promise<void> {
    await this.#round;
    await this.#run(true);
  }

  /** Removes the copy of a scope. What the runtime leaves of the files of a deleted one makes no other. */
  async forget(scope: string): Promise<void> {
    const object = objectIdOf(scope);
    const resume = await this.pause(scope);
    try {
      await this.#options.engine.tools(copyUnit, object).remove();
      this.#known.delete(object);
    } finally {
      resume();
    }
  }

  /** Reads nothing of a scope until the function that it returns is called: other files are in the place of its own. */
  async pause(scope: string): Promise<() => void> {
    const object = objectIdOf(scope);
    this.#paused.add(object);
    await this.#reading.get(object);
    return () => void this.#paused.delete(object);
  }

  /** Ends the rounds, after what is being read. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isRunning = () => false;
    await this.#round;
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      void this.#run(false).finally(() => {
        if (this.#timer) this.#schedule();
      });
    }, ROUND_MS).unref();
  }

  /** One round after the other. @param isAll true waits for none that was read a moment ago. */
  #run(isAll: boolean): Promise<void> {
    this.#round ??= this.#readAll(isAll).finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  async #readAll(isAll: boolean): Promise<void> {
    const queue: [vertical: string, files: ObjectFiles][] = [];
    for (const vertical of [...this.#looked]) {
      let isDue = this.#isRunning(vertical);
      const objects = listObjects(join(this.#options.folder, vertical)).filter(hasInstance);
      this.#drop(vertical, new Set(objects.map(({ object }) => object)));
      for (const files of objects) {
        const { notBefore, changedAtMs } = this.#note(vertical, files);
        const isWaiting = changedAtMs !== null;
        isDue ||= isWaiting;
        if (isWaiting && (isAll || notBefore <= performance.now())) queue.push([vertical, files]);
      }
      if (!isDue) this.#looked.delete(vertical);
    }
    const lanes = Array.from({ length: CONCURRENCY }, async () => {
      for (let next = queue.shift(); next; next = queue.shift()) await this.#readOne(...next);
    });
    await Promise.all(lanes);
  }

  /** Objects whose files are gone have nothing to read. Their copies stay. */
  #drop(vertical: string, present: ReadonlySet<string>): void {
    for (const [object, known] of this.#known)
      if (known.vertical === vertical && !present.has(object)) this.#known.delete(object);
  }

  #note(vertical: string, files: ObjectFiles): Known {
    const fresh = { vertical, signature: null, changedAtMs: null, notBefore: 0, hasFailed: false };
    const known: Known = this.#known.get(files.object) ?? fresh;
    this.#known.set(files.object, known);
    if (known.signature !== signatureOf(files)) known.changedAtMs ??= this.#options.now();
    return known;
  }

  #readOne(vertical: string, files: ObjectFiles): Promise<void> {
    const { object } = files;
    const reading = this.#read(vertical, files).finally(() => this.#reading.delete(object));
    this.#reading.set(object, reading);
    return reading;
  }

  async #read(vertical: string, files: ObjectFiles): Promise<void> {
    const { object } = files;
    const known = this.#known.get(object);
    if (!known || this.#paused.has(object)) return;
    const began = performance.now();
    const { changedAtMs } = known;
    const signature = signatureOf(files);
    known.changedAtMs = null;
    try {
      let isDone = false;
      for (let attempt = 0; attempt < ATTEMPTS_MAX && !isDone; attempt++)
        isDone = await this.#copyAll(vertical, files, attempt > 0);
      if (isDone) Object.assign(known, { signature, hasFailed: false });
      else known.changedAtMs = changedAtMs;
    } catch (error) {
      known.changedAtMs = changedAtMs;
      if (!known.hasFailed)
        this.#options.onIncident(error, { kind: 'archive', key: `${vertical} ${object}`, method: 'copy' });
      known.hasFailed = true;
    } finally {
      const ended = performance.now();
      known.notBefore = ended + (ended - began) / SHARE;
    }
  }

  /**
   * Facets first: what the supervisor's database says of them is no older than they are.
   * @returns false where it has to be done again.
   */
  async #copyAll(vertical: string, files: ObjectFiles, isHeld: boolean): Promise<boolean> {
    const copy = this.#copy(files.object);
    const before = await copy.state({});
    const databases: CopiedDatabase[] = [];
    const pages = new PagesOnTheWay(copy);
    const gone = before?.databases.find(
      (database) => !files.databases.includes(database.name) || isEmptied(files.directory, database),
    );
    if (gone) throw new Error(`the database ${gone.name} is gone: its copy stays as it was`);
    for (const name of files.databases) {
      const known = before?.databases.find((database) => database.name === name) ?? null;
      const path = join(files.directory, name);
      const digests = () => digestsOf(copy, name, known?.pages ?? 0);
      const onPages = (some: readonly Page[]) => pages.add(name, some);
      const read = await readChanges({ path, known, digests, onPages, isHeld });
      if (read === 'disturbed') return false;
      if (read) databases.push({ name, ...read });
    }
    const { facets: name } = files;
    const facets = name === null ? null : { name, bytes: readFileSync(join(files.directory, name)) };
    const state: CopyState = { vertical, databases, facets };
    if (!pages.isEmpty || !before || before.isDisowned || !isSame(before, state)) await pages.finish(state);
    return true;
  }

  #copy(object: string): CopyCalls {
    return this.#options.engine.unit(copyUnit, object, { create: true });
  }
}

/** The changed pages of one reading: those of a small change go with its end, in one call. */
class PagesOnTheWay {
  readonly #copy: CopyCalls;
  readonly #waiting: CopiedPages[] = [];
  #bytes = 0;
  #isFirst = true;

  constructor(copy: CopyCalls) {
    this.#copy = copy;
  }

  get isEmpty(): boolean {
    return this.#isFirst && this.#waiting.length === 0;
  }

  async add(name: string, pages: readonly Page[]): Promise<void> {
    const packed = pages.map(({ page, digest, bytes }) => ({ page, digest, bytes: zstdCompressSync(bytes) }));
    this.#bytes += packed.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.#waiting.push({ name, pages: packed });
    if (this.#bytes < CALL_BYTES_MAX) return;
    for (const some of this.#waiting.splice(0)) {
      await this.#copy.keep({ ...some, isFirst: this.#isFirst });
      this.#isFirst = false;
    }
    this.#bytes = 0;
  }

  async finish(state: CopyState): Promise<void> {
    let { isTidy } = await this.#copy.finish({ ...state, isFirst: this.#isFirst, last: this.#waiting });
    while (!isTidy) ({ isTidy } = await this.#copy.tidy({}));
  }
}

async function digestsOf(copy: CopyCalls, name: string, pages: number): Promise<PageDigests> {
  const digests = Buffer.alloc(pages * DIGEST_BYTES);
  for (let after = 0; ; ) {
    const listed = [...listedDigests(await copy.digests({ name, after }))];
    for (const { page, digest } of listed) if (page <= pages) digests.set(digest, (page - 1) * DIGEST_BYTES);
    const last = listed.at(-1);
    if (!last) return digests;
    after = last.page;
  }
}

function isSame(one: CopyState, other: CopyState): boolean {
  const textOf = ({ vertical, databases, facets }: CopyState): string =>
    JSON.stringify([
      vertical,
      databases.map(({ name, pageSize, pages, log, file }) => [name, pageSize, pages, log, file]),
      facets && [facets.name, Buffer.from(facets.bytes).toString('hex')],
    ]);
  return textOf(one) === textOf(other);
}

/** Sizes and times of its files: another one after each write. */
function signatureOf({ directory, databases, facets }: ObjectFiles): string {
  const names = [...databases.flatMap((name) => [name, `${name}-wal`]), ...(facets === null ? [] : [facets])];
  return names
    .map((name) => {
      const found = statSync(join(directory, name), { bigint: true, throwIfNoEntry: false });
      return found ? `${name} ${found.size} ${found.mtimeNs}` : '';
    })
    .join('\n');
}
