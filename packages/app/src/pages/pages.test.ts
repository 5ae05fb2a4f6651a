/** The supplied pages: each form does what it says, a refusal is on its page, and no page needs a script or runs one. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { declaration, openSmallApp, type Page, type Reader, type SmallApp } from '../../test/small-app.ts';
import { MODEL_TABLES, unauthenticated } from '../index.ts';

let fixture: SmallApp;
let ada: Reader;
beforeAll(async () => {
  fixture = await openSmallApp();
  // The first person who signs in is the owner.
  ada = await fixture.signedIn('ada', 'Ada <img src=x onerror=alert(1)>');
  await ada.open('/');
});
afterAll(async () => {
  expect(fixture.incidents).toEqual([]);
  await fixture[Symbol.asyncDispose]();
});

/** The principal of a member, as a form of the page of the team names it. */
async function principalOf(reader: Reader, name: string): Promise<string> {
  const response = await reader.api('GET', '/api/members?limit=200');
  const { items } = (await response.json()) as { items: { name: string; principal: string }[] };
  return items.find((each) => each.name === name)?.principal ?? '';
}

const headingOf = ({ text }: Page) => /<h1>(.*?)<\/h1>/s.exec(text)?.[1];

describe('the first page', () => {
  test('asks an anonymous visitor to sign in', async () => {
    const page = await fixture.reader().open('/');
    expect(page.status).toBe(200);
    expect(page.text).toContain('href="/api/auth/login?returnTo=%2F"');
    expect(page.text).not.toContain('<nav');
  });

  test('says why signing in did not work', async () => {
    const page = await fixture.reader().open('/?error=flow_expired');
    expect(page.text).toContain('Signing in took too long.');
    expect((await fixture.reader().open('/?error=__proto__')).text).toContain('Signing in did not work.');
  });

  test('tells a person without a membership what to do, and offers another account', async () => {
    const page = await (await fixture.signedIn('eve', 'Eve')).open('/');
    expect([page.status, headingOf(page)]).toEqual([403, 'You are not a member here']);
    expect(page.text).toContain('Eve (eve@example.org)');
    expect(page.text).toContain('/api/auth/login?switch');
    expect(page.text).toContain('/api/auth/logout');
    // The account is theirs at least.
    expect(page.text).toMatch(
      /<nav[^>]*><ul><li><a href="\/account">[^<]*<\/a><\/li><li><a href="\/api\/auth\/logout/,
    );
  });

  test('shows a member what is there, and only what they may use', async () => {
    const own = await ada.open('/');
    for (const path of ['/team', '/log', '/log/history', '/erase', '/settings', '/account', '/api/docs'])
      expect(own.text).toContain(`href="${path}"`);
    expect(own.text).toContain('https://inn.example/api/mcp');
    const { member } = await fixture.join(ada, 'bo', { role: 'porter', name: 'Bo' });
    const porters = await member.open('/');
    for (const path of ['/team', '/log', '/erase']) expect(porters.text).not.toContain(`href="${path}"`);
    expect(porters.text).toContain('href="/log/history"');
    const { member: manager } = await fixture.join(ada, 'moe', { role: 'manager', name: 'Moe' });
    expect((await manager.open('/')).text).toContain('<li><a href="/log">');
  });

  test('names the line to change while sign-in is not wired, and every other page is closed', async () => {
    await using raw = await openSmallApp({ app: { authenticatedPrincipal: unauthenticated() } });
    const reader = raw.reader();
    const page = await reader.open('/');
    expect(page.text).toMatch(/In pages\/pages\.test\.ts:\d+, replace unauthenticated\(\) by signedIn\(\)\./);
    const closed = await (await raw.signedIn('ada')).open('/account');
    expect(closed.status).toBe(401);
    expect(closed.text).toMatch(/Sign-in is not wired yet: in pages\/pages\.test\.ts:\d+, replace/);
    expect((await reader.send('/team/role', { member: 'x', role: 'owner' })).status).toBe(401);
  });
});

