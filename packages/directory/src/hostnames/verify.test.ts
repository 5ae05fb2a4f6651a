/** Proving a host name: which proofs count, and which tenant gets a contested name. */
import { PlatformError } from '@freehold/contracts';
import { describe, expect, test } from 'vitest';
import { makeHostnameWorld } from '../../test/hostname-probes.ts';
import { openPlatform, type Platform, refusal, STAFF } from '../../test/platform.ts';
import type { HostnameRecord, ScopeRecord } from '../admin-operations.ts';

const NAME = 'shop.acme.example';

interface Verified {
  readonly hostname: HostnameRecord;
  readonly verified: boolean;
  readonly reason: string | null;
}

async function openFixture() {
  const world = makeHostnameWorld();
  const platform = await openPlatform({ hostnames: world.probes });
  const ours = await platform.scope((await platform.tenant('acme')).id);
  const theirs = await platform.scope((await platform.tenant('beta')).id);
  const verify = (scope: ScopeRecord, more: Record<string, unknown> = {}) =>
    platform.value<Verified>('hostnames.verify', {
      body: { hostname: NAME, tenant: scope.tenant, ...more },
    });
  /** The records that are in the zone. */
  const publish = (...records: HostnameRecord[]) =>
    world.txt.set(
      `_freehold-challenge.${NAME}`,
      records.map((record) => challenge(record).dns.value),
    );
  const serve = (record: HostnameRecord) =>
    world.pages.set(challenge(record).http.url, new Response(challenge(record).http.body));
  return { platform, world, ours, theirs, verify, publish, serve };
}

function challenge({ verification }: HostnameRecord) {
  return verification.challenge ?? expect.fail('there is no challenge');
}

const list = async (platform: Platform, query = {}) =>
  (await platform.value<{ items: HostnameRecord[] }>('hostnames.list', { query })).items;

