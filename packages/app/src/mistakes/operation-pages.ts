/** Operations, and their addresses. */
import { example, type MistakePage } from './page.ts';

export const operationPages = {
  operation_name: {
    title: 'A name that is not noun/verb',
    why: 'Route, tool, client method and command follow from the name, so it has one form for all of them.',
    fix: 'Write noun, slash and verb in lower-case letters, digits and hyphens.',
    wrong: example(`
      operations: {
        confirmBooking: operation({
          summary: 'Confirm a booking',
          input: z.strictObject({ booking: z.string() }),
          output: z.strictObject({}),
          permission: 'booking.write',
          run: () => ({}),
        }),
      },
    `),
    says: 'app.operations.confirmBooking: a name is noun/verb in lower case',
    right: example(`
      operations: {
        'booking/approve': operation({
          summary: 'Confirm a booking',
          input: z.strictObject({ booking: z.string() }),
          output: z.strictObject({}),
          permission: 'booking.write',
          run: () => ({}),
        }),
      },
    `),
  },
  operation_async: {
    title: 'An operation that waits',
    why: 'An operation is one transaction of the database of its instance. While it waited, all other writes would wait, and what it had read could have changed.',
    fix: 'Make `run` an ordinary function. Do outside work after the commit in an executor, or before it in a route of your own.',
    wrong: example(`
      operations: {
        'booking/confirm': operation({
          // …
          run: async (ctx, { booking }) => {
            await fetch('https://calendar.example/bookings', { method: 'POST', body: booking });
            return {};
          },
        }),
      },
    `),
    says: "app.operations['booking/confirm'].run: must be synchronous; do outside work in a route or an executor",
    right: example(`
      operations: {
        'booking/confirm': operation({
          // …
          run: (ctx, { booking }) => {
            ctx.emit({ type: 'booking.confirmed', entity: { type: 'booking', id: booking } });
            return {};
          },
        }),
      },
      executors: {
        calendar: {
          on: ['booking.confirmed'],
          as: 'office',
          run: async (event, { fetch }) => {
            await fetch('https://calendar.example/bookings', { method: 'POST', body: event.entity.id });
          },
        },
      },
    `),
  },
  operation_input: {
    title: 'An input that cannot be an input',
    why: 'The input is an object whose fields are known: it becomes a form, a tool and a schema of the API, and a field that is sent by mistake must be refused and not ignored.',
    fix: 'Use `z.strictObject`, with fields that have a form in JSON.',
    wrong: example(`
      operations: {
        'booking/confirm': operation({
          // …
          input: z.object({ booking: z.string() }),
        }),
      },
    `),
    says: "app.operations['booking/confirm'].input: must refuse unknown fields: use z.strictObject",
    right: example(`
      operations: {
        'booking/confirm': operation({
          // …
          input: z.strictObject({ booking: z.string() }),
        }),
      },
    `),
  },
  operation_path: {
    title: 'A path that is none',
    why: 'A path is a list of plain words and parameters, so that two paths can be compared and the document of the API can name it. Wildcards, patterns, empty parts and a parameter that comes twice are not allowed.',
    fix: 'Write words and `:parameters` between slashes.',
    wrong: example(`
      operations: {
        'booking/confirm': operation({
          // …
          http: { method: 'POST', path: '/api/bookings/*' },
        }),
      },
    `),
    says: "app.operations['booking/confirm'].http.path: must be made of plain words and :parameters: /api/bookings/*",
    right: example(`
      operations: {
        'booking/confirm': operation({
          // …
          http: { method: 'POST', path: '/api/bookings/:booking/confirm' },
        }),
      },
    `),
  },
  address_field: {
    title: 'A part of the address that is no field of the input, or has no text form',
    why: 'Parameters of the path, and with GET the whole query, become fields of the input. An object has no place in an address.',
    fix: 'Name a field of the input in the path. Take POST for an input with objects or lists of objects.',
    wrong: example(`
      operations: {
        'booking/confirm': operation({
          // …
          input: z.strictObject({ booking: z.string() }),
          http: { method: 'POST', path: '/api/bookings/:id/confirm' },
        }),
      },
    `),
    says: "app.operations['booking/confirm'].http.path: names the parameter id, and the input has no field id; there is booking",
    right: example(`
      operations: {
        'booking/confirm': operation({
          // …
          input: z.strictObject({ booking: z.string() }),
          http: { method: 'POST', path: '/api/bookings/:booking/confirm' },
        }),
      },
    `),
  },
  operation_tool: {
    title: 'An operation that cannot be a tool of MCP',
    why: 'An operation with an address is a tool for agents too, and the name of a tool has at most 128 characters.',
    fix: 'Choose a shorter name, or write `mcp: false`.',
    wrong: example(`
      operations: {
        ['booking/' + 'very-'.repeat(25) + 'long']: operation({
          summary: 'Confirm a booking',
          input: z.strictObject({ booking: z.string() }),
          output: z.strictObject({}),
          permission: 'booking.write',
          http: { method: 'POST', path: '/api/bookings/:booking/approve' },
          run: () => ({}),
        }),
      },
    `),
    says: "app.operations['booking/very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-long']: The operation booking/very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-long cannot be a tool: booking_very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-very-long is not 1 to 128 letters, digits and _-.",
    right: example(`
      operations: {
        'booking/approve': operation({
          summary: 'Confirm a booking',
          input: z.strictObject({ booking: z.string() }),
          output: z.strictObject({}),
          permission: 'booking.write',
          http: { method: 'POST', path: '/api/bookings/:booking/approve' },
          run: () => ({}),
        }),
      },
    `),
  },
  operation_prompt: {
    title: 'A prompt that no program could offer',
    why: 'A prompt is a sentence for the people whose programs use the tool. Their program asks them for each name in braces, as text, and hands it to the tool.',
    fix: 'Name required fields of the input that are written as text, and give the operation an `http`, so that it is a tool.',
    wrong: example(`
      operations: {
        'booking/confirm': operation({
          // …
          input: z.strictObject({ booking: z.string() }),
          http: { method: 'POST', path: '/api/bookings/:booking/confirm' },
          mcp: { prompt: 'Confirm {bookin}: check the dates, then ask me before you do it.' },
        }),
      },
    `),
    says: "app.operations['booking/confirm'].mcp.prompt: names {bookin}, and the input has no field bookin; did you mean booking?",
    right: example(`
      operations: {
        'booking/confirm': operation({
          // …
          input: z.strictObject({ booking: z.string() }),
          http: { method: 'POST', path: '/api/bookings/:booking/confirm' },
          mcp: { prompt: 'Confirm {booking}: check the dates, then ask me before you do it.' },
        }),
      },
    `),
  },
  get_writes: {
    title: 'A GET that writes',
    why: 'Browsers, caches and previews of links send a GET without being asked, and a page of another site can make a browser send one with its cookie.',
    fix: 'Take POST for what writes. With GET, leave `readOnly` out: it is true then.',
    wrong: example(`
      operations: {
        'booking/list': operation({
          // …
          http: { method: 'GET', path: '/api/bookings' },
          readOnly: false,
        }),
      },
    `),
    says: "app.operations['booking/list'].readOnly: is not read-only; what a GET reaches must change nothing",
    right: example(`
      operations: {
        'booking/list': operation({
          // …
          http: { method: 'GET', path: '/api/bookings' },
        }),
      },
    `),
  },
  created_by_reading: {
    title: 'A read that makes a record',
    why: '`created` names the record that an operation makes, for its 201 and `Location`. A read makes none.',
    fix: 'Leave `created` out, or take POST and let the operation write.',
    wrong: example(`
      operations: {
        'booking/list': operation({
          // …
          created: () => ({ type: 'booking', id: 'bkg_1' }),
        }),
      },
    `),
    says: "app.operations['booking/list'].created: makes a record but is read-only",
    right: example(`
      operations: {
        'booking/create': operation({
          summary: 'Write a booking down',
          input: z.strictObject({ day: z.iso.date() }),
          output: z.strictObject({ id: z.string() }),
          permission: 'booking.write',
          created: ({ id }) => ({ type: 'booking', id }),
          http: { method: 'POST', path: '/api/bookings' },
          run: (ctx) => ({ id: ctx.newId('bkg') }),
        }),
      },
    `),
  },
  same_address: {
    title: 'Two routes of one address',
    why: 'Both have the same method, and their paths differ in nothing but the names of parameters. The second would never be reached.',
    fix: 'Give one of them another path or another method.',
    wrong: example(`
      operations: {
        'booking/confirm': operation({
          // …
          http: { method: 'GET', path: '/api/bookings/:booking' },
          readOnly: true,
        }),
      },
    `),
    says: "app.operations['booking/confirm'].http: would dispatch like booking/get: both are GET /api/bookings/:booking",
    right: example(`
      operations: {
        'booking/confirm': operation({
          // …
          http: { method: 'POST', path: '/api/bookings/:booking/confirm' },
        }),
      },
    `),
  },
  reserved_path: {
    title: 'A path that is not below /api',
    why: 'The gate of sign-in stands before `/api`. Other addresses are pages, `/public` is for visitors of other sites, and `/internal` belongs to the platform. A widget is a page, and has no place below them.',
    fix: 'Begin the path of an operation with `/api/`, and that of a widget with another word.',
    wrong: example(`
      operations: {
        'booking/confirm': operation({
          // …
          http: { method: 'POST', path: '/bookings/:booking/confirm' },
        }),
      },
    `),
    says: "app.operations['booking/confirm'].http.path: must be below /api, because other addresses are pages: /bookings/:booking/confirm",
    right: example(`
      operations: {
        'booking/confirm': operation({
          // …
          http: { method: 'POST', path: '/api/bookings/:booking/confirm' },
        }),
      },
    `),
  },
  supplied_route: {
    title: 'An address that every instance serves already',
    why: 'Sign-in, the team, histories, attachments and the rest are mounted first, so that the operation would never be reached. `docs/application.md` lists them under “Served without a line”.',
    fix: 'Choose another path.',
    wrong: example(`
      operations: {
        'booking/confirm': operation({
          // …
          http: { method: 'POST', path: '/api/bookings/:booking/history' },
        }),
      },
    `),
    says: "app.operations['booking/confirm'].http.path: is an address that every instance serves already: /api/bookings/:booking/history",
    right: example(`
      operations: {
        'booking/confirm': operation({
          // …
          http: { method: 'POST', path: '/api/bookings/:booking/confirm' },
        }),
      },
    `),
  },
  supplied_operation: {
    title: 'The name of a supplied operation',
    why: 'With `models`, operations that keep the accounts of language models are added under names of their own. Two operations cannot have one name.',
    fix: 'Choose another name.',
    wrong: example(`
      models: true,
      migrations: [{ version: 1, name: 'models', sql: MODEL_TABLES }],
      operations: {
        'model/admit': operation({
          summary: 'Let a model of a machine in',
          input: z.strictObject({}),
          output: z.strictObject({}),
          permission: 'booking.write',
          run: () => ({}),
        }),
      },
    `),
    says: "app.operations['model/admit']: is the name of a supplied operation; choose another one",
    right: example(`
      models: true,
      migrations: [{ version: 1, name: 'models', sql: MODEL_TABLES }],
      operations: {
        'machine/admit': operation({
          summary: 'Let a model of a machine in',
          input: z.strictObject({}),
          output: z.strictObject({}),
          permission: 'booking.write',
          run: () => ({}),
        }),
      },
    `),
  },
} satisfies Record<string, MistakePage>;
