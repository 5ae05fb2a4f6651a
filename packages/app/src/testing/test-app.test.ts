/** The harness of builders: people, permissions, time, deliveries, the outside world, and the routes of an instance. */
import { expect, expectTypeOf, test } from 'vitest';
import { rental } from '../../test/rental.ts';
import { unauthenticated } from '../declaration/seam.ts';
import { testApp } from './test-app.ts';

test('a call has the input and the output of its declaration, and is refused by code and reason', async () => {
  await using instance = await testApp(rental);
  const ada = instance.as('ada', { role: 'owner' });
  const booking = await ada.call('booking/create', { item: 'boat' });
  expectTypeOf(booking).toEqualTypeOf<{ id: string; item: string; state: 'open' | 'confirmed' }>();
  expect(booking).toMatchObject({ item: 'boat', state: 'open' });
  await ada.call('booking/confirm', { booking: booking.id });
  await expect(ada.call('booking/confirm', { booking: booking.id })).rejects.toMatchObject({
    code: 'invalid_transition',
    reason: 'confirmed_already',
  });
  const { refused } = await instance
    .as('jo', { role: 'clerk' })
    .attempt('booking/confirm', { booking: booking.id });
  expect(refused).toMatchObject({ code: 'permission_denied' });
  // @ts-expect-error an operation that is not declared.
  await expect(ada.call('booking/nothing', {})).rejects.toMatchObject({ reason: 'unknown_operation' });
  // @ts-expect-error an input of another shape.
  await expect(ada.call('booking/create', { thing: 1 })).rejects.toMatchObject({ code: 'validation_failed' });
});

test('a name is one person, whose rights are those that were given last', async () => {
  await using instance = await testApp(rental);
  const ada = await instance.as('ada', { role: 'owner' }).principal();
  expect(await instance.as('ada').principal()).toBe(ada);
  const kim = instance.as('kim', { permissions: ['booking.confirm', 'booking.read'] });
  const { id } = await instance.as('ada').call('booking/create', { item: 'boat' });
  await kim.call('booking/confirm', { booking: id });
  expect((await kim.attempt('booking/create', { item: 'oar' })).refused?.code).toBe('permission_denied');
  await instance.as('kim', { roles: ['clerk'] }).call('booking/create', { item: 'oar' });
  expect((await kim.attempt('booking/confirm', { booking: id })).refused?.code).toBe('permission_denied');
  const unknown = instance.as('lee', { role: 'captain' });
  await expect(unknown.principal()).rejects.toThrow('rental has no role captain');
});

test('a person without a role is signed in, is no member, and does not become the owner', async () => {
  await using instance = await testApp(rental);
  const eve = instance.as('eve');
  expect(await (await eve.http('GET', '/api/advice')).json()).toMatchObject({ reason: 'not_a_member' });
  await expect(eve.call('booking/create', { item: 'boat' })).rejects.toMatchObject({
    reason: 'not_a_member',
  });
  expect((await instance.anonymous.http('GET', '/api/advice')).status).toBe(401);
  const ada = instance.as('ada', { role: 'owner' });
  expect(await (await ada.http('GET', '/api/me')).json()).toMatchObject({
    status: 'member',
    subject: { name: 'ada' },
  });
});

test('routes answer a session, and files are attached', async () => {
  await using instance = await testApp(rental);
  const ada = instance.as('ada', { role: 'owner' });
  const made = await ada.http('POST', '/api/bookings', { item: 'boat' });
  expect(made.ok).toBe(true);
  const { id } = (await made.json()) as { id: string };
  expect(await (await ada.http('GET', `/api/bookings/${id}`)).json()).toMatchObject({ item: 'boat' });
  const file = await ada.upload(`/api/bookings/${id}`, { name: 'boat.txt', body: 'a boat' });
  const read = await ada.http('GET', `/api/bookings/${id}/attachments/${file}`);
  expect(await read.text()).toBe('a boat');
  await expect(
    instance.as('eve').upload(`/api/bookings/${id}`, { name: 'x', body: 'x' }),
  ).rejects.toMatchObject({
    code: 'forbidden',
    reason: 'not_a_member',
  });
});

