/** The operations on a scope in each of its states, with the state and the rows that follow (C-04). */
import type { SnapshotRecord } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeKeyProvider } from '../../test/key-provider.ts';
import { makeMemoryBackups } from '../../test/memory-backups.ts';
import { type CallParts, openPlatform, refusal } from '../../test/platform.ts';
import { admitted, promote } from '../../test/registry.ts';
import { EVENT } from '../../test/vertical-double.ts';
import type {
  AccessLogEntry,
  AdminLogEntry,
  AdminOperationName,
  BackupRecord,
  ScopeRecord,
} from '../admin-operations.ts';

type State = ScopeRecord['status'];
const STATES: readonly State[] = ['provisioning', 'active', 'suspended', 'archived', 'reaped'];

/** A scope in some state, with all that the verbs name. */
type Ready = Awaited<ReturnType<typeof scopeThatIs>>;

interface Verb {
  readonly operation: AdminOperationName;
  readonly parts: (ready: Ready) => CallParts;
  /** Which state comes of which. From every other it is an `invalid_transition`, unless `refused` says otherwise. */
  readonly leads: Partial<Record<State, State>>;
  readonly refused?: Partial<Record<State, object>>;
  /** The outcomes of the rows that it writes. Default: of an intent, and of what came of it. */
  readonly rows?: (from: State) => readonly AdminLogEntry['outcome'][];
  /** Whether it is the access log that hears of it. */
  readonly isRead?: true;
}

const AT_ONCE = () => ['done'] as const;
const stays = (...states: State[]) => Object.fromEntries(states.map((state) => [state, state]));
const inScope = ({ params }: Ready, more: CallParts = {}): CallParts => ({ params, ...more });
const setTo = (status: State, from: readonly State[]): Verb => ({
  operation: 'scopes.set-status',
  parts: (ready) => inScope(ready, { body: { status } }),
  leads: Object.fromEntries(from.map((state) => [state, status])),
  rows: AT_ONCE,
});

