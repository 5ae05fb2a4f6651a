/**
 * A customer from first photo to erasure: photos of the job, the reminder to invoice it, and an erasure after which no
 * page, history or export names the customer.
 */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ScopeHost } from '@freehold/kernel';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPlatform, openEmbeddedPlatform } from '../http/embedded-platform.ts';
import {
  barriers,
  DESKTOP,
  launchBrowser,
  PHONE,
  see,
  signInAt,
  type Visitor,
  visit,
} from '../support/browser.ts';

/** One red pixel. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);
const photo = (name: string) => ({ name, mimeType: 'image/png', buffer: PICTURE });

let opened: EmbeddedPlatform;
let browser: Browser;
let ada: Visitor;
let directory: string;
/** The pages of the order and of its customer. */
let orderUrl: string;
let customerUrl: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'freehold-files-'));
  [opened, browser] = await Promise.all([openEmbeddedPlatform(), launchBrowser()]);
  ada = await visit(browser, DESKTOP);
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await ada.picture('failed-photos').catch(() => undefined);
});
afterAll(async () => {
  await browser?.close();
  await opened?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const files = () => ada.page.getByRole('list', { name: 'Photos and documents' });
const chooser = () => ada.page.getByLabel('Add photos or files');

async function openOrder(title: string, customer: string): Promise<void> {
  const { page } = ada;
  await see(page, 'Open your first order');
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'New order' });
  await dialog.getByLabel('Title').fill(title);
  await dialog.getByRole('combobox', { name: 'Customer' }).fill(customer);
  await page.getByRole('option', { name: `Add “${customer}”` }).click();
  await dialog.getByLabel('Phone').fill('+44 20 7946 0000');
  await dialog.getByRole('button', { name: 'Open order' }).click();
  await page.getByRole('heading', { name: title }).waitFor();
}

test('a photo is attached by keyboard, is seen, and is part of the story', async () => {
  const { page } = ada;
  await signInAt(page, opened.app, 'Ada Lovelace');
  await openOrder('Leaking tap in the kitchen', 'Mrs Harper');
  orderUrl = page.url();
  await see(page, 'Nothing is attached yet.');
  // A page that was just opened still moves the focus to itself.
  await page.waitForLoadState('networkidle');
  const [asked] = await Promise.all([page.waitForEvent('filechooser'), chooser().press('Enter')]);
  await asked.setFiles([photo('tap.png'), photo('under the sink.png')]);
  await files().getByRole('link', { name: 'under the sink.png', exact: true }).waitFor();
  await see(page, 'attached a file.');
  expect(await files().getByRole('listitem').count()).toBe(2);
  const width = () => page.evaluate<number>(`document.querySelector('.files img').naturalWidth`);
  await expect.poll(width).toBe(1);
  expect(await barriers(page)).toEqual([]);
  await ada.picture('40-photos');
});

