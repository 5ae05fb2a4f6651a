/** From a request to the input of a call: parameters, query, body and conditions, each by its declaration. */
import { parseInput } from '@freehold/contracts';
import type { AdminCall } from '@freehold/directory';
import type { AdminOperation } from '@freehold/directory/declarations';
import { strictInput, textReader } from '../declared/input.ts';
import { isUnsafe } from '../declared/operations.ts';
import { pathParams } from '../declared/path.ts';
import { readBody } from './body.ts';
import { idempotencyKeyOf, ifMatchOf } from './conditions.ts';

/** The part of a call that the request itself says. */
export type CallInput = Pick<AdminCall, 'params' | 'query' | 'body' | 'idempotencyKey' | 'ifMatch'>;

export interface CallReader {
  /**
   * @param params the path parameters, decoded; ones that the declaration does not name are not looked at.
   * @throws PlatformError `validation_failed`, `payload_too_large`, `unsupported_media_type`.
   */
  read(request: Request, params: Readonly<Record<string, string>>): Promise<CallInput>;
}

/** Prepares one declaration's schemas for requests. */
export function callReader(operation: AdminOperation): CallReader {
  const schemas = strictInput(operation);
  const names = pathParams(operation.path);
  const paramsReader = textReader('The path', schemas.params);
  const queryReader = textReader('The query', schemas.query);
  const unsafe = isUnsafe(operation.method);
  return {
    read: async (request, given) => {
      const params = paramsReader.read(names.map((name) => [name, given[name] ?? '']));
      const query = queryReader.read(new URL(request.url).searchParams);
      if (!unsafe) return { params, query, body: {} };
      const idempotencyKey = idempotencyKeyOf(request.headers);
      const ifMatch = ifMatchOf(request.headers, operation.etag === true);
      const body = parseInput('The body', schemas.body, await readBody(request));
      return {
        params,
        query,
        body,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        ...(ifMatch === undefined ? {} : { ifMatch }),
      };
    },
  };
}
