/** Follows the guide with a project, terminals and a browser, and compares each result with the text. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { continueAs, DESKTOP, see, type Visitor, visit } from '../support/browser.ts';
import { applyDiff } from '../support/docs-examples.ts';
import { installWithoutNetwork } from '../support/packages.ts';
import { filledIn, linesPattern, requireJson, requireLines } from './expectations.ts';
import type { FileStep, OpenStep, RunStep, SeeStep, Step } from './read-guide.ts';
import { openTerminal, type Terminal } from './terminal.ts';

export interface ReaderOptions {
  /** The checkout, where the guide begins. */
  readonly checkout: string;
  /** The tarballs that `npm run pack` made; the guide calls their folder `dist/packages`. */
  readonly packages: string;
  /** The directory of the project; the guide calls it `../lost-and-found`. */
  readonly project: string;
  readonly browser: Browser;
  /** The environment of every command: the ports of the application and the issuer. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Reader extends AsyncDisposable {
  /** Follows all steps. @throws Error that begins with the place in the guide that is wrong. */
  followGuide(steps: readonly Step[]): Promise<void>;
  /** Errors in pages that the guide did not announce. */
  readonly faults: () => readonly string[];
}

/** These run until they are stopped. A second start stops the first. */
const SERVERS: ReadonlySet<string> = new Set([
  'npm start',
  'npm run issuer',
  'npx --no-install node website/server.ts',
]);
const APPLICATION = 'npm start';
/** These change nothing, and may be repeated. */
const LOOKING = /^npx --no-install node src\/(?:desk\.ts (?:shelf|slip)|operator\.ts)\b/;
const LOOKS_MAX = 10;

export function makeReader({ checkout, packages, project, browser, env }: ReaderOptions): Reader {
  let cwd = checkout;
  let last: Terminal | undefined;
  /** The last page, when it was opened after the last command. */
  let page: Page | undefined;
  /** Every command so far, the latest first. */
  const commands: Terminal[] = [];
  /** The commands that have asked for input. */
  const asking = new Set<Terminal>();
  const servers = new Map<string, Terminal>();
  /** The programs that `npx` has found. */
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
    const line = complete(command);
    if (line.startsWith('cd ')) {
      cwd = project;
      return;
    }
    // They are there.
    if (line === 'npm run pack') return;
    if (line.startsWith('npm install')) return install(line);
    if (SERVERS.has(line)) return serve(line);
    last = openTerminal({ line, cheaper: cheaper(line), cwd, env });
    commands.unshift(last);
    // It waits for its user, and continues when they have signed in.
    if (next?.kind === 'open' || (next?.kind === 'see' && /^Open http/.test(next.text))) return;
    const code = await last.end();
    // A failure that the guide does not announce is an error.
    if (code !== 0 && next?.kind !== 'see') throw new Error(`${line} ended with ${code}:\n${last.output()}`);
  };

  /** Returns the command with the former value in place of its `…`. */
  const complete = (command: string): string =>
    command
      .replaceAll('../lost-and-found', project)
      .replaceAll('dist/packages', packages)
      .replaceAll(/[^\s'"]*…[^\s'"]*/g, (shown) => {
        const found = commands.map((terminal) => filledIn(shown, terminal.output())).find(Boolean);
        if (found === undefined) throw new Error(`nothing was shown that is like ${shown}`);
        return found;
      });

  /**
   * The types are checked by one checker, which takes half the CPU time of the usual four; the test files share their
   * modules. `npx` starts npm to find a program of the project: each is found once this way, and is then taken from the
   * path.
   */
  const cheaper = (line: string): string => {
    if (line === 'npm run check') return `${line} -- --checkers 1`;
    if (line === 'npm test') return `${line} -- --no-isolate`;
    const [, tool, words = ''] = /^npx --no-install (\S+)(.*)$/s.exec(line) ?? [];
    if (tool === undefined) return line;
    if (found.has(tool)) return tool + words;
    found.add(tool);
    return line;
  };

  /** Does the work of `npm install` without a network: the checkout has all other packages of the project. */
  const install = (line: string): void => {
    const modules = join(project, 'node_modules');
    if (!existsSync(modules)) installWithoutNetwork(project, packages);
    const [, name, version] = /^npm install --save-dev (\S+)@(\S+)$/.exec(line) ?? [];
    if (name === undefined) return;
    const there = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as {
      version: string;
    };
    if (there.version !== version) throw new Error(`the checkout has ${name} ${there.version}`);
  };

  const serve = async (line: string): Promise<void> => {
    await servers.get(line)?.stop();
    last = openTerminal({ line, cwd, env });
    servers.set(line, last);
    await last.waitFor(/^ready: .*$/m);
  };

  const open = async ({ address, isPrivate, actions }: OpenStep): Promise<void> => {
    const shown = address ?? (await last?.waitFor(/(?<=Open )http\S+/));
    if (shown === undefined) throw new Error('no address was shown');
    const visitor = isPrivate || visitors[0] === undefined ? await visit(browser, DESKTOP) : visitors[0];
    if (!visitors.includes(visitor)) visitors.push(visitor);
    const here = visitor.page;
    await here.goto(shown);
    for (const action of actions) {
      if (action.act === 'type') await here.getByLabel(action.into).fill(action.text);
      else if (action.act === 'choose') await continueAs(here, action.name);
      else if (action.act === 'press')
        await here.getByRole('button', { name: action.name, exact: true }).click();
      else await see(here, action.name);
    }
    // The result of a command that waits is in its terminal.
    page = address === null ? undefined : here;
  };

  const compare = async ({ language, text, inFirstTerminal }: SeeStep): Promise<void> => {
    if (page) return requireJson(text, (await page.locator('body').textContent()) ?? '');
    const terminal = inFirstTerminal ? servers.get(APPLICATION) : last;
    if (!terminal) throw new Error('nothing was run');
    if (SERVERS.has(terminal.line)) return void (await terminal.waitFor(linesPattern(text)));
    if (/^Open http/.test(text)) {
      asking.add(terminal);
      return void (await terminal.waitFor(linesPattern(text)));
    }
    await terminal.end();
    // Tools print more than the guide shows; our own programs print exactly this, once they were answered.
    const isOurs = terminal.line.startsWith('npx --no-install node ') && !asking.has(terminal);
    if (language === 'json') requireJson(text, terminal.stdout() || terminal.output());
    else requireLines(text, terminal.output(), isOurs ? 'exactly' : 'somewhere');
  };

  /** Background work takes a moment, so a look is repeated. */
  const lookUntil = async (each: SeeStep): Promise<void> => {
    for (let looks = 1; ; looks += 1) {
      try {
        return await compare(each);
      } catch (error) {
        if (page || !last || !LOOKING.test(last.line) || looks === LOOKS_MAX) throw error;
        last = openTerminal({ line: last.line, cheaper: cheaper(last.line), cwd, env });
        commands.unshift(last);
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
          throw new Error(`${each.where}: ${error instanceof Error ? error.message : error}`, {
            cause: error,
          });
        });
      }
    },
    faults: () => visitors.flatMap((visitor) => visitor.faults),
    [Symbol.asyncDispose]: async () => {
      for (const { context } of visitors) await context.close();
      for (const terminal of [...commands, ...servers.values()]) await terminal.stop();
    },
  };
}
