/** One run of workerd: started, asked each second whether it lives, and explained when it is over. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import { commandOf } from './command.ts';
import { hostConfig } from './config.ts';
import { InFlight } from './in-flight.ts';
import { endOrphans } from './orphan.ts';
import { sendOver } from './send.ts';
import { cpuTimeMs, dataMib, workerOf } from './worker-of.ts';

export interface ChildLimits {
  /** The most memory of the heap of one isolate, in MiB. Default 256. */
  readonly heapMib: number;
  /** The most memory that the whole process allocates, in MiB; V8 has 512 of it in reserve for code. Default 1536. */
  readonly memoryMib: number;
  /**
   * The time without a heartbeat after which it is killed, in milliseconds; up to 1.6 times that where the machine is so busy
   * that the process does not run. Default 5 seconds.
   */
  readonly silenceMs: number;
  /** The time between two heartbeats, in milliseconds. Default a second. */
  readonly heartbeatMs: number;
  /** The longest time that work waits which a crash cut off, in milliseconds. Default a minute. */
  readonly recoverMs: number;
}

export interface ChildOptions {
  readonly vertical: string;
  /** Its own folder. */
  readonly folder: string;
  /** The text of the host worker. */
  readonly host: () => Promise<string>;
  /** Opens the platform's socket. */
  readonly openServices: (socket: string) => Promise<Server>;
  readonly limits: ChildLimits;
}

/** The end of a run that was not asked for. */
export interface ChildEnd {
  readonly reason: 'hung' | 'memory' | 'died';
  /** A sentence for the operator. */
  readonly detail: string;
}

const START_MS = 30_000;
/** The last lines of standard error, by which the end of a process is explained. */
const LINES_KEPT = 50;
/** By this factor a silence may be longer on a machine that does not let the process run. */
const PATIENCE = 1.6;
/** The same while a copy is made or restored: SQLite writes what came in, or checks it, in one go. */
const PATIENCE_WITH_COPIES = 12;
/** The time of a process that was asked to end, for what runs beside requests. */
const FAREWELL_MS = 1_000;
/** The longest wait for the process in a sandbox, which ends with it. */
const CLOSE_MS = 2_000;
/** The longest wait for the rest of standard error after the end. */
const LAST_WORDS_MS = 500;
/** V8 beyond its heap, and an allocation that the system refused. */
const OUT_OF_MEMORY = /heap limit|out of memory|Allocation failed|std::bad_alloc/i;

const ORIGIN = 'http://host.internal';

