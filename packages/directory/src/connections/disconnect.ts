/** Disconnecting: the credential is revoked at the provider and destroyed here, and the grants end. The record stays. */
import { scopeId } from '@freehold/contracts';
import { z } from 'zod';
import type { Actor, AdminCall } from '../access/actors.ts';
import { requireMatch } from '../changes/conditions.ts';
import { adminOperation, dryRunQuery, planCount } from '../declarations/admin-operation.ts';
import { type ConnectionReason, connectionRecord, ofConnection, tag } from '../declarations/connections.ts';
import type { Effect } from '../lib/effects.ts';
import { delegated, planned } from '../lib/handlers.ts';
import { auditFields, note, takeStep, targetOf } from './connection-record.ts';
import type { OAuthProvider } from './providers.ts';
import {
  connectionOfRow,
  deleteGrants,
  destroyCredential,
  grantsOf,
  loadCredential,
  requireConnection,
  saveConnection,
} from './store.ts';
import type { ConnectionDeps, TokenKeeper } from './token-keeper.ts';

const disconnectPlan = z
  .object({
    dryRun: z.literal(true),
    connection: connectionRecord,
    credential: z.boolean().describe('Whether there is one, which is destroyed'),
    revocable: z.boolean().describe('Whether the provider is asked to revoke it'),
    grants: planCount.describe('How many grants end'),
    scopes: z.array(scopeId).describe('Where it acts by these grants'),
  })
  .meta({ id: 'DisconnectPlan' });

/** The input of the effect. */
export interface Disconnecting {
  readonly tenant: string;
  readonly connection: string;
  readonly provider: string;
  readonly sealed: string | null;
  /** The version before the call. */
  readonly revision: number;
}

/** The fate of the credential at the provider. */
type Revocation = Extract<ConnectionReason, `revo${string}`>;

export const connectionsDisconnect = adminOperation({
  name: 'connections.disconnect',
  summary: 'Disconnect: revoke the credential at the provider and destroy it here',
  description:
    'The credential is destroyed here whatever the provider says; the answer’s reason says what became of it there. The record stays, and disconnecting again changes nothing. With dryRun, answers what it may do and where.',
  tag,
  method: 'DELETE',
  path: '/tenants/:tenant/connections/:connection',
  input: { params: ofConnection, query: dryRunQuery },
  output: connectionRecord,
  plan: disconnectPlan,
  builder: 'own-tenant',
  destructive: true,
  etag: true,
  problems: ['not_found', 'conflict', 'precondition_failed'],
});

export const disconnect = /* @__PURE__ */ delegated<
  typeof connectionsDisconnect,
  Disconnecting,
  { revocation: Revocation }
>(connectionsDisconnect, {
  begin: (context, { params, ifMatch }) => {
    const { db, resumes, revision } = context;
    const row = requireConnection(db, params);
    requireMatch(ifMatch, String(row.revision), resumes);
    if (row.state === 'disconnected') return { change: { value: connectionOfRow(row), audit: null } };
    // A second call with the same tag is refused while this one is running.
    saveConnection(db, { ...row, revision });
    const { tenant, id: connection, provider } = row;
    const sealed = loadCredential(db, connection)?.sealed ?? null;
    return {
      intent: { target: targetOf(row), before: auditFields(row), after: { connection } },
      prepared: { tenant, connection, provider, sealed, revision: row.revision },
    };
  },
  settle: (context, { params, actor }, { revocation: reason }) => {
    const { db, revision } = context;
    const before = requireConnection(db, params);
    const after = takeStep(context, before, { state: 'disconnected', reason, revision, verified: false });
    destroyCredential(db, after.id);
    deleteGrants(db, after.id);
    note(context, { connection: after.id, kind: 'disconnected', reason, by: actor.id });
    const audit = { target: targetOf(after), before: auditFields(before), after: auditFields(after) };
    return { value: connectionOfRow(after), audit };
  },
  undo: (context, { params }, { revision }) => {
    const row = requireConnection(context.db, params);
    if (row.revision === context.intent) saveConnection(context.db, { ...row, revision });
  },
  supersedes: ({ params }, earlier) => earlier?.connection === params.connection,
});

/** `revocable` is filled in by the effect, which knows the registry of providers. */
export const planDisconnect = /* @__PURE__ */ planned<typeof connectionsDisconnect>(
  connectionsDisconnect,
  ({ db }, { params, ifMatch }) => {
    const row = requireConnection(db, params);
    requireMatch(ifMatch, String(row.revision));
    const isOver = row.state === 'disconnected';
    const grants = isOver ? [] : grantsOf(db, row.id);
    return {
      dryRun: true,
      connection: connectionOfRow(row),
      credential: !isOver && loadCredential(db, row.id) !== undefined,
      revocable: false,
      grants: grants.reduce((sum, { n }) => sum + n, 0),
      scopes: grants.map(({ scope }) => scope),
    };
  },
);

export function makeDisconnectEffect(
  { registry, vault, incident }: Pick<ConnectionDeps, 'registry' | 'vault' | 'incident'>,
  keeper: TokenKeeper,
): Effect<Disconnecting> {
  const revokingProvider = (key: string): OAuthProvider | null => {
    const provider = registry.find(key);
    return provider?.kind === 'oauth2' && provider.revocationEndpoint !== undefined ? provider : null;
  };

  /** Revokes if possible, and never fails: a provider must not keep a person from disconnecting. */
  const revoke = async (prepared: Disconnecting): Promise<Revocation> => {
    const { tenant, connection, sealed } = prepared;
    const provider = revokingProvider(prepared.provider);
    if (!provider) return 'revocation_unsupported';
    if (sealed === null) return 'revocation_failed';
    try {
      const credential = vault.open({ tenant, connection }, sealed);
      return (await keeper.revoke(provider, credential)) ? 'revoked' : 'revocation_failed';
    } catch (error) {
      incident('revoke')(error);
      return 'revocation_failed';
    }
  };

  return {
    check: async () => undefined,
    plan: async (_deps, _call, known) => {
      const { connection, credential } = known as z.output<typeof disconnectPlan>;
      const revocable = credential && revokingProvider(connection.provider) !== null;
      return { value: { ...(known as object), revocable } };
    },
    run: async (_deps, _call, prepared) => ({ facts: { revocation: await revoke(prepared) } }),
  };
}

const REAPER: Actor = { kind: 'system', id: 'reaping', name: "The platform's own work of a reap" };

/**
 * The call that would have disconnected this one alone, for a reap that disconnects it along with everything else.
 * @param run the long work; its id stands in the place of a request's.
 */
export function disconnectCall(
  run: { readonly id: string },
  { tenant, connection }: Pick<Disconnecting, 'tenant' | 'connection'>,
): AdminCall {
  return {
    operation: 'connections.disconnect',
    params: { tenant, connection },
    query: {},
    body: {},
    actor: REAPER,
    requestId: run.id,
  };
}
