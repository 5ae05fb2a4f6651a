/** The sessions of one person in two browsers, a teammate who is removed, and an owner who reads about it. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, LOOPBACK, ProgramStore } from '../../packages/app/test/program-client.ts';
import {
  continueAs,
  DESKTOP,
  launchBrowser,
  overflow,
  PHONE,
  see,
  signInAt,
  type Visitor,
  violations,
  visit,
} from '../support/browser.ts';
import { throughCaller } from '../support/http.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';
import { stopAfterFailure } from '../support/steps.ts';

let place: PlatformPlace;
let platform: RunningPlatform;
let browser: Browser;
let app: string;
/** The steps below share these and build on each other. */
let laptop: Visitor;
let phone: Visitor;
let grace: Visitor;

beforeAll(async () => {
  place = await newPlace();
  [platform, browser] = await Promise.all([startPlatform(place), launchBrowser()]);
  app = place.url('acme.localhost');
});
afterAll(async () => {
  await browser?.close();
  await platform?.stop();
  place?.remove();
});

stopAfterFailure(() => ({ laptop, phone, grace }));

/** Returns the status of a request that the page makes with its cookies. */
function statusOf(page: Page, path: string): Promise<number> {
  return page.evaluate(async (at) => (await fetch(at)).status, path);
}

const sessionsOn = (page: Page) =>
  page.getByRole('list', { name: 'Where you are signed in' }).getByRole('listitem');

