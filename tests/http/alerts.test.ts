/** The operator is told of faults: a webhook hears of an admin log that was changed, once. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { testAlerts } from '../../apps/platform/src/alerts/channels.ts';
import { parseSettings } from '../../apps/platform/src/settings/settings.ts';
import { Caller } from '../support/http.ts';
import { newPlace } from '../support/platform.ts';
import { openEmbeddedPlatform } from './embedded-platform.ts';

interface Posted {
  readonly text: string;
  readonly kind: string;
  readonly began: readonly { readonly reason: string }[];
}

/** A webhook on this machine, with what it received. */
async function openWebhook() {
  const received: Posted[] = [];
  const answer = { status: 204 };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    received.push(JSON.parse(text) as Posted);
    response.writeHead(answer.status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, answer, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/secret` };
}

test('a webhook is told once of an admin log that was changed, also over a restart', async () => {
  const webhook = await openWebhook();
  const place = await newPlace();
  onTestFinished(() => place.remove());
  const open = async () =>
    (await openEmbeddedPlatform({ FREEHOLD_ALERT_WEBHOOK: webhook.url }, place)).platform;
  const first = await open();
  using caller = new Caller();
  const authorization = `Bearer ${readFileSync(first.tokenFile, 'utf8').trim()}`;
  const tested = await caller.ask(`${first.apiOrigin}/alerts/test`, {
    method: 'POST',
    headers: { authorization },
  });
  expect(tested.json()).toEqual({ items: [{ channel: 'webhook', sent: true, detail: null }] });
  expect(webhook.received).toMatchObject([{ kind: 'test' }]);
  await first.runJob('admin-log');
  await first.runJob('alerts');
  expect(webhook.received.filter(({ text }) => text.includes('admin_log'))).toEqual([]);
  await first.close();
  const database = new DatabaseSync(join(place.dataDirectory, 'directory', 'main.sqlite'));
  database.exec('DROP TRIGGER admin_log_no_delete; DELETE FROM admin_log WHERE sequence = 2');
  database.close();
  for (const told of [1, 0]) {
    const platform = await open();
    webhook.received.splice(0);
    await platform.runJob('admin-log');
    await platform.runJob('alerts');
    await platform.runJob('alerts');
    const broken = webhook.received.filter(({ text }) => text.includes('admin_log_broken'));
    expect(broken).toHaveLength(told);
    if (told)
      expect(broken[0]?.began).toMatchObject([
        { reason: 'admin_log_broken', detail: expect.stringMatching(/ at row \d+\.$/) },
      ]);
    await platform.close();
  }
});

test('npm start -- alerts-test sends to each place, and says which failed without its address', async () => {
  const webhook = await openWebhook();
  const settings = parseSettings({ FREEHOLD_ALERT_WEBHOOK: webhook.url });
  expect(await testAlerts([], settings)).toEqual(['Sent by webhook.']);
  expect(webhook.received).toMatchObject([
    { kind: 'test', text: 'This is a test: alerts of the platform localhost:8787 arrive here.' },
  ]);
  webhook.answer.status = 302;
  await expect(testAlerts([], settings)).rejects.toThrow(/^Not sent by webhook: The webhook answered 302\.$/);
  const gone = parseSettings({ FREEHOLD_ALERT_WEBHOOK: 'http://127.0.0.1:1/secret' });
  const failure = await testAlerts([], gone).catch(String);
  expect(failure).toMatch(/Not sent by webhook: /);
  expect(failure).not.toContain('/secret');
  await expect(testAlerts([], parseSettings({}))).rejects.toThrow(
    'set FREEHOLD_ALERT_MAIL or FREEHOLD_ALERT_WEBHOOK',
  );
  await expect(testAlerts([], parseSettings({ FREEHOLD_ALERT_MAIL: 'it@example.org' }))).rejects.toThrow(
    'FREEHOLD_SMTP_URL is missing',
  );
});

test.each([
  ['FREEHOLD_ALERT_MAIL', 'it@example.org, it', 'must be mail addresses'],
  ['FREEHOLD_ALERT_WEBHOOK', 'http://example.org/hook', 'must be an https address'],
])('%s refuses %s', (name, value, words) => {
  expect(() => parseSettings({ [name]: value })).toThrow(`${name} cannot be used: ${words}`);
});
