/** Records the present public surface: `node tests/surface/write.ts`. */
import { writeFileSync } from 'node:fs';
import { readSurface } from './surface.ts';

const text = `${JSON.stringify(await readSurface(), null, 2)}\n`;
writeFileSync(new URL('surface.json', import.meta.url), text);
