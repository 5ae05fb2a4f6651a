/** The shape of a declaration: its fields and their types, for builders whose editor does not check them. */
import type { Executor, LongWork, Operation, Schedule, Subscription } from '@freehold/kernel';
import type { ToolWords } from '@freehold/operations';
import type { Migration } from '@freehold/store';
import { z } from 'zod';
import type {
  AppDeclaration,
  AppLook,
  AttachmentRules,
  ErasablePerson,
  ErasureRules,
  PublicSurface,
} from './app.ts';
import { COLOR, isLanguageTag } from './look.ts';

/** One schema for each field, so that a field that is added to the type is added here too. */
type ShapeOf<T> = { readonly [K in keyof Required<T>]: z.ZodType };

function ofKind(test: (value: unknown) => boolean, words: string): z.ZodType {
  const error = ({ input }: { readonly input?: unknown }) => (input === undefined ? 'is missing' : words);
  return z.custom(test, { error, params: { isType: true } });
}

const handler = ofKind((value) => typeof value === 'function', 'must be a function');
const schema = ofKind(
  (value) => typeof value === 'object' && value !== null && '_zod' in value,
  'must be a schema of zod',
);
const seam = ofKind(
  (value) => ['signed-in', 'unauthenticated'].includes((value as { kind?: string } | null)?.kind ?? ''),
  'must be made by signedIn() or unauthenticated()',
);
const text = z.string().min(1);
const host = z
  .string()
  .max(253)
  .regex(
    /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/,
    'must be a host name in lower case, such as api.example.com or *.example.com',
  );
const method = z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

const operation = z.strictObject({
  summary: text,
  description: z.string().optional(),
  input: schema,
  output: schema,
  problems: z.array(z.string()).optional(),
  permission: z.string(),
  entity: handler.optional(),
  created: handler.optional(),
  http: z.strictObject({ method, path: z.string() }).optional(),
  readOnly: z.boolean().optional(),
  mcp: z
    .union([
      z.literal(false),
      z.strictObject({
        title: z.string().optional(),
        destructive: z.boolean().optional(),
        prompt: text.optional(),
      } satisfies ShapeOf<ToolWords>),
    ])
    .optional(),
  subjects: handler.optional(),
  newSubjects: handler.optional(),
  offered: handler.optional(),
  run: handler,
} satisfies ShapeOf<Operation>);

const listener = {
  on: z.array(z.string()),
  as: z.string(),
  attemptsMax: z.number().optional(),
  subjects: handler.optional(),
};
const subscription = z.strictObject({
  ...listener,
  operation: z.string(),
  input: handler.optional(),
} satisfies ShapeOf<Subscription>);
const executor = z.strictObject({
  ...listener,
  timeoutMs: z.number().optional(),
  run: handler,
} satisfies ShapeOf<Executor>);
const schedule = z.strictObject({
  cron: z.string(),
  timezone: z.string().optional(),
  operation: z.string(),
  input: z.unknown().optional(),
  as: z.string(),
} satisfies ShapeOf<Schedule>);

const longWork = z.strictObject({
  summary: text,
  permission: z.string(),
  step: handler,
  abandon: handler.optional(),
  namesOf: handler.optional(),
} satisfies ShapeOf<LongWork>);

const migration = z.strictObject({
  version: z.number(),
  name: text,
  sql: z.string(),
  fill: handler.optional(),
} satisfies ShapeOf<Migration>);

const person = z.strictObject({
  permission: z.string(),
  refuse: handler.optional(),
  afterwards: z.string().optional(),
} satisfies ShapeOf<ErasablePerson>);

const whole = z.int().min(1);
const surface = z.strictObject({
  service: z.string(),
  sites: z.union([z.strictObject({ setting: z.string() }), z.strictObject({ operation: z.string() })]),
  script: z
    .strictObject({
      path: z.string().regex(/^\/[\w./-]+$/, 'must be a path such as /embed/booking.js'),
      source: z.string().optional(),
    })
    .optional(),
  bodyBytesMax: whole.optional(),
  limit: z.strictObject({ times: whole, windowSeconds: whole }).optional(),
  routes: handler,
} satisfies ShapeOf<PublicSurface>);

export const look = z.strictObject({
  color: z.string().regex(COLOR, 'must be a colour in hexadecimal, such as #0f5132').optional(),
  language: z.string().refine(isLanguageTag, 'must be a language tag, such as en or de-AT').optional(),
} satisfies ShapeOf<AppLook>);

const openapi = z.strictObject({
  description: text.optional(),
  contact: z
    .strictObject({ name: text, url: z.string().optional(), email: z.string().optional() })
    .optional(),
  license: z
    .strictObject({ name: text, url: z.string().optional(), identifier: z.string().optional() })
    .optional(),
  tags: z.record(z.string(), z.string()).optional(),
  describedRoutes: z.array(z.looseObject({ name: text, method, path: z.string(), summary: text })).optional(),
} satisfies ShapeOf<NonNullable<AppDeclaration['openapi']>>);

/** The manifest has a schema of its own, which the kernel applies. */
export const declarationShape = z.strictObject({
  manifest: z.looseObject({}),
  migrations: z.array(migration),
  operations: z.record(z.string(), operation),
  on: z.record(z.string(), subscription).optional(),
  executors: z.record(z.string(), executor).optional(),
  schedules: z.record(z.string(), schedule).optional(),
  works: z.record(z.string(), longWork).optional(),
  retention: z.looseObject({}).optional(),
  chainMax: z.number().optional(),
  attachments: z
    .strictObject({
      requireRemovable: handler.optional(),
      hidden: handler.optional(),
    } satisfies ShapeOf<AttachmentRules>)
    .optional(),
  erasure: z
    .strictObject({
      persons: z.record(z.string(), person).optional(),
      onShred: handler.optional(),
      reseal: handler.optional(),
      personal: z.record(z.string(), z.array(text)).optional(),
    } satisfies ShapeOf<ErasureRules>)
    .optional(),
  publicSurface: surface.optional(),
  models: z.boolean().optional(),
  egress: z.array(host).max(100).optional(),
  isolate: z.literal('tenant', { error: 'must be tenant, or left out' }).optional(),
  look: look.optional(),
  web: z
    .union([
      z
        .string()
        .refine(isInside, 'must be a folder of the project, relative to package.json, such as ./web/dist'),
      z.record(
        z.string(),
        z
          .string()
          .refine(
            isInside,
            'must be a file of the project, relative to package.json, such as ./web/item.tsx',
          ),
      ),
    ])
    .optional(),
  suppliedPages: z.boolean().optional(),
  routes: handler.optional(),
  openapi: openapi.optional(),
  authenticatedPrincipal: seam,
} satisfies ShapeOf<AppDeclaration>);

/** Whether a relative path stays within the folder that it starts from. */
function isInside(path: string): boolean {
  const steps = path.split(/[/\\]/);
  return path.trim() !== '' && steps[0] !== '' && !steps.includes('..') && !/^[A-Za-z]:/.test(path);
}
