/** Writes the pages of `docs/cli`: `node packages/cli/src/docs/write.ts`. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { commands } from '../commands.ts';
import { cliPages } from './cli-text.ts';

const directory = new URL('../../../../docs/cli/', import.meta.url);
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory);
for (const [name, text] of cliPages(commands)) writeFileSync(new URL(name, directory), text);
