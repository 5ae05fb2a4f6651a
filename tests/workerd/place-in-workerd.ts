/** Runs the application in workerd as a self-hosted worker runs: a bundle, a configuration and the plain binary. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Place } from './place.ts';

const require = createRequire(import.meta.url);
const { default: workerdBinary } = require('workerd') as { readonly default: string };
const worker = fileURLToPath(import.meta.resolve('./worker.js'));
/** The limit of a start: generous, for a busy machine. */
const START_MS = 60_000;

/** Bundles the worker and serves it. Durable Objects keep their data in a directory that `close` removes. */
export async function openInWorkerd(env: Readonly<Record<string, string>>): Promise<Place> {
  const directory = mkdtempSync(join(tmpdir(), 'freehold-workerd-'));
  const configFile = join(directory, 'config.capnp');
  mkdirSync(join(directory, 'objects'));
  writeFileSync(configFile, workerdConfig({ env, objects: join(directory, 'objects') }));
  await bundle(join(directory, 'worker.js'));
  let running = await serve(configFile, '127.0.0.1:0');
  const { port } = running;
  return {
    port,
    restart: async () => {
      await end(running.child);
      running = await serve(configFile, `127.0.0.1:${port}`);
    },
    close: async () => {
      await end(running.child);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function bundle(outfile: string): Promise<void> {
  await build({
    entryPoints: [worker],
    outfile,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser', 'import'],
    mainFields: ['module', 'main'],
    // The modules of the runtime. Any other module of Node would have to be listed here.
    external: ['node:crypto', 'cloudflare:workers'],
    logLevel: 'warning',
  });
}

function workerdConfig({
  env,
  objects,
}: {
  readonly env: Readonly<Record<string, string>>;
  readonly objects: string;
}): string {
  const bindings = Object.entries(env).map(
    ([name, value]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(value)})`,
  );
  // workerd connects to private addresses only when configured: the issuer is on loopback.
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "application", worker = .application),
    (name = "objects", disk = (path = ${JSON.stringify(objects)}, writable = true)),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", http = (), service = "application")],
);
const application :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-07-01",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [
    (name = "IDENTITY", durableObjectNamespace = "IdentityObject"),
    ${bindings.join(',\n    ')}
  ],
  durableObjectNamespaces = [(className = "IdentityObject", uniqueKey = "identity", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
);
`;
}

/** Starts workerd, and waits until it reports its port. @throws Error with its output when it exits first. */
async function serve(
  configFile: string,
  address: string,
): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const child = spawn(
    workerdBinary,
    ['serve', '--control-fd=3', `--socket-addr=http=${address}`, configFile],
    { stdio: ['ignore', 'inherit', 'pipe', 'pipe'] },
  );
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
    return { child, port: await Promise.race([listeningPort(child.stdio[3] as Readable), failed]) };
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

/** Ends it as an operator does. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
