/** The effects of previews: the bundle and the masked copy go to the runtime, and everything goes again at the end. */
import {
  EXPORT_MEDIA_TYPES,
  ownerClaimResponse,
  PlatformError,
  provisionResponse,
  restoreResponse,
} from '@freehold/contracts';
import type { UnitStub } from '@freehold/store';
import type { Actor, AdminCall, AdminResult } from '../access/actors.ts';
import { aboutOf } from '../access/reach.ts';
import type { PreviewLink, PreviewRef, PreviewStep } from '../declarations/previews.ts';
import type { Effect, EffectDeps, Effects } from '../lib/effects.ts';
import type { CallOf } from '../lib/handlers.ts';
import {
  bytesOf,
  type PreviewRuntime,
  requireRuntime,
  type VerticalRuntime,
} from '../vertical-registry/deploy.ts';
import type { RegistryMethods } from '../vertical-registry/feature.ts';
import { askVertical } from '../verticals/client.ts';
import type { BoundVertical } from '../verticals/gateway.ts';
import { openScopeCopy } from '../verticals/open-copy.ts';
import { isRefusal } from '../verticals/outcome.ts';
import type { PreviewMethods } from './feature.ts';
import type { CopiedFacts, previewsCreate } from './operations.ts';
import { type PreviewRow, refOf } from './store.ts';

/** For the platform's own jobs. */
export interface PreviewMaintenance {
  /** Ends those whose time is over. Returns their number. */
  endExpired(signal: AbortSignal): Promise<number>;
  /** Ends those with data of a scope, or of a tenant, each with a row of the log. Call it when a person of the scope is erased. */
  endOf(of: PreviewsOf): Promise<void>;
  /** Those that there are: what a runtime has of others was left by a crash. */
  ids(): Promise<readonly string[]>;
}

/** Those with data of a scope, or of a tenant. */
type PreviewsOf = { readonly scope: string } | { readonly tenant: string };

/** Ends previews as part of a reap, whose rows of the log stand for them. */
export type ErasePreviews = (of: PreviewsOf) => Promise<void>;

interface PreviewDeps {
  readonly directory: UnitStub<PreviewMethods & Pick<RegistryMethods, 'registryVertical'>>;
  readonly runtime: VerticalRuntime | undefined;
  readonly newRequestId: () => string;
  /** Performs an operation with an effect. */
  readonly runEffect: (effect: Effect<never>, call: AdminCall) => Promise<AdminResult>;
}

/** Loading a copy takes as long as a restore. The lease of the intent is longer. */
const RESTORE_TIMEOUT_MS = 110_000;

const CLOCK: Actor = { kind: 'system', id: 'previews', name: "The platform's own end of previews" };

export function makePreviews({ directory, runtime, newRequestId, runEffect }: PreviewDeps): {
  readonly effects: Effects;
  readonly maintenance: PreviewMaintenance;
  readonly erasePreviews: ErasePreviews;
} {
  const check = async (_deps: EffectDeps, call: AdminCall): Promise<void> => {
    // Access comes first: a caller that must not know the vertical learns nothing about the runtime either.
    await directory.registryVertical({ call: aboutOf(call) });
    requirePreviews(runtime);
  };

  const create: Effect<PreviewRow> = {
    check,
    run: async (deps, call, row, report = () => undefined) => {
      const say = (step: PreviewStep['step']): void => {
        const said: PreviewStep = { step, preview: row.id };
        report(said);
      };
      const { body } = call as unknown as CallOf<typeof previewsCreate>;
      const previews = requirePreviews(runtime);
      const ref = refOf(row);
      try {
        say('uploading');
        await upload(requireRuntime(runtime), ref, body);
        if (row.copied) say('copying');
        const copy = row.copied ? await maskedCopy(deps, previews, row, body.acknowledgeUnmasked) : null;
        say('opening');
        await provision(deps, previews, ref, row.version);
        if (copy === null) return { facts: { row, copied: null } satisfies CopiedFacts };
        const { tables, rows } = await load(deps, previews, ref, copy.body);
        const { masked, unmasked } = copy;
        return { facts: { row, copied: { tables, rows, masked: [...masked], unmasked: [...unmasked] } } };
      } catch (error) {
        await previews.end(ref);
        // Nothing is left of it, whatever was not answered.
        throw isRefusal(error) ? error : notMade(error);
      }
    },
  };

  const open: Effect<PreviewRow> = {
    check,
    run: async (deps, _call, row) => {
      const origin = deps.originOf(row.hostname);
      const link = await ask(deps, requirePreviews(runtime), refOf(row), {
        ...{ path: 'owner-claim', origin, body: { origin }, answer: ownerClaimResponse, forward: true },
      }).catch((error: unknown) => {
        if (error instanceof PlatformError && error.reason === 'seat_claimed') return null;
        throw error;
      });
      return { facts: null, reply: (link ?? { url: `${origin}/`, expiresAt: null }) satisfies PreviewLink };
    },
  };

  const end: Effect<PreviewRow> = {
    check,
    run: async (_deps, _call, row) => {
      await requirePreviews(runtime).end(refOf(row));
      return { facts: null };
    },
  };

  /** Each is a row of the log, by the platform itself. */
  const endAll = async (rows: readonly PreviewRow[], signal?: AbortSignal): Promise<number> => {
    let ended = 0;
    for (const { id, vertical } of rows) {
      if (signal?.aborted) break;
      const call = {
        operation: 'previews.end',
        params: { slug: vertical, preview: id },
        query: {},
        body: {},
      };
      await runEffect(end as Effect<never>, { ...call, actor: CLOCK, requestId: newRequestId() }).catch(
        (error: unknown) => {
          // Another call ended it meanwhile.
          if (!(error instanceof PlatformError) || error.reason !== 'unknown_preview') throw error;
        },
      );
      ended++;
    }
    return ended;
  };

  const rowsOf = async (of: PreviewsOf): Promise<readonly PreviewRow[]> => {
    const which = 'scope' in of ? { ofScope: of.scope } : { ofTenant: of.tenant, ofOwner: of.tenant };
    const rows = await directory.previewsToEnd(which);
    return [...new Map(rows.map((row) => [row.id, row])).values()];
  };

  return {
    effects: { 'previews.create': create, 'previews.open': open, 'previews.end': end } as Effects,
    maintenance: {
      endExpired: async (signal) => {
        let ended = 0;
        for (;;) {
          const batch = await endAll(await directory.previewsToEnd({ expired: true }), signal);
          if (batch === 0) return ended;
          ended += batch;
        }
      },
      endOf: async (of) => void (await endAll(await rowsOf(of))),
      ids: () => directory.previewIds(),
    },
    erasePreviews: async (of) => {
      for (const row of await rowsOf(of)) {
        await requirePreviews(runtime).end(refOf(row));
        await directory.previewErased({ preview: row.id });
      }
    },
  };
}

