import { expect, test } from 'vitest';
import { makeNoMailer } from './no-mailer.ts';
import { makeOutbox } from './outbox.ts';

const NOW_MS = Date.parse('2026-03-03T07:00:00.000Z');
const mail = {
  to: 'ada@example.org',
  subject: 'Your <sign-up>',
  text: 'Open https://acme.test/x?a=1&b=2.\nOr <b>not</b>, javascript:alert(1)\n',
  html: '<!doctype html><html lang="en"><p>Open <a href="https://acme.test/x">it</a></p><script>alert(1)</script>',
};

function open(sizeMax?: number) {
  const clock = { nowMs: NOW_MS };
  const outbox = makeOutbox({ now: () => clock.nowMs, ...(sizeMax === undefined ? {} : { sizeMax }) });
  const get = (path: string, headers: Record<string, string> = { accept: 'text/html' }) =>
    outbox.handle(new Request(`http://localhost:8787${path}`, { headers }));
  return { clock, outbox, get };
}

test('keeps messages, newest first, and drops the oldest', async () => {
  const { outbox, clock } = open(2);
  expect(outbox.list()).toEqual([]);
  for (const subject of ['one', 'two', 'three']) {
    await outbox.send({ to: 'ada@example.org', subject, text: subject });
    clock.nowMs += 1_000;
  }
  expect(outbox.list()).toEqual([
    { id: '3', sentAtMs: NOW_MS + 2_000, to: 'ada@example.org', subject: 'three', text: 'three', html: null },
    { id: '2', sentAtMs: NOW_MS + 1_000, to: 'ada@example.org', subject: 'two', text: 'two', html: null },
  ]);
});

test('takes no message that a server would not take', async () => {
  const { outbox } = open();
  for (const wrong of [
    { to: 'a@b.test, c@d.test' },
    { to: 'a@b.test\r\nBcc: x@y.test' },
    { subject: 'a\nb' },
  ])
    await expect(outbox.send({ ...mail, ...wrong })).rejects.toMatchObject({ code: 'message_invalid' });
  expect(outbox.list()).toEqual([]);
});

test('lists the messages on a page that runs nothing and is not stored', async () => {
  const { outbox, get } = open();
  expect(await get('/outbox').text()).toContain('Nothing has been sent yet.');
  await outbox.send(mail);
  const response = get('/outbox');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
  const page = await response.text();
  expect(page).toContain('<a href="/outbox/1">Your &lt;sign-up&gt;</a>');
  expect(page).toContain('<time datetime="2026-03-03T07:00:00.000Z">2026-03-03 07:00:00 UTC</time>');
});

test('shows a message as text with links, and its HTML in a frame that runs nothing', async () => {
  const { outbox, get } = open();
  await outbox.send(mail);
  const page = await get('/outbox/1').text();
  expect(page).toContain(
    'Open <a href="https://acme.test/x?a=1&amp;b=2">https://acme.test/x?a=1&amp;b=2</a>.\nOr &lt;b&gt;not&lt;/b&gt;, javascript:alert(1)',
  );
  expect(page).not.toContain('<script');
  expect(page).toMatch(/<iframe src="\/outbox\/1\/html" title="[^"]+" sandbox="(?!.*allow-scripts)/);

  const framed = get('/outbox/1/html');
  const policy = framed.headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(/^sandbox /);
  expect(policy).not.toMatch(/allow-scripts|allow-same-origin|allow-forms/);
  expect(policy).toContain("default-src 'none'");
  // The type of document stays the first thing in it.
  expect(await framed.text()).toMatch(/^<!doctype html><base target="_top"><html lang="en">/);
});

test('a message of text alone has no frame', async () => {
  const { outbox, get } = open();
  await outbox.send({ to: 'ada@example.org', subject: 'x', text: 'y' });
  expect(await get('/outbox/1').text()).not.toContain('<iframe');
  expect(get('/outbox/1/html').status).toBe(404);
});

test('answers JSON where the caller accepts it', async () => {
  const { outbox, get } = open();
  await outbox.send(mail);
  const wire = { id: '1', sentAt: '2026-03-03T07:00:00.000Z', ...mail };
  const accept = { accept: 'application/json' };
  expect(await get('/outbox', accept).json()).toEqual({ items: [wire] });
  expect(await get('/outbox/1', accept).json()).toEqual(wire);
  expect(get('/outbox/2', accept).status).toBe(404);
});

test.each(['/outbox/2', '/outbox/1/html/x', '/outbox/1/other', '/outbox/..%2f'])(
  '%s is nowhere',
  async (path) => {
    const { outbox, get } = open();
    await outbox.send(mail);
    const response = get(path);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('There is no such message');
  },
);

test('takes nothing but GET', async () => {
  const { outbox } = open();
  const response = outbox.handle(new Request('http://localhost:8787/outbox', { method: 'POST' }));
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

test('without a server, sending is refused in words', async () => {
  await expect(makeNoMailer('Set FREEHOLD_SMTP_URL.').send(mail)).rejects.toMatchObject({
    code: 'not_configured',
    message: 'There is no mail server to send through. Set FREEHOLD_SMTP_URL.',
  });
});
