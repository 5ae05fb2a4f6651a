/**
 * The records of a vertical as resources: `freehold://<type>/<id>` and `freehold://<type>/<id>/history`. They are read by the
 * operations `<type>/get` and `<type>/list` as the caller, so that nothing can be read here that cannot be read there.
 */
import {
  cursorOf,
  decodeCursor,
  type EntityRef,
  encodeCursor,
  nameCursor,
  PlatformError,
} from '@freehold/contracts';
import { isList, type OperationTable } from '@freehold/operations';
import {
  cursorFault,
  failed,
  MCP_META,
  type McpResource,
  type McpResourceTemplate,
  type McpResourceText,
  malformed,
  type ResourcePage,
  type ResourcePolicy,
  readCursor,
} from '@freehold/operations/mcp';
import { ProtocolError, ResourceNotFoundError } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ListingStub } from './mcp-endpoint.ts';

/** A type of records that programs read as resources, by the operation `<type>/get`. */
export interface McpRecord {
  readonly type: string;
  /** The input field of `<type>/get` that is the id. */
  readonly parameter: string;
  /** The id that a text of an address stands for. @throws PlatformError `validation_failed` */
  readonly readId: (text: string) => unknown;
  /** The field of an item of `<type>/list` that names it to people, beside its field `id`. */
  readonly titleField: string;
}

