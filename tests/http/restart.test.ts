/** Background work outlives the process: work that waits when the power fails is done afterwards, once. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../support/http.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';
import { signIn } from '../support/sign-in.ts';

const PATIENCE = { timeout: 20_000, interval: 100 };

let place: PlatformPlace;
let platform: RunningPlatform;
let app: string;
const ada = new Caller();

beforeAll(async () => {
  place = await newPlace();
  platform = await startPlatform(place);
  app = place.url('acme.localhost');
  await signIn(ada, app, 'ada');
}, 60_000);
afterAll(async () => {
  ada[Symbol.dispose]();
  await platform?.stop();
  place?.remove();
});

async function post(path: string, json: unknown = {}): Promise<{ id: string }> {
  const answer = await ada.ask(`${app}${path}`, { json });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json();
}

/** Makes an order that is in progress. */
async function startedOrder(title: string): Promise<string> {
  const { id: customer } = await post('/api/customers', { name: 'Mrs Harper' });
  const { id } = await post('/api/orders', { customer, title });
  const from = Date.now() - 7_200_000;
  const span = { from: new Date(from).toISOString(), to: new Date(from + 3_600_000).toISOString() };
  await post(`/api/orders/${id}/schedule`, span);
  await post(`/api/orders/${id}/start`);
  return id;
}

const waiting = async () =>
  (await ada.ask(`${app}/api/reminders?limit=200`))
    .json<{ items: { kind: string; order: { id: string } }[] }>()
    .items.map(({ kind, order }) => `${kind} ${order.id}`)
    .sort();

/** Opens the scope's own database: while it is closed, or read-only. */
function inScope<T>(work: (db: DatabaseSync) => T, readOnly = true): T {
  const directory = join(place.dataDirectory, 'scope-fieldwork');
  const [file] = readdirSync(directory).filter((name) => name.endsWith('.sqlite'));
  const db = new DatabaseSync(join(directory, file ?? ''), { readOnly });
  try {
    return work(db);
  } finally {
    db.close();
  }
}
const timers = () => inScope((db) => db.prepare('SELECT * FROM _spine_schedules ORDER BY 1').all());

test('an event that was acknowledged just before the power cut has its effects afterwards, once each', async () => {
  const orders = [];
  for (let i = 0; i < 5; i++) orders.push(await startedOrder(`Job ${i}`));
  const acknowledged = orders.map((id) => post(`/api/orders/${id}/complete`, { minutes: 30 }));
  await Promise.all(acknowledged);
  await platform.kill();
  platform = await startPlatform(place);
  const expected = orders.map((id) => `to_invoice ${id}`).sort();
  await expect.poll(waiting, PATIENCE).toEqual(expected);
  const raised = inScope((db) =>
    db.prepare(`SELECT count(*) AS n FROM _spine_events WHERE type = 'reminder.raised'`).get(),
  );
  expect(raised?.n).toBe(orders.length);
  expect(platform.output()).not.toContain('"level":"error"');
}, 60_000);

test('a schedule survives a kill, and one that came due meanwhile is run', async () => {
  const late = await startedOrder('Late job');
  const before = timers();
  expect(before).toHaveLength(2);
  await platform.kill();
  platform = await startPlatform(place);
  expect(timers()).toEqual(before);
  expect((await waiting()).filter((each) => each.startsWith('overdue'))).toEqual([]);

  await platform.stop();
  // The night passes while the platform is down.
  inScope((db) => db.exec(`UPDATE _spine_schedules SET next_at = 1 WHERE key = 'overdue'`), false);
  platform = await startPlatform(place);
  await expect.poll(waiting, PATIENCE).toContain(`overdue ${late}`);
}, 60_000);
