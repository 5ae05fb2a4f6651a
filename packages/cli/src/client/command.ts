/** `freehold client` writes the typed client of a vertical's own front end from its declarations (spec 4.5). */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PlatformError } from '@freehold/contracts';
import { httpBinding, OPERATION_NAME, type OperationTable } from '@freehold/operations';
import { z } from 'zod';
import { command } from '../lib/command.ts';
import { fileFailure } from '../lib/world.ts';

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
  arguments: [{ name: 'module', summary: 'The module that exports the table of operations', isFile: true }],
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

/** Returns the import path of a module, as a module in another directory writes it. */
function specifier(directory: string, file: string): string {
  const path = relative(directory, file).split(sep).join('/');
  return path.startsWith('.') ? path : `./${path}`;
}

function contentsOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // The file is missing or unreadable; in the second case writing it gives the reason.
    return null;
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw fileFailure(`${file} cannot be written`, cause);
  }
}

interface ClientModuleNames {
  /** The name of the exported table. */
  readonly name: string;
  /** The module of the declarations, as the client imports its types. */
  readonly from: string;
  /** The module as it was typed. */
  readonly shown: string;
}

/**
 * Writes the module: a table of addresses; everything else follows by type.
 * @throws PlatformError `validation_failed` for a value that is no table of operations.
 */
function clientModule(declared: unknown, { name, from, shown }: ClientModuleNames): string {
  const operations = requireOperations(declared, `The export ${name} of ${shown}`);
  const lines = Object.entries(operations).map(([operation, declaration]) => {
    const { method, path } = httpBinding(operation, declaration);
    return `  ${literal(operation)}: { method: ${literal(method)}, path: ${literal(path)} },`;
  });
  return `${[
    `/** Written by \`freehold client\` from ${from}: run it again instead of changing it. */`,
    `import {`,
    `  makeOperationsClient,`,
    `  type OperationsClient,`,
    `  type OperationsClientOptions,`,
    `} from '@freehold/vertical-host/operations-client';`,
    `import type { ${name} } from ${literal(from)};`,
    '',
    `/** Every operation by its name. Default: called at the page's own origin. */`,
    `export function makeClient(options?: OperationsClientOptions): OperationsClient<typeof ${name}> {`,
    `  return makeOperationsClient<typeof ${name}>(ADDRESSES, options);`,
    '}',
    '',
    'const ADDRESSES = {',
    ...lines,
    '} as const;',
  ].join('\n')}\n`;
}

function requireOperations(declared: unknown, what: string): OperationTable {
  const wrong = (why: string) => new PlatformError('validation_failed', `${what} ${why}.`);
  if (declared === undefined) throw wrong('does not exist: --export names another one');
  if (typeof declared !== 'object' || declared === null || Array.isArray(declared))
    throw wrong('is no table of operations');
  for (const [name, operation] of Object.entries(declared)) {
    const isDeclared = typeof operation === 'object' && operation !== null && 'run' in operation;
    if (!OPERATION_NAME.test(name) || !isDeclared)
      throw wrong(`is no table of operations: ${JSON.stringify(name)} is none`);
  }
  return declared as OperationTable;
}

/** A text in single quotes, as TypeScript writes it. */
function literal(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}
