/** The lines that a process sends: from our host worker, but about a bundle that may be hostile. */
import { z } from 'zod';

/** The most bytes of one batch. */
export const BATCH_BYTES_MAX = 16 * 1_024 * 1_024;

/** The most operations that one line counts. */
const OPERATIONS_MAX = 1_000_000;

const about = {
  digest: z.string().max(128),
  atMs: z.number(),
  tenant: z.string().max(64).optional(),
  scope: z.string().max(64).optional(),
};

/** The trace id of the request that it belongs to; absent for work without one. */
const request = {
  trace: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
};

const hostedLine = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('console'),
    ...about,
    ...request,
    level: z.string().max(16),
    text: z.string().max(5_000),
  }),
  z.object({
    kind: z.literal('exception'),
    ...about,
    ...request,
    name: z.string().max(5_000),
    text: z.string().max(5_000),
    stack: z.string().max(5_000),
  }),
  z.object({
    kind: z.literal('egress'),
    digest: about.digest,
    atMs: about.atMs,
    host: z.string().max(300),
    status: z.int().nullable(),
    refused: z.boolean().optional(),
    durationMs: z.number().min(0),
    bytesOut: z.number().min(0),
  }),
  z.object({
    kind: z.literal('cut'),
    digest: about.digest,
    tenant: about.tenant,
    scope: about.scope,
    lines: z.int().min(0),
  }),
  z.object({ kind: z.literal('dropped'), lines: z.int().min(0) }),
  z.object({
    kind: z.literal('invoked'),
    tenant: about.tenant,
    scope: about.scope,
    operations: z.int().min(1).max(OPERATIONS_MAX),
  }),
  // Of the host alone: an instance did not answer, or was ended by the runtime.
  z.object({
    kind: z.literal('failed'),
    tenant: about.tenant,
    scope: about.scope,
    method: z.enum(['fetch', 'open', 'work']),
    text: z.string().max(5_000),
  }),
]);

export type HostedLine = z.infer<typeof hostedLine>;

/** Reads a batch, a JSON value a line. A line that is none counts as dropped. */
export function parseLines(text: string): readonly HostedLine[] {
  let damaged = 0;
  const lines = text.split('\n').flatMap((line) => {
    if (line === '') return [];
    try {
      return [hostedLine.parse(JSON.parse(line))];
    } catch {
      damaged++;
      return [];
    }
  });
  return damaged === 0 ? lines : [...lines, { kind: 'dropped', lines: damaged }];
}
