/** Three versions of a vertical: the second one has a migration, which the third one shares. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeScopeUnit } from '@freehold/kernel';
import { build } from 'esbuild';
import { declaredMigrations } from '../../../packages/directory/src/index.ts';
import { notes } from '../../../packages/runtime-workerd/test/bundles/plain.ts';

const TAGS = { version: 2, name: 'tags', sql: 'CREATE TABLE tags (name TEXT PRIMARY KEY) STRICT' };

/** Opens its database as every request does, and then shows it. */
const main = (version: string, migrations: readonly object[]): string => `
  import { hostedApp } from '@freehold/app/worker/hosted';
  import { notes } from './plain.ts';
  const { Instance: Plain, Declaration } = hostedApp(notes('${version}', ${JSON.stringify(migrations)}));
  export { Declaration };
  export class Instance extends Plain {
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== '/look' && pathname !== '/put') return super.fetch(request);
      const opened = await super.fetch(new Request('http://notes.localhost/api/notes/count', request));
      if (opened.status >= 500) return opened;
      const { sql } = this.ctx.storage;
      const text = searchParams.get('text');
      if (text !== null) sql.exec('INSERT INTO notes (id, text) VALUES (?, ?)', text, text);
      return Response.json({
        version: '${version}',
        migrated: sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'tags'").toArray().length === 1,
        notes: sql.exec('SELECT text FROM notes ORDER BY id').toArray().map(({ text }) => text),
      });
    }
  }`;

/** Writes the parts of a deployment of each version below `bundles` in the place. */
export async function writeBundles(place: string): Promise<void> {
  mkdirSync(join(place, 'bundles'), { recursive: true });
  for (const [version, migrations] of [
    ['1.0.0', []],
    ['2.0.0', [TAGS]],
    ['3.0.0', [TAGS]],
  ] as const) {
    const app = notes(version, migrations);
    const { outputFiles } = await build({
      stdin: {
        contents: main(version, migrations),
        resolveDir: fileURLToPath(new URL('../../../packages/runtime-workerd/test/bundles', import.meta.url)),
        loader: 'ts',
      },
      bundle: true,
      write: false,
      format: 'esm',
      target: 'es2024',
      conditions: ['workerd', 'worker', 'browser', 'import'],
      mainFields: ['module', 'main'],
      external: ['node:*', 'cloudflare:workers'],
    });
    const own = makeScopeUnit(app.vertical).migrations.filter(({ guarded }) => guarded);
    const parts = {
      manifest: app.manifest,
      migrations: declaredMigrations(own),
      egress: [],
      modules: [
        {
          name: 'main.js',
          mediaType: 'application/javascript+module',
          base64: Buffer.from((outputFiles[0] as { contents: Uint8Array }).contents).toString('base64'),
        },
      ],
    };
    writeFileSync(join(place, 'bundles', `${version}.json`), JSON.stringify(parts));
  }
}
