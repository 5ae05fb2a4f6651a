/** Each kind of mistake in a declaration fails with one sentence that names it, its place and its code. */
import { AppDeclarationError, DECLARATION_CODES, defineApp } from '@freehold/app';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { shop } from './shop.ts';

// biome-ignore lint/suspicious/noExplicitAny: a builder without TypeScript can write anything.
type Anything = any;
type Row = readonly [
  mistake: string,
  change: (d: Anything) => void,
  path: string,
  code: string,
  says: RegExp,
];

const op = "app.operations['booking/confirm']";
const confirm = (d: Anything) => d.operations['booking/confirm'];
async function* generate() {}

const ROWS: readonly Row[] = [
  // The declaration as a whole
  [
    'a misspelt field',
    (d) => rename(d, 'schedules', 'shedules'),
    'app.shedules',
    'unknown_field',
    /did you mean schedules\?/,
  ],
  ['no manifest', (d) => delete d.manifest, 'app.manifest', 'missing_field', /is missing/],
  ['no migrations', (d) => delete d.migrations, 'app.migrations', 'missing_field', /is missing/],
  [
    'migrations that are no list',
    (d) => set(d, 'migrations', {}),
    'app.migrations',
    'wrong_type',
    /must be a list/,
  ],
  ['no operations', (d) => delete d.operations, 'app.operations', 'missing_field', /is missing/],
  [
    'no sign-in',
    (d) => delete d.authenticatedPrincipal,
    'app.authenticatedPrincipal',
    'missing_field',
    /is missing/,
  ],
  [
    'signedIn without its call',
    (d) => set(d, 'authenticatedPrincipal', () => null),
    'app.authenticatedPrincipal',
    'wrong_type',
    /signedIn\(\) or unauthenticated\(\)/,
  ],
  [
    'routes that are no function',
    (d) => set(d, 'routes', []),
    'app.routes',
    'wrong_type',
    /must be a function/,
  ],
  ['models that are no boolean', (d) => set(d, 'models', 'gpt'), 'app.models', 'wrong_type', /true or false/],
  // The manifest
  [
    'a slug with capitals',
    (d) => set(d.manifest, 'slug', 'Shop'),
    'app.manifest.slug',
    'invalid_value',
    /lower-case/,
  ],
  [
    'a version that is none',
    (d) => set(d.manifest, 'version', '1'),
    'app.manifest.version',
    'invalid_value',
    /such as 1\.4\.0/,
  ],
  [
    'a misspelt field of the manifest',
    (d) => rename(d.manifest, 'env', 'evn'),
    'app.manifest.evn',
    'unknown_field',
    /did you mean env\?/,
  ],
  [
    'a manifest without roles',
    (d) => delete d.manifest.roles,
    'app.manifest.roles',
    'missing_field',
    /is missing/,
  ],
  [
    'a role without permissions',
    (d) => delete d.manifest.roles.clerk.permissions,
    'app.manifest.roles.clerk.permissions',
    'missing_field',
    /is missing/,
  ],
  [
    'a permission that is no noun.verb',
    (d) => set(d.manifest.permissions, 'Read', 'x'),
    'app.manifest.permissions.Read',
    'invalid_value',
    /noun\.verb/,
  ],
  [
    'a role with an undeclared permission',
    (d) => d.manifest.roles.clerk.permissions.push('booking.raed'),
    'app.manifest.roles.clerk.permissions[2]',
    'unknown_permission',
    /did you mean booking\.read\?/,
  ],
  [
    'an owner role that is none',
    (d) => set(d.manifest, 'ownerRole', 'onwer'),
    'app.manifest.ownerRole',
    'unknown_role',
    /did you mean owner\?/,
  ],
  [
    'a parent that is none',
    (d) => set(d.manifest.entities.booking, 'parent', 'house'),
    'app.manifest.entities.booking.parent',
    'unknown_entity',
    /undeclared parent: house/,
  ],
  [
    'a setting in lower case',
    (d) => set(d.manifest.env, 'sites', { summary: 'x' }),
    'app.manifest.env.sites',
    'invalid_value',
    /upper-case/,
  ],
  // Operations
  [
    'a name without a verb',
    (d) => rename(d.operations, 'booking/confirm', 'confirm'),
    'app.operations.confirm',
    'operation_name',
    /noun\/verb/,
  ],
  [
    'a misspelt field of an operation',
    (d) => set(confirm(d), 'readonly', true),
    `${op}.readonly`,
    'unknown_field',
    /did you mean readOnly\?/,
  ],
  ['no run', (d) => delete confirm(d).run, `${op}.run`, 'missing_field', /is missing/],
  ['no summary', (d) => delete confirm(d).summary, `${op}.summary`, 'missing_field', /is missing/],
  [
    'an asynchronous run',
    (d) => set(confirm(d), 'run', async () => ({})),
    `${op}.run`,
    'operation_async',
    /must be synchronous/,
  ],
  [
    'a generator',
    (d) => set(confirm(d), 'run', generate),
    `${op}.run`,
    'operation_async',
    /must be synchronous/,
  ],
  [
    'an input that is no schema',
    (d) => set(confirm(d), 'input', { booking: 'string' }),
    `${op}.input`,
    'wrong_type',
    /schema of zod/,
  ],
  [
    'an output that is no schema',
    (d) => set(confirm(d), 'output', 'string'),
    `${op}.output`,
    'wrong_type',
    /schema of zod/,
  ],
  [
    'an input that takes unknown fields',
    (d) => set(confirm(d), 'input', z.object({ booking: z.string() })),
    `${op}.input`,
    'operation_input',
    /z\.strictObject/,
  ],
  [
    'an input that is no object',
    (d) => set(confirm(d), 'input', z.string()),
    `${op}.input`,
    'operation_input',
    /z\.strictObject/,
  ],
  [
    'an undeclared permission',
    (d) => set(confirm(d), 'permission', 'booking.wirte'),
    `${op}.permission`,
    'unknown_permission',
    /did you mean booking\.write\?/,
  ],
  [
    'a type of records that is none',
    (d) => set(confirm(d), 'entity', (i: Anything) => ({ type: 'boking', id: i.booking })),
    `${op}.entity`,
    'unknown_entity',
    /did you mean booking\?/,
  ],
  [
    'a GET that writes',
    (d) => set(d.operations['booking/list'], 'readOnly', false),
    "app.operations['booking/list'].readOnly",
    'get_writes',
    /not read-only/,
  ],
  [
    'a method that is none',
    (d) => set(confirm(d).http, 'method', 'FETCH'),
    `${op}.http.method`,
    'invalid_value',
    /one of GET, POST/,
  ],
  [
    'a path with a wildcard',
    (d) => set(confirm(d).http, 'path', '/api/bookings/*'),
    `${op}.http.path`,
    'operation_path',
    /plain words/,
  ],
  [
    'a path that names a parameter twice',
    (d) => set(confirm(d).http, 'path', '/api/:booking/x/:booking'),
    `${op}.http.path`,
    'operation_path',
    /twice/,
  ],
  [
    'a parameter that is no field',
    (d) => set(confirm(d).http, 'path', '/api/bookings/:bookign/confirm'),
    `${op}.http.path`,
    'address_field',
    /did you mean booking\?/,
  ],
  [
    'a query that cannot be text',
    (d) => set(d.operations['booking/list'], 'input', z.strictObject({ at: z.strictObject({}) })),
    "app.operations['booking/list'].input",
    'address_field',
    /field at is an object/,
  ],
  [
    'two operations of one address',
    (d) => set(confirm(d), 'http', { method: 'GET', path: '/api/bookings/:booking' }),
    `${op}.http`,
    'same_address',
    /dispatch like booking\/get/,
  ],
  [
    'a path of the platform',
    (d) => set(confirm(d).http, 'path', '/internal/:booking'),
    `${op}.http.path`,
    'reserved_path',
    /belongs to the platform/,
  ],
  [
    'a path of the public surface',
    (d) => set(confirm(d).http, 'path', '/public/:booking'),
    `${op}.http.path`,
    'reserved_path',
    /below \/api/,
  ],
  [
    'a path that pages have',
    (d) => set(confirm(d).http, 'path', '/bookings/:booking'),
    `${op}.http.path`,
    'reserved_path',
    /below \/api/,
  ],
  [
    'a supplied route',
    (d) => set(d.operations['site/get'].http, 'path', '/api/me'),
    "app.operations['site/get'].http.path",
    'supplied_route',
    /\/api\/me/,
  ],
  [
    'a path below the sign-in',
    (d) => set(d.operations['site/get'].http, 'path', '/api/auth/sites'),
    "app.operations['site/get'].http.path",
    'supplied_route',
    /\/api\/auth/,
  ],
  [
    'a path that a supplied parameter takes',
    (d) => set(d.operations['site/get'].http, 'path', '/api/members/all/remove'),
    "app.operations['site/get'].http.path",
    'supplied_route',
    /members\/:principal\/remove/,
  ],
  [
    'the history of a record',
    (d) => set(confirm(d).http, 'path', '/api/bookings/:booking/history'),
    `${op}.http.path`,
    'supplied_route',
    /history/,
  ],
  [
    'the erasure of a person',
    (d) => set(confirm(d).http, 'path', '/api/bookings/:booking/erase'),
    `${op}.http.path`,
    'supplied_route',
    /erase/,
  ],
  [
    'a name that is too long for a tool',
    (d) => rename(d.operations, 'booking/confirm', `booking/${'x'.repeat(130)}`),
    `app.operations['booking/${'x'.repeat(130)}']`,
    'operation_tool',
    /cannot be a tool/,
  ],
  [
    'a prompt with a field that is none',
    (d) => set(confirm(d), 'mcp', { prompt: 'Confirm {bookin}.' }),
    `${op}.mcp.prompt`,
    'operation_prompt',
    /names \{bookin\}, and the input has no field bookin; did you mean booking\?/,
  ],
  [
    'the name of a supplied operation',
    (d) => set(d.operations, 'model/admit', { ...d.operations['booking/remind'] }),
    "app.operations['model/admit']",
    'supplied_operation',
    /supplied operation/,
  ],
  [
    'a described route of the same address',
    (d) =>
      set(d, 'openapi', {
        describedRoutes: [{ name: 'x/y', method: 'GET', path: '/api/sites', summary: 'X' }],
      }),
    'app.openapi.describedRoutes[0]',
    'same_address',
    /dispatch like site\/get/,
  ],
  [
    'a described route without a path',
    (d) =>
      set(d, 'openapi', { describedRoutes: [{ name: 'x/y', method: 'GET', path: 'sites', summary: 'X' }] }),
    'app.openapi.describedRoutes[0].path',
    'operation_path',
    /begin with a slash/,
  ],
  [
    'a made record of a type that is none',
    (d) => set(confirm(d), 'created', (o: Anything) => ({ type: 'recept', id: o.id })),
    `${op}.created`,
    'unknown_entity',
    /recept/,
  ],
  [
    'a read that makes a record',
    (d) => set(d.operations['booking/list'], 'created', () => ({ type: 'booking', id: '1' })),
    "app.operations['booking/list'].created",
    'created_by_reading',
    /read-only/,
  ],
  // Listeners and schedules
  [
    'an operation that is none',
    (d) => set(d.on.reminders, 'operation', 'booking/remnid'),
    'app.on.reminders.operation',
    'unknown_operation',
    /did you mean booking\/remind\?/,
  ],
  [
    'a service that is none',
    (d) => set(d.executors.mail, 'as', 'ofice'),
    'app.executors.mail.as',
    'unknown_service',
    /did you mean office\?/,
  ],
  [
    'a service that may not',
    (d) => set(d.on.reminders, 'as', 'form'),
    'app.on.reminders.as',
    'service_permission',
    /takes booking\.remind/,
  ],
  [
    'a type of event that is none',
    (d) => set(d.on.reminders, 'on', ['Confirmed']),
    'app.on.reminders.on[0]',
    'event_type',
    /noun\.verb/,
  ],
  [
    'nothing to listen to',
    (d) => set(d.executors.mail, 'on', []),
    'app.executors.mail.on',
    'event_type',
    /listens to nothing/,
  ],
  [
    'no attempt',
    (d) => set(d.on.reminders, 'attemptsMax', 0),
    'app.on.reminders.attemptsMax',
    'invalid_value',
    /from 1 to 100/,
  ],
  [
    'a subscriber with a bad name',
    (d) => rename(d.on, 'reminders', 'Remind me'),
    "app.on['Remind me']",
    'subscriber_name',
    /lower-case/,
  ],
  [
    'one name for two subscribers',
    (d) => rename(d.executors, 'mail', 'reminders'),
    'app.on.reminders',
    'duplicate_subscriber',
    /used once/,
  ],
  [
    'an executor without run',
    (d) => delete d.executors.mail.run,
    'app.executors.mail.run',
    'missing_field',
    /is missing/,
  ],
  [
    'a cron expression that is none',
    (d) => set(d.schedules.nightly, 'cron', 'at night'),
    'app.schedules.nightly.cron',
    'cron',
    /at night/,
  ],
  [
    'a day that never comes',
    (d) => set(d.schedules.nightly, 'cron', '0 0 31 2 *'),
    'app.schedules.nightly.cron',
    'cron',
    /ever comes/,
  ],
  [
    'a time zone that is none',
    (d) => set(d.schedules.nightly, 'timezone', 'Europe/Wien'),
    'app.schedules.nightly.timezone',
    'timezone',
    /Europe\/Wien/,
  ],
  [
    'an input that the operation refuses',
    (d) => set(d.schedules.nightly, 'input', { all: true }),
    'app.schedules.nightly.input',
    'input_refused',
    /booking\/remind/,
  ],
  [
    'a chain without an end',
    (d) => set(d, 'chainMax', 1_000_000),
    'app.chainMax',
    'invalid_value',
    /from 1 to 1000/,
  ],
  // Migrations and what is kept
  [
    'a version that is used twice',
    (d) => set(d.migrations[1], 'version', 1),
    'app.migrations[1].version',
    'migration_version',
    /greater than 1/,
  ],
  [
    'a version that is no whole number',
    (d) => set(d.migrations[1], 'version', 1.5),
    'app.migrations[1].version',
    'migration_version',
    /whole number/,
  ],
  [
    'a version before the first',
    (d) => set(d.migrations[0], 'version', 0),
    'app.migrations[0].version',
    'migration_version',
    /whole number from 1/,
  ],
  [
    'a migration without SQL',
    (d) => set(d.migrations[0], 'sql', '-- later\n'),
    'app.migrations[0].sql',
    'migration_sql',
    /no statement/,
  ],
  [
    'a migration of the platform’s tables',
    (d) => set(d.migrations[0], 'sql', 'DELETE FROM _spine_events'),
    'app.migrations[0].sql',
    'migration_sql',
    /platform's own tables/,
  ],
  [
    'a misspelt retention',
    (d) => set(d, 'retention', { historydays: 5 }),
    'app.retention.historydays',
    'unknown_field',
    /did you mean historyDays\?/,
  ],
  [
    'a retention of no days',
    (d) => set(d, 'retention', { historyDays: 0 }),
    'app.retention.historyDays',
    'invalid_value',
    /whole days/,
  ],
  // Rules of records
  [
    'a resource that is named by no field of its record',
    (d) => set(d.manifest.entities.booking, 'resource', { titleField: 'titel' }),
    'app.manifest.entities.booking.resource.titleField',
    'resource_field',
    /booking\/get answers no field titel/,
  ],
  [
    'a resource without an address',
    (d) => {
      delete d.operations['booking/get'].http;
      set(d.manifest, 'entities', { booking: { resource: { titleField: 'id' } } });
    },
    'app.manifest.entities.booking.resource',
    'record_address',
    /booking\/get/,
  ],
  [
    'a resource that is kept from programs',
    (d) => {
      set(d.operations['booking/get'], 'mcp', false);
      set(d.manifest.entities.booking, 'resource', { titleField: 'id' });
    },
    'app.manifest.entities.booking.resource',
    'resource_withheld',
    /mcp: false/,
  ],
  [
    'attachments of a record without an address',
    (d) => delete d.operations['booking/get'].http,
    'app.manifest.entities.booking.attachments',
    'record_address',
    /booking\/get/,
  ],
  [
    'rules for attachments that none has',
    (d) => delete d.manifest.entities.booking.attachments,
    'app.attachments',
    'attachments_unused',
    /no entity/,
  ],
  [
    'a person that is none',
    (d) => rename(d.erasure.persons, 'booking', 'boking'),
    'app.erasure.persons.boking',
    'unknown_entity',
    /did you mean booking\?/,
  ],
  [
    'an erasure by a permission that is none',
    (d) => set(d.erasure.persons.booking, 'permission', 'booking.erase'),
    'app.erasure.persons.booking.permission',
    'unknown_permission',
    /booking\.erase/,
  ],
  [
    'an operation after an erasure that is none',
    (d) => set(d.erasure.persons.booking, 'afterwards', 'booking/note'),
    'app.erasure.persons.booking.afterwards',
    'unknown_operation',
    /booking\/note/,
  ],
  [
    'an operation after an erasure that takes an input',
    (d) => set(d.erasure.persons.booking, 'afterwards', 'booking/confirm'),
    'app.erasure.persons.booking.afterwards',
    'input_refused',
    /booking\/confirm/,
  ],
  // The public surface, models and pages
  [
    'a public service that is none',
    (d) => set(d.publicSurface, 'service', 'from'),
    'app.publicSurface.service',
    'unknown_service',
    /did you mean form\?/,
  ],
  [
    'sites of a setting that is none',
    (d) => set(d.publicSurface, 'sites', { setting: 'SHOP_SITE' }),
    'app.publicSurface.sites.setting',
    'unknown_setting',
    /did you mean SHOP_SITES\?/,
  ],
  [
    'sites of an operation that is none',
    (d) => set(d.publicSurface, 'sites', { operation: 'sites/get' }),
    'app.publicSurface.sites.operation',
    'unknown_operation',
    /did you mean site\/get\?/,
  ],
  [
    'sites that the service may not read',
    (d) => set(d.publicSurface, 'service', 'office'),
    'app.publicSurface.sites.operation',
    'service_permission',
    /takes site\.read/,
  ],
  [
    'a widget below /api',
    (d) => set(d.publicSurface.script, 'path', '/api/form.js'),
    'app.publicSurface.script.path',
    'reserved_path',
    /must not be below/,
  ],
  [
    'a widget without a source',
    (d) => delete d.web,
    'app.publicSurface.script',
    'script_source',
    /no source/,
  ],
  [
    'two public routes of one address',
    (d) =>
      set(d.publicSurface, 'routes', (r: Anything) => [
        r.get('/a/:x', () => null),
        r.get('/a/:y', () => null),
      ]),
    'app.publicSurface.routes',
    'public_route',
    /dispatch identically/,
  ],
  [
    'no limit of visitors',
    (d) => set(d.publicSurface.limit, 'times', 0),
    'app.publicSurface.limit.times',
    'invalid_value',
    /at least 1/,
  ],
  [
    'models without their tables',
    (d) => d.migrations.pop(),
    'app.migrations',
    'model_tables',
    /MODEL_TABLES/,
  ],
  [
    'an assistant without its permission',
    (d) => set(d.manifest.services, 'assistant', { name: 'A', permissions: [] }),
    'app.manifest.services.assistant.permissions',
    'service_permission',
    /model\.account/,
  ],
  [
    'a colour that is none',
    (d) => set(d.look, 'color', 'green'),
    'app.look.color',
    'invalid_value',
    /#0f5132/,
  ],
  [
    'a language that is none',
    (d) => set(d.look, 'language', 'Deutsch!'),
    'app.look.language',
    'invalid_value',
    /de-AT/,
  ],
  [
    'pages at an absolute path',
    (d) => set(d, 'web', '/srv/web'),
    'app.web',
    'invalid_value',
    /relative to package\.json/,
  ],
  [
    'pages outside of the project',
    (d) => set(d, 'web', '../web/dist'),
    'app.web',
    'invalid_value',
    /relative to package\.json/,
  ],
  [
    'an own page in the place of none',
    (d) => set(d, 'web', { 'booking/:id': './web/booking.tsx' }),
    "app.web['booking/:id']",
    'unknown_page',
    /is no page of records/,
  ],
  [
    'an own page outside of the project',
    (d) => set(d, 'web', { '/': '../home.tsx' }),
    "app.web['/']",
    'invalid_value',
    /must be a file of the project/,
  ],
  ['pages at no path', (d) => set(d, 'web', ' '), 'app.web', 'invalid_value', /relative to package\.json/],
];

