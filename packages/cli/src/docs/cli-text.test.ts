import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commands } from '../commands.ts';
import { cliPages } from './cli-text.ts';

test('docs/cli is what the table of commands says: node packages/cli/src/docs/write.ts', () => {
  const directory = new URL('../../../../docs/cli/', import.meta.url);
  const written = readdirSync(directory).map((name): [string, string] => [
    name,
    readFileSync(new URL(name, directory), 'utf8'),
  ]);
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries(cliPages(commands)));
});
