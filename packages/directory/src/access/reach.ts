/**
 * Judges which scopes and verticals of its tenant a builder reaches, in the transaction that performs the call (design:
 * control-plane, "Changed since"). The kind of a push token was judged before, by `admission.ts`.
 *
 * Invariant: this is the one rule for looks into a scope. A builder sees the rows of scopes whose vertical its tenant owns.
 */
import { PlatformError } from '@freehold/contracts';
import type { SqlDatabase } from '@freehold/store';
import { parseHostname } from '../declarations/host-name.ts';
import { isAtLeast, type TokenRights } from '../declarations/tokens.ts';
import type { Actor, AdminCall } from './actors.ts';

/** The rights of a builder: those of its push token, or those of a person. */
export function rightsOf(actor: Extract<Actor, { readonly kind: 'builder' }>): TokenRights {
  return actor.rights ?? { kind: 'operate', verticals: null, scopes: null };
}

/** Calls about the tenant itself and about tokens, which every token may make. */
const OF_ANY_TOKEN = [
  'tenants.list',
  'tenants.get',
  'push-tokens.list',
  'push-tokens.rotate',
  'push-tokens.revoke',
];

/** The parts of a call that say what it is about. */
export type Called = Pick<AdminCall, 'operation' | 'actor' | 'params' | 'query' | 'body'>;

/** The parts of a call that say what it is about, without its body, which may be large. */
export function aboutOf({ operation, actor, params, query }: AdminCall): Called {
  return { operation, actor, params, query, body: {} };
}

/**
 * Refuses a call about what the builder does not reach.
 * @param looksInside whether the call reads what a scope holds.
 * @throws PlatformError `not_found` for what a narrowed token must not see, and `conflict` for a vertical that it would make
 * there; `forbidden`, reason `vertical_not_owned` or `target_required`.
 */
export function requireReach(db: SqlDatabase, call: Called, looksInside = false): void {
  const { actor } = call;
  if (actor.kind !== 'builder') return;
  const rights = rightsOf(actor);
  // A token from before kinds keeps what it could do, until it ends.
  if (rights.kind === 'legacy' || OF_ANY_TOKEN.includes(call.operation)) return;
  const isNarrowed = rights.verticals !== null || rights.scopes !== null;
  const isOwnOnly = !isAtLeast(rights.kind, 'operate');
  const isObserving = call.operation.startsWith('observability.');
  const targets = targetsOf(db, call, actor.tenant);
  if (targets.length === 0 && (isNarrowed || (isOwnOnly && isObserving))) throw targetRequired();
  const beyond = isNarrowed ? targets.find((target) => !isWithin(target, rights)) : undefined;
  if (beyond) throw hidden(call, beyond);
  if (!isOwnOnly && !looksInside) return;
  for (const target of targets) {
    if (target.vertical === null || isOwned(db, target.vertical, actor.tenant)) continue;
    if (target.kind === 'scope') throw notOwned();
    if (isObserving) throw hidden(call, target);
  }
}

/** A thing that a call names. The vertical is null for a thing that is not there; the handler says so. */
interface Target {
  readonly kind: 'scope' | 'vertical' | 'new-scope' | 'hostname' | 'connection' | 'operation';
  readonly scope: string | null;
  readonly vertical: string | null;
}

/** Everything that a call names. */
function targetsOf(
  db: SqlDatabase,
  { operation: name, params, query, body }: Called,
  tenant: string,
): Target[] {
  const targets: Target[] = [];
  const each = (field: string, targetOf: (value: string) => Target): void => {
    const value = params[field] ?? query[field] ?? body[field];
    if (typeof value === 'string') targets.push(targetOf(value));
  };
  const stored = (kind: Target['kind'], sql: string) => (key: string) => {
    const row = db.get<Omit<Target, 'kind'>>(sql, key, tenant);
    return { kind, scope: row?.scope ?? null, vertical: row?.vertical ?? null };
  };
  each('scope', stored('scope', 'SELECT id AS scope, vertical FROM scopes WHERE id = ? AND tenant = ?'));
  const ofVertical = (vertical: string): Target => ({
    kind: name === 'scopes.provision' ? 'new-scope' : 'vertical',
    ...{ scope: null, vertical },
  });
  each('vertical', ofVertical);
  // The body of a provisioning has a slug too, which is the new scope's.
  if ('slug' in params || name === 'verticals.create') each('slug', ofVertical);
  // A name that is being bound is that of the scope in the same call.
  const named = stored(
    'hostname',
    `${OF_SCOPE} JOIN hostnames t ON t.scope = s.id WHERE t.hostname = ? AND t.tenant = ?`,
  );
  if (name !== 'hostnames.bind') each('hostname', (hostname) => named(parseHostname(hostname)));
  each(
    'connection',
    stored('connection', `${OF_SCOPE} JOIN connections t ON t.scope = s.id WHERE t.id = ? AND t.tenant = ?`),
  );
  each(
    'operation',
    stored('operation', 'SELECT scope, vertical FROM operations WHERE id = ? AND tenant = ?'),
  );
  return targets;
}

const OF_SCOPE = 'SELECT s.id AS scope, s.vertical FROM scopes s';

function isWithin({ kind, scope, vertical }: Target, { verticals, scopes }: TokenRights): boolean {
  if (verticals !== null && (vertical === null || !verticals.includes(vertical))) return false;
  if (kind === 'new-scope') return scopes === null;
  // A change of a vertical reaches all of its scopes.
  if (kind === 'vertical') return scopes === null;
  return scopes === null || (scope !== null && scopes.includes(scope));
}

function isOwned(db: SqlDatabase, vertical: string, tenant: string): boolean {
  return (
    db.get('SELECT 1 FROM verticals WHERE slug = ? AND owner_tenant = ?', vertical, tenant) !== undefined
  );
}

/** The refusal of a thing that is not there, word for word. */
function hidden({ operation }: Called, { kind }: Target): PlatformError {
  if (operation === 'verticals.create')
    return new PlatformError('conflict', 'There is another vertical with this slug.', {
      reason: 'slug_taken',
    });
  const [what, reason] = HIDDEN[kind];
  return new PlatformError('not_found', `There is no such ${what}.`, { reason });
}

const HIDDEN: Readonly<Record<Target['kind'], readonly [what: string, reason: string]>> = {
  scope: ['scope', 'unknown_scope'],
  vertical: ['vertical', 'unknown_vertical'],
  'new-scope': ['vertical', 'unknown_vertical'],
  hostname: ['host name', 'unknown_hostname'],
  connection: ['connection', 'unknown_connection'],
  operation: ['operation', 'unknown_operation'],
};

function notOwned(): PlatformError {
  return new PlatformError(
    'forbidden',
    'The vertical of this scope is not one of your tenant. Only the staff of this platform look into it.',
    { reason: 'vertical_not_owned' },
  );
}

function targetRequired(): PlatformError {
  return new PlatformError(
    'forbidden',
    'This token is for certain verticals or scopes. Name one of them in the call.',
    {
      reason: 'target_required',
    },
  );
}