test('a file is kept under its name, byte for byte', async () => {
  const { page } = ada;
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    files().getByRole('link', { name: 'Download tap.png' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('tap.png');
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  expect(Buffer.concat(chunks).equals(PICTURE)).toBe(true);
});

test('a running upload shows its progress and can be cancelled', async () => {
  const { page } = ada;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await page.route('**/attachments?filename=*', async (route) => {
    await held;
    // The page no longer waits for it.
    await route.abort().catch(() => undefined);
  });
  await chooser().setInputFiles(photo('slow.png'));
  await page.getByRole('progressbar', { name: 'Sending slow.png' }).waitFor();
  expect(await barriers(page)).toEqual([]);
  const [calledOff] = await Promise.all([
    page.waitForEvent('requestfailed'),
    page.getByRole('button', { name: 'Stop sending slow.png' }).click(),
  ]);
  expect([calledOff.failure()?.errorText, calledOff.url()]).toEqual([
    'net::ERR_ABORTED',
    expect.stringContaining('slow.png'),
  ]);
  await page.getByRole('list', { name: 'Being sent' }).waitFor({ state: 'detached' });
  release();
  await page.unroute('**/attachments?filename=*');
  expect(await files().getByRole('listitem').count()).toBe(2);
});

test('a failed upload says why, and can be repeated; a file that is too large is not sent at all', async () => {
  const { page } = ada;
  await page.route('**/attachments?filename=*', (route) => route.abort());
  await chooser().setInputFiles(photo('third.png'));
  const alert = page.getByRole('list', { name: 'Being sent' }).getByRole('alert');
  await alert.getByText('The server cannot be reached.').waitFor();
  await ada.picture('41-photo-failed');
  await page.unroute('**/attachments?filename=*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await files().getByRole('link', { name: 'third.png', exact: true }).waitFor();

  const large = join(directory, 'film.mp4');
  writeFileSync(large, '');
  truncateSync(large, 51 * 1024 * 1024);
  await chooser().setInputFiles(large);
  await alert.getByText(/This file has 53 MB; at most 52 MB can be attached\./).waitFor();
  await page.getByRole('button', { name: 'Forget film.mp4' }).click();
  // The list may still be loading.
  await expect.poll(() => files().getByRole('listitem').count(), { timeout: 5_000 }).toBe(3);
});

test('a file is removed after a question', async () => {
  const { page } = ada;
  await page.getByRole('button', { name: 'Remove third.png' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await files().getByText('third.png').waitFor({ state: 'detached' });
  await see(page, 'removed a file.');
});

test('done work waits to be invoiced, on the first page, until it is', async () => {
  const { page } = ada;
  await page.getByRole('button', { name: 'Schedule' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Schedule' }).click();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('button', { name: 'Complete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Complete order' }).click();
  await see(page, 'completed it');
  const reminder = page.getByRole('link', { name: /Leaking tap.*not invoiced yet/ });
  await expect
    .poll(async () => {
      await page.goto(opened.app);
      await page.getByRole('heading', { name: 'Orders' }).waitFor({ state: 'attached' });
      return reminder.count();
    })
    .toBe(1);
  expect(await barriers(page)).toEqual([]);
  await ada.picture('42-reminder');
  await reminder.click();
  await see(page, 'A reminder to invoice it was raised.');
});

test('a customer with open orders is not erased, and is told why', async () => {
  const { page } = ada;
  await page.getByRole('link', { name: 'Mrs Harper' }).click();
  await page.getByRole('heading', { name: 'Mrs Harper' }).waitFor();
  customerUrl = page.url();
  await see(page, 'added the customer.');
  await page.getByRole('button', { name: 'Erase' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('checkbox').check();
  await dialog.getByRole('button', { name: 'Erase for good' }).click();
  await dialog.getByText('This customer has open orders.').waitFor();
  expect(await barriers(page)).toEqual([]);
  await page.keyboard.press('Escape');
});

// spec C-20
test('an erased customer is gone from every page, from histories, and from an export', async () => {
  const { page } = ada;
  await page.goto(orderUrl);
  await page.getByRole('button', { name: 'Invoice' }).click();
  await see(page, 'invoiced it.');
  await page.goto(customerUrl);
  await page.getByRole('button', { name: 'Erase' }).click();
  await page.getByRole('dialog').getByRole('checkbox').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Erase for good' }).click();
  await page.getByRole('heading', { name: 'Erased customer' }).waitFor();
  await see(page, 'What it was is erased.');
  expect(await barriers(page)).toEqual([]);
  await ada.picture('43-erased');

  await page.goto(orderUrl);
  await page.getByRole('heading', { name: 'Details erased' }).waitFor();
  await see(page, 'What was attached was erased with the customer.');
  for (const path of ['/', '/customers', '/invoices', '/?state=invoiced']) {
    await page.goto(`${opened.app}${path}`);
    await page.getByRole('main').waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.content(), path).not.toMatch(/Harper|20 ?7946 ?0000|Leaking tap/);
  }
  // The invoices stay.
  await page.goto(`${opened.app}/invoices`);
  await see(page, /Details erased/);

  await expectNowhere(/Harper|20 ?7946 ?0000|Leaking tap/);
});

/** Checks that none of the platform's views of the scope has the words: history for staff, tables, an export. */
async function expectNowhere(words: RegExp): Promise<void> {
  const customer = customerUrl.split('/').at(-1) ?? '';
  const order = orderUrl.split('/').at(-1) ?? '';
  const asked = await Promise.all([
    opened.manage('history', { fields: { entityType: 'customer', entityId: customer } }),
    opened.manage('history', { fields: { entityType: 'order', entityId: order } }),
    opened.manage('table', { fields: { table: '_spine_idempotency' } }),
    opened.manage('export', { fields: { format: 'ndjson' } }),
  ]);
  for (const response of asked) {
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text.length).toBeGreaterThan(100);
    expect(text).not.toMatch(words);
  }
}

test('a customer whom staff erase disappears from the open page when it reloads', async () => {
  const phone = await visit(browser, PHONE);
  await phone.context.addCookies(await ada.context.cookies());
  const { page } = phone;
  const made = await ada.page.evaluate<string>(`(async () => {
    const response = await fetch('/api/customers', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Mr Secret', email: 'secret@example.org' }),
    });
    return (await response.json()).id;
  })()`);
  await page.goto(`${opened.app}/customers/${made}`);
  await page.getByRole('heading', { name: 'Mr Secret' }).waitFor();
  expect(await barriers(page)).toEqual([]);
  const host = opened.platform.gateway.local('fieldwork') as ScopeHost;
  const receipt = await host.shredSubjectLocal({ ...opened.scope, subject: made } as never);
  expect(receipt).toMatchObject({ subject: made, keyDigest: expect.any(String) });
  await page.reload();
  await page.getByRole('heading', { name: 'Erased customer' }).waitFor();
  expect(await barriers(page)).toEqual([]);
  await phone.picture('44-erased-phone');
  customerUrl = page.url();
  await expectNowhere(/secret/i);
  expect(phone.faults).toEqual([]);
  await phone.context.close();
});

test('nothing broke on the way', () => {
  expect(ada.faults).toEqual([]);
  expect(opened.incidents).toEqual([]);
});