test('a fault of a handler reaches its test as it was thrown', async () => {
  await using instance = await testApp(rental);
  const ada = instance.as('ada', { role: 'owner' });
  await expect(ada.call('booking/break', {})).rejects.toThrow('a fault of the builder');
  await expect(ada.attempt('booking/break', {})).rejects.toThrow(RangeError);
  expect(instance.incidents).toHaveLength(2);
});

test('deliveries run when they are asked for, and tell of failures, retries and dead letters', async () => {
  const calls: Request[] = [];
  let status = 503;
  await using instance = await testApp(rental, {
    fetch: (request) => {
      calls.push(request);
      return new Response(null, { status });
    },
  });
  const ada = instance.as('ada', { role: 'owner' });
  const { id } = await ada.call('booking/create', { item: 'boat' });
  await ada.call('booking/confirm', { booking: id });
  expect(instance.sql('SELECT * FROM notes')).toEqual([]);

  const first = await instance.deliver();
  expect(first.ran).toMatchObject([
    { kind: 'subscription', name: 'note', error: null },
    {
      kind: 'executor',
      name: 'invoice',
      error: { code: 'internal' },
      thrown: new RangeError('invoices answered 503'),
    },
  ]);
  expect(first.deadLetters).toEqual([]);
  expect((await instance.deliver()).ran).toEqual([]);
  expect(instance.sql('SELECT * FROM notes')).toHaveLength(1);

  instance.clock.set(first.nextAtMs as number);
  const second = await instance.deliver();
  expect(second.ran).toMatchObject([{ name: 'invoice', error: { code: 'internal' } }]);
  expect(second.deadLetters).toMatchObject([{ subscriber: 'invoice', attempts: 2 }]);

  status = 200;
  const again = await ada.call('booking/create', { item: 'oar' });
  await ada.call('booking/confirm', { booking: again.id });
  expect((await instance.deliver()).ran.map(({ name, error }) => [name, error])).toEqual([
    ['note', null],
    ['invoice', null],
  ]);
  expect(await calls[0]?.json()).toEqual({ booking: id });
  const events = await instance.events(`booking/${id}`);
  expect(events.map(({ type }) => type)).toEqual(['booking.made', 'booking.confirmed']);
});

test('a call that the test does not answer fails, and says what to do', async () => {
  await using instance = await testApp(rental);
  const ada = instance.as('ada', { role: 'owner' });
  const { id } = await ada.call('booking/create', { item: 'boat' });
  await ada.call('booking/confirm', { booking: id });
  const { ran } = await instance.deliver();
  expect(String(ran.at(-1)?.thrown)).toContain(
    'POST https://invoices.example/ was called, and this test answers no outgoing calls: give testApp the option fetch.',
  );
});

test('an executor whose time is over while the clock moves is aborted', async () => {
  const asked = Promise.withResolvers<Request>();
  await using instance = await testApp(rental, {
    fetch: (request) => {
      asked.resolve(request);
      return new Promise(() => undefined);
    },
  });
  const ada = instance.as('ada', { role: 'owner' });
  const { id } = await ada.call('booking/create', { item: 'boat' });
  await ada.call('booking/confirm', { booking: id });
  const delivered = instance.deliver();
  const { signal } = await asked.promise;
  instance.clock.advance('31s');
  await instance.deliver();
  expect((await delivered).ran.at(-1)).toMatchObject({ name: 'invoice', error: { code: 'unavailable' } });
  expect(signal.aborted).toBe(true);
});

test('schedules run once for a jump of the clock, and every time while time passes', async () => {
  await using instance = await testApp(rental);
  expect(instance.clock.iso).toBe('2026-03-03T07:00:00.000Z');
  expect((await instance.deliver()).ran).toEqual([]);
  instance.clock.advance('3d');
  expect((await instance.deliver()).ran).toEqual([
    { kind: 'schedule', name: 'remind', event: null, error: null },
  ]);
  const { ran } = await instance.pass('3d');
  expect(ran.map(({ name }) => name)).toEqual(['remind', 'remind', 'remind']);
  expect(instance.clock.iso).toBe('2026-03-09T07:00:00.000Z');
  expect(() => instance.clock.advance('soon')).toThrow('not a duration: soon');
});

