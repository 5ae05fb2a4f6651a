/**
 * The platform is killed with SIGKILL under a load of operations and control-plane mutations, and started again: every
 * acknowledged one is there, with its events and its audit row, and the chain of the admin log verifies.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { type Answer, Caller } from '../support/http.ts';
import { newPlace, type PlatformPlace, startPlatform } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';
import { seeded } from './seeded.ts';

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? (process.env.FREEHOLD_LONG ? 5 : 3));
/** The number of concurrent callers of each kind. */
const WORKERS = 8;

/** The acknowledged calls, which must be found. */
interface Acknowledged {
  readonly customers: { readonly id: string; readonly invocation: string }[];
  readonly invites: { readonly principal: string }[];
  readonly tenants: {
    readonly id: string;
    readonly slug: string;
    readonly sequence: number;
    readonly hash: string;
  }[];
  readonly scopes: { readonly id: string; readonly sequence: number; readonly hash: string }[];
}

/** The demo tenant and its scope, which get the load of operations. */
interface Demo {
  readonly tenant: string;
  readonly scope: string;
}

test(`nothing acknowledged is lost in ${ROUNDS} kills`, async () => {
  const place = await newPlace();
  const random = seeded(Number(process.env.CRASH_SEED ?? 1));
  const all: Acknowledged = { customers: [], invites: [], tenants: [], scopes: [] };
  using caller = new Caller();
  let demo: Demo | null = null;

  for (let round = 0; round < ROUNDS; round++) {
    const platform = await startPlatform(place);
    const token = platform.serviceToken();
    demo ??= await enter(place, caller, token);
    await verify({ place, caller, token, demo, all });
    const load = startLoad({ place, caller, token, demo, round, acknowledged: all });
    // Every kind of call was acknowledged before the kill, however slow the machine is.
    await Promise.race([load.started, load.ended]);
    await new Promise((resolve) => setTimeout(resolve, 20 + random() * 380));
    await platform.kill();
    await load.ended;
  }
  const platform = await startPlatform(place);
  await verify({ place, caller, token: platform.serviceToken(), demo: demo as Demo, all });
  expect(await platform.stop()).toBe(0);
  // A load that acknowledged nothing would prove nothing.
  for (const kind of Object.values(all)) expect(kind.length).toBeGreaterThanOrEqual(ROUNDS);
  place.remove();
});

