/** A person who is signed in with the wrong account can choose another one, without signing out at the issuer first. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPlatform, openEmbeddedPlatform } from '../http/embedded-platform.ts';
import { barriers, continueAs, launchBrowser, PHONE, see, signInAt, visit } from '../support/browser.ts';

let opened: EmbeddedPlatform;
let browser: Browser;
beforeAll(async () => {
  [opened, browser] = await Promise.all([openEmbeddedPlatform(), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await opened?.[Symbol.asyncDispose]();
});

test('a non-member who chooses another account is asked for it by the issuer, and gets in as a member', async () => {
  const owner = await visit(browser, PHONE);
  await signInAt(owner.page, opened.app, 'Ada Lovelace');
  await see(owner.page, 'Open your first order');

  const { page, faults } = await visit(browser, PHONE);
  await signInAt(page, opened.app, 'Grace Hopper');
  await see(page, 'You are not a member here');
  expect(await barriers(page)).toEqual([]);
  await page.getByRole('link', { name: 'Use another account' }).click();
  await continueAs(page, 'Ada Lovelace');
  await see(page, 'Open your first order');
  expect(faults).toEqual([]);
});
