/** A person with a browser at an instance: signed in, and a member when the test gave a role. */
import { PlatformError, type PrincipalId, problemSchema } from '@freehold/contracts';
import type { ScopeHost } from '@freehold/kernel';
import type { OperationTable } from '@freehold/operations';
import type { z } from 'zod';
import type { Http } from './http.ts';
import { type Mcp, makeMcp } from './mcp.ts';

export type OperationName<O> = keyof O & string;
export type OperationInput<O extends OperationTable, N extends keyof O> = z.input<O[N]['input']>;
export type OperationOutput<O extends OperationTable, N extends keyof O> = z.output<O[N]['output']>;

export interface CallOptions {
  readonly idempotencyKey?: string;
  /** The version that the caller has seen. */
  readonly ifMatch?: string;
}

/** The end of a call: its output, or the refusal. */
export type Attempt<T> =
  | { readonly output: T; readonly refused: null }
  | { readonly output: undefined; readonly refused: PlatformError };

/** A file to attach. */
export interface TestFile {
  readonly name: string;
  /** Default `text/plain`. */
  readonly type?: string;
  readonly body: string | Uint8Array;
}

export interface Person<O extends OperationTable = OperationTable> {
  /** The member's id here. Rejects with `forbidden`, reason `not_a_member`, for a person without a membership. */
  principal(): Promise<PrincipalId>;
  /**
   * Runs an operation, and returns its output.
   * @throws PlatformError of a refusal, with its code and reason; the handler's own error when it failed otherwise.
   */
  call<N extends OperationName<O>>(
    operation: N,
    input: OperationInput<O, N>,
    options?: CallOptions,
  ): Promise<OperationOutput<O, N>>;
  /** The same for a call that may be refused: it rejects only for a handler that failed otherwise. */
  attempt<N extends OperationName<O>>(
    operation: N,
    input: OperationInput<O, N>,
    options?: CallOptions,
  ): Promise<Attempt<OperationOutput<O, N>>>;
  /** Makes a request over the application's routes, with this person's session. */
  readonly http: Http;
  /** Attaches a file to the record at an address: `/api/orders/ord_1`. Returns its id. @throws Error with the refusal. */
  upload(recordPath: string, file: TestFile): Promise<string>;
  /** The instance as this person's language model meets it. */
  mcp(): Mcp;
}

export interface PersonParts {
  readonly host: ScopeHost;
  readonly scopeId: string;
  /** Resolves when the roles that the test gave are there. Null for a person who is no member. */
  readonly principal: () => Promise<PrincipalId | null>;
  readonly http: Http;
  /** The errors that handlers threw, oldest first. */
  readonly incidents: readonly { readonly error: unknown }[];
}

export function makePerson<O extends OperationTable>(parts: PersonParts): Person<O> {
  const { host, scopeId, http, incidents } = parts;
  const principal = async (): Promise<PrincipalId> => {
    const found = await parts.principal();
    if (found !== null) return found;
    throw new PlatformError('forbidden', 'This person is not a member here.', { reason: 'not_a_member' });
  };
  const call: Person<O>['call'] = async (operation, input, options = {}) => {
    const before = incidents.length;
    const request = { operation, input, ...options };
    try {
      return (await host.operations(scopeId, await principal()).invoke(request)).output as never;
    } catch (error) {
      // The caller of a failed handler gets a public text; its test needs to see what was thrown.
      if (error instanceof PlatformError && error.code === 'internal' && incidents.length > before)
        throw incidents.at(-1)?.error;
      throw error;
    }
  };
  return {
    principal,
    call,
    attempt: async (operation, input, options) => {
      try {
        return { output: await call(operation, input, options), refused: null };
      } catch (error) {
        if (error instanceof PlatformError) return { output: undefined, refused: error };
        throw error;
      }
    },
    http,
    upload: async (recordPath, { name, type = 'text/plain', body }) => {
      const path = `${recordPath}/attachments?filename=${encodeURIComponent(name)}`;
      const response = await http('POST', path, body, { 'content-type': type });
      if (response.status !== 201) throw await refusalOf(response);
      return ((await response.json()) as { readonly id: string }).id;
    },
    mcp: () => makeMcp(http),
  };
}

/** The refusal of a route, as `call` throws that of an operation. */
async function refusalOf(response: Response): Promise<Error> {
  const text = await response.text();
  const problem = problemSchema.safeParse(parseJson(text));
  if (!problem.success) return new Error(`It was answered ${response.status}: ${text}`);
  const { code, detail, reason, errors } = problem.data;
  return new PlatformError(code, detail, {
    ...(reason !== undefined && { reason }),
    ...(errors !== undefined && { errors }),
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
