/** The delivered choice of an instance's sign-in: the setting `platform:auth` (spec 2.3). */
import type { DeliveryWarning } from '@freehold/contracts';
import { z } from 'zod';

export const IDENTITY_CHOICE_KEY = 'platform:auth';
/** The key of the secret that the chosen issuer shares with the chosen client. */
export const CLIENT_SECRET_KEY = 'OIDC_CLIENT_SECRET';

const identityChoice = z.object({
  mode: z.literal('oidc'),
  issuer: z.string().min(1).max(2_048),
  clientId: z.string().min(1).max(1_024),
});

export type IdentityChoice = Readonly<z.infer<typeof identityChoice>>;

/** Returns the choice in a delivered map, or null when it holds no usable one. */
export function parseIdentityChoice(config: Readonly<Record<string, string>>): IdentityChoice | null {
  const text = Object.hasOwn(config, IDENTITY_CHOICE_KEY) ? config[IDENTITY_CHOICE_KEY] : undefined;
  if (text === undefined) return null;
  const parsed = identityChoice.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}

/**
 * Whether two choices name the same client of the same issuer, character for character. A client secret belongs to one
 * such pair: sending it to another issuer would give it away.
 */
export function isSameClient(left: IdentityChoice | null, right: IdentityChoice | null): boolean {
  return left?.issuer === right?.issuer && left?.clientId === right?.clientId;
}

/**
 * Returns what is odd about a choice and the settings beside it: a choice that selects no provider (`sign_in_unusable`),
 * and an AUTH_PROVIDER that counts for nothing, because a usable choice comes first (`auth_provider_unused`).
 */
export function findChoiceWarnings(config: Readonly<Record<string, string>>): DeliveryWarning[] {
  const choice = parseIdentityChoice(config);
  if (Object.hasOwn(config, IDENTITY_CHOICE_KEY) && (choice === null || !URL.canParse(choice.issuer)))
    return [
      {
        code: 'sign_in_unusable',
        detail: `${IDENTITY_CHOICE_KEY} selects no sign-in: it must be {"mode":"oidc","issuer":"https://…","clientId":"…"} in JSON. Deliver it again, or remove it.`,
      },
    ];
  if (choice !== null && Object.hasOwn(config, 'AUTH_PROVIDER'))
    return [
      {
        code: 'auth_provider_unused',
        detail: `AUTH_PROVIDER counts for nothing here, because people sign in at ${choice.issuer}, which ${IDENTITY_CHOICE_KEY} names. Remove ${IDENTITY_CHOICE_KEY} to have AUTH_PROVIDER count.`,
      },
    ];
  return [];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