/** @throws PlatformError `unsupported` (501), reason `no_runtime` or `no_previews`. */
function requirePreviews(runtime: VerticalRuntime | undefined): PreviewRuntime {
  const { previews } = requireRuntime(runtime);
  if (previews) return previews;
  throw new PlatformError('unsupported', 'The runtime of this platform makes no previews.', {
    reason: 'no_previews',
  });
}

async function upload(
  runtime: VerticalRuntime,
  { vertical, script }: PreviewRef,
  { manifest, migrations, egress, modules, known }: CallOf<typeof previewsCreate>['body'],
): Promise<void> {
  const sent = modules.map(({ base64, ...file }) => ({ ...file, bytes: bytesOf(base64) }));
  await runtime.upload(
    {
      vertical,
      version: manifest.version,
      script,
      manifest,
      migrations,
      egress,
      modules: [...sent, ...known],
    },
    () => undefined,
  );
}

async function maskedCopy(
  deps: EffectDeps,
  previews: PreviewRuntime,
  row: PreviewRow,
  acknowledged: boolean,
): ReturnType<PreviewRuntime['mask']> {
  const { tenant, scope: id, vertical } = row;
  const { body } = await openScopeCopy(deps, { tenant, id, vertical }, 'ndjson');
  const copy = await previews.mask(refOf(row), body);
  if (copy.unmasked.length === 0 || acknowledged) return copy;
  await copy.body.cancel();
  throw new PlatformError(
    'conflict',
    `Text in these columns would be copied as it is: ${copy.unmasked.join(', ')}. Declare those with personal data under erasure.personal, and acknowledge the others (acknowledgeUnmasked).`,
    {
      reason: 'unmasked_text',
      errors: copy.unmasked.map((path) => ({ path, message: 'is neither sealed nor declared as personal' })),
    },
  );
}

async function provision(
  deps: EffectDeps,
  previews: PreviewRuntime,
  ref: PreviewRef,
  version: string,
): Promise<void> {
  const body = { name: `${ref.vertical} ${version} (preview)` };
  const answer = provisionResponse.refine(({ scopeId }) => scopeId === ref.scope);
  await ask(deps, previews, ref, { path: 'provision', body, answer });
}

async function load(
  deps: EffectDeps,
  previews: PreviewRuntime,
  ref: PreviewRef,
  body: ReadableStream<Uint8Array>,
) {
  try {
    return await ask(deps, previews, ref, {
      path: 'restore',
      query: { format: 'ndjson' },
      content: { mediaType: EXPORT_MEDIA_TYPES.ndjson, body },
      answer: restoreResponse,
      timeoutMs: RESTORE_TIMEOUT_MS,
    });
  } finally {
    // Unread bytes hold a file open.
    await body.cancel().catch(() => undefined);
  }
}

type Question = Omit<Parameters<typeof askVertical>[1], 'scope' | 'answer'>;

function ask<S extends Parameters<typeof askVertical>[1]['answer']>(
  { deadline }: EffectDeps,
  previews: PreviewRuntime,
  ref: PreviewRef,
  question: Question & { readonly answer: S },
) {
  // The runtime shows the preview its secret: it is of no use to the caller.
  const bound: BoundVertical = { platformSecret: '', fetch: (request) => previews.manage(ref, request) };
  const scope = { tenantId: ref.tenant, scopeId: ref.scope } as never;
  return askVertical<S>(bound, { ...question, scope }, deadline);
}

function notMade(cause: unknown): PlatformError {
  return new PlatformError(
    'runtime_fault',
    'The preview could not be made, and nothing of it is left. Try again.',
    {
      reason: 'preview_not_made',
      cause,
    },
  );
}
