/** `freehold dev`: serves the application in a builder's folder while it is written. */
import { resolve } from 'node:path';
import type * as DevPackage from '@freehold/dev';
import { z } from 'zod';
import { command } from '../lib/command.ts';
import type { World } from '../lib/world.ts';
import { inOneSentence, loadDev } from './load-dev.ts';

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

/** Ctrl-C is the normal way to stop. */
async function untilInterrupted(dev: DevPackage.Dev, { interrupted }: World): Promise<void> {
  if (!interrupted.aborted)
    await new Promise((stop) => interrupted.addEventListener('abort', stop, { once: true }));
  await dev.close();
}

function withoutAbsent<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
