/** Issues: unexpected errors, grouped by their cause (spec 3.3, 4.3.11). */
import { scopeId, slug, tenantId, timestamp } from '@freehold/contracts';
import { z } from 'zod';

/** The most issues that are kept. One list shows them all and has no cursor. */
export const ISSUES_MAX = 1000;

export const issueStatus = z
  .enum(['open', 'resolved', 'ignored', 'regressed'])
  .describe('regressed: it was resolved, and was seen again');

export const fingerprint = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 hexadecimal digits');

export const issueRecord = z
  .object({
    fingerprint,
    status: issueStatus,
    vertical: slug.nullable().describe('Null for the platform itself'),
    where: z.string().describe('What was running: a kind of unit, a dot, its method'),
    name: z.string().describe('What the error is called: TypeError'),
    message: z
      .string()
      .describe('Without whatever looks like a value: ids, numbers, addresses, quoted text, secrets'),
    count: z.int().min(1),
    regressions: z.int().min(0).describe('How often it came back after it was resolved'),
    firstSeenAt: timestamp,
    lastSeenAt: timestamp,
    newestVersion: z.string().nullable().describe('The newest version of the vertical that it was seen in'),
    resolvedIn: z
      .string()
      .nullable()
      .describe('The newest version it had been seen in when it was resolved; an older one is no regression'),
    sample: z
      .object({
        at: timestamp,
        tenant: tenantId.nullable(),
        scope: scopeId.nullable(),
        version: z.string().nullable(),
        frames: z.array(z.string()).describe('Function, file and line, innermost first'),
      })
      .describe('The latest one. No payload is kept of any.'),
    etag: z.string().describe('Changes with every verdict and every regression; send it back in If-Match'),
  })
  .meta({ id: 'Issue' });

export type IssueRecord = z.infer<typeof issueRecord>;
