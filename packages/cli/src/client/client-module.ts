/** The text of a front end's client: a table of addresses, and everything else by type. */
import { PlatformError } from '@freehold/contracts';
import { httpBinding, OPERATION_NAME, type OperationTable } from '@freehold/operations';

export interface ClientModuleNames {
  /** What the module of the declarations calls the table. */
  readonly name: string;
  /** That module, as the client imports its types. */
  readonly from: string;
  /** That module, as it was named by whoever asked. */
  readonly shown: string;
}

/** @throws PlatformError `validation_failed` for what is no table of operations. */
export function clientModule(declared: unknown, { name, from, shown }: ClientModuleNames): string {
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

/** A text as TypeScript writes it, in single quotes. */
function literal(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}
