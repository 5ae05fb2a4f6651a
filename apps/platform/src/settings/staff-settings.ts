/** The sign-in of staff at the control plane: the second factor that is demanded, and the inactivity that ends a session. */
import { z } from 'zod';

/** A claim of an ID token, and a value of it that shows a second factor: `amr:mfa`, `acr:2`. */
export interface FactorClaim {
  readonly claim: 'acr' | 'amr';
  readonly value: string;
}

export interface SecondFactorSettings {
  /** `new`: of installations that were made since a second factor is demanded, and not of older ones. */
  readonly demand: 'all' | 'new';
  /** One of them is enough. */
  readonly accepted: readonly FactorClaim[];
}

export interface StaffSettings {
  /** Null: none is demanded. */
  readonly secondFactor: SecondFactorSettings | null;
  /** In milliseconds; null: inactivity ends no session. */
  readonly idleMs: number | null;
}

/** RFC 8176: more than one factor, a code of an authenticator, a key in hardware. */
const ACCEPTED_DEFAULT: readonly FactorClaim[] = ['mfa', 'otp', 'hwk'].map((value) => ({
  claim: 'amr',
  value,
}));
const FACTOR = /^(acr|amr):(\S{1,200})$/;
const FACTOR_WORDS = 'must be on, off, or claims such as amr:mfa and acr:2, separated by commas';
const IDLE_WORDS = 'must be a number of minutes or hours such as 30m or 12h, up to 168h, or off';
/** A session lives seven days (specification, section 8). */
const IDLE_MAX_MS = 7 * 24 * 3_600_000;

export const staffEnvironment = {
  /** The claims by which the issuer shows that a member of staff used a second factor. */
  FREEHOLD_STAFF_SECOND_FACTOR: z
    .string()
    .transform((text, ctx): Pick<SecondFactorSettings, 'accepted'> | null => {
      if (text === 'off') return null;
      if (text === 'on') return { accepted: ACCEPTED_DEFAULT };
      const accepted = text.split(',').flatMap((entry): FactorClaim[] => {
        const [, claim, value = ''] = FACTOR.exec(entry.trim()) ?? [];
        return claim === 'acr' || claim === 'amr' ? [{ claim, value }] : [];
      });
      if (accepted.length === text.split(',').length) return { accepted };
      ctx.addIssue({ code: 'custom', message: FACTOR_WORDS });
      return z.NEVER;
    })
    .optional(),
  /** The time without a request after which a member of staff signs in again. */
  FREEHOLD_STAFF_IDLE: z
    .string()
    .default('12h')
    .transform((text, ctx): number | null => {
      const [, count, unit] = /^(\d{1,5})(m|h)$/.exec(text) ?? [];
      const ms = Number(count) * (unit === 'h' ? 60 : 1) * 60_000;
      if (text === 'off') return null;
      if (ms > 0 && ms <= IDLE_MAX_MS) return ms;
      ctx.addIssue({ code: 'custom', message: IDLE_WORDS });
      return z.NEVER;
    }),
};

/** Unset: a new installation in production demands a second factor. */
export function staffSettingsOf(
  values: {
    readonly FREEHOLD_STAFF_SECOND_FACTOR?: Pick<SecondFactorSettings, 'accepted'> | null | undefined;
    readonly FREEHOLD_STAFF_IDLE: number | null;
  },
  production: boolean,
): StaffSettings {
  const { FREEHOLD_STAFF_SECOND_FACTOR: given, FREEHOLD_STAFF_IDLE: idleMs } = values;
  const unset: SecondFactorSettings | null = production
    ? { demand: 'new', accepted: ACCEPTED_DEFAULT }
    : null;
  return { idleMs, secondFactor: given === undefined ? unset : given && { demand: 'all', ...given } };
}

/** The claims in words, for the page of a refusal: `amr with mfa, or acr with 2`. */
export function wordsOfFactors(accepted: readonly FactorClaim[]): string {
  return accepted.map(({ claim, value }) => `${claim} with ${value}`).join(', or ');
}

/** Whether the claims of a verified ID token show one of the accepted factors. */
export function showsFactor(
  claims: { readonly acr?: unknown; readonly amr?: unknown },
  accepted: readonly FactorClaim[],
): boolean {
  return accepted.some(({ claim, value }) => {
    const said = claims[claim];
    return said === value || (Array.isArray(said) && said.includes(value));
  });
}
