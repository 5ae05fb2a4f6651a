/** Follows the guide with a project, terminals and a browser, and compares each result with the text. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { continueAs, DESKTOP, see, type Visitor, visit } from '../support/browser.ts';
import { applyDiff } from '../support/docs-examples.ts';
import { installWithoutNetwork } from '../support/packages.ts';
import { linesPattern, requireJson, requireLines } from './expectations.ts';
import type { FileStep, OpenStep, RunStep, SeeStep, Step } from './read-guide.ts';
import { openTerminal, type Terminal } from './terminal.ts';

export interface ReaderOptions {
  /** The checkout, where the guide begins; or another folder that has the program. */
  readonly checkout: string;
  /** The tarballs that `npm run pack` made; the guide calls their folder `dist/packages`. */
  readonly packages: string;
  /** The directory of the project; the guide calls it `../lost-and-found`. */
  readonly project: string;
  readonly browser: Browser;
  /** Where the application is served, and where people sign in. */
  readonly ports: { readonly application: number; readonly issuer: number };
  /** Does the work of `npm install` in the project. Default: without a network, from the checkout. */
  readonly install?: () => void;
  /** For the commands of the guide. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Reader extends AsyncDisposable {
  /** Follows all steps. @throws Error that begins with the place in the guide that is wrong. */
  followGuide(steps: readonly Step[]): Promise<void>;
  /** Errors in pages that the guide did not announce. */
  readonly faults: () => readonly string[];
}

/** These run until they are stopped. A second start of the same terminal stops the first. */
const APPLICATION = /^npm run dev\b/;
const SERVER = /^(?:npm run dev\b|npx --no-install node website\/server\.ts$)/;
/** Work in the background takes a moment, so an address is opened again. */
const LOOKS_MAX = 20;

export function makeReader(options: ReaderOptions): Reader {
  const { checkout, packages, project, browser, ports, env = {} } = options;
  const { install = () => installWithoutNetwork(project, packages) } = options;
  let cwd = checkout;
  let last: Terminal | undefined;
  /** The last page, when it was opened after the last command. */
  let page: Page | undefined;
  const terminals: Terminal[] = [];
  let application: Terminal | undefined;
  /** The programs that npm has found. */
  const found = new Set<string>();
  const visitors: Visitor[] = [];

  const paste = ({ path, how, text }: FileStep): void => {
    const target = join(project, path);
    if ((how === 'new') === existsSync(target))
      throw new Error(`${path} is ${how === 'new' ? 'there already' : 'not there'}`);
    mkdirSync(dirname(target), { recursive: true });
    if (how === 'appended') appendFileSync(target, text);
    else
      writeFileSync(target, how === 'changed' ? applyDiff(readFileSync(target, 'utf8'), text, path) : text);
  };

  const run = async ({ command }: RunStep, next: Step | undefined): Promise<void> => {
    page = undefined;
    const line = command.replaceAll('../lost-and-found', project).replaceAll('dist/packages', packages);
    if (line.startsWith('cd ')) {
      cwd = project;
      return;
    }
    // They are there.
    if (line === 'npm run pack') return;
    if (line === 'npm install') return install();
    if (APPLICATION.test(line)) await application?.stop();
    last = openTerminal({ line, cheaper: cheaper(line), cwd, env });
    terminals.unshift(last);
    if (APPLICATION.test(line)) application = last;
    if (SERVER.test(line)) return void (await last.waitFor(/ is at http.*$/m));
    const code = await last.end();
    // A failure that the guide does not announce is an error.
    if (code !== 0 && next?.kind !== 'see') throw new Error(`${line} ended with ${code}:\n${last.output()}`);
  };

  /**
   * The types are checked by one checker, which takes half the CPU time of the usual four; the test files share their
   * modules. npm finds each program of the project once; then it is taken from the path.
   */
  const cheaper = (line: string): string => {
    if (APPLICATION.test(line)) {
      const [, own = ''] = line.split(' -- ');
      return `freehold dev ${own} --port ${ports.application} --issuer-port ${ports.issuer}`;
    }
    const isKnown = found.has(line);
    found.add(line);
    if (line === 'npm run check') return isKnown ? 'tsc --checkers 1' : `${line} -- --checkers 1`;
    if (line === 'npm test') return isKnown ? 'vitest run --no-isolate' : `${line} -- --no-isolate`;
    return line;
  };

  /** Returns the window of a step: the reader's own, a new private one, or the last private one. */
  const windowOf = async ({ privately }: OpenStep): Promise<Visitor> => {
    const known = privately === null ? visitors[0] : visitors.at(-1);
    if (known && privately !== 'new') return known;
    const opened = await visit(browser, DESKTOP);
    visitors.push(opened);
    return opened;
  };

  const open = async (each: OpenStep): Promise<void> => {
    page = (await windowOf(each)).page;
    await page.goto(each.address);
    for (const action of each.actions) {
      if (action.act === 'type') await page.getByLabel(action.into).fill(action.text);
      else if (action.act === 'choose') await continueAs(page, action.name);
      else if (action.act === 'press')
        await page.getByRole('button', { name: action.name, exact: true }).click();
      else await see(page, action.name);
    }
  };

  const compare = async ({ language, text }: SeeStep): Promise<void> => {
    if (page) return requireJson(text, (await page.locator('body').textContent()) ?? '');
    if (!last) throw new Error('nothing was run');
    if (SERVER.test(last.line)) return void (await last.waitFor(linesPattern(text)));
    await last.end();
    if (language === 'json') requireJson(text, last.stdout() || last.output());
    else requireLines(text, last.output(), 'somewhere');
  };

  const lookUntil = async (each: SeeStep): Promise<void> => {
    for (let looks = 1; ; looks += 1) {
      try {
        return await compare(each);
      } catch (error) {
        if (!page || looks === LOOKS_MAX) throw error;
        await page.reload();
      }
    }
  };

  const step = async (each: Step, next: Step | undefined): Promise<void> => {
    if (each.kind === 'file') paste(each);
    else if (each.kind === 'run') await run(each, next);
    else if (each.kind === 'open') await open(each);
    else await lookUntil(each);
  };

  return {
    followGuide: async (steps) => {
      for (const [index, each] of steps.entries()) {
        await step(each, steps[index + 1]).catch((error: unknown) => {
          const said = application === undefined ? '' : `\nThe application said:\n${application.output()}`;
          throw new Error(`${each.where}: ${error instanceof Error ? error.message : error}${said}`, {
            cause: error,
          });
        });
      }
    },
    faults: () => visitors.flatMap((visitor) => visitor.faults),
    [Symbol.asyncDispose]: async () => {
      for (const { context } of visitors) await context.close();
      for (const terminal of terminals) await terminal.stop();
    },
  };
}
