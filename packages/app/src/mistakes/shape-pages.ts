/** Fields, types and values of a declaration. */
import { example, type MistakePage } from './page.ts';

export const shapePages = {
  missing_field: {
    title: 'A field that must be there is not',
    why: 'The part cannot work without it, and there is no default that would be right for every application.',
    fix: 'Write the field that the place names. The types of `@freehold/app` say what belongs there.',
    wrong: example(`
      manifest: {
        // …
        roles: {
          guest: { name: 'Guest' },
        },
      },
    `),
    says: 'app.manifest.roles.guest.permissions: is missing',
    right: example(`
      manifest: {
        // …
        roles: {
          guest: { name: 'Guest', permissions: ['booking.read'] },
        },
      },
    `),
  },
  unknown_field: {
    title: 'A field that the part does not have',
    why: 'It would be ignored, and what it was meant to do would not happen. Most often the name is misspelt.',
    fix: 'Take the name that the message suggests, or remove the field.',
    wrong: example(`
      retention: { historydays: 3650 },
    `),
    says: 'app.retention.historydays: is no field of this part; did you mean historyDays?',
    right: example(`
      retention: { historyDays: 3650 },
    `),
  },
  wrong_type: {
    title: 'A value of another type',
    why: 'The field takes something else: a function, a list, a schema of zod, or what `signedIn()` or `unauthenticated()` returns.',
    fix: 'Give it the type that the message names. An editor that checks types marks the place.',
    wrong: example(`
      // The function itself, and not what it returns.
      authenticatedPrincipal: signedIn,
    `),
    says: 'app.authenticatedPrincipal: must be made by signedIn() or unauthenticated()',
    right: example(`
      authenticatedPrincipal: signedIn(),
    `),
  },
  invalid_value: {
    title: 'A value outside of what is allowed',
    why: 'The type is right and the value is not: a slug with capitals, a colour that is not hexadecimal, a path that leaves the project, a number outside of its limits.',
    fix: 'Choose a value as the message describes it.',
    wrong: example(`
      look: { color: 'darkgreen' },
    `),
    says: 'app.look.color: must be a colour in hexadecimal, such as #0f5132',
    right: example(`
      look: { color: '#0f5132' },
    `),
  },
} satisfies Record<string, MistakePage>;
