/** The test of the ways on which the operator is told of faults. The wiring has the ways. */
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import { adminOperation } from '../declarations/admin-operation.ts';
import { found, type Performers } from '../lib/performers.ts';

const testedChannel = z.object({
  channel: z.enum(['mail', 'webhook']),
  sent: z.boolean().describe('Whether the next server took the message over'),
  detail: z.string().nullable().describe('Why it was not sent; null otherwise'),
});
export type TestedChannel = z.infer<typeof testedChannel>;

/** Sends a test message on every way; it does not reject. Empty: the settings name no place. */
export type AlertsTest = () => Promise<readonly TestedChannel[]>;

export const alertsTest = adminOperation({
  name: 'alerts.test',
  summary: 'Send a test message to every place for alerts',
  description:
    'Sends it to the places of the settings (FREEHOLD_ALERT_MAIL, FREEHOLD_ALERT_WEBHOOK) and answers what became of each. Nothing is stored, and no row is written. A platform whose settings name no place answers unsupported (no_alerts).',
  tag: 'Operations',
  method: 'POST',
  path: '/alerts/test',
  input: {},
  output: z.object({ items: z.array(testedChannel) }).meta({ id: 'AlertsTested' }),
  staff: 'operate',
  audit: 'none',
  problems: ['unsupported'],
});

/** @param test undefined: the platform tells nothing. */
export function alertPerformers(test: AlertsTest | undefined): Performers {
  return {
    'alerts.test': async () => {
      const items = (await test?.()) ?? [];
      if (items.length > 0) return found({ items });
      throw new PlatformError(
        'unsupported',
        'There is no place for alerts: set FREEHOLD_ALERT_MAIL or FREEHOLD_ALERT_WEBHOOK, and start again.',
        { reason: 'no_alerts' },
      );
    },
  };
}