describe('a link', () => {
  const linkFor = async (role: string) => {
    const page = await ada.send('/team/invite', { role, email: '', name: '' });
    return new URL(/value="(https:[^"]+)"/.exec(page.text)?.[1] ?? '').search;
  };

  test('of an invite is shown, leads back after the sign-in, and is accepted', async () => {
    const search = await linkFor('porter');
    const anonymous = await fixture.reader().open(`/${search}`);
    expect(headingOf(anonymous)).toBe('You are invited');
    expect(anonymous.text).toContain(`returnTo=${encodeURIComponent(`/${search}`)}`);
    expect(anonymous.headers.get('referrer-policy')).toBe('strict-origin');
    expect(anonymous.headers.get('cache-control')).toContain('no-store');
    const cy = await fixture.signedIn('cy', 'Cy');
    const invited = await cy.open(`/${search}`);
    expect(invited.text).toContain('Porter &lt;b&gt;');
    const token = new URLSearchParams(search).get('invite') ?? '';
    const accepted = await cy.send('/accept-invite', { token });
    expect([accepted.status, accepted.location]).toEqual([303, '/']);
    expect((await cy.open('/')).text).toContain('Your role: Porter');
    // The link is spent for the next person, who reads why.
    const late = await (await fixture.signedIn('dan', 'Dan')).send('/accept-invite', { token });
    expect([late.status, headingOf(late)]).toEqual([409, 'This invite is closed']);
    expect(late.text).toContain('This invite was accepted already.');
    // A step without a sign-in is answered by the page that offers it.
    const unknown = await fixture.reader().send('/accept-invite', { token });
    expect([unknown.status, headingOf(unknown)]).toEqual([401, 'Sign in first']);
    expect(unknown.text).toContain('href="/api/auth/login?returnTo=%2F"');
  });

  test('that does not work says so', async () => {
    const page = await fixture.reader().open('/?invite=%3Cscript%3E');
    expect([page.status, headingOf(page)]).toEqual([404, 'This link does not work']);
    expect(page.text).toContain('href="/api/auth/login?returnTo=%2F"');
    expect((await ada.open('/?invite=none')).text).not.toContain('/api/auth/login');
  });

  test('of a claim makes the owner, and a wrong one is refused on its page', async () => {
    await using fresh = await openSmallApp();
    fresh.clock.nowMs += 16 * 60_000;
    const eve = await fresh.signedIn('eve', 'Eve');
    expect((await eve.open('/')).text).toContain('the time to claim it by signing in is over');
    const refused = await eve.send('/claim', { token: 'wrong' });
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('This claim link is not valid.');
    const { token, url } = await fresh
      .directory()
      .mintOwnerClaimLink({ scopeId: fresh.at.scope, origin: fresh.at.origin });
    expect((await eve.open(new URL(url).search.replace(/^/, '/'))).text).toContain('Become the owner');
    expect((await eve.send('/claim', { token })).location).toBe('/');
    expect((await eve.open('/')).text).toContain('Your role: Owner');
    expect(headingOf(await eve.open(`/?claim=${token}`))).toBe('You are the owner');
  });
});

