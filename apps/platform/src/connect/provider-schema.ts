/** What may stand in the operator's file of providers: the directory's own registry, with secrets by reference. */
import { providerKey } from '@freehold/contracts/http';
import { z } from 'zod';

const text = z.string().min(1).max(500);
const endpoint = z
  .string()
  .max(2000)
  .refine(isSoundEndpoint, 'must be an https URL without credentials or a fragment');
const fieldPath = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/, 'must be a dotted path such as account.id');

/** Where a secret is: the name of an environment variable, or a file, from the folder of the file that names it. */
const secretReference = z.union(
  [z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })],
  { error: 'must be { "env": "NAME" } or { "file": "PATH" }: no secret stands in this file itself' },
);
export type SecretReference = z.output<typeof secretReference>;

const accountProbe = z.strictObject({
  endpoint,
  account: fieldPath.optional(),
  accountName: fieldPath.optional(),
});

/** What the consent round sets itself: an operator's word must not replace it. */
const OWN_PARAMS = new Set([
  ...['response_type', 'client_id', 'redirect_uri', 'scope', 'state'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri', 'response_mode'],
]);

const oauthProvider = z
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
    clientSecret: secretReference.optional(),
    clientAuth: z.enum(['client_secret_basic', 'client_secret_post']).optional(),
    issuer: endpoint.optional(),
    authorizationParams: z
      .record(text, z.string().max(500))
      .refine((params) => Object.keys(params).every((name) => !OWN_PARAMS.has(name)), {
        error: 'must not set what the consent round sets itself',
      })
      .optional(),
    identity: accountProbe.optional(),
  })
  .refine(({ clientAuth, clientSecret }) => clientAuth === undefined || clientSecret !== undefined, {
    path: ['clientAuth'],
    error: 'needs a clientSecret',
  });

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

const provider = z.discriminatedUnion('kind', [oauthProvider, apiKeyProvider], {
  error: ({ code }) => (code === 'invalid_union' ? 'must be oauth2 or api-key' : undefined),
});
export type WrittenProvider = z.output<typeof provider>;

/** The whole file. Unknown fields are refused: a misspelt one would be a rule that nobody keeps. */
export const providersFile = z.strictObject({ providers: z.record(providerKey, provider) });

/** Plain http is for development, on this machine (RFC 6761, section 6.3). */
function isSoundEndpoint(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || url.username !== '' || url.password !== '' || value.includes('#')) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackName(url.hostname));
}

/** A name that always means this machine, or a loopback address. */
export function isLoopbackName(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(?:\.\d{1,3}){3}$/.test(hostname)
  );
}
