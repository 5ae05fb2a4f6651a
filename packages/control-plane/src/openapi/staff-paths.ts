/** The addresses of the sign-in and sign-out of staff and builders with a browser, in the document (spec 4.1). */
import { type Part, PROBLEM_CONTENT } from '@freehold/operations/openapi';
import { COUNTED, countedPaths } from './limits.ts';
import { answerOf, formBody, json, page, problems, redirect, servicePath, textParameter } from './parts.ts';

const tag = 'Sign-in';
/** Longer addresses are cut off by browsers and proxies. */
const ADDRESS_CHARS_MAX = 2000;
const cookie = { 'Set-Cookie': { $ref: '#/components/headers/SessionCookie' } };
const returnTo = textParameter('query', 'returnTo', {
  description: 'The place to return to: a path of this origin',
  maxLength: ADDRESS_CHARS_MAX,
});

/** Addresses with a credential, and those of the issuer: only refusals are counted there. */
const UNCOUNTED: readonly string[] = ['/', '/auth/me', '/api/auth/backchannel-logout'];

export function staffPaths(): Record<string, Record<string, Part>> {
  return countedPaths(signInPaths(), (path) => !UNCOUNTED.includes(path));
}

function signInPaths(): Record<string, Record<string, Part>> {
  const login = {
    summary: 'Sign in',
    description: 'Leads to the issuer of the staff, and back again to where returnTo says.',
    parameters: [
      returnTo,
      textParameter('query', 'switch', {
        description: 'Present: the issuer asks which account is meant',
        maxLength: 1,
      }),
    ],
  };
  const logout = {
    summary: 'Sign out',
    description: 'Ends the session here and, with federated, at the issuer.',
    parameters: [
      returnTo,
      textParameter('query', 'federated', {
        description: 'Present: also sign out at the issuer',
        maxLength: 1,
      }),
    ],
  };
  return {
    '/': {
      get: servicePath({
        operationId: 'service.home',
        summary: 'Say who is signed in, and where to go',
        tag,
        responses: { 200: page('A page with links.') },
      }),
    },
    '/api/auth/login': { get: browserStep('service.sign-in', login) },
    '/api/auth/callback': {
      get: browserStep('service.sign-in-callback', {
        summary: 'Take the issuer’s answer',
        description:
          'Register this address at the issuer as the redirect URI. A person who is not on the roster is refused with a page.',
        parameters: ['state', 'code', 'error', 'error_description', 'iss'].map((name) =>
          textParameter('query', name, {
            description: 'As RFC 6749, section 4.1.2, and RFC 9207 have it',
            maxLength: ADDRESS_CHARS_MAX,
          }),
        ),
      }),
    },
    '/api/auth/logout': { get: browserStep('service.sign-out', logout) },
    '/api/auth/backchannel-logout': {
      post: servicePath({
        operationId: 'service.backchannel-logout',
        summary: 'End sessions because the issuer says so',
        description:
          'For the issuer (OpenID Connect Back-Channel Logout 1.0); its signature is the credential.',
        tag,
        requestBody: formBody({ logout_token: { description: 'A signed logout token', maxLength: 16_384 } }, [
          'logout_token',
        ]),
        responses: {
          200: { description: 'The sessions are over.' },
          400: answerOf('Refused.', { 'application/json': { schema: { type: 'object' } } }),
          ...problems(429, 503),
        },
      }),
    },
    '/auth/login': {
      get: servicePath({ ...login, operationId: 'service.sign-in-short', tag, responses: shortcut() }),
    },
    '/auth/logout': {
      get: servicePath({ ...logout, operationId: 'service.sign-out-short', tag, responses: shortcut() }),
    },
    '/auth/me': {
      get: servicePath({
        operationId: 'service.me',
        summary: 'Say who I am',
        description: 'For every token, and for a session of staff or of a builder.',
        tag,
        security: [{ bearer: [] }],
        responses: { 200: json(ME, COUNTED), ...problems(401, 429) },
      }),
    },
  };
}

function browserStep(
  operationId: string,
  about: { readonly summary: string; readonly description: string; readonly parameters: readonly Part[] },
): Part {
  return servicePath({
    ...about,
    operationId,
    tag,
    responses: {
      302: redirect('Go on there.', cookie),
      400: page('Refused, with the reason.', cookie),
      403: page('Refused, with the reason.', cookie),
      502: page('The issuer failed.', cookie),
      // A page, or a problem document where no issuer is configured.
      503: answerOf('The issuer is not there, or none is configured.', {
        'text/html': { schema: { type: 'string' } },
        ...PROBLEM_CONTENT,
      }),
    },
  });
}

function shortcut(): Part {
  return { 302: redirect('The same below /api.') };
}

const nullableText = { anyOf: [{ type: 'string' }, { type: 'null' }] };
const ME = {
  type: 'object',
  properties: {
    kind: { type: 'string', enum: ['staff', 'service', 'builder'] },
    id: { type: 'string' },
    name: { type: 'string' },
    role: {
      ...nullableText,
      description:
        'Of a member of the roster, and of the owner of a service token; null for a push token, and for a service token without an owner',
    },
    tenant: { ...nullableText, description: 'Of a builder; otherwise null' },
  },
  required: ['kind', 'id', 'name', 'role', 'tenant'],
};
