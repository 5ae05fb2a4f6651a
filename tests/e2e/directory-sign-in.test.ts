/**
 * Accounts of the application itself in real browsers: sign-up by mail, passwords, passkeys, a second factor. No
 * issuer takes part.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
import { newPlace, type PlatformPlace, type RunningPlatform, startPlatform } from '../support/platform.ts';
import { stopAfterFailure } from '../support/steps.ts';
import { totpCode } from '../support/totp.ts';

const PASSWORD = 'seven brass keys on a ring';

let place: PlatformPlace;
let platform: RunningPlatform;
let browser: Browser;
let app: string;
/** The steps below share these and build on each other. */
let ada: Visitor;
let secret: string;
let recoveryCodes: string[];

beforeAll(async () => {
  place = await newPlace();
  [platform, browser] = await Promise.all([
    startPlatform(place, { FREEHOLD_SIGN_IN: 'directory' }),
    launchBrowser(),
  ]);
  app = place.url('acme.localhost');
});
afterAll(async () => {
  await browser?.close();
  await platform?.stop();
  place?.remove();
});

stopAfterFailure(
  () => ({ ada }),
  () => platform?.output(),
);

/** Fills in the form on the sign-up page. */
async function askForAccount(page: Page, email: string, name: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Your name (optional)').fill(name);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
}

/** Opens the newest mail with this subject in the outbox. */
async function openMail(page: Page, subject: string | RegExp): Promise<void> {
  await page.goto(`${place.url('localhost')}/outbox`);
  expect(await barriers(page)).toEqual([]);
  expect(await violations(page)).toEqual([]);
  await page.getByRole('link', { name: subject }).first().click();
  await page.getByRole('heading', { level: 1, name: subject }).waitFor();
}

async function signOut(page: Page): Promise<void> {
  await page.goto(`${app}/api/auth/logout?returnTo=/`);
  await see(page, 'Good to see you');
  expect(await page.evaluate(async () => (await fetch('/api/orders')).status)).toBe(401);
}

async function openSignIn(page: Page): Promise<void> {
  await page.goto(app);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Sign in to Acme Trades' }).waitFor();
}

