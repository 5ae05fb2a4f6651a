/** A registry with something in it, and well-behaved doubles of what a platform may bring: a runtime, and what watches. */
import type { VerticalManifest } from '@freehold/contracts';
import { toTimestamp } from '@freehold/contracts';
import type { VersionRecord, VersionVerdict } from '../src/admin-operations.ts';
import type { Actor, EgressObserver, Telemetry, VerticalRuntime } from '../src/index.ts';
import { makeMemoryPreviews } from './memory-previews.ts';
import type { Platform } from './platform.ts';

export const DIGEST = 'a'.repeat(64);

/** A manifest with one permission, one role, and whatever a test is about. */
export function manifestOf(
  slug: string,
  version: string,
  parts: Partial<VerticalManifest> = {},
): VerticalManifest {
  return {
    slug,
    name: `The vertical ${slug}`,
    version,
    permissions: { 'order.read': 'Read orders', 'order.complete': 'Complete orders' },
    roles: { owner: { name: 'Owner', permissions: ['order.read'] } },
    ownerRole: 'owner',
    entities: { order: {} },
    env: {},
    ...parts,
  };
}

export const migrationOf = (version: number, text = 'first') => ({
  set: 'app',
  version,
  name: `step ${version}`,
  digest: (text === 'first' ? 'b' : 'c').repeat(64),
});

export interface RegisterParts {
  readonly manifest?: Partial<VerticalManifest>;
  readonly migrations?: ReturnType<typeof migrationOf>[];
  readonly egress?: string[];
  readonly digest?: string;
  readonly as?: Actor;
}

/** Registers a version, which is pending then. */
export function register(platform: Platform, slug: string, version: string, parts: RegisterParts = {}) {
  const { manifest, digest = DIGEST, as, ...declared } = parts;
  const body = { version, digest, manifest: manifestOf(slug, version, manifest), ...declared };
  return platform.value<VersionRecord>('vertical-versions.register', {
    params: { slug },
    body,
    ...(as === undefined ? {} : { as }),
  });
}

/** Registers a version and has staff admit it. */
export async function admitted(
  platform: Platform,
  slug: string,
  version: string,
  parts: RegisterParts = {},
): Promise<VersionRecord> {
  const { id } = await register(platform, slug, version, parts);
  const params = { slug, id };
  return (await platform.value<VersionVerdict>('vertical-versions.admit', { params, body: {} })).version;
}

export function promote(platform: Platform, slug: string, body: Record<string, unknown>, as?: Actor) {
  const params = { slug, channel: 'prod' };
  return platform.call('channels.promote', { params, body, ...(as === undefined ? {} : { as }) });
}

/** A vertical with everything that one can have: what serves (1.0.0), what could (1.1.0) and what is pending (2.0.0). */
export async function openApp(platform: Platform, tenant: string, slug: string) {
  await platform.call('verticals.create', { body: { slug, name: `App ${slug}`, ownerTenant: tenant } });
  const [, , { id: pending }] = await Promise.all([
    admitted(platform, slug, '1.0.0'),
    admitted(platform, slug, '1.1.0'),
    register(platform, slug, '2.0.0'),
    platform.call('email-sender.put', { params: { slug }, body: {} }),
    platform.call('tenant-provisioner.put', { params: { slug }, body: {} }),
    platform.call('install-blocks.put', {
      params: { slug },
      body: { reason: 'Not yet.' },
      as: platform.builder(tenant),
    }),
  ]);
  await promote(platform, slug, { version: '1.0.0' });
  return { slug, pending };
}

export interface RuntimeDouble extends VerticalRuntime {
  /** The requests to it, oldest first. */
  readonly asked: string[];
  /** Thrown by the next calls of a method. */
  fault: { readonly of: 'upload' | 'serve'; readonly error: unknown } | null;
}

export function makeRuntimeDouble(): RuntimeDouble {
  const runtime: RuntimeDouble = {
    asked: [],
    fault: null,
    move: async () => ({ failure: null }),
    discard: async ({ script }) => {
      runtime.asked.push(`discard ${script}`);
      return { files: 2, bytes: 40 };
    },
    modules: async () => [],
    previews: makeMemoryPreviews(),
    settingsChanged: async (vertical) => void runtime.asked.push(`settings ${vertical}`),
    upload: async ({ script, modules }) => {
      runtime.asked.push(`upload ${script}: ${modules.map(({ name }) => name).join(', ')}`);
      if (runtime.fault?.of === 'upload') throw runtime.fault.error;
    },
    serve: async ({ servingScript, archiveScript }) => {
      runtime.asked.push(`serve ${archiveScript} as ${servingScript}`);
      if (runtime.fault?.of === 'serve') throw runtime.fault.error;
    },
  };
  return runtime;
}

export const quietEgress: EgressObserver = {
  observed: async () => ({ hosts: [], sampled: false, truncated: false }),
};

const figures = { requests: 3, refused: 1, errors: 0, durationMsP50: 4, durationMsP95: 9.5 };

/** Answers one line, one sum and one point about whatever it is asked. */
export const chattyTelemetry: Telemetry = {
  scriptLogs: async ({ sinceMs, script = 'fieldwork' }) => ({
    items: [{ script, ...lineAt(sinceMs) }],
    nextCursor: null,
  }),
  scriptMetrics: async ({ script = 'fieldwork' }) => ({
    items: [{ script, vertical: 'fieldwork', version: '1.0.0', ...figures }],
    nextCursor: null,
  }),
  scriptSeries: async ({ sinceMs }) => [{ at: toTimestamp(sinceMs), ...figures }],
  tenantLogs: async ({ sinceMs, tenant }) => ({
    items: [{ tenant, scope: null, ...lineAt(sinceMs) }],
    nextCursor: null,
  }),
  tenantLines: async ({ sinceMs, tenant }) => ({
    items: [
      {
        at: toTimestamp(sinceMs),
        tenant,
        scope: null,
        vertical: 'fieldwork',
        version: '1.0.0',
        kind: 'console',
        level: 'log',
        text: 'hello',
        stack: null,
      },
    ],
    nextCursor: null,
  }),
  tenantMetrics: async ({ tenant }) => ({
    items: [{ tenant, scope: null, vertical: 'fieldwork', ...figures }],
    nextCursor: null,
  }),
  tenantSeries: async ({ sinceMs }) => [{ at: toTimestamp(sinceMs), ...figures }],
};

function lineAt(sinceMs: number) {
  return {
    at: toTimestamp(sinceMs),
    vertical: 'fieldwork',
    version: '1.0.0',
    operation: 'order/complete',
    status: 200,
    durationMs: 4,
    traceId: null,
  };
}
