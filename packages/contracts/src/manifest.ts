/** The manifest of a vertical, for the platform, the kernel and the staff. */
import { z } from 'zod';
import { serviceKey } from './ids.ts';

export const slug = z
  .string()
  .regex(
    /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be lower-case letters, digits and hyphens, beginning with a letter',
  );

/** `noun.verb`, or a deeper dotted path. */
export const permissionKey = z
  .string()
  .regex(/^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+$/)
  .max(128);

/** The number of permissions of one role or service. */
const PERMISSIONS_MAX = 500;

export const roleKey = z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/);

/** One setting that a vertical reads. Precedence: delivered, then binding, then default (spec 2.3). */
export const envEntry = z.strictObject({
  summary: z.string().max(1000),
  default: z.string().max(16_384).optional(),
  secret: z.boolean().optional(),
});

export const envSpec = z.record(
  z
    .string()
    .max(128)
    .regex(/^[A-Z][A-Z0-9_]*$/),
  envEntry,
);
export type EnvSpec = z.infer<typeof envSpec>;

export const manifestSchema = z
  .strictObject({
    slug,
    name: z.string().min(1).max(100),
    version: z
      .string()
      .max(64)
      .regex(/^\d+\.\d+\.\d+(?:[-+].+)?$/),
    /** Permission key → its description. */
    permissions: z.record(permissionKey, z.string().max(1000)),
    roles: z.record(
      roleKey,
      z.strictObject({ name: z.string().max(200), permissions: z.array(permissionKey).max(PERMISSIONS_MAX) }),
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
          name: z.string().max(200),
          permissions: z.array(permissionKey).max(PERMISSIONS_MAX),
        }),
      )
      .optional(),
    env: envSpec,
  })
  .superRefine((manifest, issues) => {
    if (!Object.hasOwn(manifest.roles, manifest.ownerRole)) {
      issues.addIssue({
        code: 'custom',
        path: ['ownerRole'],
        message: `names no declared role: ${manifest.ownerRole}`,
      });
    }
    const requireDeclared = (path: string[], permissions: readonly string[]): void => {
      for (const permission of permissions) {
        if (Object.hasOwn(manifest.permissions, permission)) continue;
        issues.addIssue({ code: 'custom', path, message: `names an undeclared permission: ${permission}` });
      }
    };
    for (const [key, role] of Object.entries(manifest.roles))
      requireDeclared(['roles', key], role.permissions);
    for (const [key, service] of Object.entries(manifest.services ?? {}))
      requireDeclared(['services', key], service.permissions);
    for (const [type, entity] of Object.entries(manifest.entities)) {
      if (entity.attachments)
        requireDeclared(
          ['entities', type, 'attachments'],
          Object.values(entity.attachments).filter((each) => each !== undefined),
        );
      if (entity.read !== undefined) requireDeclared(['entities', type, 'read'], [entity.read]);
      if (entity.parent !== undefined && !Object.hasOwn(manifest.entities, entity.parent)) {
        issues.addIssue({
          code: 'custom',
          path: ['entities', type],
          message: `names an undeclared parent: ${entity.parent}`,
        });
      }
    }
  });

export type VerticalManifest = z.infer<typeof manifestSchema>;
