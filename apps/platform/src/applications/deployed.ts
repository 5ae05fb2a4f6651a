/** The verticals that were deployed to this platform: their runtime, and the ports that it gives them. */
import { join } from 'node:path';
import { makeIdentityDirectory } from '@freehold/auth';
import { verticalSecret } from '@freehold/contracts/http';
import type { BoundVertical, RegistryIntake, VerticalSecrets } from '@freehold/directory';
import { unitsIn } from '@freehold/engine-node';
import {
  bundleUnit,
  copyUnit,
  countInstances,
  DatabaseCopies,
  type EgressPolicy,
  type HostedLine,
  limitForInstances,
  makeModelProviders,
  openInstancesMax,
  type PreviewRef,
  putBackUnfinished,
  type ScriptRow,
  type Walls,
  WorkerdRuntime,
  wallsHere,
} from '@freehold/runtime-workerd';
import type { IncidentSink } from '@freehold/store';
import { OperatorNotice } from '../feeds/feeds.ts';
import type { ScopeActivity } from '../network/activity.ts';
import type { Fetch } from '../network/guarded-fetch.ts';
import type { Application } from '../network/router.ts';
import { markOlder } from '../storage/older-scope.ts';
import type { Storage } from '../storage/storage.ts';
import { makeDeployedLines } from './deployed-lines.ts';
import type { Mail } from './mail.ts';
import { openPreviewPlace } from './preview-place.ts';

export interface DeployedOptions {
  readonly dataDirectory: string;
  readonly storage: Pick<
    Storage,
    'engine' | 'vault' | 'keyring' | 'blobs' | 'archive' | 'files' | 'followCopies'
  >;
  readonly mailer: Mail['mailer'];
  /** The platform's own secrets: each vertical's is derived from them. */
  readonly platformSecrets: readonly string[];
  /** The settings that every instance is bound to, without those of language models. Its bundle sees them. */
  readonly bindings: () => Readonly<Record<string, string>>;
  /** The settings beside them that the sign-in alone sees. */
  readonly signInBindings: Readonly<Record<string, string>>;
  /** The variables about language models, by name: a deployed vertical learns the names of the keys alone. */
  readonly models: Readonly<Record<string, string>>;
  readonly issuerFetch: Fetch;
  readonly directory: () => Pick<RegistryIntake, 'verticalOfScope' | 'nameOfScope'> &
    Pick<VerticalSecrets, 'secretsOf'>;
  /** The verticals that may call the hosts alone that they declare; `all` for every one. */
  readonly declaredOnly: readonly string[];
  readonly onLines: (vertical: string, lines: readonly HostedLine[]) => void;
  /** Counts what instances do, as it does of compiled-in ones. */
  readonly activity: Pick<ScopeActivity, 'invoked' | 'touched'>;
  readonly now: () => number;
  readonly stopping?: AbortSignal;
  readonly onIncident: IncidentSink;
}

export interface DeployedVerticals {
  readonly runtime: WorkerdRuntime;
  /** Whether a version of the vertical serves. */
  has(slug: string): boolean;
  /** The management of a vertical, for the gateway; null for one that was not deployed. */
  bound(slug: string): BoundVertical | null;
  /** The walls that do not stand around their processes here, a sentence each; none where nothing is deployed. */
  readonly warnings: readonly string[];
  /** The application of a vertical, for the router; null for one that was not deployed. */
  application(slug: string): Application | null;
  /** A version that runs beside the one that serves. */
  preview(ref: PreviewRef): Application;
  /** Lets the versions serve that the directory names, and no others: a restore may have replaced it. */
  follow(
    named: (slug: string) => Promise<string | null>,
    isCompiledIn: (slug: string) => boolean,
  ): Promise<void>;
  /** Removes what a crash left of previews that are none of these. */
  sweepPreviews(ids: readonly string[]): Promise<void>;
  /**
   * Finds those whose database is gone of the scopes that should have one: they are reported, and not served.
   * @param scopesOf the scopes of a vertical.
   */
  findMissing(
    scopesOf: (vertical: string) => AsyncIterable<{ readonly scope: string }>,
    isCompiledIn: (slug: string) => boolean,
  ): Promise<void>;
  /** Ends every process in order, and copies what they wrote last for the archive. */
  close(): Promise<void>;
}

