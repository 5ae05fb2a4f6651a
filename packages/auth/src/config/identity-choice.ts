/** The delivered choice of an instance's sign-in: the setting `platform:auth` (spec 2.3). */
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
