/** A worker in a `workerd` process of its own: bundled, configured, reached over a socket, and killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const require = createRequire(import.meta.url);
const { default: workerdBinary } = require('workerd') as { readonly default: string };
/** The limit of a start: generous, for a busy machine. */
const START_MS = 60_000;

export interface WorkerdOptions {
  /** The text of the configuration. It embeds `worker.js`, and names its disk `objects` and its socket `http`. */
  readonly config: string;
  /** Writes the worker to the given path. */
  readonly bundle: (outfile: string) => Promise<void>;
  /** The whole environment of the process; the configuration takes its bindings from it. */
  readonly env: Readonly<Record<string, string>>;
}

export interface WorkerdProcess {
  /** The same after every start. */
  readonly port: number;
  readonly origin: string;
  /** Its disk: a directory for each unique key, with a SQLite file for each object. */
  readonly objects: string;
  /** The standard error of the present process. */
  output(): string;
  /** Ends it as a power cut does (SIGKILL), in the middle of its work. */
  kill(): Promise<void>;
  /** Starts it again, over the same disk. */
  start(): Promise<void>;
  /** Ends it, and removes its disk. */
  close(): Promise<void>;
}

/** Starts a process, with an empty disk. */
export async function startWorkerd({ config, bundle, env }: WorkerdOptions): Promise<WorkerdProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-workerd-'));
  const [configFile, objects] = [join(directory, 'config.capnp'), join(directory, 'objects')];
  try {
    mkdirSync(objects);
    writeFileSync(configFile, config);
    await bundle(join(directory, 'worker.js'));
    const serveAt = (address: string): Promise<Running> =>
      serve([`--socket-addr=http=${address}`, `--directory-path=objects=${objects}`, configFile], env);
    let running = await serveAt('127.0.0.1:0');
    const { port } = running;
    return {
      port,
      origin: `http://127.0.0.1:${port}`,
      objects,
      output: () => running.output(),
      kill: () => kill(running.child),
      start: async () => {
        running = await serveAt(`127.0.0.1:${port}`);
      },
      close: async () => {
        await kill(running.child);
        rmSync(directory, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}

interface Running {
  readonly child: ChildProcess;
  readonly port: number;
  readonly output: () => string;
}

/** Waits until it reports its port. @throws Error with its output when it exits first. */
async function serve(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Running> {
  const child = spawn(workerdBinary, ['serve', '--control-fd=3', ...args], {
    stdio: ['ignore', 'inherit', 'pipe', 'pipe'],
    env,
  });
  // A test run that is cut short leaves nothing behind.
  const onExit = (): void => void child.kill('SIGKILL');
  process.once('exit', onExit);
  child.once('exit', () => process.off('exit', onExit));
  let output = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`workerd exited with ${code}:\n${output}`)));
    setTimeout(
      () => reject(new Error(`workerd was not ready in ${START_MS} ms:\n${output}`)),
      START_MS,
    ).unref();
  });
  try {
    const port = await Promise.race([listeningPort(child.stdio[3] as Readable), failed]);
    return { child, port, output: () => output };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

async function listeningPort(messages: Readable): Promise<number> {
  for await (const line of createInterface({ input: messages })) {
    const message = JSON.parse(line) as { readonly event: string; readonly port?: number };
    if (message.event === 'listen' && message.port !== undefined) return message.port;
  }
  return new Promise(() => undefined);
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
