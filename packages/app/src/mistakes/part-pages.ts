/** Migrations, rules of records, the public surface and pages. */
import { example, type MistakePage } from './page.ts';

/** Receipts as resources that are named by a field, and a line more in the operation that reads them. */
function receipts(titleField: string, line?: string): string {
  return example(`
    manifest: {
      // …
      entities: {
        receipt: { read: 'booking.read', resource: { titleField: '${titleField}' } },
      },
    },
    operations: {
      'receipt/get': operation({
        summary: 'Show a receipt',
        input: z.strictObject({ receipt: z.string() }),
        output: z.object({ id: z.string(), number: z.string() }),
        permission: 'booking.read',
        entity: ({ receipt }) => ({ type: 'receipt', id: receipt }),
        http: { method: 'GET', path: '/api/receipts/:receipt' },${line === undefined ? '' : `\n        ${line}`}
        run: (ctx, { receipt }) => ({ id: receipt, number: 'A-1' }),
      }),
    },
  `);
}

export const partPages = {
  migration_version: {
    title: 'Versions of migrations that do not rise',
    why: 'Each database remembers the version that it has, and applies the greater ones in order. A number that is used twice would be applied in some databases and left out in others.',
    fix: 'Number them 1, 2, 3. Never change a migration that was applied: add the next one.',
    wrong: example(`
      migrations: [
        { version: 1, name: 'bookings', sql: 'CREATE TABLE bookings (id TEXT PRIMARY KEY) STRICT;' },
        { version: 1, name: 'days', sql: 'ALTER TABLE bookings ADD COLUMN day TEXT;' },
      ],
    `),
    says: 'app.migrations[1].version: must be greater than 1, the version before it, and is 1',
    right: example(`
      migrations: [
        { version: 1, name: 'bookings', sql: 'CREATE TABLE bookings (id TEXT PRIMARY KEY) STRICT;' },
        { version: 2, name: 'days', sql: 'ALTER TABLE bookings ADD COLUMN day TEXT;' },
      ],
    `),
  },
  migration_sql: {
    title: 'SQL that no migration may have',
    why: 'A migration without a statement does nothing. Tables that begin with `_spine_` keep histories, members and queues; they are the platform’s. `ATTACH`, `PRAGMA` and transactions reach beyond the tables of the application.',
    fix: 'Make and change tables of your own. For what SQL cannot do, give the migration a `fill`.',
    wrong: example(`
      migrations: [{ version: 1, name: 'clean', sql: 'DELETE FROM _spine_events;' }],
    `),
    says: "app.migrations[0].sql: cannot be applied: the platform's own tables can be read here, and nothing else",
    right: example(`
      migrations: [
        { version: 1, name: 'bookings', sql: 'CREATE TABLE bookings (id TEXT PRIMARY KEY) STRICT;' },
      ],
    `),
  },
  model_tables: {
    title: 'Language models without the tables of their accounts',
    why: 'What language models take is counted in two tables of the instance. Without them every call would fail.',
    fix: 'Add a migration with the text of `MODEL_TABLES` from `@freehold/app`.',
    wrong: example(`
      models: true,
    `),
    says: 'app.migrations: models is true, and no migration makes its tables; put MODEL_TABLES into one',
    right: example(`
      models: true,
      migrations: [{ version: 1, name: 'models', sql: MODEL_TABLES }],
    `),
  },
  record_address: {
    title: 'Records that need an address, and have none',
    why: 'The files of a record, and the erasure of a person, are served below the address of the record: `/api/bookings/:booking/attachments`.',
    fix: 'Give the type an operation `<type>/get`, at a GET with one parameter.',
    wrong: example(`
      manifest: {
        // …
        entities: {
          receipt: { read: 'booking.read', attachments: { read: 'booking.read', write: 'booking.write' } },
        },
      },
    `),
    says: 'app.manifest.entities.receipt.attachments: needs an operation receipt/get at a GET with one parameter, because its routes are below that address',
    right: example(`
      manifest: {
        // …
        entities: {
          receipt: { read: 'booking.read', attachments: { read: 'booking.read', write: 'booking.write' } },
        },
      },
      operations: {
        'receipt/get': operation({
          summary: 'Show a receipt',
          input: z.strictObject({ receipt: z.string() }),
          output: z.strictObject({ id: z.string() }),
          permission: 'booking.read',
          entity: ({ receipt }) => ({ type: 'receipt', id: receipt }),
          http: { method: 'GET', path: '/api/receipts/:receipt' },
          run: (ctx, { receipt }) => ({ id: receipt }),
        }),
      },
    `),
  },
  resource_withheld: {
    title: 'A resource that language models may not read',
    why: 'A resource is read by the operation `<type>/get`. With `mcp: false` that operation is none for language models, so that the two contradict each other.',
    fix: 'Leave one of the two out: `resource` in the manifest, or `mcp: false` at the operation.',
    wrong: receipts('number', 'mcp: false,'),
    says: 'app.manifest.entities.receipt.resource: is read by receipt/get, which mcp: false keeps from programs',
    right: receipts('number'),
  },
  resource_field: {
    title: 'A resource whose name is in no answer',
    why: 'A resource is listed by the field `titleField` of what `<type>/get` and `<type>/list` answer; without it the list would have no names.',
    fix: 'Name a field that both operations answer.',
    wrong: receipts('title'),
    says: 'app.manifest.entities.receipt.resource.titleField: receipt/get answers no field title; there is id, number',
    right: receipts('number'),
  },
  attachments_unused: {
    title: 'Rules for files that no record has',
    why: '`attachments` of the declaration adds rules to the files of records; which records have files is said in the manifest. Alone, the rules would never be asked.',
    fix: 'Give an entity of the manifest `attachments`, or remove the rules.',
    wrong: example(`
      attachments: { hidden: () => null },
    `),
    says: 'app.attachments: has rules, and no entity of the manifest has attachments',
    right: example(`
      manifest: {
        // …
        entities: {
          booking: { read: 'booking.read', attachments: { read: 'booking.read', write: 'booking.write' } },
        },
      },
      attachments: { hidden: () => null },
    `),
  },
  script_source: {
    title: 'A widget without its script',
    why: 'The script of the widget has no `source`, and the application has no built pages that it could be taken from.',
    fix: 'Give it `source`, or `web` with a folder in which there is a file at that path.',
    wrong: example(`
      publicSurface: {
        service: 'form',
        sites: { operation: 'site/get' },
        script: { path: '/embed/form.js' },
        routes: (route) => route.get('/slots', (c) => c.json([])),
      },
    `),
    says: 'app.publicSurface.script: has no source, and the application has no built pages (web) to take it from',
    right: example(`
      publicSurface: {
        service: 'form',
        sites: { operation: 'site/get' },
        script: { path: '/embed/form.js', source: 'document.title = "Book a table";' },
        routes: (route) => route.get('/slots', (c) => c.json([])),
      },
    `),
  },
  public_route: {
    title: 'Routes of the public surface that cannot be mounted',
    why: 'Two of them have one address, a path is no plain path, or the function used its tools at once. The tools are for handlers: there is no request yet when routes are registered.',
    fix: 'Use paths that differ, and the tools within handlers.',
    wrong: example(`
      publicSurface: {
        service: 'form',
        sites: { operation: 'site/get' },
        routes: (route) => {
          route.get('/slots/:day', (c) => c.json([]));
          route.get('/slots/:table', (c) => c.json([]));
        },
      },
    `),
    says: 'app.publicSurface.routes: cannot be mounted: GET /public/slots/:day and GET /public/slots/:table would dispatch identically: both are GET /public/slots/:p2',
    right: example(`
      publicSurface: {
        service: 'form',
        sites: { operation: 'site/get' },
        routes: (route) => {
          route.get('/days/:day', (c) => c.json([]));
          route.get('/tables/:table', (c) => c.json([]));
        },
      },
    `),
  },
  unknown_page: {
    title: 'An own page in the place of none',
    why: 'A key of `web` names no page that there is. The pages are `/`, and for each type of records its list, the form for a new one, the record, and its form: `item`, `item/new`, `item/:id`, `item/:id/edit`.',
    fix: 'Name one of these pages, with a type that is made by `records`.',
    wrong: example(`
      web: { 'rooms/:id': './web/room.tsx' },
    `),
    says: "app.web['rooms/:id']: is no page of records: a key is a page such as item, item/new, item/:id or item/:id/edit; there is /",
    right: example(`
      web: { '/': './web/home.tsx' },
    `),
  },
} satisfies Record<string, MistakePage>;
