/** The pages of an application that brings none, in a real browser without scripts: forms, phones, dark screens, keyboards. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSmallApp, type Reader, type SmallApp } from '../../packages/app/test/small-app.ts';
import { barriers, launchBrowser, see, violations } from '../support/browser.ts';

let server: Server;
let fixture: SmallApp;
let browser: Browser;
let origin: string;
let owner: Reader;
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const { method = 'GET', url = '/' } = request;
    const body = method === 'POST' ? { body: Buffer.concat(await request.toArray()) } : {};
    const headers = new Headers(request.headers as Record<string, string>);
    const answer = await fixture.call(new Request(`${origin}${url}`, { method, headers, ...body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  // A colour that no text is readable in, and no text is readable on in white.
  const look = { color: '#ffcc00', language: 'en' };
  [fixture, browser] = await Promise.all([
    openSmallApp({ origin, business: 'The Quiet Inn', app: { look } }),
    launchBrowser(),
  ]);
  owner = await fixture.signedIn('ada', 'Ada Lovelace');
  await owner.open('/');
});
afterAll(async () => {
  await browser?.close();
  server?.close();
  await fixture?.[Symbol.asyncDispose]();
});

/** A browser without scripts. */
async function browse(
  sub: string | null,
  screen: { readonly width: number; readonly dark?: boolean },
): Promise<{ page: Page; context: BrowserContext; policyFaults: string[] }> {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    viewport: { width: screen.width, height: 800 },
    colorScheme: screen.dark ? 'dark' : 'light',
  });
  if (sub !== null) {
    const [name = '', value = ''] = (await fixture.cookieOf(sub, sub)).split('=');
    await context.addCookies([{ name, value, url: origin }]);
  }
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const policyFaults: string[] = [];
  page.on('console', (message) => {
    if (/Content Security Policy/i.test(message.text())) policyFaults.push(message.text());
  });
  return { page, context, policyFaults };
}

/** Texts whose contrast is below 4.5 (WCAG 2.2, 1.4.3), by the colours that the browser computed. */
function faintTexts(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const paint = (colors) => {
      canvas.clearRect(0, 0, 1, 1);
      for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
      return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const luminance = (rgb) => rgb
      .map((channel) => channel / 255)
      .map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4))
      .reduce((sum, share, index) => sum + share * [0.2126, 0.7152, 0.0722][index], 0);
    const backgrounds = (element) => element === null ? ['#ffffff']
      : [...backgrounds(element.parentElement), getComputedStyle(element).backgroundColor];
    const faint = [];
    for (const element of document.querySelectorAll('body *')) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '');
      if (!own || !element.checkVisibility({ visibilityProperty: true }) || element.matches('option, .hidden')) continue;
      const behind = backgrounds(element);
      const [darker, lighter] = [luminance(paint(behind)), luminance(paint([...behind, getComputedStyle(element).color]))].sort((a, b) => a - b);
      const ratio = (lighter + 0.05) / (darker + 0.05);
      if (ratio < 4.5) faint.push(ratio.toFixed(2) + ' ' + element.outerHTML.slice(0, 100));
    }
    return faint;
  })()`);
}

test('a person is invited, accepts, and is removed, without a script', async () => {
  const ada = await browse('ada', { width: 1100 });
  await ada.page.goto(`${origin}/team`);
  await ada.page.getByLabel('E-mail address').fill('nonsense');
  await ada.page.getByRole('button', { name: 'Make the link' }).click();
  await see(ada.page, 'This is not an e-mail address.');
  expect(await ada.page.getByLabel('E-mail address').inputValue()).toBe('nonsense');
  await ada.page.getByLabel('E-mail address').fill('bo@example.org');
  await ada.page.getByRole('button', { name: 'Make the link' }).click();
  const link = await ada.page.getByLabel('Invite link').inputValue();

  const bo = await browse('bo', { width: 360 });
  await bo.page.goto(link);
  await bo.page.getByRole('button', { name: 'Accept the invite' }).click();
  await see(bo.page, 'Your role: Viewer');

  await ada.page.goto(`${origin}/team`);
  await ada.page.getByRole('link', { name: 'Remove bo' }).click();
  await see(ada.page, 'They lose every role');
  await ada.page.getByRole('button', { name: 'Remove' }).click();
  await see(ada.page, 'The member is removed.');
  await bo.page.goto(origin);
  await see(bo.page, 'You are not a member here');
  expect([...ada.policyFaults, ...bo.policyFaults]).toEqual([]);
  await Promise.all([ada.context.close(), bo.context.close()]);
});

test.each([
  [1100, false, ['/', '/team', '/log', '/account']],
  [320, true, ['/', '/team', '/log', '/log/denials', '/account', '/settings', '/none', '/?claim=x']],
])('each page is readable, %i pixels wide, dark: %s', async (width, dark, paths) => {
  const made = await owner.api('POST', '/api/guests', { name: 'Olga' });
  const { id } = (await made.json()) as { id: string };
  await fixture.join(owner, `kim${width}`, { role: 'manager', name: 'Kim Longname-Featherstonehaugh' });
  const visitor = await browse(null, { width, dark });
  const member = await browse('ada', { width, dark });
  // axe needs a script, which the pages are read without.
  const judge = await browser.newPage({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
  });
  const pages: [Page, string][] = [
    [visitor.page, '/'],
    [visitor.page, '/?invite=none'],
    ...paths.map((path): [Page, string] => [member.page, path]),
    [member.page, `/log/history?type=guest&id=${id}`],
    [member.page, `/erase?type=guest&id=${id}`],
  ];
  for (const [page, path] of pages) {
    await page.goto(`${origin}${path}`);
    expect([path, await barriers(page), await faintTexts(page)]).toEqual([path, [], []]);
    await judge.setContent(await page.content());
    expect([path, await violations(judge)]).toEqual([path, []]);
  }
  // The keyboard reaches the content first.
  await member.page.goto(`${origin}/team`);
  await member.page.keyboard.press('Tab');
  await see(member.page, 'Skip to the content');
  await member.page.keyboard.press('Enter');
  expect(new URL(member.page.url()).hash).toBe('#main');
  await Promise.all([visitor.context.close(), member.context.close(), judge.close()]);
});
