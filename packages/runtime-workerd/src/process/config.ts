/** The configuration of a vertical's process, and the module of its host worker. This part runs in Node. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

export interface HostConfig {
  readonly vertical: string;
  /** The folder of the process: its two sockets, `services.sock` and `objects` are below it. */
  readonly folder: string;
  /** The most memory of the heap of one isolate, in MiB: beyond it the process ends. */
  readonly heapMib: number;
  /** The longest time that work waits which a crash cut off, in milliseconds. */
  readonly recoverMs: number;
}

/** The text of `config.capnp`, which embeds `host.js`. All names are fixed, or checked slugs. */
export function hostConfig({ vertical, folder, heapMib, recoverMs }: HostConfig): string {
  if (!/^[a-z0-9-]{1,64}$/.test(vertical)) throw new TypeError('not the slug of a vertical');
  const text = (value: string): string => JSON.stringify(value);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "host", worker = .host),
    (name = "objects", disk = (writable = true, path = ${text(`${folder}/objects`)})),
    (name = "services", external = (address = ${text(`unix:${folder}/services.sock`)}, http = ())),
    (name = "internet", network = (allow = ["public"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [
    (name = "requests", address = ${text(`unix:${folder}/requests.sock`)}, http = (), service = "host"),
    (name = "control", address = ${text(`unix:${folder}/control.sock`)}, http = (), service = (name = "host", entrypoint = "Control")),
  ],
  v8Flags = ["--max-old-space-size=${Math.round(heapMib)}", "--max-semi-space-size=4"],
);
const host :Workerd.Worker = (
  modules = [(name = "host", esModule = embed "host.js")],
  compatibilityDate = "2026-07-01",
  compatibilityFlags = ["nodejs_compat", "experimental"],
  bindings = [
    (name = "LOADER", workerLoader = (id = "bundles")),
    (name = "SCOPES", durableObjectNamespace = "Supervisor"),
    (name = "SERVICES", service = "services"),
    (name = "INTERNET", service = "internet"),
    (name = "VERTICAL", text = ${text(vertical)}),
    (name = "RECOVER_MS", text = "${Math.round(recoverMs)}"),
  ],
  durableObjectNamespaces = [(className = "Supervisor", uniqueKey = "scopes", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
);
`;
}

let bundledHost: Promise<string> | undefined;

/** Bundles the host worker, once: it is the same for every vertical. */
export function hostModule(): Promise<string> {
  bundledHost ??= bundleHost();
  return bundledHost;
}

async function bundleHost(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../host/host.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser', 'import'],
    external: ['node:*', 'cloudflare:workers'],
    logLevel: 'silent',
  });
  return (outputFiles[0] as { readonly text: string }).text;
}
