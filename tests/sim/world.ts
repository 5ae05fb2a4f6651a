/**
 * The world of one run: time, the disk, the outside, the current process, and the shadows that outlive every process.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { PlatformError, type ScopeId, type TenantId } from '@freehold/contracts';
import { copyDirectory, type FilesBefore, filesBefore, forget, tear } from './engine/crash-image.ts';
import { type Fault, type Fuse, makeFuse, type Point } from './engine/fuse.ts';
import { openNodeEngineUnderTest } from './engine/node-engine.ts';
import { isSimCopy, openSimEngine } from './engine/sim-engine.ts';
import { nameOf, type UnitName } from './engine/watch.ts';
import type { Random } from './lib/random.ts';
import { makeScheduler, type Scheduler } from './lib/scheduler.ts';
import type { Judge } from './lib/violation.ts';
import { makeScopeShadow, type ScopeShadow } from './model/scope-shadow.ts';
import type { CopyRegistry, Shadow } from './model/shadow.ts';
import { makeVaultShadow, type VaultShadow } from './model/vault-shadow.ts';
import type { Mutant } from './mutant.ts';
import { makeOutside } from './outside.ts';
import { type SimProcess, startProcess } from './process.ts';
import { lookInto, unsound } from './reader.ts';
import type { Trace } from './trace.ts';
import { makeWorkload, SECRET, scopeIdOf, TENANTS, type Workload } from './workload.ts';

/** `sim`: the simulation chooses every move. `node`: the production engine. */
export type EngineName = 'sim' | 'node';

export interface SimScope {
  readonly tenantId: TenantId;
  readonly scopeId: ScopeId;
  readonly shadow: ScopeShadow;
}

/** The part of the world that actions use. */
export interface World {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly workload: Workload;
  readonly fuse: Fuse;
  /** The probability that a commit and an opening fail, and the units whose next commit fails for sure. */
  readonly faults: { commit: number; open: number; readonly next: Set<string> };
  readonly scopes: readonly SimScope[];
  readonly copies: CopyRegistry;
  readonly process: SimProcess;
  readonly trace: Trace;
  /** Adds a line to the trace when the answer arrives. Answers that die with their process have none. */
  begin(label: string, answer: Promise<unknown>): void;
  count(what: string): void;
  /** The number of calls without an answer. */
  readonly inFlight: number;
  /** Ends the process: by a kill, a power failure, or a shutdown. The next step begins with another one. */
  end(how: 'death' | 'power' | 'shutdown'): void;
}

/** The part of the world that a run uses. */
export interface RunningWorld extends World {
  /** Waits until only another decision can make something happen. */
  settle(): Promise<void>;
  /** Compares everything. */
  verify(): void;
  /** Stops all faults and lets waiting work finish. */
  calmDown(): Promise<void>;
  close(): Promise<void>;
}

export interface WorldParts {
  readonly root: string;
  readonly random: Random;
  readonly trace: Trace;
  readonly judge: Judge;
  readonly counts: Record<string, number>;
  readonly mutant: Mutant;
  readonly engineName: EngineName;
}

const START_MS = Date.UTC(2026, 0, 5, 2, 50);
/** The limit for the answers of an engine of its own pace, by the real clock. */
const ANSWER_MS = 60_000;
/** The number of decisions that must be enough for the work that waits at the end. */
const CALM_TURNS_MAX = 50_000;

