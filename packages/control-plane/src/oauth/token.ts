/**
 * The endpoints at which programs get and revoke tokens: `/oauth/token`, `/oauth/device_authorization` and
 * `/oauth/revoke`.
 */
import { OAuthError, readFormBody } from '@freehold/auth/programs';
import { PlatformError } from '@freehold/contracts';
import { answerOtherMethod, tooManyCalls } from '@freehold/contracts/http';
import type { GrantedToken, StaffSignIns } from '@freehold/directory';
import type { Context, Hono } from 'hono';
import type { ControlPlaneEnv } from '../http/env.ts';
import { senderOfCall } from '../http/rate-limit.ts';
import { makeDeviceLimiter, type SourceOfCodes, sourceOfCodes } from './device.ts';
import { DEVICE_GRANT, isOwnResource, SCOPE } from './metadata.ts';
import { isOfProgramClient, type ProgramServer } from './program-server.ts';
import {
  clientName,
  oauthErrorResponse,
  type Parameters,
  parametersOf,
  programRefusal,
  TOKEN_HEADERS,
} from './requests.ts';

export interface TokenDeps {
  readonly signIns: StaffSignIns;
  readonly origin: () => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** For programs with a registration or a document of their own. */
  readonly serverOf: ProgramServer;
}

/** One request of a known program. */
interface ProgramRequest {
  readonly client: string;
  readonly source: SourceOfCodes;
  readonly parameter: Parameters;
  readonly requestId: string;
}

type Endpoint = (request: ProgramRequest, c: Context<ControlPlaneEnv>) => Promise<Response>;

export function mountTokenEndpoints(app: Hono<ControlPlaneEnv>, deps: TokenDeps): void {
  const { signIns, origin, now } = deps;
  const tooManyCodes = makeDeviceLimiter(now);
  /** @throws PlatformError `rate_limited`. */
  const countCode = (c: Context<ControlPlaneEnv>, source: SourceOfCodes): void => {
    const tooMany = c.env?.uncounted ? null : tooManyCodes(source);
    if (!tooMany) return;
    // The headers name the exhausted allowance.
    c.set('limit', tooMany.limit);
    c.set('allowance', tooMany.allowance);
    throw tooManyCalls(tooMany.allowance);
  };
  const endpoints: Readonly<Record<string, Endpoint>> = {
    '/oauth/token': async (request) => tokenResponse(await grantOf(deps, request), deps),
    '/oauth/device_authorization': async ({ client, source }, c) => {
      countCode(c, source);
      const { deviceCode, userCode, expiresInMs, intervalMs } = await signIns.startDevice({ client, source });
      return Response.json(
        {
          device_code: deviceCode,
          user_code: userCode,
          verification_uri: `${origin()}/device`,
          verification_uri_complete: `${origin()}/device?user_code=${userCode}`,
          expires_in: expiresInMs / 1000,
          interval: intervalMs / 1000,
        },
        { headers: TOKEN_HEADERS },
      );
    },
    '/oauth/revoke': async ({ parameter, requestId }) => {
      const secret = parameter('token');
      if (secret === null) throw new OAuthError('invalid_request', 'The token is missing.');
      // Any program may ask. RFC 7009, section 2.1, wants the client of the token; but a public client proves nothing
      // by its name, and the finder of a leaked token must be able to end it.
      await signIns.revoke({ secret, requestId });
      // Also for an unknown token, which does not work either (RFC 7009, section 2.2).
      return new Response(null, { status: 200, headers: TOKEN_HEADERS });
    },
  };
  for (const [path, endpoint] of Object.entries(endpoints)) {
    app.post(path, async (c) => {
      try {
        const form = await readFormBody(c.req.raw);
        const { headers } = c.req.raw;
        if (isOfProgramClient(headers, form)) {
          const request = new Request(c.req.url, {
            method: 'POST',
            headers: formHeaders(headers),
            body: form,
          });
          const answer = await deps.serverOf(c).handle(request);
          if (answer) return answer;
        }
        return await endpoint(programRequest(c, form, deps), c);
      } catch (error) {
        const isTooMany = error instanceof PlatformError && error.code === 'rate_limited';
        return (isTooMany && programRefusal(path, error)) || oauthErrorResponse(error);
      }
    });
    app.all(path, (c) => answerOtherMethod(c.req.raw.method, ['POST']));
  }
}

/** The headers of a form that was read, for another reading. */
function formHeaders(sent: Headers): Headers {
  const authorization = sent.get('authorization');
  return new Headers(authorization === null ? {} : { authorization });
}

function programRequest(
  c: Context<ControlPlaneEnv>,
  form: URLSearchParams,
  { origin }: TokenDeps,
): ProgramRequest {
  const parameter = parametersOf(form, ['resource']);
  const client = parameter('client_id');
  // A public client has no secret: one that shows a secret is mistaken.
  const shows = c.req.raw.headers.has('authorization') || parameter('client_secret') !== null;
  if (client === null || clientName(client) === undefined || shows)
    throw new OAuthError(
      'invalid_client',
      'The client_id must be that of a known program, without any secret.',
    );
  if (!form.getAll('resource').every((resource) => isOwnResource(resource, origin())))
    throw new OAuthError('invalid_target', 'The resource is not one of this server.');
  return { client, source: sourceOfCodes(senderOfCall(c)), parameter, requestId: c.var.requestId };
}

async function grantOf(
  { signIns }: TokenDeps,
  { client, parameter, requestId }: ProgramRequest,
): Promise<GrantedToken> {
  const required = (name: string): string => {
    const value = parameter(name);
    if (value === null) throw new OAuthError('invalid_request', `The ${name} is missing.`);
    return value;
  };
  const grantType = required('grant_type');
  if (grantType === 'authorization_code') {
    const outcome = await signIns.redeemCode({
      code: required('code'),
      redirectUri: required('redirect_uri'),
      verifier: required('code_verifier'),
      client,
      requestId,
    });
    if ('token' in outcome) return outcome.token;
    throw new OAuthError('invalid_grant', 'The code is unknown, over, used, or not for this request.');
  }
  if (grantType !== DEVICE_GRANT)
    throw new OAuthError('unsupported_grant_type', 'This grant_type is not given here.');
  const outcome = await signIns.pollDevice({ deviceCode: required('device_code'), client, requestId });
  if ('token' in outcome) return outcome.token;
  throw new OAuthError(outcome.refused, DEVICE_WORDS[outcome.refused]);
}

const DEVICE_WORDS = {
  authorization_pending: 'No decision was made yet.',
  slow_down: 'Wait five seconds longer between requests.',
  access_denied: 'The member refused.',
  expired_token: 'The time for a decision is over.',
  invalid_grant: 'The device code is unknown, used, or not of this program.',
} as const;

/** RFC 6749, section 5.1. */
function tokenResponse({ secret, expiresAtMs }: GrantedToken, { now }: TokenDeps): Response {
  const body = {
    access_token: secret,
    token_type: 'Bearer',
    expires_in: Math.floor((expiresAtMs - now()) / 1000),
    scope: SCOPE,
  };
  return Response.json(body, { headers: TOKEN_HEADERS });
}