test('a model sees the tools of its person, and is refused like them', async () => {
  await using instance = await testApp(rental);
  const jo = instance.as('jo', { role: 'clerk' }).mcp();
  expect((await jo.tools()).map(({ name }) => name).sort()).toEqual(['booking_create', 'booking_get']);
  const { output } = await jo.call('booking_create', { item: 'boat' });
  const { id } = output as { id: string };
  const refused = await jo.call('booking_confirm', { booking: id });
  expect(refused).toMatchObject({ output: undefined, refused: { status: 403, code: 'permission_denied' } });
  await expect(instance.as('eve').mcp().tools()).rejects.toThrow('403');
});

test('visitors of listed sites reach the public surface, and others do not', async () => {
  await using instance = await testApp(rental, { settings: { SITES: 'https://shop.example' } });
  const shop = instance.visitor('https://shop.example');
  expect(await (await shop.http('GET', '/public/items')).json()).toEqual({ business: 'Test Instance' });
  expect((await shop.http('POST', '/public/bookings', { item: 'boat' })).status).toBe(201);
  const other = instance.visitor('https://other.example');
  expect((await other.http('POST', '/public/bookings', { item: 'boat' })).status).toBe(403);
  await instance.settings({ SITES: 'https://other.example' });
  expect((await other.http('POST', '/public/bookings', { item: 'boat' })).status).toBe(201);
  expect(instance.sql('SELECT item FROM bookings')).toEqual([{ item: 'boat' }, { item: 'boat' }]);
});

test('the test answers as the language model', async () => {
  const asked: object[] = [];
  await using instance = await testApp(rental, {
    model: (request) => {
      asked.push(request);
      return 'The blue one.';
    },
  });
  const advice = await instance.as('ada', { role: 'owner' }).http('GET', '/api/advice');
  expect(await advice.text()).toBe('The blue one.');
  expect(asked).toEqual([{ model: 'test', system: 'Be brief.', prompt: 'Which boat?' }]);
  await using without = await testApp(rental);
  const refused = await without.as('ada', { role: 'owner' }).http('GET', '/api/advice');
  expect(await refused.json()).toMatchObject({ reason: 'model_not_configured' });
});

test('tables are read and never written', async () => {
  await using instance = await testApp(rental);
  expect(instance.sql<{ n: number }>('SELECT count(*) AS n FROM bookings WHERE item = ?', 'x')).toEqual([
    { n: 0 },
  ]);
  expect(() => instance.sql("INSERT INTO notes VALUES ('x', 1)")).toThrow('only reading is allowed here');
  expect(() => instance.sql('DELETE FROM _spine_events')).toThrow('only reading is allowed here');
});

test('instances side by side know nothing of each other, and one that is closed is closed', async () => {
  const instances = await Promise.all([testApp(rental), testApp(rental, { start: '2027-01-01T00:00:00Z' })]);
  const [one, two] = instances;
  await one.as('ada', { role: 'owner' }).call('booking/create', { item: 'boat' });
  expect(two.sql('SELECT * FROM bookings')).toEqual([]);
  expect(two.clock.iso).toBe('2027-01-01T00:00:00.000Z');
  expect((await two.as('ada').http('GET', '/api/advice')).status).toBe(403);
  expect(one.scopeId).not.toBe(two.scopeId);
  await Promise.all(instances.map((instance) => instance.close()));
  await expect(one.as('ada').call('booking/create', { item: 'oar' })).rejects.toMatchObject({
    code: 'unavailable',
  });
});

test('A-04 without sign-in, operations can be tested and routes answer 401', async () => {
  await using instance = await testApp({ ...rental, authenticatedPrincipal: unauthenticated() });
  const ada = instance.as('ada', { role: 'owner' });
  await ada.call('booking/create', { item: 'boat' });
  expect((await ada.http('GET', '/api/me')).status).toBe(401);
});
