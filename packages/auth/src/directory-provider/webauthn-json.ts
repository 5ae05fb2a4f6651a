/** What a browser's `PublicKeyCredential.toJSON()` gives (Web Authentication Level 3, section 5.1.8), as much as is read. */
import { z } from 'zod';

/** Base64url, bounded well below the body's limit. */
const bytes = z
  .string()
  .max(12_000)
  .regex(/^[A-Za-z0-9_-]+$/);

/** Members that are not listed are dropped: browsers add to them. */
const credential = {
  id: bytes,
  rawId: bytes,
  type: z.literal('public-key'),
};

export const registrationJson = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes,
      attestationObject: bytes,
    }),
  })
  .transform((json) => ({ ...json, clientExtensionResults: {} }));

export const assertionJson = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes,
      authenticatorData: bytes,
      signature: bytes,
      userHandle: bytes.nullish(),
    }),
  })
  .transform((json) => ({ ...json, clientExtensionResults: {} }));

export type RegistrationJson = z.infer<typeof registrationJson>;
export type AssertionJson = z.infer<typeof assertionJson>;