describe('the team', () => {
  test('changes a role', async () => {
    const { principal } = await fixture.join(ada, 'fay', { role: 'porter', name: 'Fay' });
    const changed = await ada.send('/team/role', { member: principal, role: 'viewer' });
    expect([changed.status, changed.location]).toEqual([303, '/team?done=role']);
    expect((await ada.open('/team?done=role')).text).toContain('The role is changed.');
    const refused = await ada.send('/team/role', { member: principal, role: 'king' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('role="alert"');
  });

  test('asks before it removes a member, and then does it', async () => {
    const { member, principal } = await fixture.join(ada, 'gil', { role: 'porter', name: 'Gil' });
    const question = await ada.open(`/team/remove?member=${principal}`);
    expect(headingOf(question)).toBe('Remove Gil');
    expect((await member.open('/')).text).toContain('Your role');
    expect((await ada.send('/team/remove', { member: principal })).location).toBe('/team?done=removed');
    expect(headingOf(await member.open('/'))).toBe('You are not a member here');
    expect((await ada.open(`/team/remove?member=${principal}`)).status).toBe(404);
  });

  test('makes an invite whose link is shown once, and revokes it', async () => {
    const made = await ada.send('/team/invite', {
      role: 'viewer',
      email: 'hal@example.org',
      name: 'Hal "H"',
    });
    expect(made.status).toBe(201);
    expect(made.text).toContain('https://inn.example/?invite=');
    // The address of no page of a link goes to another site.
    expect(made.headers.get('referrer-policy')).toBe('strict-origin');
    const link = new URL(/value="(https:[^"]+)"/.exec(made.text)?.[1] ?? '').search;
    expect((await fixture.reader().open(`/${link}`)).text).toContain('hal@example.org');
    expect(made.text).toContain('mailto:hal%40example.org?subject=');
    const team = await ada.open('/team');
    expect(team.text).toContain('Hal &quot;H&quot;');
    expect(team.text).not.toContain('?invite=');
    const invite = /name="invite" value="(prn_[^"]+)"/.exec(team.text)?.[1] ?? '';
    expect((await ada.send('/team/revoke', { invite })).location).toBe('/team?done=revoked');
  });

  test('keeps what was typed beside the fault', async () => {
    const page = await ada.send('/team/invite', { role: 'viewer', email: 'no address', name: 'Ida' });
    expect(page.status).toBe(400);
    expect(page.text).toContain('value="no address"');
    expect(page.text).toContain('value="Ida"');
    expect(page.text).toMatch(/<option value="viewer" selected>/);
    expect(page.text).toMatch(
      /id="email"[^>]*aria-invalid="true"[^>]*aria-describedby="email-hint email-fault"/,
    );
    expect(page.text).toMatch(/<title>Error: /);
    expect((await ada.open('/team')).text).not.toMatch(/<title>Error: /);
  });

  test('hands over the owner seat after a question', async () => {
    await using other = await openSmallApp();
    const owner = await other.signedIn('ada', 'Ada');
    await owner.open('/');
    const { member, principal } = await other.join(owner, 'bo', { role: 'viewer', name: 'Bo' });
    expect(headingOf(await owner.open(`/team/transfer?member=${principal}`))).toBe(
      'Hand the owner seat to Bo',
    );
    expect((await owner.send('/team/transfer', { member: principal })).location).toBe('/team?done=owner');
    expect((await member.open('/')).text).toContain('Your role: Owner');
    // The former holder may manage, and cannot hand it over again.
    const again = await owner.send('/team/transfer', { member: await principalOf(owner, 'Ada') });
    expect(again.status).toBe(403);
  });

  test('shows a reader no form, and a manager no role above their own', async () => {
    const { member: viewer } = await fixture.join(ada, 'jo', { role: 'viewer', name: 'Jo' });
    const read = await viewer.open('/team');
    expect(read.status).toBe(200);
    expect(read.text).not.toContain('<form');
    // Addresses are for the manager of the team; one's own is there.
    expect(read.text.match(/[a-z]+@example\.org/g)).toEqual(['jo@example.org']);
    const { member: manager } = await fixture.join(ada, 'kim', { role: 'manager', name: 'Kim' });
    const managed = await manager.open('/team');
    expect(managed.text).toContain('<option value="porter"');
    expect(managed.text).not.toContain('<option value="owner"');
    // One that was typed in all the same is refused on the page of its form.
    const refused = await manager.send('/team/invite', { role: 'owner', email: '', name: 'Zoe' });
    expect([refused.status, headingOf(refused)]).toEqual([403, 'Team']);
    expect(refused.text).toContain('value="Zoe"');
  });

  test('has pages', async () => {
    const first = await ada.open('/team');
    expect(first.text).not.toContain('Next page');
    expect((await ada.open('/team?cursor=nonsense!')).status).toBe(400);
  });

  test('refuses a member without the permission, in page and form', async () => {
    const { member } = await fixture.join(ada, 'lee', { role: 'porter', name: 'Lee' });
    const owner = await principalOf(ada, 'Ada <img src=x onerror=alert(1)>');
    expect((await member.open('/team')).status).toBe(403);
    expect((await member.open('/log')).status).toBe(403);
    expect((await member.open('/log/denials')).status).toBe(403);
    expect((await member.open('/erase')).status).toBe(403);
    for (const [path, fields] of [
      ['/team/role', { member: owner, role: 'viewer' }],
      ['/team/remove', { member: owner }],
      ['/team/transfer', { member: owner }],
      ['/team/invite', { role: 'viewer', email: '', name: '' }],
      ['/team/revoke', { invite: owner }],
      ['/erase', { type: 'guest', id: 'gst_1', understood: 'yes' }],
    ] as const)
      expect([path, (await member.send(path, fields)).status]).toEqual([path, 403]);
    expect((await ada.open('/log/denials')).text).toContain('Invite and remove teammates');
  });
});

