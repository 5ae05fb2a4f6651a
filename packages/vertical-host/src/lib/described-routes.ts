/** Routes that are no operation, as the OpenAPI document describes them. */
import type { HttpMethod, ProblemCode } from '@freehold/contracts';
import { openApiPath, pathParams } from '@freehold/operations';
import {
  fieldParameters,
  headerReferences,
  type Part,
  problemReferences,
} from '@freehold/operations/openapi';
import { z } from 'zod';

/** A body of JSON by its schema, or bodies by media type: null for bytes, and for text without a schema. */
export type DescribedBody = z.ZodType | Readonly<Record<string, z.ZodType | null>>;

/**
 * A route beside the operations, for the document alone: the application mounts it itself. Hand a list of them to
 * `mountOperations` as `openapi.describedRoutes`, so that its document lists every route that is served:
 *
 * ```ts
 * const MEMBER_ROUTES: readonly DescribedRoute[] = [
 *   { name: 'member/list', method: 'GET', path: '/api/members', summary: 'List the team',
 *     query: z.strictObject(pageQuery), answer: pageOf(memberRecord) },
 *   { name: 'member/change-role', method: 'POST', path: '/api/members/:principal/role',
 *     summary: 'Change the role of a member', body: changeRoleBody, answer: changedRole },
 * ];
 * ```
 */
export interface DescribedRoute {
  /** `noun/verb`, as an operation is named; in the document `noun.verb`. No operation has the same. */
  readonly name: string;
  readonly method: HttpMethod;
  /** As it is mounted: plain words and `:parameters`. */
  readonly path: string;
  /** One line without a full stop. */
  readonly summary: string;
  /** More, where one line is not enough. Default: the summary. */
  readonly description?: string;
  /** The group in the document; `openapi.tags` describes it. Default: the noun of the name. */
  readonly tag?: string;
  /** The schemas of path parameters that are more than text. */
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** The body of the request. A JSON body is required unless an empty object satisfies it. Default: no body. */
  readonly body?: DescribedBody;
  /** The body of the answer; null for an answer without a body. */
  readonly answer: DescribedBody | null;
  /** The status of success. Default: 200, and 204 where `answer` is null. */
  readonly status?: number;
  /** The meanings of further answers that are no failures, by status: 206 for a range, 302, 304. */
  readonly otherAnswers?: Readonly<Record<number, string>>;
  /** Headers of the answer beside `X-Request-Id`: `ETag`, `Location`, `Idempotency-Replayed`, `X-Invocation-Id`. */
  readonly headers?: readonly string[];
  /**
   * The callers that it takes: `required` (default) needs a session or a token; `optional` answers others too; `none` reads neither.
   */
  readonly security?: 'required' | 'optional' | 'none';
  /** The codes of its failures. Default: those that fit its method, its body and its security. */
  readonly problems?: readonly ProblemCode[];
}

/** The credentials of a signed-in caller: one of them is enough. */
export const CREDENTIALS: readonly Part[] = [{ session: [] }, { bearer: [] }];

/** The operation object of a route (OpenAPI 3.1, section 4.8.10). */
export function describedOperation(route: DescribedRoute): Part {
  const { name, method, summary, description, answer, query, body, security = 'required' } = route;
  const status = route.status ?? (answer === null ? 204 : 200);
  const headers = headerReferences(['X-Request-Id', ...(route.headers ?? [])]);
  return {
    operationId: name.replaceAll('/', '.'),
    summary,
    description: description ?? `${summary}.`,
    tags: [tagOf(route)],
    ...(security === 'required' ? {} : { security: security === 'none' ? [] : [...CREDENTIALS, {}] }),
    parameters: [...pathParameters(route), ...(query === undefined ? [] : fieldParameters('query', query))],
    ...(body === undefined ? {} : { requestBody: requestBody(body) }),
    responses: {
      [status]: {
        description: 'Done.',
        headers,
        ...(answer === null ? {} : { content: contentOf(answer) }),
      },
      ...Object.fromEntries(
        Object.entries(route.otherAnswers ?? {}).map(([other, meaning]) => [
          other,
          {
            description: meaning,
            headers,
            ...(answer === null || !other.startsWith('2') ? {} : { content: contentOf(answer) }),
          },
        ]),
      ),
      ...problemReferences(route.problems ?? problemsOf(method, security, body !== undefined)),
    },
  };
}

/** The group of a route. */
export function tagOf({ tag, name }: Pick<DescribedRoute, 'tag' | 'name'>): string {
  return tag ?? (name.split('/', 1)[0] as string);
}

function pathParameters({ path, params }: DescribedRoute): Part[] {
  const names = pathParams(path);
  const fields = names.map((name) => [name, params?.shape[name] ?? z.string().min(1)] as const);
  return fieldParameters('path', z.object(Object.fromEntries(fields)));
}

function requestBody(body: DescribedBody): Part {
  const required = !(body instanceof z.ZodType && body.safeParse({}).success);
  return { required, content: contentOf(body) };
}

function contentOf(body: DescribedBody): Part {
  if (body instanceof z.ZodType) return { 'application/json': { schema: body } };
  return Object.fromEntries(
    Object.entries(body).map(([type, schema]) => [type, schema === null ? {} : { schema }]),
  );
}

function problemsOf(
  method: HttpMethod,
  security: DescribedRoute['security'],
  hasBody: boolean,
): ProblemCode[] {
  return [
    'validation_failed',
    ...(security === 'none' ? [] : (['unauthenticated', 'permission_denied'] as const)),
    'not_found',
    ...(method === 'GET' ? [] : (['conflict'] as const)),
    ...(hasBody ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    'rate_limited',
    'internal',
    'unavailable',
  ];
}

/** The path as the document writes it: `/api/members/{principal}`. */
export function openApiAddress({ path }: Pick<DescribedRoute, 'path'>): string {
  return openApiPath(path);
}
