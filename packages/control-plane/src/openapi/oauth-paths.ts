/** The addresses at which programs of the staff get tokens, and the endpoint of their tools, in the document. */
import { headerReferences, type Part, PROBLEM_CONTENT } from '@freehold/operations/openapi';
import { COUNTED, countedPaths, tooMany } from './limits.ts';
import { answerOf, formBody, json, page, problems, redirect, servicePath, textParameter } from './parts.ts';

const tag = 'Programs';
/** The limit of a form of these endpoints. */
const FORM_CHARS_MAX = 16 * 1024;

const text = (description: string, more: Part = {}): Part & { readonly description: string } => ({
  description,
  maxLength: FORM_CHARS_MAX,
  ...more,
});

const CLIENT = text('The program: registered, the https address of its document, or known by name');

/** RFC 6749, section 4.1.1; RFC 7636, section 4.3; RFC 8707. */
const AUTHORIZATION = {
  response_type: text('code'),
  client_id: CLIENT,
  redirect_uri: text('The address of the program’s answer, as it registered it'),
  code_challenge: text('By the method S256', { pattern: '^[A-Za-z0-9_-]{43}$' }),
  code_challenge_method: text('S256'),
  state: text('Returned as it is'),
  scope: text('What the program asks for; the member decides'),
  resource: text('This API, or its /mcp'),
};
const CODE = text('What the program shows, eight letters', { maxLength: 20 });

export function oauthPaths(): Record<string, Record<string, Part>> {
  return countedPaths(programPaths(), (path) => path.startsWith('/oauth/') || path === '/device');
}

function programPaths(): Record<string, Record<string, Part>> {
  return {
    '/oauth/authorize': {
      get: servicePath({
        operationId: 'service.authorize',
        summary: 'Ask a member of the roster whether a program may act for them',
        description:
          'The authorization endpoint: RFC 6749 with PKCE (RFC 7636). A program with a registration or a document is let in for what the member chooses.',
        tag,
        parameters: Object.entries(AUTHORIZATION).map(([name, about]) => textParameter('query', name, about)),
        responses: {
          200: page('The question.'),
          302: redirect('To the sign-in, or back to the program with the error.'),
          303: redirect('The same, for a program with a registration or a document.'),
          400: page('There is no address to send the refusal to.'),
        },
      }),
      post: servicePath({
        operationId: 'service.authorize-decide',
        summary: 'Take the answer of the member of the roster',
        description:
          'From the page of the same address alone: a session is needed, and the page’s own origin.',
        tag,
        requestBody: formBody({ ...AUTHORIZATION, decision: text('allow, or anything else for no') }, [
          'client_id',
          'redirect_uri',
        ]),
        responses: {
          303: redirect('Back to the program, with a code or with the error.'),
          400: page('There is no address to send the refusal to.'),
          ...problems(403),
        },
      }),
    },
    '/oauth/consent': {
      post: servicePath({
        operationId: 'service.consent',
        summary: 'Take the answer about a program with a registration or a document',
        description:
          'From the page of the authorization endpoint alone: a session is needed, and its ticket.',
        tag,
        requestBody: formBody(
          {
            ticket: text('Of the page'),
            answer: text('yes, or anything else for no'),
            access: text('read, all or some'),
            permission: text('With some: operate, administer or deploy; more than once for several'),
          },
          ['ticket'],
        ),
        responses: {
          303: redirect('Back to the program, with a code or with the error.'),
          400: page('The ticket is not of this session, or too old.'),
          422: page('The question again: nothing was chosen.'),
          ...problems(403),
        },
      }),
    },
    '/oauth/programs': {
      get: servicePath({
        operationId: 'service.programs',
        summary: 'See the programs that a member of the roster let in',
        description: 'A page. An admin sees those of everybody.',
        tag,
        responses: { 200: page('The page.'), 303: redirect('To the sign-in.') },
      }),
      post: servicePath({
        operationId: 'service.programs-end',
        summary: 'End a program, or all of them with every session',
        description:
          'From the page of the same address alone: a session is needed, and the page’s own origin.',
        tag,
        requestBody: formBody(
          { program: text('The program’s id'), everywhere: text('yes: all of them') },
          [],
        ),
        responses: {
          303: redirect('To the page again, or to the start.'),
          400: page('It is no form.'),
          404: page('There is no such program.'),
          ...problems(403),
        },
      }),
    },
    '/oauth/register': {
      post: servicePath({
        operationId: 'service.register',
        summary: 'Register a program',
        description:
          'RFC 7591. Nothing is stored: the id carries the registration, and expires after 30 days in which no member let it in.',
        tag,
        requestBody: { required: true, content: { 'application/json': { schema: { type: 'object' } } } },
        responses: {
          201: answerOf('The client.', { 'application/json': { schema: { type: 'object' } } }),
          400: oauthRefusal('Refused.'),
          429: tooMany(OAUTH_REFUSAL),
        },
      }),
    },
    '/oauth/token': {
      post: tokenEndpoint('service.token', {
        summary: 'Exchange a code for a token',
        description:
          'RFC 6749, sections 4.1.3 and 6, and RFC 8628, section 3.4. A program with a registration or a document gets an access token for an hour and a refresh token, which is replaced with each use; a second use ends what its member allowed.',
        fields: {
          grant_type: text(
            'authorization_code, refresh_token, or urn:ietf:params:oauth:grant-type:device_code',
          ),
          code: text('The code of the authorization endpoint'),
          redirect_uri: text('The address that the code was sent to'),
          code_verifier: text('The verifier of the challenge', { pattern: '^[A-Za-z0-9\\-._~]{43,128}$' }),
          device_code: text('The code of the device authorization endpoint'),
          refresh_token: text('The newest refresh token'),
          client_secret: text('Of a client that has one; also by the header'),
          resource: AUTHORIZATION.resource,
        },
        required: ['grant_type'],
        answer: json(TOKEN),
      }),
    },
    '/oauth/device_authorization': {
      post: tokenEndpoint('service.device-authorization', {
        summary: 'Begin a sign-in for a program without a browser',
        description: 'RFC 8628, section 3.1.',
        fields: { scope: text('Ignored: there is one') },
        required: [],
        answer: json(DEVICE),
      }),
    },
    '/oauth/revoke': {
      post: tokenEndpoint('service.revoke', {
        summary: 'Revoke a token',
        description: 'RFC 7009. An unknown token is no fault: it does not work either way.',
        fields: { token: text('The token'), token_type_hint: text('Ignored: there is one kind') },
        required: ['token'],
        answer: { description: 'It does not work any more.' },
      }),
    },
    '/device': {
      get: servicePath({
        operationId: 'service.device-page',
        summary: 'Type the code that a program shows',
        tag,
        parameters: [textParameter('query', 'user_code', CODE)],
        responses: { 200: page('The page.'), 303: redirect('To the sign-in.') },
      }),
      post: servicePath({
        operationId: 'service.device-decide',
        summary: 'Take the answer of the member of the roster',
        description:
          'From the page of the same address alone: a session is needed, and the page’s own origin.',
        tag,
        requestBody: formBody({ user_code: CODE, decision: text('look, approve or deny') }, ['user_code']),
        responses: {
          200: page('The result of the decision.'),
          303: redirect('To the sign-in.'),
          400: page('The code does not work.'),
          ...problems(403),
        },
      }),
    },
    '/.well-known/oauth-authorization-server': {
      get: metadata('service.oauth-server', 'Describe the authorization server', 'RFC 8414.'),
    },
    '/.well-known/oauth-protected-resource': {
      get: metadata('service.oauth-resource', 'Describe this API as a resource', 'RFC 9728.'),
    },
    '/.well-known/oauth-protected-resource/mcp': {
      get: metadata('service.oauth-resource-mcp', 'Describe the tools as a resource', 'RFC 9728.'),
    },
    '/mcp': {
      post: servicePath({
        operationId: 'service.mcp',
        summary: 'Call the operations as tools',
        description:
          'The Model Context Protocol over HTTP, without sessions: one JSON-RPC message, one answer. The same tokens, access rules and log rows as everywhere.',
        tag,
        security: [{ bearer: [] }],
        requestBody: { required: true, content: { 'application/json': { schema: { type: 'object' } } } },
        responses: {
          200: answerOf(
            'The answer.',
            {
              'application/json': { schema: { type: 'object' } },
              'text/event-stream': { schema: { type: 'string' } },
            },
            COUNTED,
          ),
          202: { description: 'A notification was taken; it has no answer.', headers: COUNTED },
          400: rpcRefusal('It is not a message.'),
          404: rpcRefusal('There is no such method.'),
          406: rpcRefusal('The caller accepts no available answer.'),
          // A refusal before the protocol is a problem; the protocol has refusals of its own.
          415: answerOf(
            'It is not JSON.',
            { ...PROBLEM_CONTENT, 'application/json': { schema: { type: 'object' } } },
            COUNTED,
          ),
          ...problems(401, 403, 413, 429),
        },
      }),
    },
  };
}

