/** From a request to the input of a call: parameters, query, body and conditions, each by its declaration. */
import { parseInput } from '@freehold/contracts';
import {
  entityTag,
  malformedHeader,
  parseIdempotencyKey,
  parseIfMatch,
  queryFields,
  readJsonObject,
  textReader,
} from '@freehold/contracts/http';
import type { AdminCall } from '@freehold/directory';
import type { AdminOperation } from '@freehold/directory/declarations';
import { pathParams } from '@freehold/operations';
import { type Fields, strictInput } from '../declared/input.ts';
import { answersEvents, isUnsafe, takesIdempotencyKey, takesIfMatch } from '../declared/operations.ts';
import { acceptsEvents } from './events.ts';
import { readFormOrJson } from './form.ts';
import { readUpload } from './upload.ts';

/** The part of a call that the request itself says. */
export type CallInput = Pick<
  AdminCall,
  'params' | 'query' | 'body' | 'idempotencyKey' | 'ifMatch' | 'upload' | 'events'
>;

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
  const readParams = textReader('The path', schemas.params);
  const readQuery = textReader('The query', schemas.query);
  const unsafe = isUnsafe(operation.method);
  const takesKey = takesIdempotencyKey(operation);
  const takesCondition = takesIfMatch(operation);
  const mayFollow = answersEvents(operation);
  return {
    read: async (request, given) => {
      const params = readParams(names.map((name) => [name, [given[name] ?? '']]));
      const query = readQuery(queryFields(new URL(request.url)));
      const events = mayFollow && acceptsEvents(request.headers) ? { events: true } : {};
      if (!unsafe) return { params, query, body: {}, ...events };
      const idempotencyKey = idempotencyKeyOf(request.headers, takesKey);
      const ifMatch = ifMatchOf(request.headers, takesCondition);
      const content = operation.upload
        ? { body: {}, upload: readUpload(request, operation.upload) }
        : { body: parseInput('The body', schemas.body, await readBody(request, operation)) };
      return {
        params,
        query,
        ...content,
        ...events,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        ...(ifMatch === undefined ? {} : { ifMatch }),
      };
    },
  };
}

function readBody(request: Request, { form }: AdminOperation): Promise<Fields> {
  return form ? readFormOrJson(request, form) : readJsonObject(request);
}

/** @param honoured whether the operation keeps its answer; a key that nobody would look at is refused. */
function idempotencyKeyOf(headers: Headers, honoured: boolean): string | undefined {
  const key = parseIdempotencyKey(headers.get('idempotency-key'));
  if (key !== undefined && !honoured)
    throw malformedHeader('Idempotency-Key', 'is not supported by this operation, which only reads');
  return key;
}

/**
 * The version that a call is conditional on: `*`, or one strong tag without its quotes. Anything else that the header
 * may hold (several tags, weak ones, which match nothing) is handed on as it is.
 * @param honoured whether the operation has versions at all; a condition that nobody would check is refused.
 */
function ifMatchOf(headers: Headers, honoured: boolean): string | undefined {
  const given = headers.get('if-match');
  const tags = parseIfMatch(given);
  if (given === null || tags === undefined) return undefined;
  if (!honoured) throw malformedHeader('If-Match', 'is not supported by this operation');
  const [tag] = tags;
  // The tag "*" keeps its quotes: without them it would match anything.
  return tag !== undefined && tag !== '*' && given === entityTag(tag) ? tag : given;
}