async function typePassword(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

test('the start says how to begin: sign up, and read the mail in the outbox', () => {
  expect(platform.output()).toContain(
    `Open ${app}, sign up with an e-mail address and read the mail at ${place.url('localhost')}/outbox`,
  );
});

// spec
test('a person signs up, reads the mail, chooses a password, and is the owner', async () => {
  ada = await visit(browser, DESKTOP);
  const { page } = ada;
  await openSignIn(page);
  expect(await barriers(page)).toEqual([]);
  await ada.picture('30-login');
  await page.getByRole('link', { name: 'Sign up' }).click();
  await page.getByRole('heading', { name: 'Sign up to Acme Trades' }).waitFor();
  expect(await barriers(page)).toEqual([]);
  await askForAccount(page, 'ada@example.org', 'Ada Lovelace');
  expect(await barriers(page)).toEqual([]);

  await openMail(page, 'Finish signing up to Acme Trades');
  await see(page, 'ada@example.org');
  expect(await barriers(page)).toEqual([]);
  await ada.picture('31-outbox');
  await page.getByRole('link', { name: /\/api\/auth\/sign-up\/finish/ }).click();
  await page.getByRole('heading', { name: 'Finish signing up to Acme Trades' }).waitFor();
  await see(page, 'ada@example.org');
  expect(await barriers(page)).toEqual([]);

  await page.getByLabel('New password').fill('password');
  await page.getByRole('button', { name: 'Sign up', exact: true }).click();
  await page.getByRole('alert').first().waitFor();
  expect(await barriers(page)).toEqual([]);
  await ada.picture('32-weak-password');
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign up', exact: true }).click();
  await see(page, 'Open your first order');
  const me = await page.evaluate(async () => (await fetch('/api/me')).json());
  expect(me).toMatchObject({
    status: 'member',
    subject: { name: 'Ada Lovelace', email: 'ada@example.org', emailVerified: true },
    roles: [{ key: 'owner' }],
    signIn: { mode: 'directory', securityUrl: '/api/auth/security' },
  });
});

test('the link in the mail worked once', async () => {
  const { page } = ada;
  await openMail(page, 'Finish signing up to Acme Trades');
  await page.getByRole('link', { name: /\/api\/auth\/sign-up\/finish/ }).click();
  await page.getByRole('heading', { name: 'This link no longer works' }).waitFor();
});

test('signing out, and in again with the password; a wrong one is refused', async () => {
  const { page } = ada;
  await page.goto(app);
  await page.getByRole('button', { name: /Account of Ada Lovelace/ }).click();
  await page.getByRole('link', { name: 'Sign out', exact: true }).click();
  await see(page, 'Good to see you');
  expect(await page.evaluate(async () => (await fetch('/api/orders')).status)).toBe(401);

  await openSignIn(page);
  await typePassword(page, 'ada@example.org', 'not the password at all');
  await see(page, 'This e-mail address and password do not go together.');
  expect(await barriers(page)).toEqual([]);
  expect(await violations(page)).toEqual([]);
  await typePassword(page, 'ada@example.org', PASSWORD);
  await see(page, 'Open your first order');
});

test('the page of the account lies behind the sign-in, and the sign-in leads back to it', async () => {
  const anonymous = await visit(browser, PHONE);
  await anonymous.page.goto(`${app}/api/auth/security`);
  await anonymous.page.getByRole('heading', { name: 'Sign in to Acme Trades' }).waitFor();
  await anonymous.context.close();

  const { page } = ada;
  await page.goto(`${app}/account`);
  await page.getByRole('link', { name: /Password, passkeys/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign-in and security' }).waitFor();
  expect(await barriers(page)).toEqual([]);
  await ada.picture('33-security');
  await page.setViewportSize(PHONE);
  expect(await barriers(page)).toEqual([]);
  await page.setViewportSize(DESKTOP);
});

test('a passkey is added, and signs in without a password', async () => {
  const { page, context } = ada;
  // This authenticator answers at once. Offered in the e-mail field it would sign in before any key was pressed.
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
  const authenticator = await context.newCDPSession(page);
  await authenticator.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId } = await authenticator.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await page.goto(`${app}/api/auth/security`);
  await page.getByLabel('Name of the new passkey (optional)').fill('My laptop');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await see(page, 'The passkey was added.');
  await page.getByRole('button', { name: 'Remove My laptop' }).waitFor();
  expect(await barriers(page)).toEqual([]);
  await ada.picture('34-passkey');
  const { credentials } = await authenticator.send('WebAuthn.getCredentials', { authenticatorId });
  expect(credentials).toMatchObject([{ isResidentCredential: true, rpId: 'acme.localhost' }]);

  // The owner gets a mail about it.
  await openMail(page, /A passkey was added/);

  await signOut(page);
  await openSignIn(page);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await see(page, 'Open your first order');
});

test('a second factor is turned on, with recovery codes that are shown once', async () => {
  const { page } = ada;
  await page.goto(`${app}/api/auth/security`);
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByRole('heading', { name: 'Set up two-step verification' }).waitFor();
  expect(await barriers(page)).toEqual([]);
  await ada.picture('35-totp');
  secret = (await page.locator('.secret').textContent()) ?? '';
  await page.getByLabel('Code', { exact: true }).fill('000000');
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByRole('alert').first().waitFor();
  await page.getByLabel('Code', { exact: true }).fill(totpCode(secret, Date.now()));
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
  expect(await barriers(page)).toEqual([]);
  recoveryCodes = await page.locator('.codes li').allTextContents();
  expect(new Set(recoveryCodes).size).toBe(10);
  await page.getByRole('link', { name: 'I have saved them' }).click();
  await see(page, /You have 10 recovery codes left/);
});

test('the password alone is no longer enough; a recovery code works once, and so does the app’s code', async () => {
  const { page } = ada;
  await signOut(page);
  await openSignIn(page);
  await typePassword(page, 'ada@example.org', PASSWORD);
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor();
  expect(await barriers(page)).toEqual([]);
  await ada.picture('36-second-factor');
  expect(await page.evaluate(async () => (await fetch('/api/orders')).status)).toBe(401);
  await page.getByLabel('Code', { exact: true }).fill('000000');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('alert').first().waitFor();
  await page.getByLabel('Code', { exact: true }).fill(recoveryCodes[0] ?? '');
  await page.getByRole('button', { name: 'Continue' }).click();
  await see(page, 'Open your first order');

  await signOut(page);
  await openSignIn(page);
  await typePassword(page, 'ada@example.org', PASSWORD);
  await page.getByLabel('Code', { exact: true }).fill(recoveryCodes[0] ?? '');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('alert').first().waitFor();
  // The present code may be the one that turned it on, and each works once: the app's next one is also valid.
  await page.getByLabel('Code', { exact: true }).fill(totpCode(secret, Date.now() + 30_000));
  await page.getByRole('button', { name: 'Continue' }).click();
  await see(page, 'Open your first order');
  await page.goto(`${app}/api/auth/security`);
  await see(page, /You have 9 recovery codes left/);
});

// spec
test('a second person signs up on a phone, from the HTML of the mail, and is no member until invited', async () => {
  const grace = await visit(browser, PHONE);
  const { page } = grace;
  await page.goto(`${app}/api/auth/sign-up`);
  await askForAccount(page, 'grace@example.org', 'Grace Hopper');
  await openMail(page, 'Finish signing up to Acme Trades');
  // The link inside the frame navigates the whole window, not the frame.
  await page.frameLocator('iframe').getByRole('link', { name: 'Finish signing up' }).click();
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign up', exact: true }).click();
  await see(page, 'You are not a member here');
  expect(await barriers(page)).toEqual([]);

  const link = await ada.page.evaluate(async () => {
    const response = await fetch('/api/invites', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ role: 'technician', email: 'grace@example.org' }),
    });
    return ((await response.json()) as { url: string }).url;
  });
  await page.goto(link);
  await page.getByRole('button', { name: 'Accept' }).click();
  await see(page, 'Nothing for you yet');
  expect(grace.faults).toEqual([]);
  await grace.context.close();
});

test('a forgotten password is replaced by mail, and every session ends with it', async () => {
  const elsewhere = await visit(browser, DESKTOP);
  const { page } = elsewhere;
  await page.goto(`${app}/api/auth/reset`);
  await page.getByLabel('E-mail address').fill('ada@example.org');
  await page.getByRole('button', { name: 'Send the link' }).click();
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
  await openMail(page, 'Choose a new password for Acme Trades');
  await page.getByRole('link', { name: /\/api\/auth\/reset\/finish/ }).click();
  await page.getByLabel('New password').fill(`${PASSWORD}, and a lock`);
  await page.getByRole('button', { name: 'Save the password' }).click();
  // A reader of the mail still lacks the second factor.
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor();
  await page.getByLabel('Code', { exact: true }).fill(recoveryCodes[1] ?? '');
  await page.getByRole('button', { name: 'Continue' }).click();
  await see(page, 'Open your first order');
  expect(await ada.page.evaluate(async () => (await fetch('/api/orders')).status)).toBe(401);
  expect(elsewhere.faults).toEqual([]);
  await elsewhere.context.close();
});

test('nothing broke on the way', () => {
  expect(ada.faults).toEqual([]);
  expect(platform.output()).not.toContain('"level":"error"');
});