// spec A-22
test('the account page is reached by keyboard and shows both browsers of one person', async () => {
  laptop = await visit(browser, DESKTOP);
  phone = await visit(browser, PHONE);
  await signInAt(laptop.page, app, 'Ada Lovelace');
  await see(laptop.page, 'Open your first order');
  await signInAt(phone.page, app, 'Ada Lovelace');
  await see(phone.page, 'Open your first order');

  const { page } = laptop;
  await page.getByRole('button', { name: 'Account of Ada Lovelace' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/account');
  expect(await page.evaluate('document.activeElement.id')).toBe('main');
  await see(page, 'ada@example.test');
  await sessionsOn(page).nth(1).waitFor();
  expect(await sessionsOn(page).count()).toBe(2);
  expect(await page.getByText('This browser').count()).toBe(1);
  expect(await overflow(page)).toBe(0);
  await laptop.picture('30-account');
});

test('ending the other browser takes effect on its very next request', async () => {
  const { page } = laptop;
  expect(await statusOf(phone.page, '/api/orders')).toBe(200);
  await page.getByRole('button', { name: /^Sign out .+, signed in / }).click();
  const dialog = page.getByRole('dialog', { name: /^Sign out .+\?$/ });
  await dialog.getByRole('button', { name: 'Sign it out' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await statusOf(phone.page, '/api/orders')).toBe(401);
  await sessionsOn(page).nth(1).waitFor({ state: 'detached' });
  expect(await statusOf(page, '/api/orders')).toBe(200);

  // The page in the other browser notices when it is used.
  await phone.page.getByRole('link', { name: 'Team', exact: true }).click();
  await see(phone.page, 'Good to see you');
  await phone.picture('31-ended-elsewhere');
});

test('all others can be ended at once, and this browser stays', async () => {
  await phone.page.getByRole('link', { name: 'Sign in' }).click();
  await phone.page.getByRole('list', { name: 'Members' }).waitFor();
  const { page } = laptop;
  await page.reload();
  await sessionsOn(page).nth(1).waitFor();
  await page.getByRole('button', { name: 'Sign out all others' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sign out all others?' });
  await dialog.waitFor();
  // Escape closes the dialog and restores the focus.
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await statusOf(phone.page, '/api/orders')).toBe(200);
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Sign out all others');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Sign out all others' }).click();
  await see(page, 'The other browser is signed out.');
  expect([await statusOf(phone.page, '/api/orders'), await statusOf(page, '/api/orders')]).toEqual([
    401, 200,
  ]);
});

test('signing out everywhere ends this browser as well, at the issuer too', async () => {
  await phone.page.goto(app);
  await phone.page.getByRole('link', { name: 'Sign in' }).click();
  await see(phone.page, 'Open your first order');
  const { page } = laptop;
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page
    .getByRole('dialog', { name: 'Sign out everywhere?' })
    .getByRole('button', { name: 'Sign out everywhere' })
    .click();
  await see(page, 'Good to see you');
  await page.waitForURL(`${app}/`);
  expect([await statusOf(phone.page, '/api/orders'), await statusOf(page, '/api/orders')]).toEqual([
    401, 401,
  ]);
  expect((await laptop.context.cookies(app)).filter(({ value }) => value !== '')).toEqual([]);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await continueAs(page, 'Ada Lovelace');
  await see(page, 'Open your first order');
});

test('the menu’s own “everywhere” means the same', async () => {
  await phone.page.goto(app);
  await phone.page.getByRole('link', { name: 'Sign in' }).click();
  await see(phone.page, 'Open your first order');
  const { page } = phone;
  await page.getByRole('button', { name: 'Account of Ada Lovelace' }).click();
  // A failed sign-out is reported as failed.
  await page.route('**/api/sessions/end-all', (route) => route.abort(), { times: 1 });
  await page.getByRole('link', { name: 'Sign out everywhere' }).click();
  await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
  expect([await statusOf(page, '/api/orders'), await statusOf(laptop.page, '/api/orders')]).toEqual([
    200, 200,
  ]);
  await page.getByRole('link', { name: 'Sign out everywhere' }).click();
  await see(page, 'Good to see you');
  expect(await statusOf(laptop.page, '/api/orders')).toBe(401);
  // The issuer still knows her there, so it does not ask.
  await laptop.page.goto(app);
  await laptop.page.getByRole('link', { name: 'Sign in' }).click();
  await see(laptop.page, 'Open your first order');
});

// spec A-33
test('the owner reads who came in, in sentences', async () => {
  const { page } = laptop;
  await page.getByRole('link', { name: 'Team', exact: true }).click();
  await page.getByRole('button', { name: 'Invite a person' }).click();
  await page.getByRole('button', { name: 'Make the link' }).click();
  const link = await page.getByLabel('Invite link').inputValue();
  await page.keyboard.press('Escape');
  await see(page, 'You invited a person as Technician.');

  grace = await visit(browser, PHONE);
  await grace.page.goto(link);
  await grace.page.getByRole('link', { name: 'Sign in to accept' }).click();
  await continueAs(grace.page, 'Grace Hopper');
  await grace.page.getByRole('button', { name: 'Accept' }).click();
  await see(grace.page, 'Nothing for you yet');

  await page.reload();
  const log = page.getByRole('list', { name: 'Sign-ins and access' });
  await log.getByText('Grace Hopper accepted an invite as Technician.').waitFor();
  await log.getByText('Grace Hopper signed in.').waitFor();
  await log.getByText('You signed in.').first().waitFor();
  expect(await overflow(page)).toBe(0);
  await laptop.picture('32-access');
  await page.getByLabel('Show', { exact: true }).selectOption({ label: 'Invites and members' });
  await log.getByText('You became the owner by signing in first.').waitFor();
  expect(await log.getByText('signed in.').count()).toBe(0);
  await page.getByLabel('Show', { exact: true }).selectOption({ label: 'Accounts' });
  await see(page, 'Nothing of this kind has happened lately.');
});

// spec C-30
test('a technician is refused the same list, and the refusal is on record', async () => {
  const { page } = grace;
  expect(await statusOf(page, '/api/identity-events')).toBe(403);
  await page.getByRole('link', { name: 'Team', exact: true }).click();
  await page.getByRole('list', { name: 'Members' }).getByText('Ada Lovelace').waitFor();
  expect(await page.getByText('Sign-ins and access').count()).toBe(0);
  await grace.picture('33-team-of-a-technician');

  const { body: scopes } = await platform.control<{ items: { id: string; tenant: string }[] }>('/scopes');
  const [scope] = scopes.items;
  const { body: denials } = await platform.control<{ items: { permission: string }[] }>(
    `/tenants/${scope?.tenant}/scopes/${scope?.id}/denials`,
  );
  expect(denials.items.map(({ permission }) => permission)).toEqual(['member.manage']);
  await laptop.page.reload();
  await laptop.page
    .getByRole('list', { name: 'Refused attempts' })
    .getByText('invite and remove teammates')
    .waitFor();
});

test('a member who is removed is out on the next request, and still manages their own sessions', async () => {
  const { page } = laptop;
  expect(await statusOf(grace.page, '/api/orders')).toBe(200);
  await page.getByRole('button', { name: 'Remove Grace Hopper' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove from the team' }).click();
  await see(page, 'You took Grace Hopper off the team.');
  expect(await statusOf(grace.page, '/api/orders')).toBe(403);
  await grace.page.goto(app);
  await see(grace.page, 'You are not a member here');
  await grace.page.getByRole('link', { name: 'Your account' }).click();
  await see(grace.page, 'You are not a member');
  await sessionsOn(grace.page).getByText('This browser').waitFor();
  expect(await overflow(grace.page)).toBe(0);
  await grace.picture('34-account-of-a-non-member');
  await grace.page.getByRole('link', { name: 'Sign out here' }).click();
  await see(grace.page, 'Good to see you');
  expect(await statusOf(grace.page, '/api/sessions')).toBe(401);
});

test('a program that knows the address alone is let in on a telephone, seen, and ended', async () => {
  const place = { at: { origin: app }, call: throughCaller };
  const program = new ProgramStore();
  phone = await visit(browser, PHONE);
  const { page } = phone;
  const client = await connect(place, program, async (asked) => {
    await page.goto(asked.href);
    await continueAs(page, 'Ada Lovelace');
    await see(page, 'Let Claude Desktop in?');
    expect(await violations(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    await phone.picture('35-consent');
    // Nothing listens there: the request of the browser is what the program would get.
    const back = page.waitForRequest((request) => request.url().startsWith(LOOPBACK));
    await page.getByLabel('Everything that you may do').check();
    await page.getByRole('button', { name: 'Let it in' }).click();
    return new URL((await back).url());
  });
  expect((await client.callTool({ name: 'order_list', arguments: {} })).isError).toBeFalsy();
  await page.goto(`${app}/oauth/programs`);
  await see(page, 'Claude Desktop');
  expect(await violations(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
  await phone.picture('36-programs');
  await page.getByRole('button', { name: 'End Claude Desktop' }).click();
  await see(page, 'It is ended.');
  await expect(client.callTool({ name: 'order_list', arguments: {} })).rejects.toThrow();
});

test('nothing broke on the way', () => {
  expect([...laptop.faults, ...phone.faults, ...grace.faults]).toEqual([]);
  expect(platform.output()).not.toContain('"level":"error"');
});
