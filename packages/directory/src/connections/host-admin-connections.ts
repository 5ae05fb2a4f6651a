/**
 * Connecting with a key, replacing it, and verifying a credential: the provider is asked first, then one transaction writes
 * its answer down (spec 4.3.14: a credential is verified with the provider when it is connected).
 */
import { PlatformError } from '@freehold/contracts';
import type { AdminCall } from '../access/actors.ts';
import type { ChangeOutcome } from '../changes/changes.ts';
import type { CallOf, WiringFacts } from '../lib/handlers.ts';
import { accountConnected } from './connection-record.ts';
import type { BeforeProvider } from './feature.ts';
import type { Loaded } from './maintenance.ts';
import type {
  connectionsCreate,
  connectionsRotate,
  connectionsVerify,
  Learned,
  Verdict,
} from './operations.ts';
import {
  type Account,
  ProviderFailure,
  probeKey,
  probeToken,
  providerGone,
  providerProblem,
  requireKeyProvider,
} from './provider-exchange.ts';
import type { ApiKeyProvider, OAuthProvider } from './providers.ts';
import type { ConnectionDeps, RefreshOptions, TokenKeeper, UsableCredential } from './token-keeper.ts';

type Learn = (call: AdminCall, before: Extract<BeforeProvider, { replay: false }>) => Promise<Learned>;

export interface ConnectionCalls {
  /** The changes, by operation. Each rejects with a `PlatformError`. */
  readonly changes: Readonly<Record<string, (call: AdminCall, facts: WiringFacts) => Promise<ChangeOutcome>>>;
  /** Asks the provider about a loaded credential. @throws ProviderFailure, PlatformError */
  check(loaded: Loaded): Promise<{ readonly verdict: Verdict; readonly generation: number }>;
}

export function makeConnectionCalls(deps: ConnectionDeps, keeper: TokenKeeper): ConnectionCalls {
  const { directory, registry, vault, access } = deps;

  const create: Learn = async (call, { scope }) => {
    const { body } = call as unknown as CallOf<typeof connectionsCreate>;
    if (!scope) throw new TypeError('a connection is made in a scope');
    const provider = requireKeyProvider(registry, body.provider);
    vault.requireKey();
    const account = await probeKey(access, provider, body.apiKey);
    const slot = await directory.connectionSlot({
      ...scope,
      ...body,
      scope: scope.scope,
      account: account.account,
    });
    if (!slot.isNew) throw accountConnected();
    const place = { tenant: scope.tenant, connection: slot.connection };
    const credential = vault.seal(place, { kind: 'api-key', apiKey: body.apiKey }, null);
    return { verified: { ...account, connection: slot.connection, credential, scopes: [] } };
  };

  const rotate: Learn = async (call) => {
    const { params, body } = call as unknown as CallOf<typeof connectionsRotate>;
    const { connection } = await directory.connectionLoaded(params);
    const provider = registry.find(connection.provider);
    if (!provider) throw providerGone();
    if (provider.kind !== 'api-key')
      throw new PlatformError(
        'conflict',
        'This was connected by consent: connect the account again instead.',
        {
          reason: 'consent_required',
        },
      );
    vault.requireKey();
    const account = await probeKey(access, provider, body.apiKey);
    if (!isSameAccount(connection.account, account))
      throw new PlatformError('conflict', 'This key belongs to another account: connect that one instead.', {
        reason: 'other_account',
      });
    const place = { tenant: connection.tenant, connection: connection.id };
    const credential = vault.seal(place, { kind: 'api-key', apiKey: body.apiKey }, null);
    return { verified: { ...account, connection: connection.id, credential, scopes: [] } };
  };

  const verify: Learn = async (call) => {
    const { params } = call as unknown as CallOf<typeof connectionsVerify>;
    return check(await directory.connectionLoaded(params), { recordsRefusal: false });
  };

  const check = async (loaded: Loaded, options: RefreshOptions = {}) => {
    const provider = registry.find(loaded.connection.provider);
    if (!provider) throw providerGone();
    return provider.kind === 'api-key' ? checkKey(loaded, provider) : checkToken(loaded, provider, options);
  };

  const checkKey = async (loaded: Loaded, provider: ApiKeyProvider) => {
    const { secret, generation } = await keeper.useLoaded(loaded);
    const verdict = await verdictOf(loaded, () => probeKey(access, provider, secret));
    return { verdict, generation };
  };

  const checkToken = async (loaded: Loaded, provider: OAuthProvider, options: RefreshOptions) => {
    const { identity } = provider;
    const { refreshable } = loaded.credential;
    if (!identity && !refreshable)
      throw new PlatformError('unsupported', 'This provider offers nothing to verify a credential with.', {
        reason: 'not_verifiable',
      });
    let { generation } = loaded.credential;
    const withToken = async (token: Promise<UsableCredential>): Promise<Verdict> => {
      const used = await token;
      generation = used.generation;
      // Without an identity endpoint, a successful refresh shows that the consent still holds.
      return identity ? verdictOf(loaded, () => probeToken(access, identity, used.secret)) : { taken: true };
    };
    try {
      const first = identity ? keeper.useLoaded(loaded, options) : keeper.refresh(loaded, options);
      const verdict = await withToken(first);
      const mayHaveEndedEarly = !verdict.taken && verdict.reason === 'credential_refused' && refreshable;
      const isFresh = generation !== loaded.credential.generation;
      if (!mayHaveEndedEarly || isFresh) return { verdict, generation };
      return { verdict: await withToken(keeper.refresh(loaded, options)), generation };
    } catch (error) {
      if (!(error instanceof ProviderFailure && error.fault === 'refused')) throw error;
      const reason = refreshable ? 'refresh_refused' : 'token_expired';
      return { verdict: { taken: false, reason } as const, generation };
    }
  };

  const changing = (learn: Learn) => async (call: AdminCall, facts: WiringFacts) => {
    const before = await directory.beforeProvider({ call });
    const learned = before.replay
      ? null
      : await learn(call, before).catch((error: unknown) => {
          throw providerProblem(error);
        });
    return directory.changeConnection({ call, facts, learned });
  };

  return {
    changes: {
      'connections.create': changing(create),
      'connections.rotate': changing(rotate),
      'connections.verify': changing(verify),
    },
    check,
  };
}

/** A refusal is a verdict; every other failure is thrown. */
async function verdictOf({ connection }: Loaded, probe: () => Promise<Account>): Promise<Verdict> {
  try {
    return isSameAccount(connection.account, await probe())
      ? { taken: true }
      : { taken: false, reason: 'account_changed' };
  } catch (error) {
    if (error instanceof ProviderFailure && error.fault === 'refused')
      return { taken: false, reason: 'credential_refused' };
    throw error;
  }
}

/** An account that is not known counts as the same. */
function isSameAccount(known: string | null, { account }: Account): boolean {
  return known === null || account === null || known === account;
}