/** Starts a process, and resolves when its sockets listen. @throws Error with its output when it exits first. */
export async function startChild(options: ChildOptions): Promise<HostChild> {
  const { vertical, folder, host, openServices, limits } = options;
  mkdirSync(join(folder, 'objects'), { recursive: true, mode: 0o700 });
  await endOrphans(folder);
  for (const socket of ['requests.sock', 'control.sock', 'services.sock'])
    rmSync(join(folder, socket), { force: true });
  writeFileSync(join(folder, 'host.js'), await host());
  writeFileSync(join(folder, 'config.capnp'), hostConfig({ vertical, folder, ...limits }));
  const services = await openServices(join(folder, 'services.sock'));
  const { command, args } = commandOf({ folder, memoryMib: limits.memoryMib });
  const process = spawn(command, args, {
    cwd: folder,
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  const child = new HostChild(process, services, options);
  try {
    await child.ready();
  } catch (error) {
    process.kill('SIGKILL');
    services.close();
    throw error;
  }
  return child;
}

export class HostChild {
  readonly requests: Pool;
  readonly control: Pool;
  readonly inFlight = new InFlight();
  /** The number of copies that it makes or restores. */
  copies = 0;
  /** Resolves when the process is gone, and the one in its sandbox too. */
  readonly exited: Promise<void>;
  readonly #process: ChildProcess;
  readonly #options: ChildOptions;
  readonly #startedAtMs = performance.now();
  readonly #lines: string[] = [];
  readonly #said: Promise<unknown>;
  #isEnding = false;
  #isHung = false;

  constructor(process: ChildProcess, services: Server, options: ChildOptions) {
    const { folder } = options;
    this.#process = process;
    this.#options = options;
    const pool = (socket: string, connections: number | null) =>
      new Pool(ORIGIN, {
        socketPath: join(folder, socket),
        connections,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
    this.requests = pool('requests.sock', null);
    this.control = pool('control.sock', 4);
    const output = createInterface({ input: process.stderr as Readable });
    output.on('line', (line) => {
      this.#lines.push(line);
      if (this.#lines.length > LINES_KEPT) this.#lines.shift();
    });
    this.#said = once(output, 'close');
    const { promise, resolve } = Promise.withResolvers<void>();
    this.exited = promise;
    process.once('exit', () => {
      services.closeAllConnections();
      services.close();
      void this.requests.destroy(new Error('the process ended'));
      void this.control.destroy(new Error('the process ended'));
      // The process in the sandbox has the pipes open until its end.
      const timer = setTimeout(resolve, CLOSE_MS);
      process.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  /** The time since its start, in milliseconds. */
  get livedMs(): number {
    return performance.now() - this.#startedAtMs;
  }

  /** The memory that it allocated, in MiB; null where the system does not tell. */
  get dataMib(): number | null {
    return dataMib(this.#process.pid ?? 0);
  }

  get isOver(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Resolves when both sockets listen. @throws Error with its output when it exits first. */
  async ready(): Promise<void> {
    const process = this.#process;
    const listening = (async () => {
      let sockets = 0;
      for await (const line of createInterface({ input: process.stdio[3] as Readable })) {
        if ((JSON.parse(line) as { readonly event: string }).event === 'listen') sockets++;
        if (sockets === 2) return;
      }
      await new Promise(() => undefined);
    })();
    const { promise: failed, reject } = Promise.withResolvers<never>();
    process.once('error', reject);
    process.once('exit', (code) =>
      reject(new Error(`workerd exited with ${code}: ${this.#lines.join('\n')}`)),
    );
    const timer = setTimeout(() => reject(new Error(`workerd was not ready in ${START_MS} ms`)), START_MS);
    await Promise.race([listening, failed]).finally(() => clearTimeout(timer));
  }

  /**
   * Asks it at each beat whether it lives, and kills it when it is silent for too long: one whose only thread loops answers
   * nothing. @param onBeat called at each beat.
   */
  watch(onBeat: () => void): void {
    const { silenceMs, heartbeatMs } = this.#options.limits;
    let silentMs = 0;
    let cpuBeforeMs = this.#cpuMs();
    let beatAtMs = performance.now();
    let isAsking = false;
    let wasCopying = false;
    const timer = setInterval(() => {
      if (this.isOver) return clearInterval(timer);
      // A platform that was busy itself, or asleep, heard nothing meanwhile: that is no silence of the process.
      silentMs += Math.min(performance.now() - beatAtMs, 2 * heartbeatMs);
      beatAtMs = performance.now();
      // The answer about a copy came out of the silence, and the next beat did not yet.
      if (wasCopying && this.copies === 0) {
        silentMs = 0;
        cpuBeforeMs = this.#cpuMs();
      }
      wasCopying = this.copies > 0;
      // Only one that had the processor hangs. One that did not is given more time, but not for ever.
      const hadProcessor = this.#cpuMs() - cpuBeforeMs > silenceMs / 2;
      const patience = this.copies > 0 ? PATIENCE_WITH_COPIES : hadProcessor ? 1 : PATIENCE;
      const isHung = silentMs > patience * silenceMs;
      if (isHung && !this.#isEnding) {
        this.#isHung = true;
        clearInterval(timer);
        this.#process.kill('SIGKILL');
        return;
      }
      onBeat();
      if (isAsking) return;
      isAsking = true;
      sendOver(this.control, new Request(`${ORIGIN}/health`))
        .then(async (response) => {
          await response.arrayBuffer();
          if (!response.ok) return;
          silentMs = 0;
          cpuBeforeMs = this.#cpuMs();
          this.inFlight.lives();
        })
        .catch(() => undefined)
        .finally(() => {
          isAsking = false;
        });
    }, heartbeatMs);
    timer.unref();
  }

  /**
   * Ends it in order: what it was asked is answered first, so far as the time allows. A request that is on its way, and not
   * yet read, would be lost to a signal.
   */
  async end(patienceMs = this.#options.limits.silenceMs): Promise<void> {
    if (this.isOver) return;
    this.#isEnding = true;
    await this.inFlight.drained(patienceMs);
    const farewellMs = Math.min(patienceMs, FAREWELL_MS);
    await this.#sendLines(farewellMs);
    // A request that had got hold of it a moment before it was told to end.
    await this.inFlight.drained(farewellMs);
    this.#signal('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), farewellMs);
    await this.exited;
    clearTimeout(timer);
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid === undefined || this.isOver) return;
    const worker = workerOf(pid);
    if (worker === pid) this.#process.kill(signal);
    else process.kill(worker, signal);
  }

  /** The time that it had of the processor. Where that is not known, it is taken to have had all. */
  #cpuMs(): number {
    return cpuTimeMs(this.#process.pid ?? 0) ?? this.livedMs;
  }

  /** Lets it send the lines that it gathered: they are its own memory alone. */
  async #sendLines(waitMs: number): Promise<void> {
    if (waitMs > 0) await this.#order('/lines', waitMs);
  }

  /** Ends the instances that nothing is asked of, so that their memory is free. It never rejects. */
  async restInstances(waitMs: number): Promise<void> {
    await this.#order('/rest', waitMs);
  }

  async #order(path: string, waitMs: number): Promise<void> {
    const request = new Request(`${ORIGIN}${path}`, { method: 'POST', signal: AbortSignal.timeout(waitMs) });
    await sendOver(this.control, request).catch(() => undefined);
  }

  /** The reason of its end. Its last words arrive after it is gone. */
  async explained(): Promise<ChildEnd> {
    const { silenceMs, heapMib, memoryMib } = this.#options.limits;
    if (this.#isHung)
      return {
        reason: 'hung',
        detail: `It did not answer for ${silenceMs / 1_000} seconds, and was ended.`,
      };
    const patience = new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS).unref());
    await Promise.race([this.#said, patience]);
    if (OUT_OF_MEMORY.test(this.#lines.join('\n')))
      return {
        reason: 'memory',
        detail: `It needed more memory than ${heapMib} MiB for one bundle, or ${memoryMib} MiB in all, and ended.`,
      };
    const { exitCode, signalCode } = this.#process;
    return { reason: 'died', detail: `It ended by ${signalCode ?? `the exit code ${exitCode}`}.` };
  }
}