/** Opens the runtime. No process runs before one of its verticals is asked for. */
export async function openDeployed(options: DeployedOptions): Promise<DeployedVerticals> {
  const { dataDirectory, storage, activity, now, onIncident } = options;
  const { engine, vault, blobs, keyring } = storage;
  const models = makeModelProviders(options.models);
  const folder = join(dataDirectory, 'runtime');
  const units = unitsIn(dataDirectory);
  const slugs = units.flatMap(({ kind, key }) => (kind === bundleUnit.kind ? key : []));
  for (const slug of slugs)
    try {
      putBackUnfinished(join(folder, slug));
    } catch (error) {
      onIncident(error, { kind: 'runtime', key: slug, method: 'putBack' });
    }
  const copies = new DatabaseCopies({ folder, engine, changeOlder: markOlder, now, onIncident });
  const objects = units.flatMap(({ kind, key }) => (kind === copyUnit.kind ? key : []));
  const missing = await copies.layOut(objects);
  const isArchived = storage.archive !== null;
  if (!isArchived) await copies.disown(objects);
  const runtime = new WorkerdRuntime({
    folder,
    missing,
    limits: { instancesMax: openInstancesMax(storage.files.limit) },
    ...(isArchived ? { copies } : {}),
    engine,
    now,
    ...(options.stopping ? { stopping: options.stopping } : {}),
    onIncident,
    openPreviewPlace: (folder) => openPreviewPlace(folder, { keyring, now, onIncident }),
    onFault: ({ vertical, reason, detail, scopes }) =>
      onIncident(new OperatorNotice(faultText(vertical, detail, scopes)), {
        kind: 'runtime',
        key: vertical,
        method: reason,
      }),
    ports: {
      verticalOf: (ref) => options.directory().verticalOfScope(ref),
      nameOf: (ref) => options.directory().nameOfScope(ref),
      signInBindings: () => ({ ...options.signInBindings, ...options.bindings() }),
      settingsOf: async (vertical) => ({
        settings: { ...options.bindings(), ...models.settings },
        platformSecret: await Promise.all(
          options.platformSecrets.map((secret) => verticalSecret(secret, vertical)),
        ),
      }),
      secretsOf: (vertical) => options.directory().secretsOf(vertical),
      engine,
      identity: makeIdentityDirectory({ sealing: keyring }),
      vault,
      blobs,
      mailer: options.mailer ?? null,
      issuerFetch: options.issuerFetch,
      modelFetch: (url, init) => fetch(url, init),
      isModelProvider: models.has,
      modelSecret: models.secret,
      onModelCall: (ref) => void activity.touched.set(ref.scope, ref),
      egressPolicy: async (vertical) => policyOf(options.declaredOnly, vertical, runtime.serving(vertical)),
      onLines: (vertical, lines) => onLines(vertical, lines),
    },
  });
  const onLines = makeDeployedLines({
    runtime,
    onLines: options.onLines,
    onInvoked: activity.invoked,
    onIncident,
  });
  await runtime.open(slugs);
  if (isArchived) {
    storage.followCopies(() => copies.status);
    copies.begin((slug) => runtime.isUp(slug));
  }
  return {
    runtime,
    warnings:
      slugs.length === 0
        ? []
        : [
            ...missingWalls(wallsHere()),
            ...fewFiles(
              storage.files.limit,
              slugs.map((slug) => countInstances(join(folder, slug))),
            ),
          ],
    has: (slug) => runtime.serving(slug) !== null,
    // The runtime shows the vertical its secret: it is of no use to the caller.
    bound: (slug) =>
      runtime.serving(slug) && { platformSecret: '', fetch: (request) => runtime.manage(slug, request) },
    close: async () => {
      await runtime.close();
      await copies.close();
      if (isArchived) await copies.flush();
    },
    follow: async (named, isCompiledIn) => {
      for (const slug of runtime.verticals())
        if (!isCompiledIn(slug)) await runtime.follow(slug, await named(slug));
    },
    sweepPreviews: (ids) => runtime.previews.sweep(new Set(ids), slugs),
    findMissing: async (scopesOf, isCompiledIn) => {
      for (const slug of slugs.filter((each) => runtime.serving(each) !== null && !isCompiledIn(each))) {
        const scopes: string[] = [];
        for await (const { scope } of scopesOf(slug)) scopes.push(scope);
        runtime.findMissing(slug, scopes);
      }
    },
    preview: (ref) => ({
      fetch: (request, { node, clientAddress }) => {
        if (node === null) throw new TypeError('a request of a visitor has a node');
        return runtime.previews.fetch(ref, request, { node, clientAddress });
      },
      bindings: {},
      publicPaths: [],
    }),
    application: (slug) => {
      const serving = runtime.serving(slug);
      return (
        serving && {
          fetch: (request, { node, clientAddress }) => {
            if (node === null) throw new TypeError('a request of a visitor has a node');
            return runtime.fetch(slug, request, node, clientAddress);
          },
          bindings: {},
          publicPaths: serving.publicPaths,
        }
      );
    },
  };
}

function missingWalls({ sandbox, memory, endsWithPlatform }: Walls): string[] {
  const unlimited =
    'The memory of deployed verticals is limited by their bundles alone: install prlimit (util-linux).';
  const orphaned = 'The processes of deployed verticals can outlive this one: install setpriv (util-linux).';
  return [
    ...(sandbox
      ? []
      : ['Deployed verticals run outside of a sandbox: install bubblewrap. docs/runtime.md says why.']),
    ...(memory ? [] : [unlimited]),
    ...(endsWithPlatform ? [] : [orphaned]),
  ];
}

/** A warning where a vertical has more instances than may be open at once. @param counts the number of each vertical. */
export function fewFiles(limit: number, counts: readonly number[]): string[] {
  const most = Math.max(0, ...counts);
  if (most <= openInstancesMax(limit)) return [];
  return [
    `this process may have ${limit} files open, which is enough for ${openInstancesMax(limit)} instances of a deployed vertical at once, and one has ${most}: when more are used within some seconds, requests wait, or are refused for a moment. Raise the limit to ${limitForInstances(most)} (ulimit -n, or LimitNOFILE= of systemd).`,
  ];
}

/** Each version of a vertical is held to the hosts of the one that serves. */
function policyOf(
  declaredOnly: readonly string[],
  vertical: string,
  serving: ScriptRow | null,
): EgressPolicy {
  const isHeld = declaredOnly.includes('all') || declaredOnly.includes(vertical);
  return { mode: isHeld ? 'declared-only' : 'observe', hosts: serving?.egress ?? [] };
}

function faultText(vertical: string, detail: string, scopes: readonly string[]): string {
  const running = scopes.length === 0 ? 'No request was running.' : `Running then: ${scopes.join(', ')}.`;
  return `The process of the vertical ${vertical} failed. ${detail} ${running}`;
}
