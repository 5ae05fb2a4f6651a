/** A builder's folder with a small application, in a temporary folder: the packages are those of the repository. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

const FILES: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify({ name: 'shelf', private: true, type: 'module' }),
  'src/app.ts': `import { defineApp, signedIn } from '@freehold/app';
import { add, list } from './books/operations.ts';
import { migrations } from './migrations.ts';

export default defineApp({
  manifest: {
    slug: 'shelf',
    name: 'Shelf',
    version: '0.1.0',
    permissions: { 'book.read': 'See books', 'book.write': 'Add books' },
    roles: {
      owner: { name: 'Owner', permissions: ['book.read', 'book.write'] },
      reader: { name: 'Reader', permissions: ['book.read'] },
    },
    ownerRole: 'owner',
    entities: {},
    env: {},
  },
  migrations,
  operations: { 'book/add': add, 'book/list': list },
  authenticatedPrincipal: signedIn(),
});
`,
  'src/migrations.ts': `import type { Migration } from '@freehold/store';

export const migrations: readonly Migration[] = [
  { version: 1, name: 'books', sql: 'CREATE TABLE books (id TEXT PRIMARY KEY, title TEXT NOT NULL) STRICT' },
];
`,
  'src/books/operations.ts': `import { operation } from '@freehold/kernel';
import { z } from 'zod';

export const add = operation({
  summary: 'Add a book',
  input: z.strictObject({ title: z.string() }),
  output: z.object({ id: z.string() }),
  permission: 'book.write',
  http: { method: 'POST', path: '/api/books' },
  run: (ctx, { title }) => {
    const id = ctx.newId('bok');
    ctx.sql.run('INSERT INTO books (id, title) VALUES (?, ?)', id, title);
    if (title === 'Necronomicon') throw new Error('this book cannot be added');
    return { id };
  },
});

export const list = operation({
  summary: 'List the books',
  input: z.strictObject({}),
  output: z.object({ titles: z.array(z.string()) }),
  permission: 'book.read',
  http: { method: 'GET', path: '/api/books' },
  run: (ctx) => ({
    titles: ctx.sql.all<{ title: string }>('SELECT title FROM books ORDER BY title').map(({ title }) => title),
  }),
});
`,
  'web/dist/index.html': '<!doctype html><html><head><title>Shelf</title></head><body>Books</body></html>',
};

export interface SmallApp extends Disposable {
  readonly folder: string;
  read(path: string): string;
  write(path: string, text: string): void;
  remove(path: string): void;
  /** Replaces a text that is there. */
  edit(path: string, from: string, to: string): void;
}

export function makeSmallApp(): SmallApp {
  const folder = mkdtempSync(join(tmpdir(), 'freehold-dev-'));
  symlinkSync(MODULES, join(folder, 'node_modules'));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const read = (path: string) => readFileSync(join(folder, path), 'utf8');
  for (const [path, text] of Object.entries(FILES)) write(path, text);
  return {
    folder,
    read,
    write,
    remove: (path) => rmSync(join(folder, path), { recursive: true }),
    edit: (path, from, to) => {
      const text = read(path);
      if (!text.includes(from)) throw new Error(`${path} has no ${from}`);
      write(path, text.replace(from, to));
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