describe('the log', () => {
  test('lists identity events by kind', async () => {
    const all = await ada.open('/log');
    expect(all.text).toContain('The owner seat was claimed');
    const team = await ada.open('/log?kind=team');
    expect(team.text).toContain('<option value="team" selected>');
    const settings = await ada.open('/log?kind=settings');
    expect(settings.text).not.toContain('The owner seat was claimed');
  });

  test('shows the history of a record, and says beside the field when there is none', async () => {
    const created = await ada.api('POST', '/api/guests', { name: '<b>Guest</b>' });
    const { id } = (await created.json()) as { id: string };
    const page = await ada.open(`/log/history?type=guest&id=${id}`);
    expect(page.text).toContain('guest.arrived');
    expect(page.text).toContain('&lt;i&gt;early');
    const none = await ada.open('/log/history?type=guest&id=gst_none%22');
    expect(none.status).toBe(404);
    expect(none.text).toContain('value="gst_none&quot;"');
    expect(none.text).toContain('There is no such guest.');
    expect((await ada.open('/log/history')).status).toBe(200);
  });
});

describe('the settings', () => {
  test('are there to read for those who manage the team, without secrets', async () => {
    const page = await ada.open('/settings');
    expect(page.text).toContain('OIDC_CLIENT_SECRET');
    expect(page.text).toContain('SIGN_UP');
    expect(page.text).not.toContain('<form');
    const { member } = await fixture.join(ada, 'quy', { role: 'viewer', name: 'Quy' });
    expect((await member.open('/settings')).status).toBe(403);
    expect((await member.open('/')).text).not.toContain('href="/settings"');
  });

  test('show the language model and its tokens where the application asks one', async () => {
    const [{ version: last = 0 } = {}] = [...declaration.migrations].reverse();
    const migrations = [...declaration.migrations, { version: last + 1, name: 'models', sql: MODEL_TABLES }];
    await using asking = await openSmallApp({ app: { models: true, migrations } });
    const owner = await asking.signedIn('ada');
    await owner.open('/');
    expect((await owner.open('/settings')).text).toContain('Language model');
  });
});

describe('the account', () => {
  test('says who one is, and how programs connect', async () => {
    const page = await ada.open('/account');
    expect(page.text).toContain('ada@example.org');
    expect(page.text).toContain('Connected programs');
    expect(page.text).toContain('https://inn.example/api/mcp');
  });

  test('needs a sign-in, and offers it with the way back', async () => {
    const page = await fixture.reader().open('/account');
    expect(page.status).toBe(401);
    expect(page.text).toContain('href="/api/auth/login?returnTo=%2Faccount"');
  });

  test('ends all sessions, and leaves through the sign-out', async () => {
    const mia = await fixture.signedIn('mia', 'Mia');
    await mia.open('/');
    const ended = await mia.send('/account/sessions/end-all', {});
    expect(ended.location).toBe('/api/auth/logout?returnTo=%2F%3Fdone%3Deverywhere');
    fixture.clock.nowMs += 1_000;
    expect((await mia.open('/account')).status).toBe(401);
    expect((await fixture.reader().open('/?done=everywhere')).text).toContain(
      'You are signed out everywhere.',
    );
  });

  test('ends one session, and all others', async () => {
    const [here, there, far] = [
      await fixture.signedIn('nat', 'Nat'),
      await fixture.signedIn('nat', 'Nat'),
      await fixture.signedIn('nat', 'Nat'),
    ];
    const page = await here.open('/account');
    expect(page.text).toContain('Firefox on Linux');
    expect(page.text.match(/name="session"/g)).toHaveLength(3);
    const sessions = (await (await there.api('GET', '/api/sessions')).json()) as {
      items: { id: string; current: boolean }[];
    };
    const session = sessions.items.find((each) => each.current)?.id ?? '';
    expect((await here.send('/account/sessions/end', { session })).location).toBe('/account?done=ended');
    expect((await there.open('/account')).status).toBe(401);
    expect((await here.send('/account/sessions/end-others', {})).location).toBe('/account?done=others');
    expect((await far.open('/account')).status).toBe(401);
    expect((await here.open('/account?done=others')).text).toContain('All other browsers are signed out.');
    const none = await here.send('/account/sessions/end', { session: 'none' });
    expect(none.status).toBe(404);
    expect(none.text).toContain('role="alert"');
  });
});