function set(target: Anything, field: string, value: unknown): void {
  target[field] = value;
}

function rename(target: Anything, from: string, to: string): void {
  target[to] = target[from];
  delete target[from];
}

function refusalOf(declaration: unknown): AppDeclarationError {
  try {
    defineApp(declaration as never);
  } catch (error) {
    expect(error).toBeInstanceOf(AppDeclarationError);
    return error as AppDeclarationError;
  }
  throw new Error('the declaration was accepted');
}

describe('a declaration', () => {
  test('without a mistake is accepted', () => {
    expect(defineApp(shop()).records).toMatchObject([{ type: 'booking', parameter: 'booking' }]);
  });

  test.each(ROWS)('with %s is refused, with its place and its code', (_mistake, change, path, code, says) => {
    const declaration = shop();
    change(declaration);
    const { problems } = refusalOf(declaration);
    const found = problems.find((each) => each.path === path && each.code === code);
    expect(found, JSON.stringify(problems)).toBeDefined();
    expect(found?.message.startsWith(`${path}: `)).toBe(true);
    expect(found?.message).toMatch(says);
    // One sentence: no stack, no line of its own, no full stop within.
    expect(found?.message).not.toMatch(/\n|\. [A-Z]/);
  });

  test.each([null, undefined, 'app', []])('that is %j is refused', (declaration) => {
    expect(refusalOf(declaration)).toMatchObject({ path: 'app', name: 'AppDeclarationError' });
  });

  test('with several mistakes is refused with all of them, the first in the message', () => {
    const declaration: Anything = shop();
    declaration.migrations[1].version = 1;
    confirm(declaration).permission = 'booking.wirte';
    declaration.schedules.nightly.cron = 'at night';
    const error = refusalOf(declaration);
    expect(error.message).toBe(
      'app.migrations[1].version: must be greater than 1, the version before it, and is 1 (and 2 more). See node_modules/@freehold/app/docs/mistakes/migration_version.md',
    );
    expect(error).toMatchObject({ path: 'app.migrations[1].version', code: 'migration_version' });
    expect(error.problems.map(({ code }) => code)).toEqual([
      'migration_version',
      'unknown_permission',
      'cron',
    ]);
    expect(error.problems[1]).toMatchObject({ suggestion: 'booking.write' });
  });

  test('with a mistake in one operation is checked in all others', () => {
    const declaration: Anything = shop();
    delete confirm(declaration).run;
    declaration.operations['site/get'].permission = 'site.raed';
    expect(refusalOf(declaration).problems.map(({ path }) => path)).toEqual([
      `${op}.run`,
      "app.operations['site/get'].permission",
    ]);
  });

  test('with a malformed part is checked in all others, and what names that part is no second mistake', () => {
    const declaration: Anything = shop();
    declaration.routes = [];
    delete declaration.operations['booking/remind'].run;
    declaration.operations['site/get'].permission = 'site.raed';
    expect(refusalOf(declaration).problems.map(({ path }) => path)).toEqual([
      "app.operations['booking/remind'].run",
      "app.operations['site/get'].permission",
      'app.routes',
    ]);
  });

  test.each([
    ['missing', 'missing_field', (manifest: Anything) => delete manifest.permissions],
    ['of another type', 'wrong_type', (manifest: Anything) => set(manifest, 'permissions', [])],
  ])(
    'with names that are %s in its manifest is not told that each of them is unknown',
    (_how, code, spoil) => {
      const declaration: Anything = shop();
      spoil(declaration.manifest);
      declaration.erasure.persons.booking.permission = 'booking.erase';
      declaration.migrations[1].version = 1;
      expect(refusalOf(declaration).problems.map((each) => [each.path, each.code])).toEqual([
        ['app.manifest.permissions', code],
        ['app.migrations[1].version', 'migration_version'],
      ]);
    },
  );

  test('has the address of the usage of models only where it asks none', () => {
    const declaration: Anything = shop();
    declaration.operations['site/get'].http.path = '/api/model-usage';
    expect(refusalOf(declaration).problems.map(({ code }) => code)).toEqual(['supplied_route']);
    declaration.models = false;
    expect(() => defineApp(declaration)).not.toThrow();
  });

  test('is refused at the line of its builder', () => {
    const frames = refusalOf({})
      .stack?.split('\n')
      .filter((line) => line.startsWith('    at '));
    expect(frames?.[0]).toContain('mistakes.test.ts');
  });
});

test('every code has a row in the table of these tests', () => {
  const tested = new Set(ROWS.map(([, , , code]) => code));
  expect([...DECLARATION_CODES].filter((code) => !tested.has(code))).toEqual([]);
});
