/** What a provider is judged by, wherever it is written down: in the wiring, or in an operator's file. */
import { z } from 'zod';

const text = z.string().min(1).max(500);
const endpoint = z
  .string()
  .max(2000)
  .refine(isSoundEndpoint, 'must be an https URL without credentials or a fragment');
const fieldPath = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/, 'must be a dotted path such as account.id');
const accountProbe = z.strictObject({
  endpoint,
  account: fieldPath.optional(),
  accountName: fieldPath.optional(),
});

/** Parameters that the round itself sets: an operator's word must not replace them. */
const OWN_PARAMS = new Set([
  ...['response_type', 'client_id', 'redirect_uri', 'scope', 'state'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri', 'response_mode'],
]);

/**
 * The schema of a provider. Unknown fields are refused: a misspelt one would be a rule that nobody keeps.
 * @param clientSecret how the secret is written: itself, or where it is.
 */
export function providerSchema<Secret extends z.ZodType>(clientSecret: Secret) {
  return z.discriminatedUnion('kind', [oauthProvider(clientSecret), apiKeyProvider], {
    error: ({ code }) => (code === 'invalid_union' ? 'must be oauth2 or api-key' : undefined),
  });
}

function oauthProvider<Secret extends z.ZodType>(clientSecret: Secret) {
  return z
    .strictObject({
      kind: z.literal('oauth2'),
      name: text,
      authorizationEndpoint: endpoint,
      tokenEndpoint: endpoint,
      revocationEndpoint: endpoint.optional(),
      // RFC 6749, section 3.3.
      scopes: z
        .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be an OAuth scope'))
        .max(100)
        .default([]),
      clientId: text,
      clientSecret: clientSecret.optional(),
      clientAuth: z.enum(['client_secret_basic', 'client_secret_post']).optional(),
      issuer: endpoint.optional(),
      authorizationParams: z
        .record(text, z.string().max(500))
        .refine(
          (params) => Object.keys(params).every((name) => !OWN_PARAMS.has(name)),
          'must not set what the consent round sets itself',
        )
        .optional(),
      identity: accountProbe.optional(),
    })
    .refine((provider) => provider.clientAuth === undefined || provider.clientSecret !== undefined, {
      path: ['clientAuth'],
      error: 'needs a clientSecret',
    });
}

const apiKeyProvider = z.strictObject({
  kind: z.literal('api-key'),
  name: text,
  probe: z.strictObject({
    ...accountProbe.shape,
    header: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')
      .optional(),
    prefix: z
      .string()
      .regex(/^[\x20-\x7e]*$/, 'must be visible characters')
      .max(64)
      .optional(),
    tellsAccount: z.boolean().optional(),
  }),
});

/** Whether plain http stays on this machine: a name that RFC 6761 (section 6.3) keeps local, or a loopback address. */
export function isLoopbackHost(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}

/** Plain http is for development, on this machine. */
function isSoundEndpoint(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || text.includes('#')) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}