const VERBS: Readonly<Record<string, Verb>> = {
  activate: setTo('active', ['suspended', 'archived']),
  suspend: setTo('suspended', ['active']),
  archive: setTo('archived', ['active', 'suspended']),
  'provision again': {
    operation: 'scopes.provision',
    parts: ({ params: { tenant } }) => ({ params: { tenant }, body: { ...PROVISIONED } }),
    leads: { provisioning: 'active', ...stays('active', 'suspended', 'archived') },
    refused: { reaped: { status: 409, code: 'conflict', reason: 'slug_retired' } },
    // An existing scope is answered as it is; an unfinished one is resumed, and the earlier attempt no longer matters.
    rows: (from) => (from === 'provisioning' ? ['intent', 'done', 'superseded'] : []),
  },
  reap: {
    operation: 'scopes.reap',
    parts: (ready) => inScope(ready, { body: {} }),
    leads: { archived: 'reaped' },
  },
  configure: {
    operation: 'scopes.configure',
    parts: (ready) => inScope(ready, { body: { config: { COLOUR: 'red' } } }),
    leads: stays('active'),
  },
  'set the version': {
    operation: 'scope-version.set',
    parts: (ready) => inScope(ready, { body: { version: '2.0.0' } }),
    leads: stays('active', 'suspended'),
    rows: AT_ONCE,
  },
  'take a snapshot': {
    operation: 'snapshots.take',
    parts: (ready) => inScope(ready, { body: {} }),
    leads: stays('active', 'suspended'),
  },
  'delete a snapshot': {
    operation: 'snapshots.delete',
    parts: ({ params, snapshot }) => ({ params: { ...params, snapshot } }),
    leads: stays('active', 'suspended'),
  },
  rewind: {
    operation: 'scopes.rewind',
    parts: (ready) => inScope(ready, { body: { bookmark: 'bm_1' } }),
    leads: stays('active', 'suspended'),
  },
  restore: {
    operation: 'scopes.restore',
    parts: (ready) => inScope(ready, { body: { from: { backup: ready.backup } } }),
    leads: stays('active', 'suspended'),
  },
  'back up': {
    operation: 'scope-backups.create',
    parts: (ready) => inScope(ready, { body: {} }),
    leads: stays('active', 'suspended', 'archived'),
  },
  import: {
    operation: 'imports.create',
    parts: (ready) =>
      inScope(ready, {
        upload: {
          mediaType: 'application/x-ndjson',
          body: new Response('a copy').body as ReadableStream<Uint8Array>,
        },
      }),
    leads: stays('active', 'suspended', 'archived'),
    rows: AT_ONCE,
  },
  'erase a person': {
    operation: 'subjects.shred',
    parts: ({ params }) => ({ params: { ...params, subject: 'prs_ada' } }),
    leads: stays('active', 'suspended', 'archived'),
  },
  'retry a dead letter': {
    operation: 'dead-letters.retry',
    parts: ({ params }) => ({ params: { ...params, event: EVENT }, body: { subscriber: 'invoices' } }),
    leads: stays('active'),
  },
  'make an owner claim': {
    operation: 'owner-claim.mint',
    parts: inScope,
    leads: stays('active'),
  },
  'make a way back for the owner': {
    operation: 'owner-recovery.mint',
    parts: (ready) => inScope(ready, { body: { why: 'Ticket 17.', recover: true } }),
    leads: stays('active'),
  },
  'replace the owner': {
    operation: 'owner-replacement.mint',
    parts: (ready) => inScope(ready, { body: { why: 'Ticket 17.', replace: true } }),
    leads: stays('active'),
  },
  'end the way back for the owner': {
    operation: 'owner-recovery.end',
    parts: (ready) => inScope(ready, { body: { why: 'Ticket 17.' } }),
    leads: stays('active'),
  },
  'rotate the session secret': {
    operation: 'session-secret.rotate',
    parts: (ready) => inScope(ready, { body: { keepFormer: true } }),
    leads: stays('active', 'suspended'),
  },
  'bind a host name': {
    operation: 'hostnames.bind',
    parts: ({ params }) => ({ body: { hostname: 'second.localhost', ...params } }),
    leads: stays('provisioning', 'active', 'suspended', 'archived'),
    rows: AT_ONCE,
  },
  'grant a connection': {
    operation: 'connection-grants.put',
    parts: ({ params: { tenant, scope }, connection }) => ({
      params: { tenant, connection },
      body: { scope, permission: 'order.read' },
    }),
    leads: stays('active'),
  },
  'look into it': {
    operation: 'denials.list',
    parts: inScope,
    leads: stays('active', 'suspended', 'archived'),
    // Of these its application says that it has none such.
    refused: {
      provisioning: { status: 404, reason: 'unknown_scope' },
      reaped: { status: 404, reason: 'unknown_scope' },
    },
    rows: () => [],
    isRead: true,
  },
};

const PROVISIONED = { slug: 'main', name: 'Scope main', vertical: 'fieldwork' };

