/** The manifest of a vertical, for the platform, the kernel and the staff. */
import { z } from 'zod';
import { serviceKey } from './ids.ts';
import { lineOfText, optionalLineOfText, optionalNoteText } from './plain-text.ts';

export const slug = z
  .string()
  .regex(
    /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be lower-case letters, digits and hyphens, beginning with a letter',
  );

/** `noun.verb`, or a deeper dotted path. */
export const permissionKey = z
  .string()
  .regex(/^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+$/, 'must be noun.verb in lower case')
  .max(128);

/** The number of permissions of one role or service. */
const PERMISSIONS_MAX = 500;

export const roleKey = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,63}$/,
    'must be lower-case letters, digits, hyphens and underscores, beginning with a letter',
  );

/** One setting that a vertical reads. Precedence: delivered, then binding, then default (spec 2.3). */
export const envEntry = z.strictObject({
  summary: optionalNoteText(1000),
  default: z.string().max(16_384).optional(),
  secret: z.boolean().optional(),
});

export const envSpec = z.record(
  z
    .string()
    .max(128)
    .regex(
      /^[A-Z][A-Z0-9_]*$/,
      'must be upper-case letters, digits and underscores, beginning with a letter',
    ),
  envEntry,
);
export type EnvSpec = z.infer<typeof envSpec>;

export const manifestSchema = z
  .strictObject({
    slug,
    name: lineOfText(100),
    version: z
      .string()
      .max(64)
      .regex(/^\d+\.\d+\.\d+(?:[-+].+)?$/, 'must be a version such as 1.4.0'),
    /** Permission key → its description. */
    permissions: z.record(permissionKey, optionalNoteText(1000)),
    roles: z.record(
      roleKey,
      z.strictObject({
        name: optionalLineOfText(200),
        permissions: z.array(permissionKey).max(PERMISSIONS_MAX),
      }),
    ),
    /** The role that the owner seat is granted. */
    ownerRole: roleKey,
    /** Entity type → its declaration. A grant on a parent covers its children, four levels deep at most. */
    entities: z.record(
      z.string().max(64),
      z.strictObject({
        parent: z.string().max(64).optional(),
        /** The permission that reading the record's events takes; without it, no member reads them. */
        read: permissionKey.optional(),
        /**
         * Present: programs read a record as `freehold://<type>/<id>`, and its history (MCP, "Resources"). `titleField` is
         * the field of `<type>/get` and `<type>/list` that names it to people.
         */
        resource: z.strictObject({ titleField: z.string().min(1).max(64) }).optional(),
        /**
         * The permissions that reading, adding and removing a record's attachments take; without it, it has none, and
         * without `remove` no attachment is removed.
         */
        attachments: z
          .strictObject({ read: permissionKey, write: permissionKey, remove: permissionKey.optional() })
          .optional(),
      }),
    ),
    /** The services of the vertical (subscriptions, schedules, its public surface), with their permissions. */
    services: z
      .record(
        serviceKey,
        z.strictObject({
          name: optionalLineOfText(200),
          permissions: z.array(permissionKey).max(PERMISSIONS_MAX),
        }),
      )
      .optional(),
    env: envSpec,
  })
  .superRefine((manifest, issues) => {
    const requireName = (
      kind: NamedKind,
      name: string,
      path: readonly (string | number)[],
      declared: Readonly<Record<string, unknown>>,
    ): void => {
      if (Object.hasOwn(declared, name)) return;
      const undeclared: UndeclaredName = { kind, name, declared: Object.keys(declared) };
      const message =
        kind === 'role'
          ? `names no declared role: ${name}`
          : `names an undeclared ${NAMED_KINDS[kind]}: ${name}`;
      issues.addIssue({ code: 'custom', path: [...path], message, params: { undeclared } });
    };
    const { permissions, roles, services = {}, entities, ownerRole } = manifest;
    requireName('role', ownerRole, ['ownerRole'], roles);
    for (const [at, members] of [['roles', roles] as const, ['services', services] as const])
      for (const [key, member] of Object.entries(members))
        for (const [index, name] of member.permissions.entries())
          requireName('permission', name, [at, key, 'permissions', index], permissions);
    for (const [type, { parent, read, attachments = {} }] of Object.entries(entities)) {
      for (const [use, name] of Object.entries(attachments) as [string, string | undefined][])
        if (name !== undefined)
          requireName('permission', name, ['entities', type, 'attachments', use], permissions);
      if (read !== undefined) requireName('permission', read, ['entities', type, 'read'], permissions);
      if (parent !== undefined) requireName('entity', parent, ['entities', type, 'parent'], entities);
    }
  });

type NamedKind = 'permission' | 'role' | 'entity';

const NAMED_KINDS = { permission: 'permission', entity: 'parent' } as const;

/** In the `params` of an issue, as `undeclared`: a name that the manifest does not declare, and those that it does. */
export interface UndeclaredName {
  readonly kind: NamedKind;
  readonly name: string;
  readonly declared: readonly string[];
}

export type VerticalManifest = z.infer<typeof manifestSchema>;
