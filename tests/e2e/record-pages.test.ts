/**
 * The pages of an application of records that brings none, in a real browser: an owner at a desk, and a mechanic with a
 * dark phone who speaks German. It is the application of `freehold new --template records`, with operations of its own.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { minutes, money, operation, signedIn } from '@freehold/app';
import { webFilesOf } from '@freehold/app/node';
import { makeMemoryBlobStore } from '@freehold/engine-node';
import { ATTACHMENT_BYTES_MAX, type DeliveryRunner, makeDeliveryRunner } from '@freehold/kernel';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { openSmallApp, type Reader, type SmallApp } from '../../packages/app/test/small-app.ts';
import { buildRecordPages } from '../../packages/app/web/build.ts';
import workshop, { customer, repair } from '../../packages/dev/template/records/src/app.ts';
import {
  barriers,
  DESKTOP,
  launchBrowser,
  PHONE,
  see,
  type Visitor,
  violations,
  visit,
} from '../support/browser.ts';
import { stopAfterFailure } from '../support/steps.ts';

const { manifest, migrations, operations } = workshop;

const finish = operation({
  summary: 'Finish the repair',
  description: 'The customer can collect the bicycle.',
  input: z.strictObject({ repair: repair.id, work: minutes(), price: money('EUR') }),
  output: z.object({}),
  permission: 'repair.write',
  entity: ({ repair: id }) => ({ type: 'repair', id }),
  http: { method: 'POST', path: '/api/repairs/:repair/finish' },
  offered: ({ state }) => state !== 'ready',
  run: (ctx, { repair: id, work, price }) => {
    ctx.sql.run("UPDATE repairs SET state = 'ready', work = ?, price = ? WHERE id = ?", work, price, id);
    ctx.emit({ type: 'repair.finished', entity: { type: 'repair', id } });
    return {};
  },
});

const aside = operation({
  summary: 'Put aside',
  input: z.strictObject({ repair: repair.id }),
  output: z.object({}),
  permission: 'repair.write',
  entity: ({ repair: id }) => ({ type: 'repair', id }),
  http: { method: 'POST', path: '/api/repairs/:repair/put-aside' },
  offered: ({ state }) => state === 'in_work',
  run: (ctx, { repair: id }) => {
    ctx.sql.run("UPDATE repairs SET state = 'waiting' WHERE id = ?", id);
    ctx.emit({ type: 'repair.put_aside', entity: { type: 'repair', id } });
    return {};
  },
});
const scrap = operation({
  ...aside,
  summary: 'Scrap the bicycle',
  http: { method: 'POST', path: '/api/repairs/:repair/scrap' },
  mcp: { destructive: true },
  offered: ({ state }) => state === 'collected',
});

/** A page of the application's own in the place of one of ours, which it shows as a part of itself. */
const OWN_PAGE = `
import { useState } from 'react';
import './bicycle.css';

export default function Bicycle({ id, supplied, ask, navigate }) {
  const [many, setMany] = useState(null);
  const count = async () => setMany((await ask('/api/repairs?bicycle=' + id)).items.length);
  return (
    <>
      <p className="shed">In the shed</p>
      <button type="button" onClick={count}>Count</button>
      {many !== null && <p role="status">{many} repairs</p>}
      <button type="button" onClick={() => navigate('/repairs')}>All repairs</button>
      {supplied}
    </>
  );
}
`;

