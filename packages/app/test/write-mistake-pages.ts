/** Writes the pages of `docs/mistakes`: `node packages/app/test/write-mistake-pages.ts`. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mistakeDocuments } from '../src/mistakes/pages.ts';

const directory = new URL('../../../docs/mistakes/', import.meta.url);
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory);
for (const [name, text] of mistakeDocuments()) writeFileSync(new URL(name, directory), text);
