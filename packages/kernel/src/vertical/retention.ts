/** The retention of a scope: the policy that a vertical declares, and a setting that replaces it for one scope. */
import { PlatformError, type VerticalManifest } from '@freehold/contracts';
import { type ReportFault, type SchemaFaultCode, schemaFaults } from '@freehold/operations/faults';
import { z } from 'zod';

/** The setting that changes a scope's policy: JSON of the same members, in which null means for good. */
export const RETENTION_SETTING = 'platform:retention';

/**
 * The time for which a scope keeps its logs; an absent member means for good, which is the default. The setting
 * `platform:retention` changes the policy of one scope, if the vertical declares a policy, even an empty one.
 */
export interface RetentionPolicy {
  /**
   * Whole days, 1 to 36,500: events, invocations, dead letters, and settled requests to the platform. The last event of
   * each record stays, because it is the record's version.
   */
  readonly historyDays?: number;
  /** Whole days, 1 to 36,500: refused attempts. */
  readonly denialsDays?: number;
}

/** The policy of a scope; null means for good. */
export interface EffectivePolicy {
  readonly historyDays: number | null;
  readonly denialsDays: number | null;
}

export interface Housekept {
  readonly manifest: Pick<VerticalManifest, 'entities'>;
  readonly retention?: RetentionPolicy | undefined;
}

const days = z.int().min(1).max(36_500);
const policySchema = z.strictObject({
  historyDays: days.nullable().optional(),
  denialsDays: days.nullable().optional(),
});

/** Checks the policy that a vertical declares. */
export function checkRetention(
  policy: RetentionPolicy | undefined,
  report: ReportFault<SchemaFaultCode>,
): void {
  for (const fault of schemaFaults(policySchema, policy ?? {}, ['retention'])) {
    const isDays = fault.code === 'invalid_value' || fault.code === 'wrong_type';
    report(isDays ? { ...fault, message: 'must be whole days, from 1 to 36,500' } : fault);
  }
}

/**
 * Checks a delivered policy before it is stored.
 * @throws PlatformError `validation_failed`, reason `retention_invalid`, also where the vertical declares none: its
 * scopes have no housekeeping.
 */
export function requireRetentionSetting(
  { retention }: Housekept,
  settings: Readonly<Record<string, string>>,
): void {
  const given = settings[RETENTION_SETTING];
  if (given === undefined) return;
  if (retention === undefined) throw invalid('This application keeps its history for good.');
  if (parseSetting(given) === null)
    throw invalid(
      'It is JSON such as {"historyDays":400,"denialsDays":null}, in whole days from 1 to 36,500.',
    );
}

/** Returns the declared policy with the delivered changes. With an unreadable setting, nothing is removed. */
export function effectivePolicy(
  { retention }: Housekept,
  settings: Readonly<Record<string, string>>,
): EffectivePolicy {
  const forGood = { historyDays: null, denialsDays: null };
  if (retention === undefined) return forGood;
  const given = settings[RETENTION_SETTING];
  const delivered = given === undefined ? {} : parseSetting(given);
  if (delivered === null) return forGood;
  const { historyDays = null, denialsDays = null } = { ...retention, ...delivered };
  return { historyDays, denialsDays };
}

/** Whether the scopes of a vertical need daily housekeeping. */
export function needsRetention(vertical: Housekept): boolean {
  return vertical.retention !== undefined || hasAttachments(vertical);
}

export function hasAttachments({ manifest }: Housekept): boolean {
  return Object.values(manifest.entities).some(({ attachments }) => attachments !== undefined);
}

function parseSetting(text: string): z.infer<typeof policySchema> | null {
  try {
    return policySchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

function invalid(why: string): PlatformError {
  return new PlatformError('validation_failed', `The setting ${RETENTION_SETTING} cannot be used. ${why}`, {
    reason: 'retention_invalid',
  });
}
