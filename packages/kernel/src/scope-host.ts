/**
 * The scopes of one vertical on one engine: the co-located host of the management contract (spec 4.4), and the entrance
 * of the vertical's own routes.
 */
import {
  type ActorId,
  fromTimestamp,
  ID_PREFIXES,
  makeIdFactory,
  type OperationStub,
  PlatformError,
  type ProgramGrant,
  type ScopeEntitlements,
  type ScopeErasure,
  type ScopeExamination,
  type ScopeId,
  type ScopeRef,
  type ScopeRetries,
  type ScopeSnapshots,
  type TenantId,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { BlobStore, Engine, EngineTools, IncidentSink } from '@freehold/store';
import { unknownScope } from './admit-copy.ts';
import { ATTACHMENT_BYTES_MAX, type Attachments, makeAttachments } from './attachments/attachments.ts';
import type {
  ActingProgram,
  JudgedProgram,
  ScopeCaller,
  ScopeMethods,
  ScopeStub,
} from './contract/scope-methods.ts';
import type { Vault } from './keys/vault.ts';
import type { ScopePeople } from './members/members.ts';
import { makeScopeCopies } from './scope-copies.ts';
import type { ScopeUnit } from './scope-unit.ts';
import { keyedScope, makeKeyKeeper, unkeyedScope } from './sealing/keyed-scope.ts';

export interface ScopeHost
  extends VerticalScopeHost,
    ScopeSnapshots,
    ScopeExamination,
    ScopeRetries,
    ScopeErasure,
    ScopeEntitlements {
  /** Returns the scope itself, for the vertical's own code, which knows its tenant. */
  scope(scopeId: string): ScopeStub;
  /** The files of records. Without `blobs`, every member rejects with `unsupported`, reason `no_blob_store`. */
  readonly attachments: Attachments;
  /**
   * Returns the scope for one caller, for `mountOperations`. With the caller's tenant, another tenant's scope is
   * `not_found`.
   */
  operations(scopeId: string, by: ActorId | ScopeCaller, tenantId?: TenantId): OperationStub;
}

export interface ScopeHostOptions {
  readonly engine: Engine & Partial<EngineTools>;
  readonly unit: ScopeUnit;
  /** Returns the store of a scope's attachments. Without it, there are none. */
  readonly blobs?: (scopeId: string) => BlobStore;
  /** The largest attachment in bytes. Default 50 MiB. */
  readonly attachmentBytesMax?: number;
  /** Milliseconds since the epoch. Default: the system's clock. */
  readonly now?: () => number;
  /** Returns so many bytes from a cryptographic source. Default: the platform's. */
  readonly random?: (bytes: number) => Uint8Array;
  /** The keys of persons. Without it, no event about a person can be emitted, and no person erased. */
  readonly vault?: Vault;
  /** Receives attachments whose bytes are damaged or missing. Default: none. */
  readonly onIncident?: IncidentSink;
  /** The members of scopes, whom copies carry along. Without it, a copy in another scope brings none. */
  readonly people?: ScopePeople;
  /**
   * Returns what a program is allowed now, null once its access has ended: long work that it began asks before each step.
   * Default: no program is allowed anything.
   */
  readonly programs?: (ref: ScopeRef, program: ActingProgram) => Promise<ProgramGrant | null>;
  /** Runs background work at the vault. Default: timers of the runtime. */
  readonly after?: (ms: number, task: () => void) => void;
}

/**
 * Builds the host of a vertical's scopes. Every member of the management contract rejects with a `PlatformError`:
 * `not_found`, reason `unknown_scope`, for a scope that does not exist and for another tenant's alike.
 */
export function makeScopeHost(options: ScopeHostOptions): ScopeHost {
  const { engine, unit, vault, blobs, people, now = Date.now, random = defaultRandom } = options;
  const { attachmentBytesMax = ATTACHMENT_BYTES_MAX } = options;
  const newId = makeIdFactory({ now, random });
  const bare = (scopeId: string): ScopeStub => engine.unit(unit, scopeId);
  const keeper = vault && makeKeyKeeper({ vault, scope: bare, after: options.after });
  if (keeper) {
    unit.onKeysUnused(keeper.returned);
    engine.beforeClose?.(keeper.settleAll);
  }
  /** Scopes whose rights must not change now. */
  const held = new Set<string>();
  const scope = (scopeId: string): ScopeStub => {
    const isHeld = (): boolean => held.has(scopeId);
    const judge = (program: ActingProgram) => judgeProgram(scopeId, program);
    return vault && keeper
      ? keyedScope(bare(scopeId), { scopeId, vault, keeper, isHeld, judge })
      : unkeyedScope(bare(scopeId), isHeld, judge);
  };
  const judgeProgram = async (scopeId: string, program: ActingProgram): Promise<JudgedProgram> => {
    const { grant } = program;
    try {
      const { tenantId } = await bare(scopeId).identify({});
      const allowed = await options.programs?.({ tenantId, scopeId: scopeId as ScopeId }, program);
      return { grant, allowed: allowed ?? null };
    } catch (error) {
      options.onIncident?.(error, { kind: unit.kind, key: scopeId, method: 'work' });
      return { grant, allowed: 'unknown' };
    }
  };

  /** Returns the scope of a management call; an unknown scope and another tenant's are the same `not_found`. */
  const owned = async (ref: ScopeRef): Promise<ScopeStub> => {
    const stub = scope(ref.scopeId);
    const { tenantId } = await stub.identify({}).catch((error: unknown) => {
      throw error instanceof PlatformError && error.code === 'not_found' ? unknownScope() : error;
    });
    if (tenantId !== ref.tenantId) throw unknownScope();
    return stub;
  };

  /** Returns a member of the contract that passes its query on to one method of the scope. */
  const pass =
    <K extends keyof ScopeMethods>(method: K, fixed: object = {}) =>
    async ({ tenantId, scopeId, ...query }: ScopeRef & object): Promise<ReturnType<ScopeMethods[K]>> => {
      const call = (await owned({ tenantId, scopeId }))[method] as (input: object) => Promise<never>;
      return call({ ...query, ...fixed });
    };

  const attachments = makeAttachments({
    scope,
    blobs: blobs ?? noBlobs,
    now,
    // A restored snapshot needs its files: they stay as long as it does.
    oldestCopyMs: async (scopeId) => (await engine.tools?.(unit, scopeId).snapshots())?.at(-1)?.atMs ?? null,
    bytesMax: attachmentBytesMax,
    onIncident: (error, key) =>
      options.onIncident?.(error, { kind: unit.vertical.manifest.slug, key, method: 'openAttachment' }),
  });
  const copies = makeScopeCopies({
    engine,
    unit,
    scope,
    held,
    vertical: unit.vertical,
    vault,
    keeper,
    people,
    blobs,
    attachmentBytesMax,
    requireOwned: owned,
    isThere: (scopeId) => isThere(bare(scopeId)),
    clearFiles: async (scopeId) => blobs?.(scopeId).clear(),
    newSnapshotId: () => newId(ID_PREFIXES.snapshot),
    newMark: () => Buffer.from(random(12)).toString('base64url'),
    random,
    now,
  });

  return {
    scope,
    ...copies,
    attachments,
    connectorAttachmentUploadLocal: async ({ connection, meta, ...ref }, body) => {
      await owned(ref);
      return attachments.add(ref.scopeId, `connection:${connection}`, meta, body);
    },
    connectorAttachmentOpenLocal: async ({ connection, attachment, ...ref }) => {
      await owned(ref);
      return attachments.open(ref.scopeId, `connection:${connection}`, attachment);
    },
    introspectScopeTables: pass('tables'),
    introspectScopeTable: pass('table'),
    operations: (scopeId, by, tenantId) => {
      const stub = scope(scopeId);
      const acting = typeof by === 'string' ? { principal: by } : by;
      const caller = tenantId === undefined ? acting : { ...acting, tenantId };
      return {
        // Member by member: a request cannot bring its own principal or cause.
        invoke: ({ operation, input, idempotencyKey, ifMatch }) => {
          if (idempotencyKey === undefined && ifMatch === undefined)
            return stub.invoke({ operation, input, ...caller });
          return stub.invoke({
            operation,
            input,
            ...caller,
            ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
            ...(ifMatch === undefined ? {} : { ifMatch }),
          });
        },
      };
    },
    provisionScopeLocal: ({ scopeId, tenantId, name }) =>
      engine.unit(unit, scopeId, { create: true }).provision({ tenantId, name }),
    projectRolesLocal: async (ref, roles) => void (await (await owned(ref)).projectRoles({ roles })),
    projectEntitlementsLocal: async (ref, { revision, items }) => {
      const entitlements = Object.fromEntries(
        Object.entries(items).map(([key, { plan, quota, expiresAt }]) => [
          key,
          {
            value: { plan, quota },
            ...(expiresAt === null ? {} : { expiresAtMs: fromTimestamp(expiresAt) }),
          },
        ]),
      );
      await (await owned(ref)).projectEntitlements({ entitlements, revision });
    },
    appliedMigrationsLocal: pass('appliedMigrations'),
    entityHistoryLocal: async ({ entityType, entityId, limit, cursor, ...ref }) =>
      (await owned(ref)).history({
        entity: { type: entityType, id: entityId },
        limit,
        sealed: true,
        ...(cursor === undefined ? {} : { cursor }),
      }),
    eventCauseLocal: pass('cause', { sealed: true }),
    eventEffectsLocal: pass('effects', { sealed: true }),
    facetEventsLocal: pass('facets'),
    invocationEventsLocal: pass('invocation', { sealed: true }),
    deadLettersLocal: pass('deadLetters'),
    retryDeadLetterLocal: async (ref) => void (await pass('retryDeadLetter')(ref)),
    listPlatformRequests: pass('listPlatformRequests'),
    listPlatformRequestHistory: pass('platformRequestHistory'),
    settlePlatformRequest: pass('settlePlatformRequest'),
    connectorInvokeLocal: async ({ tenantId, scopeId, connection, operation, input, idempotencyKey }) =>
      (await owned({ tenantId, scopeId })).invoke({
        principal: `connection:${connection}`,
        operation,
        input,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      }),
    connectorGrantLocal: pass('grantConnection'),
    shredSubjectLocal: async ({ subject, ...ref }) => {
      if (!vault)
        throw new PlatformError('unsupported', 'There is no vault here, so no person can be erased.', {
          reason: 'no_vault',
        });
      const stub = await owned(ref);
      // The keys end first: after that, the person's data opens nowhere, whatever fails. Used keys of which the vault
      // was not told are bound by the same call, and end with the others.
      const { keyIds } = await stub.heldKeys({ subject });
      const receipt = await vault.shred(ref, subject, keyIds);
      await stub.redact({ receipt });
      return receipt;
    },
    listDenialsLocal: pass('listDenials'),
    summarizeDenialsLocal: pass('summarizeDenials'),
  };
}

function noBlobs(): never {
  throw new PlatformError('unsupported', 'There is no place for attachments here.', {
    reason: 'no_blob_store',
  });
}

function defaultRandom(bytes: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(bytes));
}

async function isThere(scope: ScopeStub): Promise<boolean> {
  try {
    await scope.identify({});
    return true;
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'not_found') return false;
    throw error;
  }
}
