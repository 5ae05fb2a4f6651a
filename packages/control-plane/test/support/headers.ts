/** The headers of an answer, held against the OpenAPI document: what it promises is there, and nothing else of ours is. */
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { openApiPath } from '@freehold/operations';
import { expect } from 'vitest';
import { openApiDocument } from '../../src/openapi/document.ts';

/** The facts of a request beside its answer. */
export interface Served {
  /** Whether calls are counted where it was sent. */
  readonly counted: boolean;
  /** Whether the answer is a stored one. Null: the request brought a key that may have been used before. */
  readonly replayed: boolean | null;
}

/** Headers of the answer of a change, and not of its plan. */
const OF_A_CHANGE: readonly string[] = ['etag', 'x-admin-log-head'];

type Part = Readonly<Record<string, unknown>>;
type Documented = ReadonlyMap<string, { readonly name: string; readonly pattern: string | undefined }>;

const published = openApiDocument(adminOperations);

/** The rules of HTTP for any answer (RFC 9110), and the headers that keep browsers and proxies from guessing. */
const GENERAL: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-disposition',
  'cache-control',
  'x-content-type-options',
  'x-accel-buffering',
  // With a 415: what would have been taken.
  'accept',
  'accept-encoding',
]);

/** Those that an answer has in some cases only. */
const SOMETIMES: ReadonlySet<string> = new Set(['idempotency-replayed', 'retry-after', 'etag on 412']);

/**
 * Asserts it for an answer of the real host administration.
 * @param isPlan whether the answer says what would be done.
 */
export function expectHeaders(
  operation: AdminOperation,
  response: Response,
  { counted, replayed, isPlan }: Served & { readonly isPlan: boolean },
): void {
  const documented = documentedHeaders(operation, response.status);
  const seen = (name: string) => `${operation.name} ${response.status} ${name}`;
  for (const name of response.headers.keys())
    if (!GENERAL.has(name)) expect([...documented.keys()], seen(name)).toContain(name);
  for (const [name, { pattern }] of documented) {
    const value = response.headers.get(name);
    if (value !== null && pattern !== undefined) expect(value, seen(name)).toMatch(new RegExp(pattern, 'u'));
    if (value !== null || SOMETIMES.has(name) || SOMETIMES.has(`${name} on ${response.status}`)) continue;
    if (name.startsWith('ratelimit') && !counted) continue;
    if (isPlan && OF_A_CHANGE.includes(name)) continue;
    // A copy is made where the engine has no bookmarks: what is declared of bytes may be nothing.
    if (operation.bytes && name in operation.bytes.headers) continue;
    expect(value, seen(name)).not.toBeNull();
  }
  if (isPlan) for (const name of OF_A_CHANGE) expect(response.headers.has(name), seen(name)).toBe(false);
  if (response.headers.has('etag')) expect(response.headers.get('etag'), seen('etag')).toMatch(/^"[!#-~]+"$/);
  if (response.headers.has('location'))
    expect(response.headers.get('location'), seen('location')).toMatch(/^\/[!-~]+$/);
  if (replayed !== null)
    expect(response.headers.get('idempotency-replayed'), seen('idempotency-replayed')).toBe(
      replayed ? 'true' : null,
    );
}

/** The headers of one answer by the document, by their names in lower case. */
function documentedHeaders(operation: AdminOperation, status: number): Documented {
  const { path } = (adminOperations as Readonly<Record<string, AdminOperation>>)[operation.name] ?? operation;
  const { responses } = (published.paths[openApiPath(path)]?.[operation.method.toLowerCase()] ?? {}) as {
    readonly responses?: Readonly<Record<number, Part>>;
  };
  const answer = resolved(responses?.[status] ?? {}, published.components.responses);
  return new Map(
    Object.entries((answer.headers ?? {}) as Readonly<Record<string, Part>>).map(([name, header]) => {
      const { schema } = resolved(header, published.components.headers) as {
        readonly schema?: { readonly pattern?: string };
      };
      return [name.toLowerCase(), { name, pattern: schema?.pattern }];
    }),
  );
}

function resolved(part: Part, among: Part): Part {
  const name = typeof part.$ref === 'string' ? part.$ref.split('/').at(-1) : undefined;
  return name === undefined ? part : ((among[name] ?? {}) as Part);
}
