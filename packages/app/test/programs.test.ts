/** Programs at an instance where people sign in with a browser: let in with its address alone, narrow, seen, and ended. */
import { randomBytes, scryptSync } from 'node:crypto';
import type { Mail } from '@freehold/auth';
import { UnauthorizedError } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { lineOfText, operation, records, statementsOf } from '../src/index.ts';
import { allowing, connect, fieldsOf, LOOPBACK, ProgramStore } from './program-client.ts';
import { declaration, openSmallApp, type Reader, type SmallApp } from './small-app.ts';

const all = { access: 'all' };

async function open(options: Parameters<typeof openSmallApp>[0] = {}) {
  const app = await openSmallApp({ business: 'The Inn', ...options });
  const owner = await app.signedIn('ada', 'Ada');
  await owner.open('/');
  return { app, owner, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

/** The same where the instance keeps accounts itself: Ada signs in with her password. */
async function openWithAccounts() {
  const app = await openSmallApp({
    business: 'The Inn',
    config: { AUTH_PROVIDER: 'directory' },
    services: { mailer: { send: async () => undefined } },
  });
  const [email, password, salt] = ['ada@example.org', 'three blind mice in a row', randomBytes(16)];
  const hash = scryptSync(password, salt, 32, { N: 2 ** 14, r: 8, p: 5 });
  const [saltText, hashText] = [salt, hash].map((each) => each.toString('base64').replace(/=+$/, ''));
  const passwordHash = `$scrypt$ln=14,r=8,p=5$${saltText}$${hashText}`;
  await app.directory().importAccount({ email, emailVerified: true, name: 'Ada', passwordHash });
  const { headers } = await app.reader().send('/api/auth/login', { email, password });
  const owner = app.reader(
    headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; '),
  );
  await owner.open('/');
  return { app, owner, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

const bearer = ({ call, at }: SmallApp, token: string, path: string, method = 'GET', body?: object) =>
  call(
    new Request(`${at.origin}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    }),
  );

const addGuest = async (owner: Reader): Promise<string> =>
  ((await (await owner.api('POST', '/api/guests', { name: 'Grace' })).json()) as { id: string }).id;

const nameOf = ({ tools }: { tools: readonly { name: string }[] }) => tools.map(({ name }) => name).sort();

describe('the official client, given only the address', () => {
  test.each([
    ['an issuer', open],
    ['the instance itself', openWithAccounts],
  ])(
    'at %s: is let in, lists and calls, is named in history, refreshes, is ended, and finds the way in again',
    async (_at, openAt) => {
      await using opened = await openAt();
      const { app, owner } = opened;
      const store = new ProgramStore();
      const client = await connect(app, store, allowing(owner, all));
      expect(nameOf(await client.listTools())).toEqual(['guest_create', 'guest_get']);
      const made = await client.callTool({ name: 'guest_create', arguments: { name: 'Grace' } });
      const { id } = made.structuredContent as { id: string };
      const history = await owner.api('GET', `/api/guests/${id}/history`);
      expect(await history.json()).toMatchObject({
        items: [{ actor: { name: 'Ada' }, program: { name: 'Claude Desktop' } }],
      });
      const story = await owner.open(`/log/history?type=guest&id=${id}`);
      expect(story.text).toContain('<bdi>Ada</bdi>, through <bdi>Claude Desktop</bdi>');

      store.spoilAccessToken();
      const refreshed = await connect(app, store, null);
      expect((await refreshed.callTool({ name: 'guest_get', arguments: { guest: id } })).isError).toBeFalsy();

      const page = await owner.open('/oauth/programs');
      expect(page.text).toContain('Claude Desktop');
      const ended = await owner.send('/oauth/programs/end', fieldsOf(page, '/oauth/programs/end'));
      expect(ended.location).toBe('/oauth/programs?done=ended');
      expect((await owner.open('/oauth/programs')).text).toContain('There are none.');
      await expect(connect(app, store, null)).rejects.toBeInstanceOf(UnauthorizedError);
      const again = await connect(app, store, allowing(owner));
      // Reading alone is what is ticked.
      expect(nameOf(await again.listTools())).toEqual(['guest_get']);
    },
  );

  test('with the address of a document as its id needs no registration, and its host is shown', async () => {
    const id = 'https://claude.example/oauth/client.json';
    const document = { client_id: id, client_name: 'Claude', redirect_uris: [LOOPBACK] };
    const asked: string[] = [];
    await using opened = await open({
      services: {
        fetch: async (url) => {
          asked.push(url);
          return Response.json(document);
        },
      },
    });
    const { app, owner } = opened;
    const store = new ProgramStore({ clientMetadataUrl: id });
    let shown = '';
    const client = await connect(app, store, async (url) => {
      shown = (await owner.open(url.pathname + url.search)).text;
      return allowing(owner)(url);
    });
    expect(nameOf(await client.listTools())).toEqual(['guest_get']);
    expect(shown).toContain('<bdi>claude.example</bdi>');
    expect(new Set(asked)).toEqual(new Set([id]));
  });

  test('of a person who signs in first comes back to the same question', async () => {
    await using opened = await open();
    const { app, owner } = opened;
    const client = await connect(app, new ProgramStore(), async (asked) => {
      const sent = await app.reader().open(asked.pathname + asked.search);
      const returnTo = new URL(sent.location ?? '', app.at.origin).searchParams.get('returnTo') ?? '';
      expect(returnTo).toMatch(/^\/oauth\/authorize\?flow=[\w-]{8}$/);
      const parked = (sent.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
      const cookie = `${await app.cookieOf('ada', 'Ada')}; ${parked}`;
      const page = await app.reader(cookie).open(returnTo);
      const answered = await app
        .reader(cookie)
        .send('/oauth/consent', { ...fieldsOf(page, '/oauth/consent'), answer: 'yes' });
      return new URL(answered.location ?? '');
    });
    expect(nameOf(await client.listTools())).toEqual(['guest_get']);
    expect((await owner.open('/oauth/programs')).text).toContain('Claude Desktop');
  });
});

test('the metadata names the host that was asked, for the endpoint and for the instance', async () => {
  await using opened = await open();
  const { app } = opened;
  for (const [host, path, resource] of [
    ['inn.example', '/.well-known/oauth-protected-resource/api/mcp', '/api/mcp'],
    ['inn.example', '/.well-known/oauth-protected-resource', ''],
    ['rooms.example', '/.well-known/oauth-protected-resource/api/mcp', '/api/mcp'],
  ] as const) {
    const origin = `https://${host}`;
    const response = await app.call(new Request(origin + path), { ...app.node, origin });
    expect(await response.json()).toMatchObject({
      resource: origin + resource,
      authorization_servers: [origin],
    });
  }
  const challenged = await app.call(
    new Request(`${app.at.origin}/api/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    }),
  );
  expect(challenged.headers.get('www-authenticate')).toBe(
    `Bearer resource_metadata="${app.at.origin}/.well-known/oauth-protected-resource/api/mcp"`,
  );
});

describe('a program', () => {
  test('does what it was let in for, as long as its person may, and nothing beside the operations', async () => {
    await using opened = await open();
    const { app, owner } = opened;
    const store = new ProgramStore();
    await connect(app, store, allowing(owner, { access: 'some', 'permission.guest.read': 'yes' }));
    const token = store.accessToken;
    const refused = await bearer(app, token, '/api/guests', 'POST', { name: 'Eve' });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      reason: 'program_not_allowed',
      detail: expect.stringContaining('Claude Desktop may not do this for you'),
    });
    const denials = await owner.api('GET', '/api/denials');
    expect(await denials.json()).toMatchObject({ items: [{ program: { name: 'Claude Desktop' } }] });
    const me = await (await bearer(app, token, '/api/me')).json();
    expect(me).toMatchObject({
      subject: { name: 'Ada' },
      permissions: ['guest.read'],
      program: { name: 'Claude Desktop', access: 'some' },
    });
    for (const [method, path, body] of [
      ['GET', '/api/members'],
      ['GET', '/api/sessions'],
      ['GET', '/api/settings'],
      ['GET', '/team'],
      ['GET', '/oauth/programs'],
      ['POST', '/api/sessions/end-all', {}],
      ['POST', '/api/invites', { role: 'owner' }],
      ['POST', '/api/claim', { token: 'x' }],
    ] as const) {
      const answer = await bearer(app, token, path, method, body);
      expect([path, answer.status]).toEqual([path, 403]);
    }
    // A program cannot let another one in.
    const asked = await bearer(app, token, '/oauth/authorize?client_id=x');
    expect(asked.status).toBe(403);
  });

  test('of a member who loses the role is refused at the next call, and of one who left it is a visitor', async () => {
    await using opened = await open();
    const { app, owner } = opened;
    const { member, principal } = await app.join(owner, 'bea', { role: 'porter', name: 'Bea' });
    const id = await addGuest(owner);
    const store = new ProgramStore();
    await connect(app, store, allowing(member, all));
    const read = () => bearer(app, store.accessToken, `/api/guests/${id}`);
    expect((await read()).status).toBe(200);
    await owner.api('POST', `/api/members/${principal}/role`, { role: 'viewer' });
    expect((await read()).status).toBe(403);
    await owner.api('POST', `/api/members/${principal}/role`, { role: 'porter' });
    expect((await read()).status).toBe(200);
    await owner.api('POST', `/api/members/${principal}/remove`, {});
    const gone = await read();
    expect(gone.status).toBe(401);
    expect(gone.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  test('that was ended stays ended when an older state of the instance is restored', async () => {
    await using opened = await open();
    const { app, owner } = opened;
    const [gone, left] = [new ProgramStore(), new ProgramStore()];
    await connect(app, gone, allowing(owner, all));
    await connect(app, left, allowing(owner, all));
    const { tenant: tenantId, scope: scopeId } = app.at;
    const { id: snapshot } = await app.app.host.snapshotScopeLocal({ tenantId, scopeId, name: 'before' });
    const { items } = await app.directory().listPrograms({ scopeId, principal: null });
    await owner.send('/oauth/programs/end', { grant: items.at(-1)?.id ?? '' });
    const { format, body } = await app.app.host.openSnapshotLocal({ tenantId, scopeId, snapshot });
    await app.app.host.restoreScopeLocal({ tenantId, scopeId, format }, body);
    const status = async (store: ProgramStore) =>
      (await bearer(app, store.accessToken, '/api/guests', 'POST', { name: 'Grace' })).status;
    expect([await status(gone), await status(left)]).toEqual([401, 200]);
  });

  test('that is ended while its person reads a question does nothing, whatever they answer', async () => {
    await using opened = await open({
      app: {
        operations: {
          ...declaration.operations,
          'guest/forget': operation({
            summary: 'Forget a guest',
            input: z.strictObject({ guest: z.string() }),
            output: z.null(),
            permission: 'guest.write',
            http: { method: 'DELETE', path: '/api/guests/:guest' },
            run: ({ sql }, { guest }) => {
              sql.run('DELETE FROM guests WHERE id = ?', guest);
              return null;
            },
          }),
        },
      },
    });
    const { app, owner } = opened;
    const forget = async (happens: () => Promise<unknown>) => {
      const guest = await addGuest(owner);
      const client = await connect(app, new ProgramStore(), allowing(owner, all), async () => {
        await happens();
        return { action: 'accept', content: { ok: true } };
      });
      const { isError = false } = await client.callTool({ name: 'guest_forget', arguments: { guest } });
      return [isError, (await owner.api('GET', `/api/guests/${guest}`)).status];
    };
    expect(await forget(async () => undefined)).toEqual([false, 404]);
    const end = async () =>
      owner.send('/oauth/programs/end', fieldsOf(await owner.open('/oauth/programs'), '/oauth/programs/end'));
    expect(await forget(end)).toEqual([true, 200]);
  });

  test('that was ended ends the long work that it began', async () => {
    const room = records('room', {
      fields: z.object({ name: lineOfText(40) }),
      permissions: { read: 'guest.read', write: 'guest.write', import: 'guest.write' },
    });
    const { manifest, migrations, operations } = declaration;
    const second = { version: 2, name: 'lists of places', sql: statementsOf(room.table).join(';\n') };
    await using opened = await open({
      app: {
        manifest: { ...manifest, entities: { ...manifest.entities, room: room.entity } },
        migrations: [...migrations, second],
        operations: { ...operations, ...room.operations },
      },
    });
    const { app, owner } = opened;
    const begin = async () => {
      const store = new ProgramStore();
      await connect(app, store, allowing(owner, all));
      const sent = await bearer(app, store.accessToken, '/api/room-imports', 'POST', { csv: 'name\nBlue\n' });
      return ((await sent.json()) as { id: string }).id;
    };
    const [ended, left] = [await begin(), await begin()];
    const page = await owner.open('/oauth/programs');
    const { items } = await app.directory().listPrograms({ scopeId: app.at.scope, principal: null });
    await owner.send('/oauth/programs/end', {
      ...fieldsOf(page, '/oauth/programs/end'),
      grant: items.at(-1)?.id ?? '',
    });
    const scope = app.app.host.scope(app.at.scope);
    for (let rounds = 0; rounds < 10; rounds++) await scope.work({});
    const shown = async (id: string) => (await owner.api('GET', `/api/room-imports/${id}`)).json();
    expect(await shown(ended)).toMatchObject({
      state: 'failed',
      error: { code: 'permission_denied', detail: expect.stringContaining('Claude Desktop') },
    });
    expect(await shown(left)).toMatchObject({ state: 'checked', ready: 1 });
  });

  test('shows when and from where it was used', async () => {
    await using opened = await open();
    const { app, owner } = opened;
    const store = new ProgramStore();
    await connect(app, store, allowing(owner));
    const { items } = await app.directory().listPrograms({ scopeId: app.at.scope, principal: null });
    expect(items).toMatchObject([{ name: 'Claude Desktop', usedMs: app.clock.nowMs }]);
  });
});

describe('the consent', () => {
  const ask = async (opened: Awaited<ReturnType<typeof open>>) => {
    const store = new ProgramStore();
    await connect(opened.app, store, null).catch(() => undefined);
    const { pathname, search } = store.asked ?? new URL('https://none.example');
    return pathname + search;
  };

  test('cannot be framed, and its form leads to this site and to the program alone', async () => {
    await using opened = await open();
    const page = await opened.owner.open(await ask(opened));
    expect(page.status).toBe(200);
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self' http://127.0.0.1:4711;");
    expect(page.text).toContain('The Inn');
    expect(page.text).toContain('any program here can say that it is this one');
  });

  test('cannot be forged: not from another page, not with another person’s ticket, not without one', async () => {
    await using opened = await open();
    const { app, owner } = opened;
    const page = await owner.open(await ask(opened));
    const fields = { ...fieldsOf(page, '/oauth/consent'), answer: 'yes' };
    const cross = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await owner.send('/oauth/consent', fields, cross)).status).toBe(403);
    const { member } = await app.join(owner, 'bea', { role: 'porter' });
    expect(await member.send('/oauth/consent', fields)).toMatchObject({ status: 400, location: null });
    expect((await owner.send('/oauth/consent', { ...fields, ticket: 'x' })).status).toBe(400);
    expect((await app.reader().send('/oauth/consent', fields)).status).toBe(400);
    // Another session of the same person did not see the page.
    const elsewhere = await app.signedIn('ada', 'Ada');
    expect((await elsewhere.send('/oauth/consent', fields)).status).toBe(400);
    expect((await owner.send('/oauth/consent', fields)).location).toContain(`${LOOPBACK}?code=`);
  });

  test('is asked for every time, and a declined one tells the program so', async () => {
    await using opened = await open();
    const { owner } = opened;
    const path = await ask(opened);
    await allowing(owner)(new URL(path, 'https://inn.example'));
    const page = await owner.open(path);
    expect(page.status).toBe(200);
    const declined = await owner.send('/oauth/consent', {
      ...fieldsOf(page, '/oauth/consent'),
      answer: 'no',
    });
    expect(new URL(declined.location ?? '').searchParams.get('error')).toBe('access_denied');
  });

  test('is followed by a mail to its person, and stands although the mail cannot be sent', async () => {
    const mails: Mail[] = [];
    const mailer = {
      send: async (mail: Mail) => {
        mails.push(mail);
        if (mails.length > 1) throw new Error('the mail server is away');
      },
    };
    await using opened = await open({ services: { mailer } });
    const { app, owner } = opened;
    await connect(app, new ProgramStore(), allowing(owner));
    expect(mails).toMatchObject([
      { to: 'ada@example.org', subject: 'Claude Desktop may now use The Inn for you' },
    ]);
    await connect(app, new ProgramStore(), allowing(owner));
    expect(app.incidents).toHaveLength(1);
  });

  test('of nothing at all is asked again', async () => {
    await using opened = await open();
    const { owner } = opened;
    const page = await owner.open(await ask(opened));
    const again = await owner.send('/oauth/consent', {
      ...fieldsOf(page, '/oauth/consent'),
      answer: 'yes',
      access: 'some',
    });
    expect([again.status, again.location]).toEqual([422, null]);
    expect(again.text).toContain('at least one permission');
  });

  test('of an unknown program, or for an address that it did not register, sends the browser nowhere', async () => {
    await using opened = await open();
    const { owner } = opened;
    const path = await ask(opened);
    for (const changed of [
      path.replace('127.0.0.1', 'evil.example'),
      path.replace(/client_id=[^&]+/, 'client_id=fh_client_x'),
    ])
      expect(await owner.open(changed)).toMatchObject({ status: 400, location: null });
  });

  test('of a person who is no member is none', async () => {
    await using opened = await open();
    const visitor = await opened.app.signedIn('eve', 'Eve');
    expect(await visitor.open(await ask(opened))).toMatchObject({ status: 403, location: null });
  });
});

describe('the owner', () => {
  test('sees and ends the programs of all, and members their own alone', async () => {
    await using opened = await open();
    const { app, owner } = opened;
    const { member } = await app.join(owner, 'bea', { role: 'porter', name: 'Bea' });
    const [adas, beas] = [new ProgramStore(), new ProgramStore()];
    await connect(app, adas, allowing(owner));
    await connect(app, beas, allowing(member));
    const own = await member.open('/oauth/programs');
    expect(own.text.match(/Claude Desktop<\/bdi>/g)).toHaveLength(1);
    expect(own.text).not.toContain('Which programs are let in');
    const { items } = await app.directory().listPrograms({ scopeId: app.at.scope, principal: null });
    const [ofBea, ofAda] = items;
    expect((await member.send('/oauth/programs/end', { grant: ofAda?.id ?? '' })).status).toBe(404);
    expect((await bearer(app, adas.accessToken, '/api/me')).status).toBe(200);
    await owner.send('/oauth/programs/end', { grant: ofBea?.id ?? '' });
    expect(await (await bearer(app, beas.accessToken, '/api/me')).json()).toMatchObject({
      status: 'signed_out',
    });
  });

  test('decides which programs are let in; others end at once', async () => {
    await using opened = await open();
    const { app, owner } = opened;
    const store = new ProgramStore();
    await connect(app, store, allowing(owner));
    const { member } = await app.join(owner, 'bea', { role: 'porter', name: 'Bea' });
    const policy = { programs: 'listed', hosts: 'claude.ai, vscode.dev' };
    expect((await member.send('/oauth/programs/policy', policy)).status).toBe(403);
    expect((await owner.send('/oauth/programs/policy', policy)).location).toBe('/oauth/programs?done=policy');
    expect(await (await bearer(app, store.accessToken, '/api/me')).json()).toMatchObject({
      status: 'signed_out',
    });
    const asked = new ProgramStore();
    await connect(app, asked, null).catch(() => undefined);
    const page = await owner.open((asked.asked?.pathname ?? '') + (asked.asked?.search ?? ''));
    expect(page.status).toBe(403);
    expect(page.text).toContain('This program is not admitted');
  });
});

describe('the rule of the owner', () => {
  test('limits the calls of each program, and of no person', async () => {
    await using opened = await open();
    const { app, owner } = opened;
    const stores = [new ProgramStore(), new ProgramStore()];
    for (const store of stores) await connect(app, store, allowing(owner));
    const [first, second] = stores.map(({ accessToken }) => accessToken);
    const page = await owner.open('/oauth/programs');
    expect(page.text).toContain('name="callsPerMinute" type="text" autocomplete="off" value="1200"');
    const rule = { programs: 'any', hosts: '', mails: 'yes' };
    const set = (callsPerMinute: string) => owner.send('/oauth/programs/policy', { ...rule, callsPerMinute });
    for (const refused of ['0', 'many', '1.5', '-1']) expect((await set(refused)).status).toBe(400);
    await set('3');
    // The calls of before are forgotten.
    app.clock.nowMs += 60_000;
    const statusOf = async (token = '') => (await bearer(app, token, '/api/guests/g_1')).status;
    const answers = [];
    for (let call = 0; call < 4; call++) answers.push(await statusOf(first));
    expect(answers).toEqual([404, 404, 404, 429]);
    const refused = await bearer(app, first ?? '', '/api/guests/g_1');
    expect(refused.headers.get('retry-after')).toBe('20');
    expect(await statusOf(second)).toBe(404);
    expect((await owner.api('GET', '/api/guests/g_1')).status).toBe(404);
    await set('');
    expect(await statusOf(first)).toBe(404);
  });

  test('sends no mails where the owner wants none', async () => {
    const mails: Mail[] = [];
    const mailer = { send: async (mail: Mail) => void mails.push(mail) };
    await using opened = await open({ services: { mailer } });
    const { app, owner } = opened;
    await owner.send('/oauth/programs/policy', { programs: 'any', hosts: '', callsPerMinute: '' });
    await connect(app, new ProgramStore(), allowing(owner));
    expect(mails).toEqual([]);
  });
});

test('what a program reads is counted by operation and day, and shown to its person and to the owner', async () => {
  await using opened = await open();
  const { app, owner } = opened;
  const { member } = await app.join(owner, 'bea', { role: 'porter', name: 'Bea' });
  const store = new ProgramStore();
  const client = await connect(app, store, allowing(member));
  const id = await addGuest(owner);
  const read = () => client.callTool({ name: 'guest_get', arguments: { guest: id } });
  const counted = async (principal: string | null = null) =>
    (await app.directory().listProgramReads({ scopeId: app.at.scope, principal })).items.map(
      ({ day, operation, calls }) => [day, operation, calls],
    );
  for (let call = 0; call < 3; call++) await read();
  // The first is written at once, and the others within a minute.
  expect(await counted()).toEqual([['2026-03-03', 'guest/get', 1]]);
  expect((await member.open('/oauth/programs')).text).toContain('<code>guest/get</code> × 3');
  expect((await owner.open('/oauth/programs')).text).toContain('<code>guest/get</code> × 3');
  app.clock.nowMs += 24 * 3_600_000;
  store.spoilAccessToken();
  const later = await connect(app, store, null);
  await later.callTool({ name: 'guest_get', arguments: { guest: id } });
  expect(await counted()).toEqual([
    ['2026-03-04', 'guest/get', 1],
    ['2026-03-03', 'guest/get', 3],
  ]);
  expect((await owner.api('GET', `/api/guests/${id}`)).status).toBe(200);
  expect(await counted('prn_another')).toEqual([]);
  const page = await member.open('/oauth/programs');
  await member.send('/oauth/programs/end', fieldsOf(page, '/oauth/programs/end'));
  expect(await counted()).toEqual([]);
});

test('a person makes a token for a script, which is shown once and works like a program', async () => {
  await using opened = await open();
  const { app, owner } = opened;
  const page = await owner.open('/oauth/programs');
  const made = await owner.send('/oauth/programs/tokens', {
    ...fieldsOf(page, '/oauth/programs/tokens'),
    name: 'Nightly export',
    days: '30',
  });
  const token = /fh_personal_[0-9A-Za-z]+/.exec(made.text)?.[0] ?? '';
  const id = await addGuest(owner);
  expect((await bearer(app, token, `/api/guests/${id}`)).status).toBe(200);
  const refused = await bearer(app, token, '/api/guests', 'POST', { name: 'Eve' });
  expect(await refused.json()).toMatchObject({ detail: expect.stringContaining('Nightly export') });
  expect((await owner.open('/oauth/programs')).text).not.toContain(token);
  const unnamed = await owner.send('/oauth/programs/tokens', { name: '', days: '30', access: 'read' });
  expect(unnamed.status).toBe(400);
});
