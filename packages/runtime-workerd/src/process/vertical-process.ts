/**
 * The process of one deployed vertical, watched from outside: started by its first request, ended when it rests, killed when
 * it hangs, started again after a pause that grows. What waits for it meanwhile is answered 503.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { PlatformError } from '@freehold/contracts';
import { Pool } from 'undici';
import { earliestAlarm } from './alarms.ts';
import { commandOf } from './command.ts';
import { hostConfig } from './config.ts';
import { type SentRequest, sendOver } from './send.ts';

export interface ProcessLimits {
  /** The most memory of the heap of one isolate, in MiB. Default 256. */
  readonly heapMib: number;
  /** The most memory that the whole process allocates, in MiB. Default 1024. */
  readonly memoryMib: number;
  /** The time without a request after which it is ended, in milliseconds. Default 5 minutes. */
  readonly idleMs: number;
  /** The time without a heartbeat after which it is killed, in milliseconds. Default 5 seconds. */
  readonly silenceMs: number;
  /** The longest time that work waits which a crash cut off, in milliseconds. Default a minute. */
  readonly recoverMs: number;
}

export const PROCESS_LIMITS: ProcessLimits = {
  heapMib: 256,
  memoryMib: 1_024,
  idleMs: 300_000,
  silenceMs: 5_000,
  recoverMs: 60_000,
};

/** The end of a process that was not in order. */
export interface ProcessFault {
  readonly vertical: string;
  readonly reason: 'hung' | 'memory' | 'died' | 'not_started';
  /** A sentence for the operator. */
  readonly detail: string;
  /** The scopes whose requests were running. */
  readonly scopes: readonly string[];
  /** When it is started again at the earliest, in milliseconds since the epoch. */
  readonly againAtMs: number;
}

export interface VerticalProcessOptions {
  readonly vertical: string;
  /** Its own folder. */
  readonly folder: string;
  /** The text of the host worker. */
  readonly host: () => Promise<string>;
  /** Opens the platform's socket. */
  readonly openServices: (socket: string) => Promise<Server>;
  readonly limits: ProcessLimits;
  readonly now: () => number;
  /** Receives the end of a process that hung or died. It does not throw. */
  readonly onFault: (fault: ProcessFault) => void;
  /** Receives each line of its standard error. It does not throw. */
  readonly onOutput: (line: string) => void;
  /** Called when it rests: nothing runs until the next request, or until `wake`. */
  readonly onRest: () => void;
}

const START_MS = 30_000;
const HEARTBEAT_MS = 1_000;
const BACKOFF_FIRST_MS = 250;
const BACKOFF_MAX_MS = 60_000;
/** A process that lived that long was sound: the next pause is the first again. */
const SOUND_MS = 60_000;
/** The longest wait of a request for a start that is put off. */
const PATIENCE_MS = 2_000;
/** The last lines of standard error, by which the end of a process is explained. */
const LINES_KEPT = 50;

interface Running {
  readonly child: ChildProcess;
  readonly services: Server;
  readonly requests: Pool;
  readonly control: Pool;
  readonly startedAtMs: number;
  readonly lines: string[];
  /** Set before an end that is in order. */
  isEnding: boolean;
  isHung: boolean;
}

export class VerticalProcess {
  readonly #options: VerticalProcessOptions;
  #running: Promise<Running> | null = null;
  #present: Running | null = null;
  /** Scope → the number of its requests that are running. */
  readonly #inFlight = new Map<string, number>();
  /** Scopes whose requests broke off: the connection ends before the process is known to have. */
  readonly #brokenOff = new Set<string>();
  #lastUsedMs: number;
  #failures = 0;
  #againAtMs = 0;
  #isClosed = false;

  constructor(options: VerticalProcessOptions) {
    this.#options = options;
    this.#lastUsedMs = options.now();
  }

  /** Whether a process runs or starts. */
  get isUp(): boolean {
    return this.#running !== null;
  }

  /** The id of the process, for the operator; null while none runs. */
  get pid(): number | null {
    return this.#present?.child.pid ?? null;
  }

  /** Sends a request about a scope. @throws PlatformError `unavailable`, with `Retry-After`, when no answer comes. */
  async fetch(scope: string, request: SentRequest): Promise<Response> {
    return this.#use(scope, (running) => sendOver(running.requests, request));
  }

