/**
 * The platform is killed with SIGKILL under a load of operations and control-plane mutations, and started again: every
 * acknowledged one is there, with its events and its audit row, and the chain of the admin log verifies.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { type Answer, Caller } from '../support/http.ts';
import { newPlace, type PlatformPlace, startPlatform } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 50);
/** Callers at once, of each kind. */
const WORKERS = 8;

/** What was acknowledged, and what must therefore be found. */
interface Acknowledged {
  readonly customers: { readonly id: string; readonly invocation: string }[];
  readonly tenants: {
    readonly id: string;
    readonly slug: string;
    readonly sequence: number;
    readonly hash: string;
  }[];
}

test(`nothing acknowledged is lost in ${ROUNDS} kills`, async () => {
  const place = await newPlace();
  const random = seeded(Number(process.env.CRASH_SEED ?? 1));
  const all: Acknowledged = { customers: [], tenants: [] };
  using caller = new Caller();
  let signedIn = false;

  for (let round = 0; round < ROUNDS; round++) {
    const platform = await startPlatform(place);
    if (!signedIn) await signIn(caller, place.url('acme.localhost'), 'ada');
    signedIn = true;
    await verify(place, caller, platform.serviceToken(), all);
    const token = platform.serviceToken();
    const load = startLoad({ place, caller, token, round, acknowledged: all });
    await load.started;
    await new Promise((resolve) => setTimeout(resolve, 20 + random() * 180));
    await platform.kill();
    await load.ended;
  }
  const platform = await startPlatform(place);
  await verify(place, caller, platform.serviceToken(), all);
  expect(await platform.stop()).toBe(0);
  // A load that acknowledged next to nothing would prove nothing.
  expect(all.customers.length).toBeGreaterThan(ROUNDS * 5);
  expect(all.tenants.length).toBeGreaterThan(ROUNDS * 2);
  place.remove();
});

/** Calls both surfaces from many callers until the platform is gone; remembers exactly what was acknowledged. */
function startLoad({
  place,
  caller,
  token,
  round,
  acknowledged,
}: {
  readonly place: PlatformPlace;
  readonly caller: Caller;
  readonly token: string;
  readonly round: number;
  readonly acknowledged: Acknowledged;
}) {
  const { promise: started, resolve: onFirst } = Promise.withResolvers<void>();
  const until = async (
    call: (n: number) => Promise<Answer>,
    remember: (answer: Answer) => void,
  ): Promise<void> => {
    for (let n = 0; ; n++) {
      let answer: Answer;
      try {
        answer = await call(n);
      } catch {
        // The connection broke off: whatever this call did was not acknowledged.
        return onFirst();
      }
      if (answer.status >= 300) throw new Error(`the load was answered ${answer.status}: ${answer.text}`);
      remember(answer);
      onFirst();
    }
  };
  const workers = Array.from({ length: WORKERS }, (_, worker) => [
    until(
      (n) =>
        caller.ask(`${place.url('acme.localhost')}/api/customers`, {
          json: { name: `Customer ${round}-${worker}-${n}` },
          headers: { 'idempotency-key': `${round}-${worker}-${n}` },
        }),
      (answer) =>
        acknowledged.customers.push({
          id: answer.json<{ id: string }>().id,
          invocation: answer.headers.get('x-invocation-id') as string,
        }),
    ),
    until(
      (n) =>
        caller.ask(`${place.url('api.localhost')}/tenants`, {
          json: { slug: `t-${round}-${worker}-${n}`, name: 'Loaded' },
          headers: { authorization: `Bearer ${token}` },
        }),
      (answer) => {
        const [sequence, hash] = (answer.headers.get('x-admin-log-head') as string).split(':') as [
          string,
          string,
        ];
        const { id, slug } = answer.json<{ id: string; slug: string }>();
        acknowledged.tenants.push({ id, slug, sequence: Number(sequence), hash });
      },
    ),
  ]).flat();
  return { started, ended: Promise.all(workers) };
}

/** Everything acknowledged so far is there, with its evidence. */
async function verify(place: PlatformPlace, caller: Caller, token: string, all: Acknowledged): Promise<void> {
  const scopes = join(place.dataDirectory, 'scope-fieldwork');
  const [scopeFile] = readdirSync(scopes).filter((name) => name.endsWith('.sqlite'));
  const missingCustomers = ask(join(scopes, scopeFile as string), (db) => {
    const row = db.prepare('SELECT 1 FROM customers WHERE id = ?');
    const event = db.prepare(
      `SELECT invocation FROM _spine_events WHERE entity_type = 'customer' AND entity_id = ?`,
    );
    const invocation = db.prepare(`SELECT 1 FROM _spine_invocations WHERE id = ? AND outcome = 'done'`);
    return all.customers.filter(
      ({ id, invocation: expected }) =>
        !row.get(id) || event.get(id)?.invocation !== expected || !invocation.get(expected),
    );
  });
  expect(missingCustomers).toEqual([]);

  const unexplained = ask(join(scopes, scopeFile as string), (db) =>
    // Nothing unacknowledged is half there: a row has its event, and an event its invocation.
    [
      `SELECT id FROM customers WHERE id NOT IN (SELECT entity_id FROM _spine_events WHERE type = 'customer.created')`,
      `SELECT entity_id FROM _spine_events WHERE type = 'customer.created' AND entity_id NOT IN (SELECT id FROM customers)`,
      `SELECT id FROM _spine_events WHERE invocation NOT IN (SELECT id FROM _spine_invocations)`,
    ].flatMap((sql) => db.prepare(sql).all()),
  );
  expect(unexplained).toEqual([]);

  const lostTenants = ask(join(place.dataDirectory, 'directory', 'main.sqlite'), (db) => {
    const tenant = db.prepare('SELECT 1 FROM tenants WHERE id = ? AND slug = ?');
    const log = db.prepare('SELECT hash FROM admin_log WHERE sequence = ?');
    return all.tenants.filter(
      ({ id, slug, sequence, hash }) => !tenant.get(id, slug) || log.get(sequence)?.hash !== hash,
    );
  });
  expect(lostTenants).toEqual([]);

  const verdict = await caller.ask(`${place.url('api.localhost')}/admin-log/verify`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(verdict.json()).toMatchObject({ status: 'ok', firstBad: null });
}

function ask<T>(path: string, question: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return question(db);
  } finally {
    db.close();
  }
}

/** A small generator, so that a failing run can be repeated with CRASH_SEED (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
