/** A vertical with one kind of record: what the bundles of tests have in common. */
import { defineApp, defineOperations, operation, signedIn, type VerticalManifest } from '@freehold/app';
import { z } from 'zod';

export const manifest = {
  slug: 'notes',
  name: 'Notes',
  version: '1.0.0',
  permissions: { 'note.read': 'See notes', 'note.write': 'Write notes', 'note.judge': 'Judge notes' },
  roles: { owner: { name: 'Owner', permissions: ['note.read', 'note.write'] } },
  ownerRole: 'owner',
  entities: { note: { read: 'note.read' } },
  env: {},
} satisfies VerticalManifest;

export const notes = (
  version: string,
  migrations: readonly { version: number; name: string; sql: string }[],
) =>
  defineApp({
    manifest: { ...manifest, version },
    migrations: [
      {
        version: 1,
        name: 'notes',
        sql: 'CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT',
      },
      ...migrations,
    ],
    operations: defineOperations({
      'note/count': operation({
        summary: 'Count the notes',
        input: z.strictObject({}),
        output: z.object({ notes: z.int() }),
        permission: 'note.read',
        http: { method: 'GET', path: '/api/notes/count' },
        run: ({ sql }) => ({ notes: sql.get<{ n: number }>('SELECT count(*) AS n FROM notes')?.n ?? 0 }),
      }),
      'note/clear': operation({
        summary: 'Delete all notes',
        input: z.strictObject({}),
        output: z.null(),
        permission: 'note.write',
        http: { method: 'DELETE', path: '/api/notes' },
        run: ({ sql }) => {
          sql.run('DELETE FROM notes');
          return null;
        },
      }),
    }),
    authenticatedPrincipal: signedIn(),
  });
