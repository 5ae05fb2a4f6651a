/** `freehold dev`: serves the application in a builder's folder while it is written. */
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PlatformError, type ProblemCode } from '@freehold/contracts';
import type * as DevPackage from '@freehold/dev';
import { z } from 'zod';
import { command } from '../lib/command.ts';
import type { World } from '../lib/world.ts';

/** A string, so that the package is looked up when the command runs: this program starts without it. */
const DEV: string = '@freehold/dev';

const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port')
  .transform(Number)
  .pipe(z.number().max(65_535, 'must be a port'));

export const devCommand = command({
  path: ['dev'],
  summary: 'Serve the application in this folder while you write it',
  description: [
    'Serves the application that src/app.ts declares, with an instance of its own and an issuer where people sign in',
    'without a password. Each save below the folder is served within a second. A broken one is shown with its file and',
    'line, here and in the browser, and the last good version keeps serving. The data is kept in .freehold between',
    'starts. Ctrl-C stops. It listens on this machine alone. docs/dev.md says more.',
  ].join('\n'),
  examples: [
    { line: 'freehold dev', does: 'at http://localhost:8790' },
    { line: 'freehold dev --fresh --seed seed.ts', does: 'with empty data, filled by your own module' },
    { line: 'freehold dev --json', does: 'with one line of JSON for each event' },
  ],
  arguments: [],
  options: {
    directory: { summary: 'The folder of the application; the default is this one', placeholder: 'dir' },
    port: { summary: 'Where it is served; the default is 8790', placeholder: 'number' },
    issuerPort: { summary: 'Where people sign in; the default is 8788', placeholder: 'number' },
    fresh: { summary: 'Delete the data of earlier starts first', kind: 'flag' },
    seed: { summary: 'A module that fills new data, once', placeholder: 'file' },
  },
  input: z.strictObject({
    directory: z.string().min(1, 'must not be empty').optional(),
    port: port.optional(),
    issuerPort: port.optional(),
    fresh: z.boolean().optional(),
    seed: z.string().min(1, 'must not be empty').optional(),
  }),
  run: async ({ directory = '.', ...options }, world) => {
    const folder = resolve(world.cwd, directory);
    const { startDev, eventText } = await loadDev(folder);
    const write = (text: string) => void world.output.write(Buffer.from(`${text}\n`));
    const show = (event: DevPackage.DevEvent) =>
      write(world.asJson ? JSON.stringify(event) : eventText(event));
    const asked = { folder, ...withoutAbsent(options), onEvent: show, ownsProcess: true };
    const dev = await startDev(asked).catch(inOneSentence);
    return { value: dev.ready, text: eventText(dev.ready), until: untilInterrupted(dev, world) };
  },
});

/** The project's own copy comes first: its packages are those of the application. */
async function loadDev(folder: string): Promise<typeof DevPackage> {
  try {
    const own = createRequire(join(folder, 'package.json')).resolve(DEV);
    return (await import(pathToFileURL(own).href)) as typeof DevPackage;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  try {
    return (await import(DEV)) as typeof DevPackage;
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new PlatformError(
      'not_found',
      '@freehold/dev is not installed: run npm install --save-dev @freehold/dev in the folder of your application.',
      { reason: 'dev_not_installed', cause },
    );
  }
}

/** Whether the package itself is missing, and not one that it needs. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: string };
  const isNotFound = code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';
  return isNotFound && (message ?? '').includes(DEV);
}

/** The package may be another copy than ours, so that its error is told by its name. */
function inOneSentence(error: unknown): never {
  const { name, code, message } = error as { name?: string; code?: ProblemCode; message?: string };
  if (name !== 'DevError' || code === undefined || message === undefined) throw error;
  throw new PlatformError(code, message, { cause: error });
}

/** Ctrl-C is the normal way to stop. */
async function untilInterrupted(dev: DevPackage.Dev, { interrupted }: World): Promise<void> {
  if (!interrupted.aborted)
    await new Promise((stop) => interrupted.addEventListener('abort', stop, { once: true }));
  await dev.close();
}

function withoutAbsent<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