export function makeWorld(parts: WorldParts): RunningWorld {
  const { root, random, trace, judge, counts, mutant, engineName } = parts;
  const scheduler = makeScheduler(random.fork('schedule'), START_MS);
  const outside = makeOutside(random.fork('outside'), scheduler);
  const fuse = makeFuse();
  const faults = { commit: 0, open: 0, next: new Set<string>() };
  const disk = random.fork('disk');
  const copies: CopyRegistry = new WeakMap();
  const shadows = new Map<string, Shadow>();
  const inFlight = new Set<{ readonly label: string }>();
  const abandoned: Promise<void>[] = [];
  let notes: string[] = [];
  let process: SimProcess;
  let generation = 0;
  /** The files of a unit before the commit that the power failure is to strike. */
  let before: FilesBefore | null = null;
  let tornUnit: UnitName | null = null;
  /** The files of each unit when this process first used it: a lying disk has nothing newer. */
  const forgotten = new Map<string, FilesBefore>();
  let isStopping = false;
  /** A mistake of the simulator itself. */
  let broken: Error | null = null;

  /**
   * Adds a line about something that ended by itself. An engine with processes of its own ends things in any order, so
   * the lines of one step are sorted.
   */
  const note = (line: string): void => {
    if (process.inner.isPaced) trace.line(line);
    else notes.push(line);
  };
  const writeNotes = (): void => {
    for (const line of notes.sort()) trace.line(line);
    notes = [];
  };

  const pathOf = ({ kind, key }: UnitName): string => join(process.directory, kind, `${key}.sqlite`);
  const isUnderWay = (label: string): boolean => [...inFlight].some((each) => each.label.startsWith(label));
  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1;
  };

  const shadowParts = (unit: UnitName) => ({
    unit,
    judge,
    copies,
    now: scheduler.now,
    look: <T>(question: Parameters<typeof lookInto<T>>[1]) => lookInto(pathOf(unit), question),
  });
  const vaults = new Map<string, VaultShadow>(
    TENANTS.map((key) => [key, makeVaultShadow(shadowParts({ kind: 'vault', key }))]),
  );
  const scopes = Array.from({ length: 2 + random.below(3) }, (_, index): SimScope => {
    const tenantId = TENANTS[index % TENANTS.length] as TenantId;
    const scopeId = scopeIdOf(index) as ScopeId;
    const shadow = makeScopeShadow({
      ...shadowParts({ kind: 'scope-ledger', key: scopeId }),
      keyOf: (scope, person) => vaults.get(tenantId)?.keyOf(scope, person),
      wasDone: outside.wasDone,
    });
    return { tenantId, scopeId, shadow };
  });
  for (const [key, shadow] of vaults) shadows.set(`vault/${key}`, shadow);
  for (const { scopeId, shadow } of scopes) shadows.set(`scope-ledger/${scopeId}`, shadow);

  /** Ends the process and sets its files aside. `torn`: the unit whose commit was interrupted. */
  const die = (how: 'death' | 'power' | 'shutdown', torn: UnitName | null = null): void => {
    const next = join(root, `process-${generation + 1}`);
    const { directory } = process;
    copyDirectory(directory, next, (path) => isSimCopy(directory, path));
    if (torn && before) {
      tear(before, process.directory, next, disk);
      tornUnit = torn;
    }
    if (how === 'power') for (const files of forgotten.values()) forget(files, process.directory, next);
    process.life.isDead = true;
    isStopping = false;
    const what = `${how}${torn ? ' during a commit' : ''}`;
    count(`ended by ${what}`);
    note(`  ${what}`);
  };
  const end = (how: 'death' | 'power' | 'shutdown'): void => {
    if (how === 'shutdown') isStopping = true;
    else die(how);
  };
  const strike = (point: Point, unit: UnitName): Fault | null => {
    if (point === 'method' && fuse.armed === 'power') before = filesBefore(pathOf(unit));
    if (point === 'method' && mutant.liesAboutSync && !forgotten.has(nameOf(unit)))
      forgotten.set(nameOf(unit), filesBefore(pathOf(unit)));
    const fault = fuse.burn(point);
    if (fault) count(`fault: ${fault} at ${point}`);
    if (fault === 'death') die('death');
    if (fault === 'power') die('power', unit);
    return fault;
  };

  const start = (): void => {
    generation += 1;
    const directory = join(root, `process-${generation}`);
    mkdirSync(directory, { recursive: true });
    process = startProcess({
      directory,
      random: random.fork(`process ${generation}`),
      scheduler,
      outside,
      judge,
      mutant,
      trace: note,
      observerOf: ({ kind, key }) => shadows.get(`${kind}/${key}`) as Shadow,
      pass: (point, unit) => {
        try {
          return strike(point, unit);
        } catch (error) {
          // The platform would catch it, and it would look like a fault of the platform.
          broken ??= error as Error;
          throw error;
        }
      },
      openEngine: (engineParts, life) =>
        engineName === 'node'
          ? openNodeEngineUnderTest(engineParts)
          : openSimEngine({
              ...engineParts,
              schedule: (label, task) => scheduler.soon(life, label, task),
              faults: {
                commitFails: (_kind, key) => faults.next.delete(key) || disk.chance(faults.commit),
                openFails: () => disk.chance(faults.open),
              },
              ...(mutant.database ? { tamper: mutant.database } : {}),
            }),
    });
  };

  const abandon = ({ inner, directory }: SimProcess): void => {
    const gone = inner.abandon().then(() => rmSync(directory, { recursive: true, force: true }));
    abandoned.push(gone.catch(() => undefined));
  };

  /** Starts a new process on the files of the dead one. */
  const restart = (): void => {
    for (const [name, shadow] of shadows)
      shadow.died(tornUnit !== null && name === `${tornUnit.kind}/${tornUnit.key}`);
    abandon(process);
    inFlight.clear();
    before = null;
    tornUnit = null;
    forgotten.clear();
    fuse.disarm();
    start();
    trace.line(`  process ${generation}`);
    if (!mutant.sleeps) void process.runner.resume(scopes.map(({ scopeId }) => scopeId));
  };

  const turn = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    if (broken) throw broken;
    judge.requireSound();
  };
  const answered = async (): Promise<void> => {
    await turn();
    if (process.inner.isPaced) return;
    const lateMs = performance.now() + ANSWER_MS;
    while (process.engine.outstanding + inFlight.size > 0 && !process.life.isDead) {
      await turn();
      if (performance.now() > lateMs)
        judge.fail('liveness', `the engine has not answered ${process.engine.outstanding} calls in a minute`);
    }
    await turn();
    writeNotes();
  };
  /** Finishes accepted work, returns lent events, and closes everything; a fault may kill it meanwhile. */
  const stop = async (): Promise<void> => {
    const { life, runner, inner } = process;
    let isStill = false;
    void runner.stop().then(() => {
      isStill = true;
    });
    await answered();
    while (!isStill && !life.isDead) {
      if (scheduler.ready() === 0) judge.fail('liveness', 'the platform does not come to rest');
      trace.line(`  stop: ${scheduler.runOne()}`);
      await answered();
    }
    if (!life.isDead) await inner.close();
    if (!life.isDead) die('shutdown');
  };
  const settle = async (): Promise<void> => {
    await answered();
    if (isStopping) await stop();
    if (!process.life.isDead) return;
    restart();
    await answered();
  };

  /** Immutable files are read once. */
  const lookedInto = new Set<string>();
  const hasLookedInto = (path: string): boolean => {
    if (!isSimCopy(process.directory, path)) return false;
    const name = relative(process.directory, path);
    const isKnown = lookedInto.has(name);
    lookedInto.add(name);
    return isKnown;
  };

  const verify = (): void => {
    count('full comparison');
    for (const { tenantId, scopeId, shadow } of scopes) {
      const unit = { kind: 'scope-ledger', key: scopeId };
      const fault = unsound(pathOf(unit));
      if (fault !== null) judge.fail('integrity', `${nameOf(unit)}: ${fault}`);
      lookInto(pathOf(unit), (db) => shadow.verify(db));
      const isReplaced = ['rewind', 'restore'].some((label) => isUnderWay(`${label} ${scopeId.slice(-4)}`));
      if (shadow.isSettled && !isReplaced) shadow.requireErased();
      for (const person of shadow.erasedPersons) {
        if (vaults.get(tenantId)?.keyOf(scopeId, person) !== 'destroyed')
          judge.fail('erasure', `the vault still has the key of ${person}, who was erased`);
      }
    }
    const open = filesWith(process.directory, [SECRET], hasLookedInto);
    if (open !== null) judge.fail('erasure', `what is sealed lies in clear in ${open}`);
    // Only the production engine promises to overwrite deleted data.
    if (engineName === 'sim') return;
    const remains = [...vaults.values()].flatMap((vault) => vault.remains());
    const found = filesWith(join(process.directory, 'vault'), remains);
    if (found !== null) judge.fail('erasure', `a key that was destroyed is still in ${found}`);
  };

  const calmDown = async (): Promise<void> => {
    trace.line('calm');
    outside.calmDown();
    faults.commit = 0;
    faults.open = 0;
    faults.next.clear();
    end('shutdown');
    await settle();
    // An idle scope keeps what an older state brought back until the next call.
    for (const { scopeId } of scopes) begin('identify', process.host.scope(scopeId).identify({}));
    const isOver = (): boolean =>
      inFlight.size === 0 &&
      scheduler.ready() === 0 &&
      scopes.every(({ shadow }) => shadow.state.deliveries.size === 0);
    for (let turns = 0; turns < CALM_TURNS_MAX; turns++) {
      await settle();
      if (isOver()) {
        const marked = scopes.find(({ shadow }) => shadow.isMarked);
        if (marked)
          judge.fail('erasure', `${marked.scopeId} answered before the vault was asked for erasures`);
        verify();
        return;
      }
      const nextMs = scheduler.nextTimerMs() ?? scheduler.now() + 60_000;
      if (scheduler.ready() > 0) scheduler.runOne();
      else scheduler.advance(Math.max(1, nextMs - scheduler.now()));
    }
    const waiting = scopes.flatMap(({ shadow }) => shadow.state.deliveries.keys());
    judge.fail(
      'liveness',
      `${inFlight.size} calls and ${waiting.length} deliveries wait for ever: ${waiting.slice(0, 3).join(', ')}`,
    );
  };

  const begin = (label: string, answer: Promise<unknown>): void => {
    const { life } = process;
    const entry = { label };
    inFlight.add(entry);
    const over = (outcome: string): void => {
      if (life.isDead) return;
      inFlight.delete(entry);
      count(outcome === 'ok' ? 'answered' : `failed: ${outcome}`);
      note(`  ${label}: ${outcome}`);
    };
    answer.then(
      () => over('ok'),
      (error: unknown) =>
        over(
          error instanceof PlatformError ? `${error.code}/${error.reason ?? ''}` : String(error).slice(0, 80),
        ),
    );
  };

  start();
  return {
    random: random.fork('actions'),
    workload: makeWorkload(random.fork('workload')),
    scheduler,
    fuse,
    faults,
    scopes,
    copies,
    trace,
    count,
    get process() {
      return process;
    },
    get inFlight() {
      return inFlight.size;
    },
    begin,
    end,
    settle,
    verify,
    calmDown,
    close: async () => {
      process.life.isDead = true;
      abandon(process);
      await Promise.all(abandoned);
    },
  };
}

/** Returns the first file that contains one of these texts, or null. */
function filesWith(
  directory: string,
  texts: readonly string[],
  isDone: (path: string) => boolean = () => false,
): string | null {
  if (!existsSync(directory)) return null;
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  for (const { parentPath, name } of files) {
    // Other processes of an engine create and remove files meanwhile.
    const path = join(parentPath, name);
    if (!existsSync(path) || isDone(path)) continue;
    const bytes = readFileSync(path);
    if (texts.some((text) => bytes.includes(text))) return name;
  }
  return null;
}
