/** Runs the application in workerd as a self-hosted worker runs: a bundle, a configuration and the plain binary. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { startWorkerd } from '../support/workerd-process.ts';
import type { Place } from './place.ts';

const worker = fileURLToPath(import.meta.resolve('./worker.js'));

/** Bundles the worker and serves it. Durable Objects keep their data in a directory that `close` removes. */
export async function openInWorkerd(env: Readonly<Record<string, string>>): Promise<Place> {
  const { port, kill, start, close } = await startWorkerd({ config: workerdConfig(env), bundle, env: {} });
  return {
    port,
    restart: async () => {
      await kill();
      await start();
    },
    close,
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

function workerdConfig(env: Readonly<Record<string, string>>): string {
  const bindings = Object.entries(env).map(
    ([name, value]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(value)})`,
  );
  // workerd connects to private addresses only when configured: the issuer is on loopback.
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "application", worker = .application),
    (name = "objects", disk = (writable = true)),
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
