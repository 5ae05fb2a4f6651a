/** The secrets that a builder gives to the versions of a vertical. Data only, so that a client can import it. */
import { slug, timestamp } from '@freehold/contracts';
import { z } from 'zod';
import { requester } from './vertical-records.ts';

/** The most secrets of one vertical. */
export const SECRETS_MAX = 64;
/** 8 KiB: a private key with its chain of certificates fits. */
const SECRET_CHARS_MAX = 8 * 1024;

/** A secret arrives among the settings of each instance, and is named as they are. */
export const secretName = z
  .string()
  .max(64)
  .regex(/^[A-Z][A-Z0-9_]*$/, 'must be capital letters, digits and _, such as PAYMENT_KEY')
  .refine((name) => !/^(?:AUTH|CONTROL_PLANE|FREEHOLD|OIDC)_/.test(name), {
    message: 'must not begin as a setting of the platform does: AUTH_, CONTROL_PLANE_, FREEHOLD_ or OIDC_',
  });

export const secretText = z.string().min(1).max(SECRET_CHARS_MAX);

export const verticalSecretRecord = z
  .object({
    vertical: slug,
    name: z.string(),
    setBy: requester.describe('The caller that set the present value'),
    createdAt: timestamp,
    updatedAt: timestamp.describe('When the present value was set'),
    etag: z.string().describe('The version of this record; send it back in If-Match'),
  })
  .meta({ id: 'VerticalSecret' });
export type VerticalSecretRecord = z.infer<typeof verticalSecretRecord>;
