/**
 * The main job in real browsers: an owner, a teammate and a non-member, at a real issuer, and the operator at the
 * control plane.
 */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  continueAs,
  DESKTOP,
  launchBrowser,
  overflow,
  PHONE,
  see,
  signInAt,
  type Visitor,
  visit,
} from '../support/browser.ts';
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';
import { stopAfterFailure } from '../support/steps.ts';

let place: PlatformPlace;
let platform: RunningPlatform;
let browser: Browser;
let app: string;
/** The steps below share these and build on each other. */
let ada: Visitor;
let grace: Visitor;
let inviteLink: string;

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

stopAfterFailure(() => ({ ada, grace }));

async function scopePath(): Promise<string> {
  const { body } = await platform.control<{ items: { id: string; tenant: string }[] }>('/scopes');
  return `/tenants/${body.items[0]?.tenant}/scopes/${body.items[0]?.id}`;
}

// spec, B-10, B-11
test('the first person who signs in inside the window becomes the owner', async () => {
  ada = await visit(browser, DESKTOP);
  const { page } = ada;
  await page.goto(app);
  await ada.picture('01-signed-out');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await ada.picture('02-issuer');
  await continueAs(page, 'Ada Lovelace');
  await page.waitForURL(`${app}/`);
  await see(page, 'Open your first order');
  await ada.picture('03-empty');
  const seat = await platform.control<{ state: string; reason: string | null }>(
    `${await scopePath()}/owner-seat`,
  );
  expect(seat.body).toMatchObject({ state: 'claimed', reason: null });
});

test('the owner adds a customer and opens an order, by keyboard', async () => {
  const { page } = ada;
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'New order' });
  await dialog.getByLabel('Title').fill('Leaking tap in the kitchen');
  await dialog.getByRole('combobox', { name: 'Customer' }).fill('Mrs Harper');
  await page.getByRole('option', { name: /Add “Mrs Harper”/ }).waitFor();
  await page.keyboard.press('Enter');
  await dialog.getByLabel('Phone').fill('+44 20 7946 0000');
  await dialog.getByRole('button', { name: 'Open order' }).click();
  await page.getByRole('heading', { name: 'Leaking tap in the kitchen' }).waitFor();
  await see(page, 'opened the order.');
  expect(await overflow(page)).toBe(0);
  await ada.picture('04-order');
});

// spec
test('the owner invites a technician and gets a link, shown once', async () => {
  const { page } = ada;
  await page.getByRole('link', { name: 'Team', exact: true }).click();
  await page.getByRole('button', { name: 'Invite a person' }).click();
  await page.getByRole('dialog').getByLabel('E-mail').fill('grace@example.test');
  await page.getByRole('button', { name: 'Make the link' }).click();
  inviteLink = await page.getByLabel('Invite link').inputValue();
  await ada.picture('05-invite');
  expect(inviteLink).toMatch(new RegExp(`^${app}/\\?invite=[\\w-]+$`));
  await page.keyboard.press('Escape');
  await see(page, 'Pending');
});

// spec A-33
test('the teammate opens the link on a phone, sees who invited her, and accepts', async () => {
  grace = await visit(browser, PHONE);
  const { page } = grace;
  await page.goto(inviteLink);
  await see(page, 'Ada Lovelace invites you');
  await grace.picture('06-invited-signed-out');
  await page.getByRole('link', { name: 'Sign in to accept' }).click();
  await continueAs(page, 'Grace Hopper');
  await see(page, 'You are signed in as');
  await see(page, 'Grace Hopper');
  await grace.picture('07-invited');
  await page.getByRole('button', { name: 'Accept' }).click();
  await see(page, 'Nothing for you yet');
  expect(await overflow(page)).toBe(0);
  await grace.picture('08-technician-empty');
});

test('a technician sees and moves only what is assigned to her', async () => {
  const owner = ada.page;
  await owner.getByRole('link', { name: 'Orders', exact: true }).click();
  await owner.getByRole('link', { name: /Leaking tap/ }).click();
  await owner.getByRole('button', { name: 'Schedule' }).click();
  await owner.getByRole('dialog').getByRole('button', { name: 'Schedule' }).click();
  await see(owner, 'scheduled it for');
  await owner.getByRole('button', { name: 'Assign' }).click();
  await owner.getByRole('dialog').getByLabel('Teammate').selectOption({ label: 'Grace Hopper' });
  await owner.getByRole('dialog').getByRole('button', { name: 'Assign' }).click();
  await see(owner, 'assigned it to Grace Hopper');

  const { page } = grace;
  await page.goto(`${app}/`);
  await page
    .getByRole('link', { name: /Leaking tap/ })
    .first()
    .click();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('button', { name: 'Complete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Complete order' }).click();
  await see(page, 'Done');
  expect(await overflow(page)).toBe(0);
  await grace.picture('09-technician-order');
});