/** Signs in as the owner, and reads the owner's tenant and scope. */
async function enter(place: PlatformPlace, caller: Caller, token: string): Promise<Demo> {
  await signIn(caller, place.url('acme.localhost'), 'ada');
  const answer = await caller.ask(`${place.url('api.localhost')}/scopes`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const [scope] = answer.json<{ items: { id: string; tenant: string }[] }>().items;
  return { tenant: scope?.tenant as string, scope: scope?.id as string };
}

/** Calls both surfaces from many callers until the platform is gone; records exactly the acknowledged calls. */
function startLoad({
  place,
  caller,
  token,
  demo,
  round,
  acknowledged,
}: {
  readonly place: PlatformPlace;
  readonly caller: Caller;
  readonly token: string;
  readonly demo: Demo;
  readonly round: number;
  readonly acknowledged: Acknowledged;
}) {
  const firsts: Promise<void>[] = [];
  const until = async (
    call: (n: number) => Promise<Answer>,
    remember: (answer: Answer) => void,
  ): Promise<void> => {
    const { promise: first, resolve: onFirst } = Promise.withResolvers<void>();
    firsts.push(first);
    for (let n = 0; ; n++) {
      let answer: Answer;
      try {
        answer = await call(n);
      } catch {
        // The connection broke off: this call was not acknowledged.
        return onFirst();
      }
      if (answer.status >= 300) throw new Error(`the load was answered ${answer.status}: ${answer.text}`);
      remember(answer);
      onFirst();
    }
  };
  const app = place.url('acme.localhost');
  const api = place.url('api.localhost');
  const headers = { authorization: `Bearer ${token}` };
  const headOf = (answer: Answer) => {
    const [sequence, hash] = (answer.headers.get('x-admin-log-head') as string).split(':') as [
      string,
      string,
    ];
    return { sequence: Number(sequence), hash };
  };
  const workers = Array.from({ length: WORKERS }, (_, worker) => {
    const name = (n: number) => `${round}-${worker}-${n}`;
    return [
      until(
        (n) =>
          caller.ask(`${app}/api/customers`, {
            json: { name: `Customer ${name(n)}` },
            headers: { 'idempotency-key': name(n) },
          }),
        (answer) =>
          acknowledged.customers.push({
            id: answer.json<{ id: string }>().id,
            invocation: answer.headers.get('x-invocation-id') as string,
          }),
      ),
      until(
        (n) => caller.ask(`${api}/tenants`, { json: { slug: `t-${name(n)}`, name: 'Loaded' }, headers }),
        (answer) =>
          acknowledged.tenants.push({ ...answer.json<{ id: string; slug: string }>(), ...headOf(answer) }),
      ),
      // Two calls that reach several databases: a scope in its vertical, an invite beside its role.
      ...(worker > 0
        ? []
        : [
            until(
              (n) =>
                caller.ask(`${api}/tenants/${demo.tenant}/scopes`, {
                  json: {
                    slug: `s-${name(n)}`,
                    name: 'Loaded',
                    vertical: 'fieldwork',
                    config: { NOTE: name(n) },
                  },
                  headers,
                }),
              (answer) =>
                acknowledged.scopes.push({ id: answer.json<{ id: string }>().id, ...headOf(answer) }),
            ),
            until(
              () => caller.ask(`${app}/api/invites`, { json: { role: 'technician' } }),
              (answer) => acknowledged.invites.push(answer.json<{ invite: { principal: string } }>().invite),
            ),
          ]),
    ];
  }).flat();
  return { started: Promise.all(firsts), ended: Promise.all(workers) };
}

/** Checks that everything acknowledged is there, with its evidence. */
async function verify({
  place,
  caller,
  token,
  demo,
  all,
}: {
  readonly place: PlatformPlace;
  readonly caller: Caller;
  readonly token: string;
  readonly demo: Demo;
  readonly all: Acknowledged;
}): Promise<void> {
  const file = (kind: string, key: string) => join(place.dataDirectory, kind, `${key}.sqlite`);
  const lost = ask(file('scope-fieldwork', demo.scope), (db) => {
    const row = db.prepare('SELECT 1 FROM customers WHERE id = ?');
    const event = db.prepare(
      `SELECT invocation FROM _spine_events WHERE entity_type = 'customer' AND entity_id = ?`,
    );
    const invocation = db.prepare(`SELECT 1 FROM _spine_invocations WHERE id = ? AND outcome = 'done'`);
    const role = db.prepare(`SELECT 1 FROM _spine_assignments WHERE principal = ? AND role = 'technician'`);
    return [
      ...all.customers.filter(
        (each) =>
          !row.get(each.id) ||
          event.get(each.id)?.invocation !== each.invocation ||
          !invocation.get(each.invocation),
      ),
      ...all.invites.filter(({ principal }) => !role.get(principal)),
      // An unacknowledged call left nothing half: a row has its event, and an event its invocation.
      ...[
        `SELECT id FROM customers WHERE id NOT IN (SELECT entity_id FROM _spine_events WHERE type = 'customer.created')`,
        `SELECT entity_id FROM _spine_events WHERE type = 'customer.created' AND entity_id NOT IN (SELECT id FROM customers)`,
        `SELECT id FROM _spine_events WHERE invocation NOT IN (SELECT id FROM _spine_invocations)`,
      ].flatMap((sql) => db.prepare(sql).all()),
    ];
  });
  expect(lost).toEqual([]);

  const lostInvites = ask(file('identity', demo.tenant), (db) => {
    const invite = db.prepare('SELECT 1 FROM invites WHERE principal = ?');
    const config = db.prepare(`SELECT 1 FROM config WHERE scope_id = ? AND key = 'NOTE'`);
    return [
      ...all.invites.filter(({ principal }) => !invite.get(principal)),
      ...all.scopes.filter(({ id }) => !config.get(id)),
    ];
  });
  expect(lostInvites).toEqual([]);

  const lostMutations = ask(file('directory', 'main'), (db) => {
    const tenant = db.prepare('SELECT 1 FROM tenants WHERE id = ? AND slug = ?');
    const scope = db.prepare(`SELECT 1 FROM scopes WHERE id = ? AND status = 'active'`);
    const log = db.prepare('SELECT hash FROM admin_log WHERE sequence = ?');
    const isLogged = ({ sequence, hash }: { sequence: number; hash: string }) =>
      log.get(sequence)?.hash === hash;
    return [
      ...all.tenants.filter((each) => !tenant.get(each.id, each.slug) || !isLogged(each)),
      ...all.scopes.filter((each) => !scope.get(each.id) || !isLogged(each)),
    ];
  });
  expect(lostMutations).toEqual([]);
  expect(all.scopes.filter(({ id }) => !existsSync(file('scope-fieldwork', id)))).toEqual([]);

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
