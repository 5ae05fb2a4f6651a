/** `freehold client`: writes the client of a vertical's own front end from its declarations (spec 4.5). */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { getSystemErrorMessage } from 'node:util';
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import { command } from '../command.ts';
import { CANNOT_WRITE } from '../world.ts';
import { clientModule } from './client-module.ts';

const path = z.string().min(1, 'must not be empty');

export const clientCommand = command({
  path: ['client'],
  summary: 'Write the typed client of a front end',
  description: [
    'Reads a table of operations and writes a module with a client that reaches each of them, with the types of its',
    'declaration. The module is written again only when an address changed; types follow the declarations by themselves.',
    'Run it before a build: a working tree that it changes has a client that was out of date.',
  ].join('\n'),
  examples: [
    { line: 'freehold client src/operations.ts', does: 'to src/operations.client.ts' },
    { line: 'freehold client src/orders.ts --export orders --out web/api.ts', does: 'under other names' },
    { line: 'freehold client src/operations.ts --json', does: 'for a program that reads the answer' },
  ],
  arguments: [{ name: 'module', summary: 'The module that exports the table of operations' }],
  options: {
    out: { summary: 'The file to write; the default is <module>.client.ts beside it', placeholder: 'file' },
    export: { summary: 'What the module calls the table; the default is operations', placeholder: 'name' },
  },
  input: z.strictObject({
    module: path.regex(/\.[mc]?[jt]s$/, 'must be a file with JavaScript or TypeScript'),
    out: path.regex(/\.ts$/, 'must end in .ts').optional(),
    export: z
      .string()
      .regex(/^[A-Za-z_$][\w$]*$/, 'must be the name of an export')
      .default('operations'),
  }),
  run: async (input, { cwd }) => {
    const from = resolve(cwd, input.module);
    const to = resolve(cwd, input.out ?? input.module.replace(/\.[mc]?[jt]s$/, '.client.ts'));
    const declared = (await load(from, input.module))[input.export];
    const text = clientModule(declared, {
      name: input.export,
      from: specifier(dirname(to), from),
      shown: input.module,
    });
    const changed = contentsOf(to) !== text;
    if (changed) write(to, text);
    const operations = Object.keys(declared as object).length;
    const shown = relative(cwd, to);
    return {
      value: { file: to, operations, changed },
      text: changed
        ? `Wrote ${shown}, for ${operations} operations.`
        : `${shown} is as it should be, for ${operations} operations.`,
    };
  },
});

async function load(file: string, shown: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
    throw new PlatformError('validation_failed', `${shown} cannot be loaded: ${why}`, { cause });
  }
}

/** How a module is named by one in another directory. */
function specifier(directory: string, file: string): string {
  const path = relative(directory, file).split(sep).join('/');
  return path.startsWith('.') ? path : `./${path}`;
}

function contentsOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Missing, or unreadable: then writing it says why.
    return null;
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    const why =
      cause instanceof Error && 'errno' in cause ? getSystemErrorMessage(Number(cause.errno)) : 'unknown';
    throw new PlatformError('unavailable', `${file} cannot be written: ${why}.`, {
      reason: CANNOT_WRITE,
      cause,
    });
  }
}
