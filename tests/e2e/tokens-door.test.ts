/** An instance for programs only: none of its pages leads to a sign-in, because there is none. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPlatform, openEmbeddedPlatform } from '../http/embedded-platform.ts';
import { barriers, launchBrowser, PHONE, see, visit } from '../support/browser.ts';

let opened: EmbeddedPlatform;
let browser: Browser;
beforeAll(async () => {
  [opened, browser] = await Promise.all([
    openEmbeddedPlatform({ FREEHOLD_SIGN_IN: 'tokens' }),
    launchBrowser(),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await opened?.[Symbol.asyncDispose]();
});

test.each([
  ['the front page', '/', 'Good to see you'],
  ['a claim link', '/?claim=spent', 'Claim Acme Trades'],
  ['an invite link that does not work', '/?invite=spent', 'This link does not work'],
])('%s offers no sign-in with a browser', async (_what, path, heading) => {
  const visitor = await visit(browser, PHONE);
  const { page } = visitor;
  await page.goto(`${opened.app}${path}`);
  await page.getByRole('heading', { name: heading }).waitFor();
  await see(page, 'There is nowhere to sign in with a browser.');
  expect(await page.getByRole('link').count()).toBe(0);
  expect(await barriers(page)).toEqual([]);
  await visitor.context.close();
});

test('a claim link says how a program uses it', async () => {
  const visitor = await visit(browser, PHONE);
  await visitor.page.goto(`${opened.app}/?claim=token`);
  await see(visitor.page, 'POST /api/claim');
  await visitor.context.close();
});
