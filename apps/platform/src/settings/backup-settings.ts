/** When the platform makes backups by itself, and for how long it keeps them: what of that is in the environment. */
import type { BackupPolicy } from '@freehold/directory';
import { z } from 'zod';

const HOUR_MS = 3_600_000;
/** Each is a copy of everything: more often is the business of the archive, which sends what changed. */
const EVERY_MIN_MS = HOUR_MS;
const EVERY_MAX_MS = 31 * 24 * HOUR_MS;
const EVERY_WORDS = 'must be a number of hours or days such as 12h or 1d, from 1h to 31d, or off';

const count = (fallback: number, min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,3}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)
    .default(fallback);

export const backupEnvironment = {
  /** How often everything is backed up. Unset: daily where a place for backups is named, and else not at all. */
  FREEHOLD_BACKUPS_EVERY: z
    .string()
    .transform((text, ctx): number | null => {
      const [, amount, unit] = /^(\d{1,3})(h|d)$/.exec(text) ?? [];
      const ms = Number(amount) * (unit === 'd' ? 24 : 1) * HOUR_MS;
      if (text === 'off') return null;
      if (ms >= EVERY_MIN_MS && ms <= EVERY_MAX_MS) return ms;
      ctx.addIssue({ code: 'custom', message: EVERY_WORDS });
      return z.NEVER;
    })
    .optional(),
  /** Of so many days, and of so many weeks, the newest of these backups is kept. */
  FREEHOLD_BACKUPS_KEEP_DAILY: count(7, 1, 366),
  FREEHOLD_BACKUPS_KEEP_WEEKLY: count(4, 0, 520),
};

export interface BackupValues {
  readonly FREEHOLD_BACKUPS?: string | undefined;
  readonly FREEHOLD_ARCHIVE_S3_ENDPOINT?: string | undefined;
  readonly FREEHOLD_BACKUPS_EVERY?: number | null | undefined;
  readonly FREEHOLD_BACKUPS_KEEP_DAILY: number;
  readonly FREEHOLD_BACKUPS_KEEP_WEEKLY: number;
}

/** Null for never. The directory beside the data directory is no place that anybody has named. */
export function backupPolicyOf(values: BackupValues): BackupPolicy | null {
  const isNamed = values.FREEHOLD_BACKUPS !== undefined || values.FREEHOLD_ARCHIVE_S3_ENDPOINT !== undefined;
  const { FREEHOLD_BACKUPS_EVERY: everyMs = isNamed ? 24 * HOUR_MS : null } = values;
  if (everyMs === null) return null;
  return {
    everyMs,
    keepDaily: values.FREEHOLD_BACKUPS_KEEP_DAILY,
    keepWeekly: values.FREEHOLD_BACKUPS_KEEP_WEEKLY,
  };
}
