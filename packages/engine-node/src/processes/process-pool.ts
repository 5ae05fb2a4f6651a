/**
 * A few child processes that do one thing at a time and can be killed meanwhile: for work that would block every call,
 * and for work that may never end. (`node:sqlite` has no interrupt.)
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PlatformError } from '@freehold/contracts';
import { Fault } from '../lib/fault.ts';
import { shuttingDown } from '../lib/shutting-down.ts';
import { READY, type Reply, type Request } from './messages.ts';

export interface ProcessPoolOptions {
  /** A module that calls `answerRequests`. */
  readonly script: URL;
  readonly processesMax: number;
  /** The largest number of waiting requests; one more is refused with `unavailable`, reason `busy`. */
  readonly waitingMax: number;
  /** Limit of V8's heap, in MiB. SQLite's memory is not part of it. */
  readonly heapMax: number;
  /** Limits that the operating system enforces, where there is a shell to set them (POSIX `ulimit`). */
  readonly limits?: Readonly<Record<'dataKiB' | 'cpuSeconds' | 'fileBlocks', number>>;
}

/** The process was killed at its time limit. */
export class TimeLimitReached extends Error {
  override readonly name = 'TimeLimitReached';
}

/** The process ended by itself, most likely for lack of memory. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded';
}

export interface ProcessPool {
  /**
   * Sends a request to a process of its own.
   * @param timeMs kills the process after so many milliseconds of work, which begins when the process is ready; without it,
   * never.
   * @throws TimeLimitReached, ProcessEnded, or the error of the task.
   */
  run<T>(request: Request, timeMs?: number): Promise<T>;
  /** Kills every process; rejects their requests. */
  close(): void;
}

/** The longest time in which a process starts. */
const START_MS = 30_000;

interface Job {
  readonly request: Request;
  readonly timeMs: number | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Worker {
  readonly child: ChildProcess;
  /** False while it starts, which takes long on a machine that is busy. */
  isReady: boolean;
  job: Job | null;
  timer: NodeJS.Timeout | undefined;
  /** The reason for which it was killed. Its job gets it once the process is gone and holds nothing any more. */
  doom: Error | null;
}

export function makeProcessPool(options: ProcessPoolOptions): ProcessPool {
  const workers = new Set<Worker>();
  const waiting: Job[] = [];
  let isClosed = false;

  const startWorker = (): Worker => {
    const child = startProcess(options);
    const worker: Worker = { child, isReady: false, job: null, timer: undefined, doom: null };
    workers.add(worker);
    child.on('message', (reply: Reply | typeof READY) => {
      if (reply !== READY) return finish(worker, (job) => settle(job, reply));
      worker.isReady = true;
      watch(worker);
    });
    child.on('error', (error) => lose(worker, error));
    child.on('exit', () =>
      lose(worker, worker.doom ?? new ProcessEnded('the process ended before it answered')),
    );
    return worker;
  };

  /** Frees the worker, settles its job, and gives it the next one in line. */
  const finish = (worker: Worker, settle: (job: Job) => void): void => {
    const { job } = worker;
    clearTimeout(worker.timer);
    worker.job = null;
    if (job) settle(job);
    const next = isClosed || worker.doom || !workers.has(worker) ? undefined : waiting.shift();
    if (next) give(worker, next);
    else rest(worker.child);
  };

  const lose = (worker: Worker, error: Error): void => {
    if (!workers.delete(worker)) return;
    finish(worker, (job) => job.reject(error));
    const next = isClosed ? undefined : waiting.shift();
    if (next) give(startWorker(), next);
  };

  const give = (worker: Worker, job: Job): void => {
    worker.job = job;
    worker.child.ref();
    worker.child.channel?.ref();
    watch(worker);
    worker.child.send(job.request, (error) => {
      if (error) kill(worker, error);
    });
  };

  /** Limits the time of the job, the time in which the process starts apart. */
  const watch = (worker: Worker): void => {
    const { job, isReady } = worker;
    clearTimeout(worker.timer);
    if (job?.timeMs === undefined) return;
    const [limitMs, text] = isReady
      ? [job.timeMs, 'the time is up']
      : [START_MS, 'the process did not start'];
    worker.timer = setTimeout(() => kill(worker, new TimeLimitReached(text)), limitMs);
  };

  const kill = (worker: Worker, error: Error): void => {
    worker.doom ??= error;
    worker.child.kill('SIGKILL');
  };

  return {
    run: <T>(request: Request, timeMs?: number) =>
      new Promise<T>((resolve, reject) => {
        const job: Job = { request, timeMs, resolve: resolve as (value: unknown) => void, reject };
        if (isClosed) return reject(shuttingDown());
        const idle = [...workers].find(({ job: current, doom }) => current === null && doom === null);
        if (idle) give(idle, job);
        else if (workers.size < options.processesMax) give(startWorker(), job);
        else if (waiting.length < options.waitingMax) waiting.push(job);
        else reject(busyError());
      }),
    close: () => {
      isClosed = true;
      for (const worker of workers) kill(worker, shuttingDown());
      for (const job of waiting.splice(0)) job.reject(shuttingDown());
    },
  };
}

function settle(job: Job, reply: Reply): void {
  if (reply.ok) job.resolve(reply.value);
  else if ('fault' in reply) job.reject(new Fault(reply.fault, reply.message));
  else {
    const { error, code, errcode } = reply;
    job.reject(Object.assign(new Error(error), code && { code }, errcode && { errcode }));
  }
}

/** An idle process must not keep this one alive. */
function rest(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
}

function startProcess({ script, heapMax, limits }: ProcessPoolOptions): ChildProcess {
  const args = [
    `--max-old-space-size=${heapMax}`,
    '--disable-warning=ExperimentalWarning',
    fileURLToPath(script),
  ];
  // The child gets no more of the environment: it holds secrets that a child has no use for.
  const { NODE_COMPILE_CACHE } = process.env;
  const env = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
  const how = { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'], serialization: 'advanced' } as const;
  if (!limits || process.platform === 'win32')
    return spawn(process.execPath, args, { ...how, stdio: [...how.stdio] });
  const { dataKiB, cpuSeconds, fileBlocks } = limits;
  const limit = `ulimit -c 0; ulimit -d ${dataKiB}; ulimit -t ${cpuSeconds}; ulimit -f ${fileBlocks}; exec "$0" "$@"`;
  return spawn('/bin/sh', ['-c', limit, process.execPath, ...args], { ...how, stdio: [...how.stdio] });
}

function busyError(): PlatformError {
  return new PlatformError('unavailable', 'Too many of these requests are running. Try again in a moment.', {
    reason: 'busy',
    headers: { 'retry-after': '1' },
  });
}
