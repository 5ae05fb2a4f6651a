/**
 * Previews: versions that run beside the live one, each in a process of its own, on data of its own. Everything of a preview
 * is in one folder, which is removed with it.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { HostedCall, HostedCaller } from '@freehold/app/worker/capabilities';
import { PLATFORM_SECRET_HEADER, PlatformError } from '@freehold/contracts';
import type { IncidentSink } from '@freehold/store';
import { sendCall } from '../process/send-call.ts';
import type { VerticalProcess } from '../process/vertical-process.ts';
import { ORDERS } from '../services/identity-calls.ts';
import { OrdersInFlight } from '../services/orders-in-flight.ts';
import type { PlatformPorts } from '../services/ports.ts';
import { SignIns, withoutSessionCookies } from '../services/sign-ins.ts';
import type { BundleCalls, ScriptRow } from '../store/bundle-unit.ts';
import { maskCopy } from './mask-copy.ts';
import { makeMask } from './masks.ts';
import { type PreviewPlace, type PreviewRef, previewPorts } from './ports.ts';

export interface PreviewsOptions {
  /** The folder of all processes. */
  readonly folder: string;
  readonly ports: PlatformPorts;
  readonly bundles: (vertical: string) => BundleCalls;
  readonly now: () => number;
  readonly onIncident: IncidentSink;
  /** Opens a preview's own place in this folder. */
  readonly openPlace: (folder: string) => PreviewPlace;
  readonly newProcess: (of: {
    readonly vertical: string;
    /** Its folder below that of all processes. */
    readonly name: string;
    readonly ports: PlatformPorts;
    readonly signIns: SignIns;
    readonly orders: OrdersInFlight;
  }) => VerticalProcess;
}

type Node = NonNullable<HostedCall['node']>;

interface Running {
  readonly process: VerticalProcess;
  readonly script: ScriptRow;
  readonly ports: PlatformPorts;
  readonly signIns: SignIns;
  readonly orders: OrdersInFlight;
  readonly close: () => Promise<void>;
}

/** Stands before the id of a preview in the name of its folder. No slug of a vertical begins so. */
const FOLDER_PREFIX = '-';
const FOLDER = /^-prv_/;
/** The script of a preview's bundle, as the directory names it. */
const SCRIPT = /^preview--(prv_[0-9a-z]+)$/;

export class Previews {
  readonly #options: PreviewsOptions;
  readonly #running = new Map<string, Promise<Running>>();

  constructor(options: PreviewsOptions) {
    this.#options = options;
  }

  /**
   * Begins anew, and masks a copy of a scope for it: with the columns that its own version declares, and those of the version
   * that serves.
   */
  async mask(
    preview: PreviewRef,
    copy: ReadableStream<Uint8Array>,
  ): Promise<{
    readonly body: ReadableStream<Uint8Array>;
    readonly masked: readonly string[];
    readonly unmasked: readonly string[];
  }> {
    await this.#stop(preview.id);
    const folder = this.#folderOf(preview.id);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const bundles = this.#options.bundles(preview.vertical);
    const own = await requireScript(bundles, preview.script);
    const serving = await bundles.serving({});
    return maskCopy(copy, {
      personal: allColumns(own.personal, serving?.personal ?? {}),
      mask: makeMask(randomBytes(32)),
      rowsFile: join(folder, 'copy.ndjson'),
    });
  }

  /** A request of the management contract. */
  async manage(preview: PreviewRef, request: Request): Promise<Response> {
    const { process, script, ports, orders } = await this.#start(preview);
    const { tenant, scope, vertical } = preview;
    const { platformSecret } = await ports.settingsOf(vertical);
    const path = new URL(request.url).pathname.slice('/internal/'.length);
    const body = ORDERS.has(path) ? ((await request.clone().json()) as Record<string, unknown>) : {};
    const headers = new Headers(request.headers);
    headers.set(PLATFORM_SECRET_HEADER, platformSecret[0] ?? '');
    const call = { tenant, scope, node: null, clientAddress: null, caller: null, serving: script.bundle };
    return orders.during({ tenant, scope, path, body }, () =>
      sendCall(process, new Request(request, { headers }), call),
    );
  }

