/** The request of a vertical to the control plane for a consent URL, and its answer (spec 4.7). */
import { z } from 'zod';
import { principalId, scopeId, tenantId, timestamp } from '../ids.ts';

/** The path below the control plane's address. */
export const CONNECT_URL_PATH = '/internal/connections/connect-url';
/** The longest and the default lifetime of a consent URL, in seconds (spec 8). */
export const CONNECT_TTL_SECONDS_MAX = 900;
/** Browsers and proxies cut off longer addresses. */
const RETURN_URL_CHARS_MAX = 2000;

/** The name of a provider in the operator's registry. */
export const providerKey = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,62}$/, 'must be a name of lower-case letters, digits and hyphens');

/** The caller's own name for the connected account: any line of text without control characters. */
export const subjectRef = z
  .string()
  .min(1)
  .max(256)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters');

export const connectUrlRequest = z
  .strictObject({
    tenantId,
    scopeId,
    provider: providerKey.describe('A provider with a platform consent round'),
    createdBy: principalId.describe('Whose permission check passed; stamped on the connection'),
    subjectRef: subjectRef.describe('The caller’s name for what is connected; echoed back'),
    returnUrl: z
      .string()
      .max(RETURN_URL_CHARS_MAX)
      .describe('An https URL of a surface that is bound to this scope'),
    ttlSeconds: z
      .int()
      .min(1)
      .max(CONNECT_TTL_SECONDS_MAX)
      .default(CONNECT_TTL_SECONDS_MAX)
      .describe('How long the URL works'),
  })
  .meta({ id: 'ConnectUrlRequest' });
export type ConnectUrlRequest = z.infer<typeof connectUrlRequest>;

export const connectUrlResponse = z
  .object({
    url: z.url().describe('Send the person’s browser there, once'),
    expiresAt: timestamp,
    vertical: z.string().describe('By the platform’s own record of the scope'),
  })
  .meta({ id: 'ConnectUrl' });
export type ConnectUrlResponse = z.infer<typeof connectUrlResponse>;
