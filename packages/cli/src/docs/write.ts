/** Writes the reference: `node packages/cli/src/docs/write.ts`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { commands } from '../commands.ts';
import { cliText } from './cli-text.ts';

writeFileSync(fileURLToPath(new URL('../../../../docs/cli.md', import.meta.url)), cliText(commands));