  /** Sends an order of the platform. @throws PlatformError as {@link fetch}, and `runtime_fault` for a refusal. */
  async order(method: string, path: string, body?: unknown): Promise<unknown> {
    const answered = await this.#use('', (running) =>
      sendOver(
        running.control,
        new Request(`http://host.internal${path}`, {
          method,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      ),
    );
    if (answered.ok) return answered.json();
    throw new PlatformError('runtime_fault', `The runtime of ${this.#options.vertical} could not do this.`, {
      reason: 'host_refused',
      cause: new Error(`${method} ${path} answered ${answered.status}: ${await answered.text()}`),
    });
  }

  /** Starts it where it rests, so that it does the work that is due. @throws PlatformError as {@link fetch}. */
  async wake(): Promise<void> {
    await this.#use('', () => Promise.resolve(new Response(null)));
  }

  /** When work of a scope is due, in milliseconds since the epoch; null for never. For a process that rests. */
  dueAtMs(): number | null {
    return earliestAlarm(this.#options.folder);
  }

  /** Ends it in order. The next request starts it again. */
  async end(): Promise<void> {
    const running = await this.#running?.catch(() => null);
    if (running) await this.#end(running);
  }

  /** Ends it for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.end();
  }

  async #use(scope: string, send: (running: Running) => Promise<Response>): Promise<Response> {
    this.#inFlight.set(scope, (this.#inFlight.get(scope) ?? 0) + 1);
    this.#lastUsedMs = this.#options.now();
    try {
      const running = await this.#start();
      return await send(running);
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      this.#brokenOff.add(scope);
      throw this.#unavailable(error);
    } finally {
      const left = (this.#inFlight.get(scope) ?? 1) - 1;
      if (left === 0) this.#inFlight.delete(scope);
      else this.#inFlight.set(scope, left);
      this.#lastUsedMs = this.#options.now();
    }
  }

  async #start(): Promise<Running> {
    if (this.#isClosed) throw this.#unavailable(new Error('the platform is shutting down'));
    if (this.#running !== null) return this.#running;
    const waitMs = this.#againAtMs - this.#options.now();
    if (waitMs > PATIENCE_MS) throw this.#unavailable(new Error('the process failed a moment ago'));
    const starting = (async () => {
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      return this.#spawn();
    })();
    this.#running = starting;
    starting.catch((error: unknown) => {
      if (this.#running === starting) this.#running = null;
      this.#failed('not_started', error instanceof Error ? error.message : String(error));
    });
    return starting;
  }

  async #spawn(): Promise<Running> {
    const { vertical, folder, host, openServices, limits, now } = this.#options;
    mkdirSync(join(folder, 'objects'), { recursive: true, mode: 0o700 });
    await endOrphan(folder);
    for (const socket of ['requests.sock', 'control.sock', 'services.sock'])
      rmSync(join(folder, socket), { force: true });
    writeFileSync(join(folder, 'host.js'), await host());
    writeFileSync(join(folder, 'config.capnp'), hostConfig({ vertical, folder, ...limits }));
    const services = await openServices(join(folder, 'services.sock'));
    const { command, args } = commandOf({ folder, memoryMib: limits.memoryMib });
    const child = spawn(command, args, {
      cwd: folder,
      env: {},
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    });
    const running: Running = {
      child,
      services,
      requests: new Pool('http://host.internal', {
        socketPath: join(folder, 'requests.sock'),
        headersTimeout: 0,
        bodyTimeout: 0,
      }),
      control: new Pool('http://host.internal', {
        socketPath: join(folder, 'control.sock'),
        connections: 4,
        headersTimeout: 0,
      }),
      startedAtMs: now(),
      lines: [],
      isEnding: false,
      isHung: false,
    };
    this.#readOutput(running);
    child.once('exit', (code, signal) => this.#ended(running, code, signal));
    try {
      await ready(child, running.lines);
    } catch (error) {
      child.kill('SIGKILL');
      services.close();
      throw error;
    }
    if (child.pid !== undefined) writeFileSync(join(folder, 'pid'), String(child.pid));
    this.#present = running;
    this.#watch(running);
    return running;
  }

  #readOutput({ child, lines }: Running): void {
    createInterface({ input: child.stderr as Readable }).on('line', (line) => {
      lines.push(line);
      if (lines.length > LINES_KEPT) lines.shift();
      this.#options.onOutput(line);
    });
  }

  /** A heartbeat each second. A process whose only thread loops answers none. */
  #watch(running: Running): void {
    const { now, limits } = this.#options;
    let answeredAtMs = now();
    let isAsking = false;
    const timer = setInterval(() => {
      if (running.child.exitCode !== null || running.child.signalCode !== null) return clearInterval(timer);
      if (now() - answeredAtMs > limits.silenceMs && !running.isEnding) {
        running.isHung = true;
        clearInterval(timer);
        running.child.kill('SIGKILL');
        return;
      }
      if (this.#inFlight.size === 0 && now() - this.#lastUsedMs > limits.idleMs && !this.#isDueSoon())
        void this.#end(running).then(() => this.#options.onRest());
      if (isAsking) return;
      isAsking = true;
      sendOver(running.control, new Request('http://host.internal/health'))
        .then(async (response) => {
          await response.arrayBuffer();
          if (response.ok) answeredAtMs = now();
        })
        .catch(() => undefined)
        .finally(() => {
          isAsking = false;
        });
    }, HEARTBEAT_MS);
    timer.unref();
  }

  /** Work that is due while it would rest keeps it up: a start costs more than a rest saves. */
  #isDueSoon(): boolean {
    const dueAtMs = this.dueAtMs();
    return dueAtMs !== null && dueAtMs <= this.#options.now() + this.#options.limits.idleMs;
  }

  async #end(running: Running): Promise<void> {
    if (running.child.exitCode !== null || running.child.signalCode !== null) return;
    running.isEnding = true;
    if (this.#present === running) this.#running = null;
    const exited = once(running.child, 'exit');
    running.child.kill('SIGTERM');
    const timer = setTimeout(() => running.child.kill('SIGKILL'), this.#options.limits.silenceMs);
    await exited;
    clearTimeout(timer);
  }

  #ended(running: Running, code: number | null, signal: NodeJS.Signals | null): void {
    running.services.closeAllConnections();
    running.services.close();
    void running.requests.destroy(new Error('the process ended'));
    void running.control.destroy(new Error('the process ended'));
    if (this.#present !== running) return;
    this.#present = null;
    if (!running.isEnding) this.#running = null;
    if (running.isEnding) return;
    const { limits, now } = this.#options;
    if (now() - running.startedAtMs > SOUND_MS) this.#failures = 0;
    const said = running.lines.join('\n');
    if (running.isHung)
      this.#failed('hung', `It did not answer for ${limits.silenceMs / 1_000} seconds, and was ended.`);
    else if (/heap limit|out of memory|Allocation failed|std::bad_alloc/i.test(said))
      this.#failed('memory', `It needed more memory than ${limits.heapMib} MiB for one bundle, and ended.`);
    else this.#failed('died', `It ended by ${signal ?? `the exit code ${code}`}.`);
  }

  #failed(reason: ProcessFault['reason'], detail: string): void {
    const { vertical, now, onFault } = this.#options;
    const pause = Math.min(BACKOFF_FIRST_MS * 2 ** this.#failures, BACKOFF_MAX_MS);
    this.#failures++;
    this.#againAtMs = now() + pause;
    const scopes = new Set([...this.#inFlight.keys(), ...this.#brokenOff]);
    this.#brokenOff.clear();
    scopes.delete('');
    onFault({
      vertical,
      reason,
      detail,
      scopes: [...scopes],
      againAtMs: this.#againAtMs,
    });
  }

  #unavailable(cause: unknown): PlatformError {
    const waitS = Math.max(1, Math.ceil((this.#againAtMs - this.#options.now()) / 1_000));
    return new PlatformError(
      'unavailable',
      'The application did not answer. What was asked may or may not have been done; try again in a moment.',
      { reason: 'vertical_unreachable', headers: { 'retry-after': String(waitS) }, cause },
    );
  }
}

/** Resolves when both sockets listen. @throws Error with its output when it exits first. */
async function ready(child: ChildProcess, lines: readonly string[]): Promise<void> {
  const listening = (async () => {
    let sockets = 0;
    for await (const line of createInterface({ input: child.stdio[3] as Readable })) {
      if ((JSON.parse(line) as { readonly event: string }).event === 'listen') sockets++;
      if (sockets === 2) return;
    }
    await new Promise(() => undefined);
  })();
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`workerd exited with ${code}: ${lines.join('\n')}`)));
    setTimeout(() => reject(new Error(`workerd was not ready in ${START_MS} ms`)), START_MS).unref();
  });
  await Promise.race([listening, failed]);
}

/** A process that outlived its platform still has the objects open. */
async function endOrphan(folder: string): Promise<void> {
  const file = join(folder, 'pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8'));
  rmSync(file, { force: true });
  const isOurs = (): boolean => {
    try {
      return Number.isInteger(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder);
    } catch {
      return false;
    }
  };
  if (!isOurs()) return;
  process.kill(pid, 'SIGKILL');
  for (let waited = 0; isOurs() && waited < 5_000; waited += 20)
    await new Promise((resolve) => setTimeout(resolve, 20));
}
