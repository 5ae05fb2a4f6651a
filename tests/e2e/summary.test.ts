/**
 * The owner lets a language model write to a customer, in a real browser: streamed, stopped half way, cut off,
 * refused, and without a model (spec 4.8, D-18 to D-22).
 */
import { MODEL_USAGE_KIND } from '@freehold/contracts';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  type ModelServer,
  refuses,
  startModelServer,
  streams,
} from '../../examples/fieldwork/test/model-server.ts';
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

let model: ModelServer;
let opened: EmbeddedPlatform;
let browser: Browser;
let ada: Visitor;
let order: string;

beforeAll(async () => {
  model = await startModelServer();
  [opened, browser] = await Promise.all([
    openEmbeddedPlatform({
      FREEHOLD_MODEL: 'openai-compatible:local',
      FREEHOLD_MODEL_OPENAI_COMPATIBLE_BASE_URL: model.url,
    }),
    launchBrowser(),
  ]);
  ada = await owner(opened.app, DESKTOP);
  await ada.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  order = await openOrder(ada.page);
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await ada?.picture('failed-summary').catch(() => undefined);
});
afterAll(async () => {
  await browser?.close();
  await opened?.[Symbol.asyncDispose]();
  await model?.[Symbol.asyncDispose]();
});

async function owner(app: string, screen: typeof DESKTOP): Promise<Visitor> {
  const visitor = await visit(browser, screen);
  await signInAt(visitor.page, app, 'Ada Lovelace');
  await see(visitor.page, 'Open your first order');
  return visitor;
}

/** Opens an order of a customer who reads German. Returns its id. */
function openOrder(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const post = async (path: string, body: object): Promise<{ id: string }> => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as { id: string };
    };
    const customer = await post('/api/customers', { name: 'Erika Müller', language: 'de' });
    return (await post('/api/orders', { customer: customer.id, title: 'Fix the boiler' })).id;
  });
}

const card = (page: Page): Locator => page.getByRole('region', { name: 'Summary for the customer' });
const written = (page: Page): Locator => card(page).getByRole('region', { name: 'Written summary' });

/** Returns the outcomes of the calls so far, whether or not the platform has collected them yet. */
async function outcomes(): Promise<unknown[]> {
  const pages = await Promise.all(
    (['platformRequests', 'platformRequestHistory'] as const).map(async (name) => {
      const response = await opened.manage(name, { fields: { kind: MODEL_USAGE_KIND } });
      return (await response.json()) as { items: { id: string; payload: { outcome: unknown } }[] };
    }),
  );
  const lines = new Map(pages.flatMap(({ items }) => items).map(({ id, payload }) => [id, payload]));
  return [...lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { outcome }]) => outcome);
}

test('by keyboard: the summary appears as it is written, in the customer’s language, and is copied', async () => {
  const { page } = ada;
  const more = Promise.withResolvers<void>();
  model.answer(streams(['Ihr Kessel ', 'wird repariert.'], { pause: () => more.promise }));
  await page.goto(`${opened.app}/orders/${order}`);
  const language = card(page).getByLabel('Language');
  await language.focus();
  expect(await language.inputValue()).toBe('de');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await written(page).getByText('Ihr Kessel').waitFor();
  expect(await written(page).getAttribute('aria-busy')).toBe('true');
  // The focus is where it was, on the button that now stops it.
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Stop');
  more.resolve();
  await see(page, 'The summary is written.');
  const text = written(page).getByText('Ihr Kessel wird repariert.');
  expect(await text.getAttribute('lang')).toBe('de');
  expect(await barriers(page)).toEqual([]);
  await written(page).getByRole('button', { name: 'Copy' }).press('Enter');
  await see(page, 'The summary is copied.');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('Ihr Kessel wird repariert.');
  await ada.picture('summary-written');
  expect(await outcomes()).toEqual(['completed']);
});

test('a user who stops it, or leaves the page, stops the provider; the tokens used until then are accounted for', async () => {
  const { page } = ada;
  model.answer(streams(['Half ', 'a'], { pause: () => new Promise(() => undefined) }));
  const begin = async () => {
    await card(page)
      .getByRole('button', { name: /^Write/ })
      .click();
    await written(page).getByText('Half').waitFor();
  };
  await begin();
  await card(page).getByRole('button', { name: 'Stop' }).click();
  await see(page, 'You stopped it: this is not the whole summary.');
  expect(await written(page).getByRole('button', { name: 'Copy' }).count()).toBe(0);
  await expect.poll(model.left).toBe(1);
  await begin();
  await page.getByRole('link', { name: 'All orders', exact: true }).click();
  await expect.poll(model.left).toBe(2);
  await expect.poll(outcomes).toEqual(['completed', 'cancelled', 'cancelled']);
  // Before the first word the provider's usage is unknown.
  await page.goto(`${opened.app}/orders/${order}`);
  model.answer(() => new Promise(() => undefined));
  await card(page).getByRole('button', { name: 'Write' }).click();
  await expect.poll(() => model.asked.length).toBe(4);
  await card(page).getByRole('button', { name: 'Stop' }).click();
  await expect.poll(model.left).toBe(3);
  await expect.poll(outcomes).toEqual(['completed', 'cancelled', 'cancelled', 'cancelled']);
  expect(opened.incidents).toEqual([]);
});

test('a summary that is cut off says so, and one that breaks off is not offered to be copied', async () => {
  const { page } = ada;
  await page.goto(`${opened.app}/orders/${order}`);
  model.answer(streams(['This is too lo'], { finish: 'length' }));
  await card(page).getByRole('button', { name: 'Write' }).click();
  await see(page, 'This was cut off: the model stopped before it was done.');
  model.answer(
    streams(['This is ', 'too'], { end: 'broken', pause: () => new Promise((done) => setImmediate(done)) }),
  );
  await card(page).getByRole('button', { name: 'Write again' }).click();
  await see(page, 'The answer of the language model broke off, or cannot be understood. Try again.');
  expect(await written(page).getByRole('button', { name: 'Copy' }).count()).toBe(0);
  expect(await barriers(page)).toEqual([]);
  await ada.picture('summary-broken-off');
});

test('a refusal is one sentence, and writing again works once it is over', async () => {
  const { page } = ada;
  model.answer(refuses(429, { 'retry-after': '1' }));
  await card(page).getByLabel('Language').selectOption('fr');
  await card(page).getByRole('button', { name: 'Write again' }).click();
  await see(page, 'The language model is asked too often at the moment. Try again in a while.');
  model.answer(streams(['Votre chaudière est réparée.']));
  await card(page).getByRole('button', { name: 'Write again' }).click();
  expect(await written(page).getByText('Votre chaudière').getAttribute('lang')).toBe('fr');
  expect(ada.faults).toEqual([]);
  expect(opened.incidents).toEqual([]);
});

test('without a model the card says what is missing and who can set it, and offers no button', async () => {
  await using none = await openEmbeddedPlatform();
  const visitor = await owner(none.app, PHONE);
  const { page } = visitor;
  await page.goto(`${none.app}/orders/${await openOrder(page)}`);
  await see(
    page,
    'This needs a language model, and none is set up here: the operator of this platform names one in FREEHOLD_MODEL.',
  );
  expect(await card(page).getByRole('button').count()).toBe(0);
  expect(await barriers(page)).toEqual([]);
  await visitor.picture('summary-without-a-model');
  expect(visitor.faults).toEqual([]);
});