let folder: string;
let server: Server;
/** Does the long work. */
let runner: DeliveryRunner | undefined;
let fixture: SmallApp;
let browser: Browser;
let origin: string;
let api: Reader;
let ada: Visitor;
let bob: Visitor;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const { method = 'GET', url = '/' } = request;
    const body = /GET|HEAD/.test(method) ? {} : { body: Buffer.concat(await request.toArray()) };
    const headers = new Headers(request.headers as Record<string, string>);
    const answer = await fixture.call(new Request(`${origin}${url}`, { method, headers, ...body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), 'freehold-own-page-'));
  writeFileSync(join(folder, 'bicycle.tsx'), OWN_PAGE);
  writeFileSync(join(folder, 'bicycle.css'), '.shed { font-weight: 700; }');
  const web = { 'bicycle/:id': './bicycle.tsx' };
  await buildRecordPages();
  const webFiles = webFilesOf({ ...workshop, web }, folder);
  if (!webFiles) throw new Error('the pages were built just now');
  const blobs = makeMemoryBlobStore({ now: Date.now });
  [fixture, browser] = await Promise.all([
    openSmallApp({
      origin,
      business: 'Spoke & Sons',
      app: {
        manifest,
        migrations,
        operations: {
          ...operations,
          'repair/finish': finish,
          'repair/put-aside': aside,
          'repair/scrap': scrap,
        },
        erasure: { personal: customer.personal },
        look: { color: '#0b6b8f' },
        web,
        authenticatedPrincipal: signedIn(),
      },
      services: { webFiles, blobs: () => blobs, onWork: (scopeId) => runner?.wake(scopeId) },
    }),
    launchBrowser(),
  ]);
  const { host, units } = fixture.app;
  runner = makeDeliveryRunner({
    vertical: units.scope.vertical,
    scope: (scopeId) => host.scope(scopeId as never),
    now: Date.now,
    onIncident: (error) => void fixture.incidents.push(error),
  });
  api = await fixture.signedIn('ada', 'Ada Lovelace');
  await api.open('/');
  await fixture.join(api, 'bob', { role: 'mechanic', name: 'Bob Cratchit' });
  [ada, bob] = await Promise.all([
    person('ada', 'Ada Lovelace', DESKTOP, { locale: 'en-GB' }),
    person('bob', 'Bob Cratchit', PHONE, { locale: 'de-AT', colorScheme: 'dark' }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await runner?.stop();
  server?.close();
  rmSync(folder, { recursive: true });
  await fixture?.[Symbol.asyncDispose]();
});
stopAfterFailure(() => ({ ada, bob }));

async function person(
  sub: string,
  name: string,
  screen: typeof PHONE,
  options: BrowserContextOptions,
): Promise<Visitor> {
  const visitor = await visit(browser, screen, options);
  const [cookie = '', value = ''] = (await fixture.cookieOf(sub, name)).split('=');
  await visitor.context.addCookies([{ name: cookie, value, url: origin }]);
  return visitor;
}

async function make(plural: string, fields: Record<string, unknown>): Promise<string> {
  const answer = await api.api('POST', `/api/${plural}`, fields);
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

/** `FREEHOLD_PICTURES=docs/images` takes the pictures of the documents anew. */
async function depict({ page }: Visitor, name: string): Promise<void> {
  const into = process.env.FREEHOLD_PICTURES;
  if (into !== undefined) await page.screenshot({ path: join(into, `records-${name}.png`) });
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const rows = (page: Page) => page.locator('tbody th').allTextContents();

async function expectOpenToAll({ page, faults }: Visitor): Promise<void> {
  expect(await barriers(page)).toEqual([]);
  expect(await violations(page)).toEqual([]);
  expect(faults).toEqual([]);
}

test('records are written down by forms, from one to the next, with errors beside the fields', async () => {
  const { page } = ada;
  await page.goto(origin);
  await heading(page, 'Spoke & Sons');
  await see(page, 'No customers yet');
  await expectOpenToAll(ada);
  await page.getByRole('link', { name: 'Add customer' }).click();
  await button(page, 'Save').click();
  await see(page, 'Name is needed');
  await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('name');
  await page.getByLabel('Name').fill('Grace Hopper');
  await page.getByLabel('Email').fill('grace@example');
  await button(page, 'Save').click();
  await see(page, /^Email .*email/i);
  await expectOpenToAll(ada);
  await page.getByLabel('Email').fill('grace@example.org');
  await button(page, 'Save').click();
  await heading(page, 'Grace Hopper');
  await see(page, 'Saved: Grace Hopper');
  await expect.poll(() => page.title()).toBe('Grace Hopper · Spoke & Sons');

  await page.getByRole('link', { name: 'Add bicycle' }).click();
  await page.getByLabel('Model').fill('Brompton C Line');
  await page.getByLabel('Frame').fill('WTU1');
  await button(page, 'Save').click();
  await heading(page, 'Brompton C Line');
  expect(await page.getByRole('link', { name: 'Grace Hopper' }).getAttribute('href')).toMatch(
    /^\/customers\/cus_/,
  );

  await page.goto(`${origin}/repairs/new`);
  await page.getByLabel('What').fill('Brakes');
  const bicycle = page.getByRole('combobox', { name: 'Bicycle' });
  await bicycle.click();
  await bicycle.fill('bro');
  await page.getByRole('option', { name: 'Brompton C Line' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByLabel('Due').fill('2026-03-10');
  await page.getByLabel('Price').fill('much');
  await page.keyboard.press('Enter');
  await see(page, 'Price must be an amount');
  await page.getByLabel('Price').fill('1,234.5');
  await page.keyboard.press('Enter');
  await heading(page, 'Brakes');
  await see(page, '€1,234.50');
  await expectOpenToAll(ada);
});

test('a value that another record has is refused at its field, and what was typed stays', async () => {
  const { page } = ada;
  await page.goto(`${origin}/customers/new`);
  await page.getByLabel('Name').fill('Grace Murray');
  await page.getByLabel('Email').fill('GRACE@example.org');
  await button(page, 'Save').click();
  await see(page, 'Email is taken already');
  expect(await page.getByLabel('Name').inputValue()).toBe('Grace Murray');
  page.once('dialog', (dialog) => void dialog.accept());
  await button(page, 'Cancel').click();
  await heading(page, 'Customers');
});

test('a list is searched, narrowed, sorted and paged, and its address says so', async () => {
  const owner = await make('customers', { name: 'Alan Kay' });
  const trek = await make('bicycles', { model: 'Trek Domane', frame: 'WTU2', owner });
  for (let at = 0; at < 30; at++)
    await make('repairs', {
      what: at % 2 ? 'New chain' : 'True the wheel',
      bicycle: trek,
      state: at % 3 ? 'waiting' : 'in_work',
      due: `2026-04-${String(30 - at).padStart(2, '0')}`,
    });
  const { page } = ada;
  await page.goto(origin);
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Repairs' }).click();
  await heading(page, 'Repairs');
  await page.locator('tbody tr').nth(24).waitFor();
  const first = await rows(page);
  expect(first[0]).toBe('Brakes');
  await expectOpenToAll(ada);
  await depict(ada, 'list');
  await button(page, 'Next page').click();
  await page.getByRole('button', { name: 'Previous page' }).waitFor();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(6);
  await button(page, 'Previous page').click();
  await expect.poll(() => rows(page)).toEqual(first);

  await page.getByRole('button', { name: 'Due', exact: true }).click();
  await expect.poll(() => page.locator('tbody tr').first().textContent()).toContain('30 Apr 2026');
  expect(new URL(page.url()).search).toBe('?sort=-due');
  await page.getByRole('combobox', { name: 'State' }).selectOption('In work');
  await expect.poll(() => page.locator('tbody tr').count()).toBe(10);
  await page.keyboard.press('Escape');
  await page.locator('h1').focus();
  await page.keyboard.press('/');
  await page.keyboard.type('chai');
  await expect.poll(() => page.locator('tbody tr').count()).toBe(5);
  expect(new URL(page.url()).search).toBe('?q=chai&state=in_work&sort=-due');
  await page.reload();
  await expect.poll(() => rows(page)).toEqual(Array(5).fill('New chain'));
  await page.getByRole('searchbox').fill('chain brakes');
  await see(page, 'Nothing fits');
  await button(page, 'Clear search and filters').click();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(25);
});

test('columns are chosen, and an operation or the archive takes several rows at once', async () => {
  const { page } = ada;
  await page.getByText('Columns', { exact: true }).click();
  await page.getByLabel('Price').uncheck();
  await page.getByLabel('Notes').check();
  await page.keyboard.press('Escape');
  const headings = () => page.locator('thead th').allTextContents();
  await expect.poll(headings).toEqual(['', 'What', 'Bicycle', 'State', 'Due', 'Work', 'Notes']);
  await page.reload();
  await expect.poll(headings).toContain('Notes');

  const selectTwo = async () => {
    await page.locator('h1').focus();
    for (const key of 'jxjx') await page.keyboard.press(key);
    await see(page, '2 selected');
  };
  await selectTwo();
  // The first of them is in work, and the second waits.
  const bulk = page.locator('.bulk');
  expect(await bulk.getByRole('button').allTextContents()).toEqual([
    'Put aside',
    'Archive',
    'Clear selection',
  ]);
  await bulk.getByRole('button', { name: 'Put aside' }).click();
  await see(page, 'Done: Put aside (1) 1 of 2 were refused:');
  await see(page, 'New chain: This does not fit the record now.');
  await selectTwo();
  await page.emulateMedia({ colorScheme: 'dark' });
  await expectOpenToAll(ada);
  await page.emulateMedia({ colorScheme: 'light' });
  const before = await rows(page);
  await bulk.getByRole('button', { name: 'Archive' }).click();
  await see(page, '2 records are archived.');
  await expect.poll(async () => (await rows(page)).length).toBe(25);
  await page.locator('.tools').getByRole('button', { name: 'Archive' }).click();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(2);
  await page.goBack();
  await button(page, 'Undo').click();
  await see(page, '2 records are back.');
  await expect.poll(() => rows(page)).toEqual(before);
});

test('an operation of the application is a button with its form, and a record is archived and taken back', async () => {
  const { page } = ada;
  await page.getByRole('searchbox').fill('brakes');
  await page.getByRole('link', { name: 'Brakes' }).click();
  await heading(page, 'Brakes');
  await button(page, 'Finish the repair').click();
  const dialog = page.getByRole('dialog', { name: 'Finish the repair' });
  await dialog.getByLabel('Work').fill('1:30');
  await dialog.getByLabel('Price').fill('-5');
  await dialog.getByRole('button', { name: 'Finish the repair' }).click();
  await see(page, 'Price must be at least €0.00');
  await expectOpenToAll(ada);
  await depict(ada, 'operation');
  await dialog.getByLabel('Price').fill('45');
  await dialog.getByRole('button', { name: 'Finish the repair' }).click();
  await see(page, 'Done: Finish the repair');
  await see(page, '1 hr 30 min');
  await see(page, '€45.00');
  await see(page, /Ada Lovelace.* finished/);
  expect(await button(page, 'Finish the repair').count()).toBe(0);
  await button(page, 'Archive').click();
  await see(page, 'In the archive since');
  expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
  await button(page, 'Undo').click();
  await page.getByRole('link', { name: 'Edit' }).waitFor();

  // Thirteen events, of which ten are shown at first.
  const { pathname } = new URL(page.url());
  for (let price = 1; price <= 9; price++) await api.api('PATCH', `/api${pathname}`, { price });
  await page.reload();
  await expect.poll(() => page.locator('.story > li').count()).toBe(10);
  await button(page, 'Show more').click();
  await expect.poll(() => page.locator('.story > li').count()).toBe(13);
  expect(await button(page, 'Show more').count()).toBe(0);
});

test('files are added, shown and removed', async () => {
  const { page } = ada;
  await page.locator('input[type=file]').setInputFiles({
    name: 'brake.txt',
    mimeType: 'text/plain',
    buffer: Buffer.from('worn'),
  });
  await see(page, 'Added: brake.txt');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'brake.txt' }).click();
  expect((await download).suggestedFilename()).toBe('brake.txt');
  await expectOpenToAll(ada);
  page.once('dialog', (dialog) => void dialog.accept());
  await button(page, 'Remove brake.txt').click();
  await see(page, 'Removed: brake.txt');
  await see(page, 'No files yet.');
  // Without the way to the server.
  await page.evaluate(`
    const files = new DataTransfer();
    files.items.add(new File([new Uint8Array(${ATTACHMENT_BYTES_MAX + 1})], 'film.mp4'));
    const input = document.querySelector('input[type=file]');
    input.files = files.files;
    input.dispatchEvent(new Event('change', { bubbles: true }));
  `);
  await see(page, 'film.mp4 is larger than');
});

test('two people edit one record: the second sees what changed, and keeps what they typed', async () => {
  const { page } = ada;
  await page.getByRole('link', { name: 'Edit' }).click();
  await heading(page, 'Edit');
  await page.getByLabel('What').fill('Brakes, all');
  await page.getByLabel('Price').fill('60');

  const id = new URL(page.url()).pathname.split('/')[2] ?? '';
  await bob.page.goto(`${origin}/repairs/${id}/edit`);
  await bob.page.getByLabel('Price').fill('55,50');
  await bob.page.getByLabel('Notes').fill('Left lever, too');
  await bob.page.getByRole('button', { name: 'Speichern' }).click();
  await see(bob.page, 'Gespeichert: Brakes');

  await button(page, 'Save').click();
  await see(page, 'Someone changed this while you were editing');
  expect(await page.locator('.compared tbody').textContent()).toContain('€55.50€60.00');
  await see(page, 'Notes: Left lever, too');
  expect(await page.getByLabel('What').inputValue()).toBe('Brakes, all');
  await expectOpenToAll(ada);
  await depict(ada, 'changed');
  await button(page, 'Use theirs for Price').click();
  await button(page, 'Save with these values').click();
  await heading(page, 'Brakes, all');
  await see(page, '€55.50');
  await see(page, 'Left lever, too');
});

test('a file is imported: its columns are mapped, its lines judged, those with errors downloaded, the others taken over', async () => {
  const { page } = ada;
  const send = async (name: string, text: string): Promise<void> => {
    await page.goto(`${origin}/customers/import`);
    await heading(page, 'Import customers');
    const file = { name, mimeType: 'text/csv', buffer: Buffer.from(text) };
    await page.locator('input[type=file]').setInputFiles(file);
  };
  await send(
    'people.csv',
    'Who;Phone;Email\nRadia Perlman;1;radia@example.org\nTony Hoare;2;nowhere\nGrace;3;grace@example.org\n',
  );
  await see(page, 'No column brings what is needed: Name.');
  await page.getByLabel('Field: Who').selectOption('Name');
  await button(page, 'Judge the lines again').click();
  await see(page, 'The lines are judged. Nothing has changed yet.');
  await see(page, 'The 2 lines with errors are left out.');
  await expectOpenToAll(ada);
  await depict(ada, 'import');
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download the lines with errors' }).click();
  const errors = readFileSync(await (await download).path(), 'utf8');
  expect(errors).toMatch(/^Who.*Tony Hoare.*grace@example\.org/s);
  expect(errors).not.toContain('Radia');
  await button(page, 'Take one line over').click();
  await see(page, '1 added, 0 changed.');
  await button(page, 'Undo the import').click();
  await see(page, 'The import is undone: what it made is archived, and what it changed has its values back.');
  await expectOpenToAll(ada);

  await send('twice.csv', 'name,email\nGrace Brewster,grace@example.org\n');
  await see(page, 'Lines with errors');
  await page.getByLabel('A line is about the record with the same').selectOption('Email');
  await page.getByLabel('Lines whose record is there').selectOption('change it');
  await button(page, 'Judge the lines again').click();
  await button(page, 'Take one line over').click();
  await see(page, '0 added, 1 changed.');
  await send('not.csv', 'name,email\nNobody,\n');
  await see(page, 'Nothing has changed yet.');
  await button(page, 'Cancel').click();
  await see(page, 'The import is cancelled. Nothing has changed.');
});

test('the list that is seen is exported', async () => {
  const { page } = ada;
  await page.goto(`${origin}/customers?q=grace`);
  await page.getByRole('link', { name: 'Grace Brewster' }).waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export' }).click();
  const text = readFileSync(await (await download).path(), 'utf8');
  expect(text).toContain('Grace Brewster');
  expect(text).not.toContain('Alan Kay');
  const workbook = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Workbook' }).click();
  expect(readFileSync(await (await workbook).path(), 'latin1')).toMatch(/^PK/);
  // Those without the permission are offered neither.
  await bob.page.goto(`${origin}/repairs`);
  await bob.page.locator('tbody tr').first().waitFor();
  expect(await bob.page.getByRole('link', { name: /Exportieren|Arbeitsmappe|Importieren/ }).count()).toBe(0);
  expect(ada.faults).toEqual([]);
});

test('a mechanic sees what a mechanic may, in German, on a dark phone', async () => {
  const { page } = bob;
  await page.goto(origin);
  await heading(page, 'Spoke & Sons');
  expect(await page.getByRole('link', { name: 'Customers' }).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Bicycle hinzufügen' }).count()).toBe(0);
  await expectOpenToAll(bob);
  await button(page, 'Menü').click();
  await page.getByRole('navigation', { name: 'Hauptmenü' }).getByRole('link', { name: 'Repairs' }).click();
  await heading(page, 'Repairs');
  await page.locator('tbody tr').first().waitFor();
  await expectOpenToAll(bob);
  await page.getByRole('link', { name: 'Brakes, all' }).click();
  await see(page, '55,50');
  await see(page, 'Verlauf');
  await expectOpenToAll(bob);
  await depict(bob, 'phone');
  await page.getByRole('link', { name: 'Brompton C Line' }).click();
  await see(page, 'Für Sie nicht sichtbar');
  await page.goto(`${origin}/repairs/new`);
  await button(page, 'Speichern').click();
  await see(page, 'What wird gebraucht');
  await expectOpenToAll(bob);
  await page.goto(`${origin}/customers`);
  await heading(page, 'Diese Seite gibt es nicht');
  await expectOpenToAll(bob);
});

test("a page of the application's own stands in the frame of ours, and shows the supplied one as a part", async () => {
  const { page } = ada;
  await page.goto(origin);
  await page.getByRole('link', { name: /^Brompton C Line/ }).click();
  await see(page, 'In the shed');
  await heading(page, 'Brompton C Line');
  await expect
    .poll(() => page.evaluate("getComputedStyle(document.querySelector('.shed')).fontWeight"))
    .toBe('700');
  await button(page, 'Count').click();
  await see(page, '1 repairs');
  expect(ada.faults).toEqual([]);
  await button(page, 'All repairs').click();
  await heading(page, 'Repairs');
});

test('the chosen language stays, on the pages without a script, too', async () => {
  const { page } = bob;
  await button(page, 'Menü').click();
  await page.getByLabel('Sprache').selectOption('English');
  await heading(page, 'This page does not exist');
  await page.goto(`${origin}/account`);
  await heading(page, 'Your account');
  expect(bob.faults).toEqual([]);
});

test('a person who is not signed in comes back to the page after signing in', async () => {
  const { page } = await visit(browser, PHONE);
  await page.goto(`${origin}/repairs?state=ready`);
  await heading(page, 'Welcome to Spoke & Sons');
  expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe(
    '/api/auth/login?returnTo=%2Frepairs%3Fstate%3Dready',
  );
});
