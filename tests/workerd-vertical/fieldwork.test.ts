/**
 * Fieldwork as a worker: the same story on Node, inside the platform's process, and in a workerd process behind a
 * router, over sockets, with the same answers; then the requirements of the second one alone.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PIPES } from './fixture.ts';
import { makeNormaliser } from './normalise.ts';
import type { OpenPlace, Place } from './place.ts';
import { openInWorkerd, type PlaceInWorkerd } from './place-in-workerd.ts';
import { openOnNode } from './place-on-node.ts';
import { historySteps, LOGS } from './steps-history.ts';
import { signInSteps } from './steps-sign-in.ts';
import { workSteps } from './steps-work.ts';
import { type Cast, pipes, type Stage } from './story.ts';
import { openWorld, type World } from './world.ts';

function runStory<P extends Place>(where: string, openPlace: (...args: Parameters<OpenPlace>) => Promise<P>) {
  let opened: World<P> | undefined;
  const world = (): World<P> => {
    if (opened === undefined) throw new Error('the world is not open');
    return opened;
  };
  const cast = {} as Cast;
  const stage: Stage = { world, client: () => world().client, cast };
  const steps = [...signInSteps(stage), ...workSteps(stage), ...historySteps(stage)];
  const answers = new Map<string, unknown>();
  const normalise = makeNormaliser();
  beforeAll(async () => {
    opened = await openWorld(openPlace);
  }, 120_000);
  afterAll(() => opened?.close());
  describe(`fieldwork ${where}`, () => {
    test.each(steps)('%s', async (name, runStep) => {
      // A chapter depends on those before it, and would fail for their reason.
      expect([...answers.keys()]).toEqual(steps.map(([each]) => each).slice(0, answers.size));
      expect(steps[answers.size]?.[0]).toBe(name);
      answers.set(name, normalise(await runStep()));
    });
    test('no unexpected error occurred', () => {
      expect(world().place.incidents()).toEqual([]);
    });
  });
  return { world, cast, chapters: steps, answers };
}

const onNode = runStory('on Node', openOnNode);
const inWorkerd = runStory<PlaceInWorkerd>('in workerd', openInWorkerd);

/** The number of customers that are being added when the power fails. */
const CROWD = 24;

describe('both give the same answers', () => {
  test.each(onNode.chapters.map(([name]) => name))('%s', (name) => {
    expect(inWorkerd.answers.get(name)).toBeDefined();
    expect(inWorkerd.answers.get(name)).toEqual(onNode.answers.get(name));
  });
});

describe('abilities that workerd lacks are answered as unsupported', () => {
  const CANNOT = { code: 'unsupported', reason: 'engine_cannot', status: 501 };

  test('rewinding, and the database file as a copy', async () => {
    const { client } = inWorkerd.world();
    await expect(client.migrationBookmarksLocal({ ...pipes, limit: 5 })).rejects.toMatchObject(CANNOT);
    const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
    await expect(client.rewindScopeLocal({ ...pipes, at: anHourAgo })).rejects.toMatchObject(CANNOT);
    await expect(client.exportScopeLocal({ ...pipes, format: 'sqlite' })).rejects.toMatchObject(CANNOT);
  });
});

describe('after a power cut', () => {
  /** Reads everything that people and the platform can see. */
  async function seen(): Promise<unknown> {
    const { client, visitor } = inWorkerd.world();
    const { ada, jo, grace, order } = inWorkerd.cast;
    // The platform's other tables change with the work that is repeated after a start.
    const tables = (await client.introspectScopeTables(pipes)).filter(
      ({ name, kind, type }) => type === 'table' && (kind === 'vertical' || LOGS.has(name)),
    );
    const page = { ...pipes, filters: [], order: 'asc' as const, limit: 100 };
    const paths = ['customers', 'orders', 'invoices', 'denials', 'members', `orders/${order}/history`];
    return [
      await Promise.all(
        [ada, jo, grace, visitor(PIPES)].map(async (each) => (await each.ask('/api/me')).json()),
      ),
      await Promise.all(paths.map(async (path) => (await ada.ask(`/api/${path}`)).json())),
      tables,
      await Promise.all(tables.map(({ name }) => client.introspectScopeTable({ ...page, table: name }))),
    ];
  }

  test('everything is there as before, and all people are still signed in', async () => {
    const before = await seen();
    await inWorkerd.world().place.cutPower();
    expect(await seen()).toEqual(before);
  });

  test('acknowledged writes of a crowd are there, and the others can be repeated', async () => {
    const { ada } = inWorkerd.cast;
    const { place } = inWorkerd.world();
    const add = async (n: number): Promise<string | null> => {
      const json = { name: `Customer ${n}`, phone: `+49 30 ${n}` };
      const headers = { 'idempotency-key': `crowd-${n}` };
      const answer = await ada.ask('/api/customers', { json, headers });
      return answer.status === 201 ? answer.json<{ id: string }>().id : null;
    };
    const numbers = Array.from({ length: CROWD }, (_, n) => n);
    let heard = 0;
    const firstHeard = Promise.withResolvers<void>();
    const first = numbers.map(async (n) => {
      const id = await add(n);
      heard += Number(id !== null);
      if (heard === CROWD / 4) firstHeard.resolve();
      return id;
    });
    await firstHeard.promise;
    await place.cutPower();
    const acknowledged = await Promise.all(first);
    const repeated = await Promise.all(numbers.map(add));
    for (const [n, id] of acknowledged.entries()) if (id !== null) expect(repeated[n]).toBe(id);
    const listed = (await ada.ask('/api/customers?limit=200&q=Customer')).json<{
      items: { id: string; name: string }[];
    }>();
    const crowd = listed.items.filter(({ name }) => /^Customer \d+$/.test(name));
    expect(crowd.map(({ id }) => id).sort()).toEqual(repeated.toSorted());
    // The keys of persons were stored as well: sealed data opens.
    const history = await ada.ask(`/api/customers/${repeated[0]}/history`);
    expect(history.text).toContain('Customer 0');
  });

  test('background work that was waiting runs once, without a request', async () => {
    const { ada } = inWorkerd.cast;
    const { place } = inWorkerd.world();
    const post = async <T>(path: string, json: unknown): Promise<T> => {
      const answer = await ada.ask(path, { json });
      expect([200, 201], answer.text).toContain(answer.status);
      return answer.json<T>();
    };
    const customer = (await post<{ id: string }>('/api/customers', { name: 'Mill' })).id;
    const { id } = await post<{ id: string }>('/api/orders', { customer, title: 'Fix the roof' });
    const appointment = { from: '2099-03-04T10:00:00.000Z', to: '2099-03-04T12:00:00.000Z' };
    await post(`/api/orders/${id}/schedule`, appointment);
    await post(`/api/orders/${id}/start`, {});
    await post(`/api/orders/${id}/complete`, { minutes: 30 });
    await place.cutPower();
    const raised = () => place.readScopes('SELECT kind FROM reminders WHERE order_id = ?', id);
    await expect.poll(raised, { timeout: 20_000, interval: 50 }).toEqual([{ kind: 'to_invoice' }]);
  });

  test('no unexpected error occurred', () => {
    expect(inWorkerd.world().place.incidents()).toEqual([]);
  });
});
