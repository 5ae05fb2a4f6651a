/** A real Chromium and its users, each with cookies and a screen of their own. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { requireChromium } from '../../tools/chromium.ts';

const artefacts = join(import.meta.dirname, '../../artefacts');

/** Without these, Chromium looks things up on the network at every start. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const DESKTOP = { width: 1280, height: 860 };
export const PHONE = { width: 390, height: 844 };

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: requireChromium(), headless: true, args: ARGUMENTS });
}

/** A person with a browser of their own. */
export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors that pages threw and responses with a 5xx status: a test expects none. */
  readonly faults: readonly string[];
  /** Saves a picture of the page under `artefacts/`, which git does not track. */
  picture(name: string): Promise<void>;
}

export async function visit(
  browser: Browser,
  viewport: { readonly width: number; readonly height: number },
  more: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({ viewport, hasTouch: viewport.width < 500, ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`page error: ${error.message}`));
  page.on('response', (response) => {
    if (response.status() >= 500) faults.push(`${response.status()} ${response.url()}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy/i.test(message.text()))
      faults.push(message.text());
  });
  return {
    page,
    context,
    faults,
    picture: async (name) => {
      mkdirSync(artefacts, { recursive: true });
      await page.screenshot({ path: join(artefacts, `${name}.png`), fullPage: true });
    },
  };
}

/** Chooses a person on the issuer's page. */
export async function continueAs(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: `Continue as ${name}` }).click();
}

/** Signs a person in from the first page of an application, through the issuer's page. */
export async function signInAt(page: Page, app: string, name: string): Promise<void> {
  await page.goto(app);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await continueAs(page, name);
}

/** Waits until a text is on the page. */
export async function see(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).first().waitFor();
}

/** Returns by how many pixels the page is wider than its screen: 0 is right. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

/**
 * Returns barriers for people who do not see the page, as sentences: none is right. Finds missing names, titles and
 * languages, repeated ids, and text that does not fit.
 */
export async function barriers(page: Page): Promise<string[]> {
  const found = await page.evaluate<string[]>(`(() => {
    const faults = [];
    const shown = (element) => element.checkVisibility({ visibilityProperty: true });
    const textOf = (element) => (element?.textContent ?? '').trim();
    const byIds = (ids) => (ids ?? '').split(/\\s+/).filter(Boolean).map((id) => document.getElementById(id));
    const nameOf = (element) =>
      element.getAttribute('aria-label') || byIds(element.getAttribute('aria-labelledby')).map(textOf).join(' ') ||
      [...(element.labels ?? [])].map(textOf).join(' ') || textOf(element) ||
      element.querySelector('img[alt]')?.alt || element.title || '';
    if (!document.documentElement.lang) faults.push('the page has no language');
    if (!document.title.trim()) faults.push('the page has no title');
    const headings = [...document.querySelectorAll('h1')].filter(shown);
    if (headings.length !== 1) faults.push('the page has ' + headings.length + ' main headings');
    if (!document.querySelector('main')) faults.push('the page has no main part');
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) faults.push('two elements have the id ' + id);
    for (const element of document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a[href], iframe')) {
      if (shown(element) && !nameOf(element)) faults.push('no name: ' + element.outerHTML.slice(0, 120));
    }
    for (const element of document.querySelectorAll('[aria-describedby], [aria-labelledby]')) {
      for (const name of ['aria-describedby', 'aria-labelledby'])
        if (byIds(element.getAttribute(name)).includes(null)) faults.push(name + ' leads nowhere: ' + element.outerHTML.slice(0, 120));
    }
    for (const image of document.images) if (!image.hasAttribute('alt')) faults.push('an image has no alt');
    return faults;
  })()`);
  const wider = await overflow(page);
  return wider > 0 ? [...found, `the page is ${wider} pixels wider than its screen`] : found;
}

/** The rules of WCAG 2.2 on the levels A and AA that a program can judge. */
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Returns what axe finds wrong, as a rule and the element that breaks it: none is right. */
export async function violations(page: Page): Promise<string[]> {
  const source = readFileSync(fileURLToPath(import.meta.resolve('axe-core')), 'utf8');
  // Evaluated from outside: the page's policy allows no script but its own.
  return page.evaluate<string[]>(`(async () => {
    ${source};
    const { violations } = await axe.run(document, { runOnly: ${JSON.stringify(AXE_TAGS)} });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 120)));
  })()`);
}