/** The number of records on a page of `resources/list`, where `<type>/list` gives out as many. */
export const RECORDS_PAGE = 100;
/** The number of events on a page of a history. Each is read with its effects. */
const EVENTS_PAGE = 50;
const LIST = 'resources';
const mimeType = 'application/json';
const ADDRESS = /^freehold:\/\/([^/?#]+)\/([^/?#]+)(?:(\/history)(?:\?cursor=([^&#]+))?)?$/;

/** The records of a mount, with what is computed from their declaration once. */
export interface RecordResources {
  readonly types: ReadonlyMap<string, RecordType>;
  readonly templates: readonly RecordTemplate[];
}

interface RecordType extends McpRecord {
  /** The operation that lists it, and its input for a page; null where none does. */
  readonly list: { readonly operation: string; readonly page: object } | null;
}

interface RecordTemplate extends McpResourceTemplate {
  /** The operation by which it is read. */
  readonly operation: string;
}

export function recordResources(operations: OperationTable, records: readonly McpRecord[]): RecordResources {
  const types = records.map((record): [string, RecordType] => [
    record.type,
    { ...record, list: listOf(record.type, operations) },
  ]);
  return { types: new Map(types), templates: records.flatMap((record) => templatesOf(record, operations)) };
}

/** `<type>/list`, where it lists for programs without another input than a page. */
function listOf(type: string, operations: OperationTable): RecordType['list'] {
  const operation = `${type}/list`;
  const declared = operations[operation];
  if (!declared || declared.mcp === false || !isList(declared.input, declared.output)) return null;
  const page = [{ limit: RECORDS_PAGE }, {}].find((input) => declared.input.safeParse(input).success);
  return page === undefined ? null : { operation, page };
}

function templatesOf({ type }: McpRecord, operations: OperationTable): RecordTemplate[] {
  const operation = `${type}/get`;
  const { summary = type } = operations[operation] ?? {};
  const uriTemplate = `freehold://${encodeURIComponent(type)}/{id}`;
  return [
    { operation, mimeType, name: type, uriTemplate, title: summary, description: summary },
    {
      operation,
      mimeType,
      name: `${type}_history`,
      uriTemplate: `${uriTemplate}/history{?cursor}`,
      title: `${summary}: its history`,
      description: 'Its events, what they caused, and who did it. nextCursor is the cursor of the next page.',
    },
  ];
}

export interface ResourceCaller {
  readonly stub: ListingStub;
  /** The operations that this caller may perform now. */
  readonly listable: () => Promise<ReadonlySet<string>>;
  /** Records a failure that is ours. */
  readonly record: (thrown: unknown) => void;
}

/** The resources of one caller. */
export function resourcePolicy(resources: RecordResources, caller: ResourceCaller): ResourcePolicy {
  const { templates } = resources;
  const { listable, record } = caller;
  return {
    templates,
    listed: async () => {
      const names = await listable();
      return templates
        .filter(({ operation }) => names.has(operation))
        .map(({ operation: _by, ...shown }) => shown);
    },
    list: (cursor) =>
      listPage(resources, caller, cursor).catch((thrown: unknown) => {
        if (thrown instanceof ProtocolError) throw thrown;
        record(thrown);
        throw failed('The list cannot be made right now.', thrown);
      }),
    read: (uri) =>
      read(resources, caller, uri).catch((thrown: unknown) => {
        // Hidden and absent are one answer: it does not tell that there is such a record.
        if (isUnreadable(thrown)) throw new ResourceNotFoundError(uri);
        record(thrown);
        throw failed('The resource cannot be read right now.', thrown);
      }),
  };
}

/** The place of a page: a type, and the cursor of its list. */
type Place = readonly [type: string, after: string | null];
const place = z.tuple([z.string(), z.string().nullable()]);

/** The first page with records from a place on. An empty page is shown only where nothing follows. */
async function listPage(
  { types }: RecordResources,
  { stub, listable }: ResourceCaller,
  cursor: string | undefined,
): Promise<ResourcePage> {
  const names = [...types.keys()];
  const [from, after] = cursor === undefined ? [names[0] ?? '', null] : readPlace(cursor);
  const start = names.indexOf(from);
  if (start < 0) throw malformed('The cursor names nothing that is here now: list again.');
  const may = await listable();
  const listed = [...types.values()]
    .slice(start)
    .filter(({ list }) => list !== null && may.has(list.operation));
  for (const [index, type] of listed.entries()) {
    const page = await pageOf(stub, type, type.type === from ? after : null);
    const following = listed[index + 1];
    const next: Place | null =
      page.next !== null ? [type.type, page.next] : following ? [following.type, null] : null;
    if (page.resources.length === 0 && page.next === null && next) continue;
    const { resources } = page;
    return next ? { resources, nextCursor: placeCursor(next) } : { resources };
  }
  return { resources: [] };
}

function placeCursor(next: Place): string {
  return nameCursor(LIST, encodeCursor(JSON.stringify(next)));
}

function readPlace(cursor: string): Place {
  return readCursor(() => {
    const text = decodeCursor(cursorOf(LIST, cursor));
    const read = place.safeParse(parseJson(text));
    if (!read.success) throw new PlatformError('validation_failed', 'The cursor is not one of this list.');
    return read.data;
  });
}

const records = z.looseObject({
  items: z.array(z.looseObject({ id: z.union([z.string(), z.number()]) })),
  nextCursor: z.string().nullable(),
});

async function pageOf(
  stub: ListingStub,
  { type, list, titleField }: RecordType,
  cursor: string | null,
): Promise<{ readonly resources: readonly McpResource[]; readonly next: string | null }> {
  if (!list) return { resources: [], next: null };
  const input = cursor === null ? list.page : { ...list.page, cursor };
  const { output } = await stub.invoke({ operation: list.operation, input }).catch((thrown: unknown) => {
    // The rest of the input is ours, and was tried at the mount.
    throw cursorFault(thrown);
  });
  const { items, nextCursor } = records.parse(output);
  const resources = items.map(({ id, ...fields }) => ({
    uri: recordUri({ type, id: String(id) }),
    name: `${type} ${id}`,
    title: String(fields[titleField] ?? id),
    mimeType,
  }));
  return { resources, next: nextCursor };
}

function recordUri({ type, id }: EntityRef): string {
  return `freehold://${encodeURIComponent(type)}/${encodeURIComponent(id)}`;
}

async function read(
  { types }: RecordResources,
  { stub }: ResourceCaller,
  uri: string,
): Promise<McpResourceText> {
  const [, type = '', text = '', history, cursor] = (ADDRESS.exec(uri) ?? []).map(decoded);
  const record = types.get(type);
  if (!record || text === '') throw new ResourceNotFoundError(uri);
  if (history !== undefined) {
    if (!stub.history) throw new ResourceNotFoundError(uri);
    const page = { limit: EVENTS_PAGE, ...(cursor === undefined ? {} : { cursor }) };
    return { uri, mimeType, text: JSON.stringify(await stub.history({ type, id: text }, page)) };
  }
  const input = { [record.parameter]: record.readId(text) };
  const { output, version } = await stub.invoke({ operation: `${type}/get`, input });
  const _meta = version === null ? {} : { _meta: { [MCP_META.version]: version } };
  return { uri, mimeType, text: JSON.stringify(output ?? null), ..._meta };
}

/** An id of another form, an unknown one, one that is hidden, a page that is not of this history. */
function isUnreadable(thrown: unknown): boolean {
  return (
    thrown instanceof ResourceNotFoundError ||
    (thrown instanceof PlatformError &&
      ['not_found', 'validation_failed', 'permission_denied'].includes(thrown.code))
  );
}

/** A part of an address; empty where its escapes are broken. */
function decoded(part: string | undefined): string | undefined {
  try {
    return part === undefined ? undefined : decodeURIComponent(part);
  } catch {
    return '';
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
