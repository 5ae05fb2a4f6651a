/** Mutations of connections to providers, of their grants in scopes, and of issues. */
import { ask, type Bench, type Deed } from '../bench.ts';
import { noRow, row, rowIn } from '../conditions.ts';
import { newScope } from './tenants.ts';

interface Connected {
  readonly tenant: string;
  readonly scope: string;
  readonly connection: string;
  /** The key of the account, without its newline. */
  readonly apiKey: string;
}

let accounts = 0;

/** Returns a key of an account that no other connection of this process has. */
function newKey(): string {
  accounts += 1;
  return `key-of-account-${accounts}`;
}

async function connected(bench: Bench, vertical: string): Promise<Connected> {
  const { tenant, scope } = await newScope(bench, { vertical });
  const apiKey = newKey();
  const { id } = await bench.value('connections.create', {
    params: { tenant },
    body: { provider: 'ledger', scope, subjectRef: 'books', apiKey },
  });
  return { tenant, scope, connection: id, apiKey };
}

const connection =
  (make: (bench: Bench, connected: Connected) => ReturnType<Deed>): Deed =>
  async (bench) =>
    make(bench, await connected(bench, 'library'));

const GRANTED = '_spine_grants WHERE subject = ?';

export const connectionDeeds = {
  'connections.create': async (bench) => {
    const { tenant, scope } = await newScope(bench);
    return {
      params: { tenant },
      body: { provider: 'ledger', scope, subjectRef: 'books', apiKey: newKey() },
      effect: [
        row(`connections c JOIN connection_credentials k ON k.connection = c.id WHERE c.tenant = ?`, tenant),
      ],
    };
  },
  'connections.disconnect': connection(async (_bench, { tenant, connection: id }) => ({
    params: { tenant, connection: id },
    effect: [
      noRow('connection_credentials WHERE connection = ?', id),
      row(`connections WHERE id = ? AND state = 'disconnected'`, id),
    ],
  })),
  'connections.verify': connection(async (_bench, { tenant, connection: id }) => ({
    params: { tenant, connection: id },
    effect: [row(`connection_activity WHERE connection = ? AND kind = 'verified'`, id)],
  })),
  'connections.rotate': connection(async (_bench, { tenant, connection: id, apiKey }) => ({
    params: { tenant, connection: id },
    body: { apiKey: `${apiKey}-new` },
    effect: [row('connection_credentials WHERE connection = ? AND generation > 1', id)],
  })),
  'connection-grants.put': connection(async (_bench, { tenant, scope, connection: id }) => ({
    params: { tenant, connection: id },
    body: { scope, permission: 'book.read' },
    effect: [
      row('connection_grants WHERE connection = ?', id),
      rowIn(`scope-library/${scope}`, GRANTED, `connection:${id}`),
    ],
  })),
  'connection-grants.delete': connection(async (bench, { tenant, scope, connection: id }) => {
    const params = { tenant, connection: id };
    await bench.value('connection-grants.put', { params, body: { scope, permission: 'book.read' } });
    return { params, query: { scope }, effect: [noRow('connection_grants WHERE connection = ?', id)] };
  }),
  'issues.set-status': async (bench) => {
    const fingerprint = await newIssue(bench);
    return {
      body: { fingerprint, status: 'ignored' },
      effect: [row(`issues WHERE fingerprint = ? AND status = 'ignored'`, fingerprint)],
    };
  },
} as const satisfies Readonly<Record<string, Deed>>;

/** Reports an incident, and returns its issue. */
async function newIssue(bench: Bench): Promise<string> {
  // Numbers in the message do not distinguish errors, so the name has letters only.
  const name = `Broken${[...bench.name('')].map((char) => 'abcdefghijklmnopqrstuvwxyz'[char.charCodeAt(0) % 26]).join('')}`;
  const { admin } = bench.platform;
  await admin.ingestIncident({
    error: { name, message: 'It broke.' },
    where: { kind: 'crash', method: name },
  });
  const { items } = await ask<{ items: { fingerprint: string; name: string }[] }>(
    bench.platform,
    'issues.list',
    { limit: 200 },
  );
  const issue = items.find((each) => each.name === name);
  if (!issue) throw new Error('the issue is not listed');
  return issue.fingerprint;
}
