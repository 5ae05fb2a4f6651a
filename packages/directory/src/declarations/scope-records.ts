/** What the host administration says about one scope's inside. Data only, so that a client can import it. */
import { z } from 'zod';
import { scopeStatus } from './records.ts';

export const healthCheck = z.object({
  name: z.enum(['migrations', 'dead-letters', 'platform-requests']),
  status: z.enum(['ok', 'warning', 'failing']),
  count: z.int().nullable().describe('How many there are; null when nobody could say'),
  more: z.boolean().describe('True when there are more than were counted'),
  problem: z
    .object({ code: z.string(), reason: z.string().nullable(), detail: z.string() })
    .nullable()
    .describe('Why nobody could say'),
});
export type HealthCheck = z.infer<typeof healthCheck>;

export const scopeHealth = z
  .object({
    status: z
      .enum(['ok', 'warning', 'failing'])
      .describe('The worst of its checks. warning: some deliveries have given up'),
    lifecycle: scopeStatus.describe('What the directory says of the scope'),
    checks: z.array(healthCheck),
  })
  .meta({ id: 'ScopeHealth' });
export type ScopeHealth = z.infer<typeof scopeHealth>;
