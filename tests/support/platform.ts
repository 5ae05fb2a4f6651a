/** The platform as a process of its own, as a user starts it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileCache } from './compile-cache.ts';
import { Caller } from './http.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
/** The limit of a start: generous, for a busy machine. */
const START_MS = 60_000;

export interface PlatformPlace {
  readonly port: number;
  readonly issuerPort: number;
  readonly dataDirectory: string;
  readonly anchorFile: string;
  /** `http://acme.localhost:<port>` and so on. */
  url(hostname: string): string;
  remove(): void;
}

/** Returns a fresh data directory and two free ports. */
export async function newPlace(): Promise<PlatformPlace> {
  const [port, issuerPort] = await freePorts(2);
  const directory = mkdtempSync(join(tmpdir(), 'freehold-platform-'));
  return {
    port: port as number,
    issuerPort: issuerPort as number,
    dataDirectory: join(directory, 'data'),
    anchorFile: join(directory, 'anchor.json'),
    url: (hostname) => `http://${hostname}:${port}`,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export interface RunningPlatform {
  readonly output: () => string;
  readonly serviceToken: () => string;
  /** Calls the control plane with the operator's token. */
  control<T>(path: string, method?: string): Promise<{ readonly status: number; readonly body: T }>;
  /** Ends it as an operator does, and returns the exit code. */
  stop(): Promise<number | null>;
  /** Ends it as a power cut does. */
  kill(): Promise<void>;
}

/**
 * Starts the platform and waits for its line that begins with `ready`.
 * @throws Error with its output when it exits first.
 */
export async function startPlatform(
  place: PlatformPlace,
  env: Record<string, string> = {},
): Promise<RunningPlatform> {
  const child = spawnPlatform(place, env);
  let output = '';
  const ready = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`the platform was not ready in ${START_MS} ms:\n${output}`)),
      START_MS,
    );
    const onData = (chunk: Buffer): void => {
      output += chunk.toString('utf8');
      if (!/^ready/m.test(output)) return;
      clearTimeout(timer);
      resolve();
    };
    child.stdout?.on('data', onData);
    child.stderr?.on('data', onData);
    child.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`the platform exited with ${code}:\n${output}`));
    });
  });
  try {
    await ready;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  const serviceToken = () => readFileSync(join(place.dataDirectory, 'service-token'), 'utf8').trim();
  return {
    output: () => output,
    serviceToken,
    control: async <T>(path: string, method = 'GET') => {
      using operator = new Caller();
      const headers = { authorization: `Bearer ${serviceToken()}` };
      const answer = await operator.ask(`${place.url('api.localhost')}${path}`, { method, headers });
      return { status: answer.status, body: answer.json<T>() };
    },
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  };
}

/** Runs the platform until it exits by itself, for starts that must fail. */
export async function failToStart(
  place: PlatformPlace,
  env: Record<string, string> = {},
): Promise<{ code: number | null; output: string }> {
  const child = spawnPlatform(place, env);
  let output = '';
  child.stdout?.on('data', (chunk) => (output += chunk));
  child.stderr?.on('data', (chunk) => (output += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS);
  await once(child, 'close');
  clearTimeout(timer);
  return { code: child.exitCode, output };
}

function spawnPlatform(place: PlatformPlace, env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [join(root, 'apps/platform/src/main.ts')], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...compileCache,
      PATH: process.env.PATH ?? '',
      PORT: String(place.port),
      ISSUER_PORT: String(place.issuerPort),
      FREEHOLD_DATA: place.dataDirectory,
      FREEHOLD_ANCHOR_FILE: place.anchorFile,
      ...env,
    },
  });
}

/** Reserves ports at the same time, so that all differ, and releases them together. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
