/**
 * A visitor asks for an appointment on the trader's own web site, which has another origin; other sites are refused
 * (spec 4.6, D-12 to D-14).
 */
import { statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
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

let opened: EmbeddedPlatform;
let browser: Browser;
let ada: Visitor;
let visitor: Visitor;
/** The trader's site, and another site with the same page. */
let shop: Site;
let other: Site;

interface Site {
  readonly origin: string;
  readonly server: Server;
}

/** A web site of one page with the form, and a page that shows it in a frame without an origin. */
async function openSite(app: string): Promise<Site> {
  const page = `<!doctype html><html lang="en"><title>Shop</title><main><h1>Shop</h1><script src="${app}/embed/appointments.js" async></script></main>`;
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(
      request.url === '/framed'
        ? `<!doctype html><title>Framed</title><iframe title="shop" sandbox="allow-scripts allow-forms" width="600" height="900" srcdoc="${page.replaceAll('"', '&quot;')}"></iframe>`
        : page,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://localhost:${(server.address() as AddressInfo).port}`, server };
}

beforeAll(async () => {
  [opened, browser] = await Promise.all([openEmbeddedPlatform(), launchBrowser()]);
  [ada, visitor, shop, other] = await Promise.all([
    visit(browser, DESKTOP),
    visit(browser, PHONE),
    openSite(opened.app),
    openSite(opened.app),
  ]);
  await signInAt(ada.page, opened.app, 'Ada Lovelace');
  await see(ada.page, 'Open your first order');
});
afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  await ada.picture('failed-appointments-ada').catch(() => undefined);
  await visitor.picture('failed-appointments-visitor').catch(() => undefined);
});
afterAll(async () => {
  await browser?.close();
  await opened?.[Symbol.asyncDispose]();
  shop?.server.close();
  other?.server.close();
});

async function listSites(...origins: string[]): Promise<void> {
  const { page } = ada;
  await page.goto(`${opened.app}/requests`);
  await page.getByRole('button', { name: 'Edit sites' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit sites' });
  await dialog.getByLabel('Sites that may show the form').fill(origins.join('\n'));
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'hidden' });
}

type Form = Pick<Page, 'getByLabel' | 'getByRole' | 'getByText'>;

async function fill(form: Form, what: string): Promise<void> {
  await form.getByLabel('Your name').fill('Grace Hopper');
  await form.getByLabel('Phone').fill('030 1234');
  await form.getByLabel('What is to be done?').fill(what);
  await form.getByRole('button', { name: 'Send' }).click();
}

const refused = (form: Form) =>
  form.getByText('This could not be sent. Please try again, or call.').waitFor();
const thanked = (form: Form) => form.getByText('Thank you. Your request has arrived').waitFor();

test('the owner lists the site, in words that people write', async () => {
  await ada.page.goto(opened.app);
  await ada.page.getByRole('link', { name: 'Requests' }).click();
  await see(ada.page, 'No one waits');
  expect(await barriers(ada.page)).toEqual([]);
  await listSites(`${shop.origin}/`);
  await see(ada.page, shop.origin);
});

test('a visitor asks by keyboard, on a phone, and is thanked', async () => {
  const { page } = visitor;
  await page.goto(shop.origin);
  // The message for a missing value is at its field, and the field gets the focus.
  await page.getByRole('button', { name: 'Send' }).press('Enter');
  expect(await page.getByLabel('Your name').evaluate((field) => field.matches(':focus'))).toBe(true);
  await page.keyboard.type('Grace Hopper');
  await page.keyboard.press('Tab');
  await page.keyboard.type('030 1234');
  await page.getByLabel('What is to be done?').fill('A tap drips in the kitchen');
  await page.getByLabel('When would it suit you?').fill('Mondays');
  await page.keyboard.press('Enter');
  await thanked(page);
  expect(await barriers(page)).toEqual([]);
});

test('the owner accepts it, and has a customer and a draft', async () => {
  const { page } = ada;
  await page.goto(`${opened.app}/requests`);
  await see(page, 'Grace Hopper');
  await see(page, 'Mondays');
  await page.getByRole('button', { name: 'Accept' }).click();
  await page.getByRole('heading', { name: 'A tap drips in the kitchen' }).waitFor();
  await page.goto(`${opened.app}/requests`);
  await see(page, 'No one waits');
});

test('a site that is not listed is refused, and so is a page without an origin', async () => {
  const { page } = visitor;
  await page.goto(other.origin);
  await fill(page, 'From elsewhere');
  await refused(page);
  await page.goto(`${shop.origin}/framed`);
  const frame = page.frameLocator('iframe');
  await fill(frame, 'From nowhere');
  await refused(frame);
  await ada.page.goto(`${opened.app}/requests`);
  await see(ada.page, 'No one waits');
});

test('the list takes effect at once, between two requests of an open page', async () => {
  const { page } = visitor;
  await page.goto(shop.origin);
  await listSites(other.origin);
  await fill(page, 'Too late');
  await refused(page);
  await listSites(other.origin, shop.origin);
  await page.getByRole('button', { name: 'Send' }).click();
  await thanked(page);
  await ada.page.goto(`${opened.app}/requests`);
  await see(ada.page, 'Too late');
  await ada.page.getByRole('button', { name: 'Decline' }).click();
  await see(ada.page, 'No one waits');
});

test('the script is small, and readers of the API have its documentation', async () => {
  const script = new URL('../../examples/fieldwork/web/public/embed/appointments.js', import.meta.url);
  expect(statSync(script).size).toBeLessThan(10_000);
  const { page } = ada;
  const sent = await page.evaluate(async () => (await fetch('/embed/appointments.js')).text());
  expect(gzipSync(sent).length).toBeLessThan(4_000);
  expect((await visitor.page.goto(`${opened.app}/api/docs`))?.status()).toBe(401);
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(opened.app) && !/^(data|blob):/.test(request.url()))
      elsewhere.push(request.url());
  });
  await page.goto(`${opened.app}/api/docs`);
  await page.getByRole('heading', { name: 'Add a customer' }).waitFor();
  expect(elsewhere).toEqual([]);
  // The browser reports refused requests of other origins as errors of the network, not of the page.
  expect(ada.faults).toEqual([]);
});
