/** The places that the operator is told of faults at: mail addresses, and a web address. */
import { MailError, parseSender } from '@freehold/mail';
import { isConfidentialUrl } from '@freehold/oidc-rp';
import { z } from 'zod';

export interface AlertSettings {
  /** Addresses; empty for none. */
  readonly mail: readonly string[];
  /** Null for none. It may hold a secret, as those of chat programs do. */
  readonly webhook: string | null;
}

export const alertEnvironment = {
  /** Addresses that alerts are mailed to. */
  FREEHOLD_ALERT_MAIL: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((entry) => entry.trim() || []))
    .refine((addresses) => addresses.every(isAddress), 'must be mail addresses, separated by commas'),
  /** An address that alerts are posted to. */
  FREEHOLD_ALERT_WEBHOOK: z
    .string()
    .refine((text) => {
      const url = URL.parse(text);
      return url !== null && isConfidentialUrl(url);
    }, 'must be an https address, or one of this machine')
    .optional(),
};

export function alertSettingsOf(values: {
  readonly FREEHOLD_ALERT_MAIL: readonly string[];
  readonly FREEHOLD_ALERT_WEBHOOK?: string | undefined;
}): AlertSettings {
  return { mail: values.FREEHOLD_ALERT_MAIL, webhook: values.FREEHOLD_ALERT_WEBHOOK ?? null };
}

function isAddress(text: string): boolean {
  try {
    return parseSender(text).address === text;
  } catch (error) {
    if (error instanceof MailError) return false;
    throw error;
  }
}
