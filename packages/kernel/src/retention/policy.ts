/** How long a scope keeps what happened in it: what a vertical declares, and what is delivered instead. */
import { PlatformError, type VerticalManifest } from '@freehold/contracts';
import { z } from 'zod';

/** The setting that changes a scope's policy: JSON of the same members, where null is for good. */
export const RETENTION_SETTING = 'platform:retention';

/**
 * How long a scope keeps what happened. What is absent is kept for good, which is the default. A vertical that declares
 * a policy, be it an empty one, can be given another for one scope by the setting `platform:retention`.
 */
export interface RetentionPolicy {
  /**
   * Whole days, 1 to 36,500: events, invocations, dead letters, and requests to the platform that are settled. The last
   * event of each record stays, because it is the record's version.
   */
  readonly historyDays?: number;
  /** Whole days, 1 to 36,500: refused attempts. */
  readonly denialsDays?: number;
}

/** The policy that holds in a scope; null is for good. */
export interface EffectivePolicy {
  readonly historyDays: number | null;
  readonly denialsDays: number | null;
}

/** What housekeeping goes by. */
export interface Housekept {
  readonly manifest: Pick<VerticalManifest, 'entities'>;
  readonly retention?: RetentionPolicy | undefined;
}

const days = z.int().min(1).max(36_500);
const policySchema = z.strictObject({
  historyDays: days.nullable().optional(),
  denialsDays: days.nullable().optional(),
});

/** @throws TypeError on a policy that is none, at the start of a vertical. */
export function requireRetention(policy: RetentionPolicy | undefined): void {
  const parsed = policySchema.safeParse(policy ?? {});
  if (!parsed.success) throw new TypeError('retention: whole days, from 1 to 36,500');
}

/**
 * Checks a delivered policy before it is kept.
 * @throws PlatformError `validation_failed`, reason `retention_invalid`, also where the vertical declares none: nobody
 * would look at its scopes.
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

/** What is delivered over what is declared. A setting that cannot be read removes nothing. */
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

/** Whether anything is to be looked after in the scopes of a vertical, day by day. */
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