describe('spec C-17: the challenge', () => {
  test('is shown when a name is bound and in the list, and is another one for each tenant', async () => {
    const { platform, ours, theirs } = await openFixture();
    const bound = await platform.hostname(ours, NAME);
    const other = await platform.hostname(theirs, NAME);
    expect(bound).toMatchObject({ status: 'pending', verification: { method: null, verifiedAt: null } });
    expect(challenge(bound)).toEqual({
      dns: {
        name: `_freehold-challenge.${NAME}`,
        type: 'TXT',
        value: expect.stringMatching(/^freehold-challenge=[0-9a-f]{32}$/),
      },
      http: {
        url: expect.stringMatching(
          /^http:\/\/shop\.acme\.example\/\.well-known\/freehold-challenge\/[0-9a-f]{32}$/,
        ),
        body: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
    expect(challenge(other).dns.value).not.toBe(challenge(bound).dns.value);
    expect(await list(platform, { tenant: ours.tenant })).toEqual([bound]);
  });

  test('is answered at the name while it is bound, to any client, and no other document is', async () => {
    const { platform, ours } = await openFixture();
    const { url, body } = challenge(await platform.hostname(ours, NAME)).http;
    const ask = (at: string, init = {}) => platform.admin.hostnames.answerChallenge(new Request(at, init));
    const answered = await ask(url);
    expect(await answered?.text()).toBe(body);
    expect(answered?.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await ask(url.replace(NAME, 'other.example'))).toBeNull();
    expect(await ask(url.slice(0, -1))).toBeNull();
    expect(await ask(url, { method: 'POST' })).toBeNull();
    expect(await ask(`http://${NAME}/`)).toBeNull();
    await platform.call('hostnames.delete', { params: { hostname: NAME } });
    expect(await ask(url)).toBeNull();
  });

  test('is answered also after a failed verification, so that the next one can succeed', async () => {
    const { platform, ours, verify } = await openFixture();
    const { url, body } = challenge(await platform.hostname(ours, NAME)).http;
    expect((await verify(ours)).hostname.status).toBe('failed');
    const answered = await platform.admin.hostnames.answerChallenge(new Request(url));
    expect(await answered?.text()).toBe(body);
  });

  test('a name that the platform gives has none, and verifying it looks up nothing', async () => {
    const { platform, world, ours } = await openFixture();
    const given = await platform.hostname(ours, 'acme.localhost');
    expect(given.verification).toMatchObject({ method: 'platform', challenge: null });
    const rows = await platform.adminLog();
    const body = { hostname: 'acme.localhost' };
    expect(await platform.value('hostnames.verify', { body })).toMatchObject({ verified: true, checks: [] });
    expect(world.asked).toEqual([]);
    expect(await platform.adminLog()).toEqual(rows);
  });
});

describe('spec C-17: verification', () => {
  test('the record makes the name active, tells the router, and is an intent and an outcome in the log', async () => {
    const { platform, ours, verify, publish } = await openFixture();
    publish(await platform.hostname(ours, NAME));
    let rerouted = 0;
    platform.admin.onRoutesChanged(() => {
      rerouted += 1;
    });
    const answered = await verify(ours, { method: 'dns' });
    expect(answered).toMatchObject({ verified: true, hostname: { status: 'active' } });
    expect(rerouted).toBe(1);
    expect(await platform.adminLog({ action: 'hostnames.verify' })).toMatchObject([
      { outcome: 'intent', before: { status: 'pending' }, after: { status: 'verifying' } },
      {
        outcome: 'done',
        after: { status: 'active', method: 'dns', verified: true },
        target: { other: NAME },
      },
    ]);
  });

  test('during the look-ups the name is verifying and not served', async () => {
    const { platform, world, ours, verify, publish } = await openFixture();
    publish(await platform.hostname(ours, NAME));
    const seen: unknown[] = [];
    world.meanwhile = async () => {
      seen.push((await list(platform))[0]?.status, await platform.admin.routes());
    };
    await verify(ours);
    expect(seen).toEqual(['verifying', []]);
  });

  test('the document at the name proves it too, and a server that echoes the requested address does not', async () => {
    const { platform, world, ours, verify, serve } = await openFixture();
    const bound = await platform.hostname(ours, NAME);
    const { url } = challenge(bound).http;
    world.pages.set(url, new Response(new URL(url).pathname));
    expect(await verify(ours, { method: 'http' })).toMatchObject({ verified: false, reason: 'record_wrong' });
    serve(bound);
    expect(await verify(ours)).toMatchObject({
      verified: true,
      hostname: { status: 'active', verification: { method: 'http' } },
    });
  });

  test.each([
    [
      'a redirect',
      new Response(null, { status: 302, headers: { location: 'http://other.example/' } }),
      'record_wrong',
    ],
    ['a 404', new Response('no', { status: 404 }), 'record_missing'],
    ['a 503', new Response('later', { status: 503 }), 'lookup_failed'],
    ['no server', new TypeError('refused'), 'lookup_failed'],
  ] as const)('%s at the address proves nothing', async (_, page, reason) => {
    const { platform, world, ours, verify } = await openFixture();
    world.pages.set(challenge(await platform.hostname(ours, NAME)).http.url, page);
    const answered = await verify(ours, { method: 'http' });
    expect(answered).toMatchObject({ verified: false, reason, hostname: { status: 'failed' } });
  });

  test('a name at a private address is answered as one without a server', async () => {
    const { platform, world, ours, verify } = await openFixture();
    const { url } = challenge(await platform.hostname(ours, NAME)).http;
    const nothing = await verify(ours, { method: 'http' });
    const refused = Object.assign(new Error('not public'), { name: 'AddressRefused' });
    world.pages.set(url, new TypeError('fetch failed', { cause: refused }));
    const answered = await verify(ours, { method: 'http' });
    expect({ ...answered, hostname: null }).toEqual({ ...nothing, hostname: null });
    expect(answered).toMatchObject({ checks: [{ outcome: 'unreachable' }] });
  });

  test('a verification that broke off leaves the name failed, and not verifying for ever', async () => {
    const { platform, world, ours, verify } = await openFixture();
    await platform.hostname(ours, NAME);
    Object.assign(world.probes.resolver, {
      resolveTxt: () => {
        throw new PlatformError('unsupported', 'Nothing is looked up here any more.');
      },
    });
    expect(await refusal(verify(ours))).toMatchObject({ status: 501 });
    expect(await list(platform)).toMatchObject([
      { status: 'failed', verification: { method: null, reason: 'lookup_failed' } },
    ]);
    expect(await platform.adminLog({ outcome: 'unsettled' })).toEqual([]);
  });

  test.each([201, 404, 503])('the right document under status %d proves nothing', async (status) => {
    const { platform, world, ours, verify } = await openFixture();
    const { url, body } = challenge(await platform.hostname(ours, NAME)).http;
    world.pages.set(url, new Response(body, { status }));
    expect(await verify(ours, { method: 'http' })).toMatchObject({
      verified: false,
      hostname: { status: 'failed' },
      checks: [{ ok: false, status }],
    });
  });

  test('the observed records are shown up to a limit', async () => {
    const { platform, world, ours, verify } = await openFixture();
    await platform.hostname(ours, NAME);
    world.txt.set(`_freehold-challenge.${NAME}`, new Array(30).fill('x'.repeat(400)));
    const { checks } = (await verify(ours, { method: 'dns' })) as Verified & {
      checks: { observed: string[] }[];
    };
    expect(checks[0]?.observed).toEqual(new Array(20).fill('x'.repeat(255)));
  });

  test('a verification without a known outcome is settled by the next one of the same name, and by no other', async () => {
    const { platform, world, ours, verify } = await openFixture();
    await platform.hostname(ours, NAME);
    await platform.hostname(ours, 'other.example');
    const { resolveTxt } = world.probes.resolver;
    const bug = () => {
      throw new TypeError('a bug');
    };
    Object.assign(world.probes.resolver, { resolveTxt: bug });
    await verify(ours).catch(() => undefined);
    Object.assign(world.probes.resolver, { resolveTxt });
    const unsettled = async () =>
      (await platform.adminLog({ outcome: 'unsettled' })).map(({ target }) => target.other);
    expect(await unsettled()).toEqual([NAME]);
    await platform.call('hostnames.verify', { body: { hostname: 'other.example' } });
    expect(await unsettled()).toEqual([NAME]);
    await verify(ours);
    expect(await unsettled()).toEqual([]);
  });

  test('the document is asked for at the name alone: no redirect is followed', async () => {
    const { platform, world, ours, verify } = await openFixture();
    await platform.hostname(ours, NAME);
    const { fetch } = world.probes;
    const asked: unknown[] = [];
    Object.assign(world.probes, {
      fetch: (url: string, init: RequestInit) => {
        asked.push(init.redirect);
        return fetch(url, init as never);
      },
    });
    await verify(ours, { method: 'http' });
    expect(asked).toEqual(['manual']);
  });

  test('name servers that do not answer are told from a record that is not there', async () => {
    const { platform, world, ours, verify } = await openFixture();
    await platform.hostname(ours, NAME);
    const reasons: (string | null)[] = [];
    for (const outcome of ['nxdomain', 'nodata', 'servfail', 'timeout'] as const) {
      world.txt.set(`_freehold-challenge.${NAME}`, outcome);
      reasons.push((await verify(ours, { method: 'dns' })).reason);
    }
    expect(reasons).toEqual(['record_missing', 'record_missing', 'lookup_failed', 'lookup_failed']);
  });

  test('a name server that never answers does not block the verification', async () => {
    const world = makeHostnameWorld();
    const gone = AbortSignal.abort();
    const platform = await openPlatform({
      hostnames: {
        ...world.probes,
        resolver: { ...world.probes.resolver, resolveTxt: () => new Promise(() => undefined) },
      },
      deadline: () => gone,
    });
    const scope = await platform.scope((await platform.tenant('acme')).id).catch(() => null);
    // Provisioning is cut short by the same deadline; the scope exists all the same.
    const [found] = (await platform.value<{ items: ScopeRecord[] }>('scopes.fleet')).items;
    const ours = scope ?? found ?? expect.fail('there is no scope');
    await platform.hostname(ours, NAME);
    const answered = await platform.value<Verified>('hostnames.verify', { body: { hostname: NAME } });
    expect(answered).toMatchObject({ verified: false, reason: 'lookup_failed' });
  });

  test('eleven verifications in ten minutes are one too many, and ten minutes later there are more', async () => {
    const { platform, ours, verify } = await openFixture();
    await platform.hostname(ours, NAME);
    for (let i = 0; i < 10; i++) await verify(ours);
    const rows = await platform.adminLog();
    platform.clock.ms += 60_000;
    const limited = await verify(ours).catch((error) => error);
    expect(limited).toMatchObject({ status: 429, code: 'rate_limited', headers: { 'retry-after': '540' } });
    expect(await platform.adminLog()).toEqual(rows);
    platform.clock.ms += 9 * 60_000;
    expect((await verify(ours)).reason).toBe('record_missing');
  });

  test('verifications counted by a clock that was ahead do not block when it is right again', async () => {
    const { platform, ours, verify } = await openFixture();
    await platform.hostname(ours, NAME);
    const right = platform.clock.ms;
    platform.clock.ms = right + 24 * 60 * 60_000;
    for (let i = 0; i < 10; i++) await verify(ours);
    expect(await verify(ours).catch((error) => error)).toMatchObject({ code: 'rate_limited' });
    platform.clock.ms = right;
    for (let i = 0; i < 10; i++) expect((await verify(ours)).reason).toBe('record_missing');
    // Set back by less than a window, it forgets nothing.
    platform.clock.ms = right - 1_000;
    expect(await verify(ours).catch((error) => error)).toMatchObject({
      code: 'rate_limited',
      headers: { 'retry-after': '601' },
    });
  });

  test('a platform without look-ups is 501, and staff can still vouch', async () => {
    const platform = await openPlatform();
    const scope = await platform.scope((await platform.tenant('acme')).id);
    await platform.hostname(scope, NAME);
    const call = platform.call('hostnames.verify', { body: { hostname: NAME } });
    expect(await refusal(call)).toMatchObject({ status: 501, reason: 'no_resolver' });
    const vouched = await platform.value<HostnameRecord>('hostnames.set-status', {
      body: { hostname: NAME, status: 'active' },
    });
    expect(vouched).toMatchObject({
      status: 'active',
      verification: { method: 'staff', verifiedAt: '2026-11-21T08:00:00.000Z' },
    });
  });

  test.each(['failed', 'verifying'])('staff can vouch for a name that is %s', async (status) => {
    const { platform, world, ours, verify } = await openFixture();
    await platform.hostname(ours, NAME);
    const vouch = async () => {
      expect(await list(platform)).toMatchObject([{ status }]);
      await platform.call('hostnames.set-status', { body: { hostname: NAME, status: 'active' } });
    };
    if (status === 'verifying') world.meanwhile = vouch;
    await verify(ours, { method: 'dns' });
    if (status === 'failed') await vouch();
    expect(await list(platform)).toMatchObject([{ status: 'active', verification: { method: 'staff' } }]);
    expect(await platform.admin.routes()).toHaveLength(1);
  });

  test('a builder verifies its own name; another tenant’s reads as not found', async () => {
    const { platform, ours, theirs, publish } = await openFixture();
    publish(await platform.hostname(ours, NAME));
    const call = (as: ScopeRecord) =>
      platform.value<Verified>('hostnames.verify', {
        body: { hostname: NAME },
        as: platform.builder(as.tenant),
      });
    expect(await refusal(call(theirs))).toMatchObject({ status: 404 });
    expect((await call(ours)).verified).toBe(true);
  });

  test('If-Match guards it, and a replay with the same key looks up nothing', async () => {
    const { platform, world, ours } = await openFixture();
    await platform.hostname(ours, NAME);
    const parts = { body: { hostname: NAME }, key: 'once' };
    expect(await refusal(platform.call('hostnames.verify', { ...parts, ifMatch: '"999"' }))).toMatchObject({
      status: 412,
    });
    const first = await platform.call('hostnames.verify', parts);
    const asked = world.asked.length;
    expect(await platform.call('hostnames.verify', parts)).toMatchObject({
      value: first.value,
      replayed: true,
    });
    expect(world.asked).toHaveLength(asked);
  });
});

describe('spec C-17: a claim without a proof keeps no other tenant out', () => {
  test('two tenants claim one name; the one that proves it has it, and the other does not', async () => {
    const { platform, ours, theirs, verify, publish } = await openFixture();
    await platform.hostname(theirs, NAME);
    const bound = await platform.hostname(ours, NAME);
    publish(bound);
    expect((await verify(theirs)).verified).toBe(false);
    expect((await verify(ours)).verified).toBe(true);
    expect((await platform.admin.routes()).map(({ tenant }) => tenant)).toEqual([ours.tenant]);
    expect((await verify(theirs)).hostname.status).toBe('failed');
  });

  test('when both records are there and both are looked for at once, exactly one gets the name', async () => {
    const { platform, ours, theirs, verify, publish } = await openFixture();
    publish(await platform.hostname(ours, NAME), await platform.hostname(theirs, NAME));
    const answers = await Promise.all([verify(ours), verify(theirs)]);
    expect(answers.filter(({ verified }) => verified)).toHaveLength(1);
    expect(answers.find(({ verified }) => !verified)?.reason).toBe('hostname_taken');
    expect(await platform.admin.routes()).toHaveLength(1);
  });

  test('of several claims at once of one tenant, and of one name of the platform, one wins', async () => {
    const { platform, ours, theirs } = await openFixture();
    const second = await platform.scope(ours.tenant, 'second');
    const settled = await Promise.allSettled([
      platform.hostname(ours, NAME),
      platform.hostname(second, NAME),
    ]);
    expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const given = await Promise.allSettled(
      [ours, theirs].map((scope) => platform.hostname(scope, 'given.localhost')),
    );
    expect(given.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('the document does not tell two claims apart, so that a record has to', async () => {
    const { platform, ours, theirs, verify, serve, publish } = await openFixture();
    const anonymous = await platform.hostname(theirs, NAME);
    const owner = await platform.hostname(ours, NAME);
    serve(anonymous);
    serve(owner);
    expect(await verify(theirs)).toMatchObject({ verified: false, hostname: { status: 'failed' } });
    expect(await verify(theirs, { method: 'http' })).toMatchObject({ reason: 'dns_required' });
    publish(owner);
    expect((await verify(ours)).verified).toBe(true);
  });

  test('unbinding a claim does not stop the name, which is served for its holder', async () => {
    const { platform, ours, theirs, verify, serve } = await openFixture();
    serve(await platform.hostname(ours, NAME));
    await verify(ours);
    await platform.hostname(theirs, NAME);
    const plan = ({ tenant }: ScopeRecord) =>
      platform.value<{ serves: boolean }>('hostnames.delete', {
        params: { hostname: NAME },
        query: { tenant, dryRun: true },
      });
    expect([(await plan(ours)).serves, (await plan(theirs)).serves]).toEqual([true, false]);
  });

  test('a record takes the name over from a holder that had the document only', async () => {
    const { platform, ours, theirs, verify, serve, publish } = await openFixture();
    serve(await platform.hostname(theirs, NAME));
    expect((await verify(theirs)).verified).toBe(true);
    const owner = await platform.hostname(ours, NAME);
    expect(await verify(ours)).toMatchObject({ verified: false });
    publish(owner);
    expect((await verify(ours)).verified).toBe(true);
    expect((await platform.admin.routes()).map(({ tenant }) => tenant)).toEqual([ours.tenant]);
    const [loser] = await list(platform, { tenant: theirs.tenant });
    expect(loser).toMatchObject({ status: 'failed', verification: { method: null, reason: 'taken_over' } });
    expect((await platform.adminLog()).at(-1)).toMatchObject({ after: { takenFrom: theirs.tenant } });
  });

  test('a name that a record proved is taken, and becomes free when that record is gone', async () => {
    const { platform, ours, theirs, verify, publish } = await openFixture();
    const before = await platform.hostname(theirs, NAME);
    publish(before);
    await verify(theirs);
    expect(await refusal(platform.hostname(ours, NAME))).toMatchObject({ reason: 'hostname_taken' });
    publish();
    await platform.admin.recordSweep(platform.admin.hostnames.recheck());
    const owner = await platform.hostname(ours, NAME);
    publish(before, owner);
    expect(await verify(ours)).toMatchObject({ verified: false, reason: 'hostname_taken' });
    publish(owner);
    expect((await verify(ours)).verified).toBe(true);
  });

  test('a name that staff vouched for cannot be proven by another tenant', async () => {
    const { platform, ours, theirs, verify, publish } = await openFixture();
    const owner = await platform.hostname(ours, NAME);
    await platform.hostname(theirs, NAME);
    const vouch = (tenant: string) =>
      platform.call('hostnames.set-status', {
        body: { hostname: NAME, status: 'active', tenant },
        as: STAFF,
      });
    const unclear = platform.call('hostnames.set-status', { body: { hostname: NAME, status: 'active' } });
    expect(await refusal(unclear)).toMatchObject({ status: 409, reason: 'several_claims' });
    await vouch(theirs.tenant);
    expect(await refusal(vouch(ours.tenant))).toMatchObject({ status: 409, reason: 'hostname_taken' });
    publish(owner);
    expect(await refusal(verify(ours))).toMatchObject({ status: 409, reason: 'hostname_taken' });
  });
});

describe('spec C-17: names in use are checked again', () => {
  async function openActive() {
    const fixture = await openFixture();
    const bound = await fixture.platform.hostname(fixture.ours, NAME);
    fixture.publish(bound);
    await fixture.verify(fixture.ours);
    const sweep = () => fixture.platform.admin.recordSweep(fixture.platform.admin.hostnames.recheck());
    return { ...fixture, bound, sweep };
  }

  test('a name whose record is gone is served, reported once, and well again when the record is back', async () => {
    const { platform, ours, publish, sweep, bound } = await openActive();
    publish();
    platform.clock.ms += 1_000;
    const rows = await platform.adminLog();
    await sweep();
    await sweep();
    expect(await list(platform)).toMatchObject([
      {
        status: 'active',
        verification: { missingSince: '2026-11-21T08:00:01.000Z', reason: 'record_wrong' },
      },
    ]);
    expect(await platform.admin.routes()).toHaveLength(1);
    expect(await platform.value('ops-failures.list')).toMatchObject({
      items: [{ operation: 'hostnames.recheck', subject: NAME, tenant: ours.tenant }],
    });
    expect(await platform.value('sweep-runs.list')).toMatchObject({
      items: [
        { kind: 'freshness', unit: NAME, outcome: 'stale', reason: 'record_missing' },
        { outcome: 'stale' },
      ],
    });
    publish(bound);
    await sweep();
    expect(await list(platform)).toMatchObject([{ verification: { missingSince: null, reason: null } }]);
    expect((await platform.adminLog()).slice(rows.length)).toMatchObject([
      { action: 'hostnames.recheck', actor: { kind: 'system' }, after: { recordMissing: true } },
      { action: 'hostnames.recheck', after: { recordMissing: false } },
    ]);
  });

  test('the recheck reads page by page, and its finding makes a new version of the name', async () => {
    const { platform, world, ours, publish, sweep } = await openActive();
    const [before] = await list(platform, { status: 'active' });
    for (let i = 0; i < 55; i++) await platform.hostname(ours, `a${i}.localhost`);
    world.asked.length = 0;
    publish();
    await sweep();
    expect(world.asked).toEqual([`TXT _freehold-challenge.${NAME}`]);
    const names = await list(platform, { status: 'active', limit: 200 });
    const after = names.find(({ hostname }) => hostname === NAME);
    expect(after?.verification.missingSince).not.toBeNull();
    expect(after?.etag).not.toBe(before?.etag);
  });

  test('name servers that do not answer change nothing', async () => {
    const { platform, world, sweep } = await openActive();
    world.txt.set(`_freehold-challenge.${NAME}`, 'servfail');
    expect(await sweep()).toMatchObject({ units: 1, failed: 1 });
    expect(await list(platform)).toMatchObject([{ status: 'active', verification: { missingSince: null } }]);
  });

  test('only names that a record proved are looked up', async () => {
    const { platform, world, ours, sweep } = await openActive();
    await platform.hostname(ours, 'acme.localhost');
    await platform.hostname(ours, 'vouched.example');
    await platform.call('hostnames.set-status', { body: { hostname: 'vouched.example', status: 'active' } });
    world.asked.length = 0;
    await sweep();
    expect(world.asked).toEqual([`TXT _freehold-challenge.${NAME}`]);
  });

  test('the proof by a record is never replaced by the weaker one by the document', async () => {
    const { ours, verify, publish, serve, bound } = await openActive();
    publish();
    serve(bound);
    const stays = { verified: true, hostname: { status: 'active', verification: { method: 'dns' } } };
    expect(await verify(ours)).toMatchObject(stays);
    expect(await verify(ours, { method: 'http' })).toMatchObject(stays);
  });

  test('a recheck makes a new version of a name, so that an older tag is refused', async () => {
    const { platform, world, ours, verify } = await openActive();
    const tags: (string | undefined)[] = [];
    const see = async () => {
      tags.push((await list(platform))[0]?.etag);
    };
    await see();
    world.meanwhile = see;
    const { hostname } = await verify(ours, { method: 'dns' });
    await see();
    expect(new Set(tags).size).toBe(3);
    expect(hostname.etag).toBe(tags[2]);
  });

  test('verifying an active name shows its state, and keeps it active', async () => {
    const { ours, verify, publish, bound } = await openActive();
    publish();
    expect(await verify(ours, { method: 'dns' })).toMatchObject({
      verified: false,
      reason: 'record_wrong',
      hostname: { status: 'active', verification: { missingSince: expect.any(String) } },
    });
    publish(bound);
    expect(await verify(ours)).toMatchObject({ verified: true, hostname: { status: 'active' } });
  });
});

describe('spec C-17: unbinding', () => {
  test('ends the name at once, is one row, and its record proves nothing any more', async () => {
    const { platform, ours, verify, publish } = await openFixture();
    const bound = await platform.hostname(ours, NAME);
    publish(bound);
    await verify(ours);
    const { status, value } = await platform.call('hostnames.delete', { params: { hostname: NAME } });
    expect({ status, value }).toEqual({ status: 204, value: null });
    expect(await platform.admin.routes()).toEqual([]);
    expect((await platform.adminLog()).at(-1)).toMatchObject({
      action: 'hostnames.delete',
      before: { status: 'active' },
      after: null,
    });
    await platform.hostname(ours, NAME);
    expect((await verify(ours)).reason).toBe('record_wrong');
  });

  test('a name that is unbound during the look-ups stays gone', async () => {
    const { platform, world, ours, verify, publish } = await openFixture();
    publish(await platform.hostname(ours, NAME));
    world.meanwhile = async () => {
      await platform.call('hostnames.delete', { params: { hostname: NAME } });
    };
    expect(await verify(ours)).toMatchObject({ verified: false, reason: 'unbound' });
    expect(await list(platform)).toEqual([]);
    expect(await platform.value('admin-log.list', { query: { outcome: 'unsettled' } })).toMatchObject({
      items: [],
    });
  });

  test('a name that is bound anew during the look-ups is not proven by the record of the earlier claim', async () => {
    const { platform, world, ours, verify, publish } = await openFixture();
    publish(await platform.hostname(ours, NAME));
    let isAnew = false;
    world.meanwhile = async () => {
      if (isAnew) return;
      isAnew = true;
      await platform.call('hostnames.delete', { params: { hostname: NAME } });
      await platform.hostname(ours, NAME);
    };
    expect(await verify(ours, { method: 'dns' })).toMatchObject({ verified: false, reason: 'unbound' });
    expect(isAnew).toBe(true);
    expect(await list(platform)).toMatchObject([{ status: 'pending', verification: { method: null } }]);
    expect(await platform.admin.routes()).toEqual([]);
  });

  test('a builder unbinds its own; another tenant’s reads as not found', async () => {
    const { platform, ours, theirs } = await openFixture();
    await platform.hostname(ours, NAME);
    const unbind = (scope: ScopeRecord) =>
      platform.call('hostnames.delete', { params: { hostname: NAME }, as: platform.builder(scope.tenant) });
    expect(await refusal(unbind(theirs))).toMatchObject({ status: 404 });
    expect((await unbind(ours)).status).toBe(204);
  });
});