function tokenEndpoint(
  operationId: string,
  about: {
    readonly summary: string;
    readonly description: string;
    readonly fields: Readonly<Record<string, Part>>;
    readonly required: readonly string[];
    readonly answer: Part;
  },
): Part {
  const { fields, required, answer, ...words } = about;
  return servicePath({
    ...words,
    operationId,
    tag,
    requestBody: formBody({ client_id: CLIENT, ...fields }, ['client_id', ...required]),
    responses: {
      200: answer,
      400: oauthRefusal('Refused.'),
      401: oauthRefusal('The program is unknown.'),
      429: tooMany(OAUTH_REFUSAL),
    },
  });
}

function metadata(operationId: string, summary: string, description: string): Part {
  const headers = headerReferences(['Access-Control-Allow-Origin']);
  return servicePath({
    operationId,
    summary,
    description,
    tag,
    responses: { 200: json({ type: 'object' }, headers) },
  });
}

function oauthRefusal(description: string): Part {
  return answerOf(description, OAUTH_REFUSAL);
}

function rpcRefusal(description: string): Part {
  return answerOf(description, { 'application/json': { schema: { type: 'object' } } }, COUNTED);
}

/** RFC 6749, section 5.2. */
const OAUTH_REFUSAL: Part = {
  'application/json': {
    schema: {
      type: 'object',
      properties: { error: { type: 'string' }, error_description: { type: 'string' } },
      required: ['error'],
    },
  },
};
const seconds = { type: 'integer', minimum: 0, maximum: 31_622_400 };
const TOKEN = {
  type: 'object',
  properties: {
    access_token: { type: 'string' },
    token_type: { const: 'Bearer' },
    expires_in: seconds,
    refresh_token: { type: 'string' },
    scope: { type: 'string' },
  },
  required: ['access_token', 'token_type', 'expires_in', 'scope'],
};
const DEVICE = {
  type: 'object',
  properties: {
    device_code: { type: 'string' },
    user_code: { type: 'string' },
    verification_uri: { type: 'string', format: 'uri' },
    verification_uri_complete: { type: 'string', format: 'uri' },
    expires_in: seconds,
    interval: seconds,
  },
  required: [
    'device_code',
    'user_code',
    'verification_uri',
    'verification_uri_complete',
    'expires_in',
    'interval',
  ],
};