describe('the erasure of a person', () => {
  const make = async (name: string) => {
    const made = (await (await ada.api('POST', '/api/guests', { name })).json()) as { id: string };
    return made.id;
  };

  test('shows the record and what follows, and needs a mark', async () => {
    const id = await make('Olga');
    const question = await ada.open(`/erase?type=guest&id=${id}`);
    expect(question.text).toContain('Olga');
    expect(question.text).toContain('It cannot be undone.');
    const unmarked = await ada.send('/erase', { type: 'guest', id });
    expect(unmarked.status).toBe(422);
    expect(unmarked.text).toContain('aria-describedby="understood-fault"');
    const erased = await ada.send('/erase', { type: 'guest', id, understood: 'yes' });
    expect([erased.status, erased.location]).toEqual([303, '/erase?done=erased']);
    expect((await (await ada.api('GET', `/api/guests/${id}`)).json()) as object).toMatchObject({ name: '' });
  });

  test('is refused in the words of the application, and offers no button then', async () => {
    const id = await make('In room 1');
    const question = await ada.open(`/erase?type=guest&id=${id}`);
    expect(question.text).toContain('This guest is still in the house.');
    expect(question.text).not.toContain('Erase for good');
    expect((await ada.send('/erase', { type: 'guest', id, understood: 'yes' })).status).toBe(409);
    expect((await ada.send('/erase', { type: 'toString', id, understood: 'yes' })).status).toBe(404);
  });
});

describe('a problem', () => {
  test('is a page for a browser that navigates, with the code and the request', async () => {
    const page = await ada.open('/nothing-here');
    expect(page.status).toBe(404);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.text).toContain('<code>not_found</code>');
    const id = page.headers.get('x-request-id');
    expect(id).not.toBeNull();
    expect(page.text).toContain(`<code>${id}</code>`);
  });

  test('is a document for a program, at the same addresses', async () => {
    for (const path of ['/nothing-here', '/api/nothing', '/team']) {
      const response = await fixture.reader().api('GET', path);
      expect([path, response.headers.get('content-type')]).toEqual([path, 'application/problem+json']);
    }
  });

  test('of an API address that a browser opens is a page as well, with its headers', async () => {
    const page = await fixture.reader().open('/api/docs');
    expect(page.status).toBe(401);
    expect(page.text).toContain('Sign in');
    const other = await ada.open('/claim');
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'OPTIONS, POST']);
  });

  test('of an instance whose sign-in is not set up is a page in the look of the application', async () => {
    await using unset = await openSmallApp({ config: {} });
    const page = await unset.reader().open('/');
    expect(page.status).toBe(503);
    expect(page.text).toContain('class="card"');
  });
});

test('a form of another site is refused, whatever its cookie', async () => {
  const { principal } = await fixture.join(ada, 'pia', { role: 'porter', name: 'Pia' });
  for (const headers of [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'https://sister.example', 'sec-fetch-site': 'same-site' },
  ]) {
    const page = await ada.send('/team/remove', { member: principal }, headers);
    expect(page.status).toBe(403);
    expect(page.text).toContain('cross_site');
  }
  // A form comes from a page: a request that no page made is refused as well.
  const { status } = await ada.api('POST', '/team/remove', {});
  expect(status).toBe(403);
  expect(await principalOf(ada, 'Pia')).toBe(principal);
});

describe('each page', () => {
  const PATHS = [
    '/',
    '/team',
    '/log',
    '/log/denials',
    '/log/history',
    '/account',
    '/erase',
    '/?claim=x',
    '/none',
  ];

  test('runs no script, is no one’s frame, and escapes the names of people and business', async () => {
    for (const path of PATHS) {
      const page = await ada.open(path);
      expect(page.text, path).not.toMatch(/<script|<img|onerror=alert\(1\)>|javascript:/i);
      expect(page.text, path).toContain('Inn &lt;script&gt;');
      const policy = page.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/script-src|unsafe|\*/);
      expect(page.headers.get('cache-control')).toContain('no-store');
    }
  });

  test('has the style sheet that its policy names', async () => {
    const { text, headers } = await ada.open('/');
    const css = /<style>(.*?)<\/style>/s.exec(text)?.[1] ?? '';
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(css));
    expect(headers.get('content-security-policy')).toContain(
      `'sha256-${Buffer.from(digest).toString('base64')}'`,
    );
  });

  test('links to addresses that are there, and its forms too', async () => {
    const seen = new Set<string>();
    const waiting = ['/'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (seen.has(path)) continue;
      seen.add(path);
      const page = await ada.open(path);
      expect([path, page.status]).toEqual([path, 200]);
      for (const [, url = ''] of page.text.matchAll(/href="(\/[^"]*)"/g)) {
        const next = url.replaceAll('&amp;', '&');
        if (!next.startsWith('/api/auth/') && !next.startsWith('/problems')) waiting.push(next);
      }
      for (const [, action = ''] of page.text.matchAll(/<form method="post" action="([^"]*)"/g)) {
        const { status } = await ada.send(action, { unknown: 'field' });
        expect([action, status]).toEqual([action, 400]);
      }
    }
    expect(seen).toContain('/log/denials');
  });
});