  /** A request of a visitor. */
  async fetch(
    preview: PreviewRef,
    request: Request,
    { node, clientAddress }: { readonly node: Node; readonly clientAddress: string | null },
  ): Promise<Response> {
    const { process, script, signIns } = await this.#start(preview);
    const { tenant, scope } = preview;
    const ask = (sent: Request, caller: HostedCaller) =>
      sendCall(process, sent, { tenant, scope, node, clientAddress, caller, serving: script.bundle });
    const met = await signIns.meet(script, request, { node, clientAddress, ask });
    if ('answer' in met) return met.answer;
    return withoutSessionCookies(await ask(request, met.caller));
  }

  /** Ends a preview, and removes everything of it. Repeating it does nothing. */
  async end({ id, vertical, script }: Pick<PreviewRef, 'id' | 'vertical' | 'script'>): Promise<void> {
    await this.#stop(id);
    rmSync(this.#folderOf(id), { recursive: true, force: true });
    await this.#options.bundles(vertical).forget({ script });
  }

  /** Removes what a crash left of previews that are none of these: folders, and bundles of these verticals. Call it at a start. */
  async sweep(ids: ReadonlySet<string>, verticals: readonly string[]): Promise<void> {
    const { folder, bundles } = this.#options;
    for (const name of existsSync(folder) ? readdirSync(folder) : [])
      if (FOLDER.test(name) && !ids.has(name.slice(FOLDER_PREFIX.length)))
        rmSync(join(folder, name), { recursive: true, force: true });
    for (const vertical of verticals)
      for (const { script } of await bundles(vertical).scripts({})) {
        const [, id] = SCRIPT.exec(script) ?? [];
        if (id !== undefined && !ids.has(id)) await bundles(vertical).forget({ script });
      }
  }

  /** Lets those of a vertical that run start again with its present settings, before their next request. */
  async settingsChanged(vertical: string): Promise<void> {
    for (const running of this.#running.values()) {
      const { process } = await running;
      if (process.vertical === vertical && process.isUp) await process.order('POST', '/settings-changed');
    }
  }

  /** Ends every process in order. */
  async close(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((id) => this.#stop(id)));
  }

  async #stop(id: string): Promise<void> {
    const running = await this.#running.get(id)?.catch(() => null);
    this.#running.delete(id);
    await running?.close();
  }

  #folderOf(id: string): string {
    return join(this.#options.folder, `${FOLDER_PREFIX}${id}`);
  }

  #start(preview: PreviewRef): Promise<Running> {
    const known = this.#running.get(preview.id);
    if (known) return known;
    const starting = this.#open(preview);
    this.#running.set(preview.id, starting);
    starting.catch(() => {
      if (this.#running.get(preview.id) === starting) this.#running.delete(preview.id);
    });
    return starting;
  }

  async #open(preview: PreviewRef): Promise<Running> {
    const { bundles, openPlace, newProcess, ports: live, now, onIncident } = this.#options;
    const { id, vertical } = preview;
    const script = await requireScript(bundles(vertical), preview.script);
    const folder = this.#folderOf(id);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Beside the folder of the process, which is all that the process sees.
    let place: PreviewPlace | null = null;
    const opened = (): PreviewPlace => {
      place ??= openPlace(join(folder, 'place'));
      return place;
    };
    const ports = previewPorts({ preview, digest: script.bundle, live, now, place: opened });
    const [signIns, orders] = [new SignIns({ ports, now, onIncident }), new OrdersInFlight()];
    const name = join(`${FOLDER_PREFIX}${id}`, 'host');
    const process = newProcess({ vertical, name, ports, signIns, orders });
    return {
      ...{ process, script, ports, signIns, orders },
      close: async () => {
        await process.close();
        await place?.close();
      },
    };
  }
}

async function requireScript(bundles: BundleCalls, script: string): Promise<ScriptRow> {
  const row = await bundles.script({ script });
  if (row) return row;
  throw new PlatformError('not_found', 'The bundle of this preview is gone. Make another one.', {
    reason: 'unknown_script',
  });
}

function allColumns(
  one: Readonly<Record<string, readonly string[]>>,
  other: Readonly<Record<string, readonly string[]>>,
): Record<string, readonly string[]> {
  const tables = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...tables].map((table) => [table, [...(one[table] ?? []), ...(other[table] ?? [])]]),
  );
}