/** A scope in a state, reached as anybody reaches it. */
async function scopeThatIs(state: State) {
  const platform = await openPlatform({
    backups: makeMemoryBackups(),
    connections: makeKeyProvider().options,
    versionOf: () => '0.0.0',
  });
  await platform.call('verticals.create', { body: { slug: 'fieldwork', name: 'Fieldwork' } });
  for (const version of ['1.0.0', '2.0.0']) await admitted(platform, 'fieldwork', version);
  await promote(platform, 'fieldwork', { version: '1.0.0' });
  const { id: tenant } = await platform.tenant('acme');
  const neighbour = await platform.scope(tenant, 'neighbour');
  const { id: connection } = await platform.value<{ id: string }>('connections.create', {
    params: { tenant },
    body: { provider: 'ledger', scope: neighbour.id, subjectRef: 'books', apiKey: 'key-of-acme-1' },
  });
  platform.reach = 'both';
  if (state === 'provisioning') platform.fieldwork.fault = () => Promise.reject(new TypeError('reset'));
  const begun = platform.call('scopes.provision', { params: { tenant }, body: PROVISIONED });
  if (state === 'provisioning') expect(await refusal(begun)).toMatchObject({ reason: 'outcome_unknown' });
  else await begun;
  platform.fieldwork.fault = null;
  const listed = await platform.value<{ items: ScopeRecord[] }>('scopes.list', { params: { tenant } });
  const { id: scope } = listed.items.find(({ slug }) => slug === 'main') as ScopeRecord;
  const params = { tenant, scope };
  const ready = {
    ...{ platform, params, connection },
    // Things that a scope lacks while it is being made.
    ...{ backup: 'bkp_01jd0000000000000000000001', snapshot: 'snp_01jd0000000000000000000009' },
    record: () => platform.value<ScopeRecord>('scopes.get', { params }),
  };
  if (state === 'provisioning') return ready;

  await platform.call('hostnames.bind', { body: { hostname: 'acme.localhost', tenant, scope } });
  const taken = platform.call('scope-backups.create', { params, body: {} });
  const { id: backup } = (await platform.finish(taken)).result as BackupRecord;
  const { id: snapshot } = await platform.value<SnapshotRecord>('snapshots.take', { params, body: {} });
  if (state !== 'active') {
    const status = state === 'suspended' ? state : 'archived';
    await platform.call('scopes.set-status', { params, body: { status } });
  }
  if (state === 'reaped')
    await platform.finish(platform.call('scopes.reap', { params, body: { backup: false } }));
  return { ...ready, backup, snapshot };
}

/** The platform's records, for a comparison. */
async function recordsOf({ platform, record }: Ready, readsBefore: readonly AccessLogEntry[] = []) {
  const known = new Set(readsBefore.map(({ id }) => id));
  const reads = await platform.accessLog();
  return {
    scope: await record(),
    rows: await platform.adminLog(),
    // Looking at the log is in it as well.
    reads: reads.filter(({ id, operation }) => operation !== 'access-log.list' && !known.has(id)),
  };
}

describe.each(STATES)('spec C-04: a scope that is %s', (state) => {
  const verbs = Object.entries(VERBS);
  const possible = verbs.flatMap(([name, verb]) => {
    const next = verb.leads[state];
    return next === undefined ? [] : [{ name, verb, next }];
  });

  test('refuses everything else, and nothing is written', async () => {
    const ready = await scopeThatIs(state);
    const before = await recordsOf(ready);
    expect(before.scope.status).toBe(state);
    for (const [name, { operation, parts, leads, refused }] of verbs) {
      if (leads[state] !== undefined) continue;
      const expected = refused?.[state] ?? { status: 409, code: 'invalid_transition' };
      const attempt = ready.platform.call(operation, parts(ready)).then(() => {
        throw new Error(`${name} was not refused`);
      });
      expect(await refusal(attempt), name).toMatchObject(expected);
      expect(await recordsOf(ready), name).toEqual(before);
    }
  });

  test.each(possible)('$name: is $next then', async ({ verb, next }) => {
    const { operation, parts, rows: outcomes, isRead } = verb;
    const ready = await scopeThatIs(state);
    const { platform, params } = ready;
    const before = await recordsOf(ready);
    expect(before.scope.status).toBe(state);

    const { status, value } = await platform.call(operation, parts(ready));
    if (status === 202)
      expect(await platform.finish({ value } as never)).toMatchObject({ state: 'done', problem: null });
    const after = await recordsOf(ready, before.reads);
    expect(after.scope.status).toBe(next);
    const written = after.rows.slice(before.rows.length);
    expect(written.map(({ outcome }) => outcome)).toEqual(outcomes?.(state) ?? ['intent', 'done']);
    for (const row of written)
      expect(row).toMatchObject({ action: operation, target: { ...params, vertical: 'fieldwork' } });
    if (next !== state)
      expect(written.find(({ outcome }) => outcome === 'done')).toMatchObject({
        before: { status: state },
        after: { status: next },
      });
    const logged = after.reads.map(({ operation: read, target }) => [read, target.scope]);
    expect(logged).toEqual(isRead ? [[operation, params.scope]] : []);
  });
});
