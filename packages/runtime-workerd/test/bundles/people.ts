/** A vertical with personal data of every sort: sealed in a table and in events, declared as personal, and neither. */
import {
  defineApp,
  defineOperations,
  idSchema,
  operation,
  PlatformError,
  signedIn,
  type VerticalManifest,
} from '@freehold/app';
import { z } from 'zod';

const manifest = {
  slug: 'people',
  name: 'People',
  version: '1.0.0',
  permissions: { 'person.read': 'See people', 'person.write': 'Write people down' },
  roles: { owner: { name: 'Owner', permissions: ['person.read', 'person.write'] } },
  services: { robot: { name: 'Robot', permissions: ['person.read', 'person.write'] } },
  ownerRole: 'owner',
  entities: {
    person: { read: 'person.read', attachments: { read: 'person.read', write: 'person.write' } },
  },
  env: { PAYMENT_KEY: { summary: 'Key of the payment provider', secret: true } },
} satisfies VerticalManifest;

const personId = idSchema('per');
const person = z.object({
  ...{ id: z.string(), name: z.string(), email: z.string(), born: z.string(), remark: z.string() },
  secret: z.string().nullable(),
});

export const people = defineApp({
  manifest,
  migrations: [
    {
      version: 1,
      name: 'people',
      sql: `CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, born TEXT NOT NULL,
        remark TEXT NOT NULL, secret TEXT) STRICT`,
    },
  ],
  operations: defineOperations({
    'person/create': operation({
      summary: 'Write a person down',
      input: z.strictObject({
        name: z.string(),
        email: z.string(),
        born: z.string(),
        remark: z.string(),
        secret: z.string(),
      }),
      output: z.object({ id: z.string() }),
      permission: 'person.write',
      newSubjects: () => 1,
      run: (ctx, { name, email, born, remark, secret }) => {
        const id = ctx.newId('per');
        const sealed = ctx.seal(id, `people.secret/${id}`, secret);
        ctx.sql.run('INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)', id, name, email, born, remark, sealed);
        ctx.emit({
          ...{ type: 'person.created', entity: { type: 'person', id }, piiClass: 'direct', subject: id },
          payload: { name },
        });
        return { id };
      },
    }),
    'person/get': operation({
      summary: 'Show a person',
      input: z.strictObject({ person: personId }),
      output: person,
      permission: 'person.read',
      http: { method: 'GET', path: '/api/persons/:person' },
      subjects: ({ person: id }) => [id],
      readOnly: true,
      run: ({ sql, unseal }, { person: id }) => {
        const row = sql.get<z.infer<typeof person>>('SELECT * FROM people WHERE id = ?', id);
        if (!row) throw new PlatformError('not_found', 'There is no such person.');
        return { ...row, secret: unseal(id, `people.secret/${id}`, row.secret ?? '') as string | null };
      },
    }),
  }),
  erasure: { personal: { people: ['name', 'email', 'born'] } },
  // The tests act as the service, without a person who signs in.
  routes: (app, tools) => {
    app.post('/api/try', async (c) => {
      const { operation, input } = (await c.req.json()) as { operation: string; input: unknown };
      return c.json((await tools.scope(c).invoke({ principal: 'service:robot', operation, input })).output);
    });
    app.get('/api/try/events', async (c) =>
      c.json(
        (
          await tools
            .scope(c)
            .history({ entity: { type: 'person', id: c.req.query('person') ?? '' }, limit: 10 })
        ).items,
      ),
    );
    app.get('/api/try/members', async (c) => c.json(await tools.scope(c).assignments({})));
    app.get('/api/try/settings', async (c) => c.json(await tools.settings(c)));
    app.get('/api/try/call', async (c) => c.text((await fetch('https://example.com/')).status.toString()));
  },
  authenticatedPrincipal: signedIn(),
});
