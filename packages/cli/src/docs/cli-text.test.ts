import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commands } from '../commands.ts';
import { cliText } from './cli-text.ts';

test('docs/cli.md is what the table of commands says: node packages/cli/src/docs/write.ts', () => {
  const written = readFileSync(new URL('../../../../docs/cli.md', import.meta.url), 'utf8');
  expect(written).toBe(cliText(commands));
});