test('the history of the order says who did what, and what followed from it', async () => {
  const { page } = ada;
  await page.reload();
  const history = page.locator('.timeline');
  await history.getByText('Grace Hopper').first().waitFor();
  await page.getByRole('list', { name: 'What it set off' }).first().waitFor();
  await ada.picture('10-history');
});

// spec C-23, C-30
test('the teammate is refused what her role does not allow, in words, and the refusal is on record', async () => {
  const { page } = grace;
  await page.goto(`${app}/customers`);
  await see(page, /Your role does not allow this: see customers/i);
  await grace.picture('11-refused');
  const answer = await page.evaluate(async () => {
    const response = await fetch('/api/customers', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Nemo Ltd' }),
    });
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      problem: await response.json(),
    };
  });
  expect(answer).toMatchObject({
    status: 403,
    type: 'application/problem+json',
    problem: { code: 'permission_denied', detail: expect.stringContaining('Add and change customers') },
  });

  const { body } = await platform.control<{ items: { permission: string; operation: string }[] }>(
    `${await scopePath()}/denials`,
  );
  expect(body.items.map(({ permission, operation }) => `${operation} ${permission}`)).toEqual(
    expect.arrayContaining(['customer/create customer.write', 'customer/list customer.read']),
  );
  const owner = ada.page;
  await owner.getByRole('link', { name: 'Team', exact: true }).click();
  await owner.getByRole('list', { name: 'Refused attempts' }).getByText('Grace Hopper').first().waitFor();
  await ada.picture('12-refusals');
});

test('the control plane has it all on record: provisioning, access and an unbroken chain', async () => {
  const log = await platform.control<{ items: { action: string; outcome: string }[] }>('/admin-log');
  expect(log.body.items.map((row) => row.action)).toEqual(
    expect.arrayContaining(['tenants.create', 'scopes.provision', 'hostnames.bind']),
  );
  const access = await platform.control<{ items: { operation: string }[] }>('/access-log');
  expect(access.body.items.map((row) => row.operation)).toContain('denials.list');
  expect((await platform.control('/admin-log/verify')).body).toMatchObject({ status: 'ok', firstBad: null });
});

// spec B-12, B-14
test('signing out locally ends the session and leaves the one at the issuer', async () => {
  const { page } = grace;
  await page.goto(`${app}/`);
  await page.getByRole('button', { name: /Account of Grace Hopper/ }).click();
  await page.getByRole('link', { name: 'Sign out', exact: true }).click();
  await see(page, 'Good to see you');
  expect(await page.evaluate(async () => (await fetch('/api/orders')).status)).toBe(401);
  // The issuer still knows her, so signing in again needs no password.
  await page.getByRole('link', { name: 'Sign in' }).click();
  await see(page, 'Leaking tap');
});

// spec B-06, B-13, A-39
test('signing out everywhere ends the session at the issuer as well', async () => {
  const { page } = grace;
  const cookies = (await grace.context.cookies()).filter((cookie) => cookie.value !== '');
  await page.getByRole('button', { name: /Account of Grace Hopper/ }).click();
  await page.getByRole('link', { name: 'Sign out everywhere' }).click();
  await see(page, 'Good to see you');
  await page.waitForURL(`${app}/`);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Continue as Grace Hopper' }).waitFor();

  // A copy of the old cookies is useless: every request checks the stored sign-out.
  const thief = await visit(browser, PHONE);
  await thief.context.addCookies(cookies.filter((cookie) => cookie.domain === 'acme.localhost'));
  await thief.page.goto(app);
  await see(thief.page, 'Good to see you');
  await thief.context.close();
});

// spec A-26
test('a third person who signs in without an invite is no member', async () => {
  const linus = await visit(browser, DESKTOP);
  const { page } = linus;
  await signInAt(page, app, 'Linus Torvalds');
  await see(page, 'You are not a member here');
  await linus.picture('13-stranger');
  const statuses = await page.evaluate(async () =>
    Promise.all(
      ['/api/orders', '/api/customers', '/api/members', '/api/invites'].map(
        async (path) => (await fetch(path)).status,
      ),
    ),
  );
  expect(statuses).toEqual([403, 403, 403, 403]);
  // The invite of another person does not work either.
  await page.goto(inviteLink);
  await see(page, 'This invite is closed');
  expect(linus.faults).toEqual([]);
  await linus.context.close();
});

test('nothing broke on the way', () => {
  expect([...ada.faults, ...grace.faults]).toEqual([]);
  expect(platform.output()).not.toContain('"level":"error"');
});
