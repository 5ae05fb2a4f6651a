/**
 * Logs: the history of one order or customer for members who may see it; refused attempts and sign-ins for the owner.
 */
import { type IdentityEvent, identityEventCursor } from '@freehold/auth';
import {
  type EntityRef,
  type EventId,
  type EventRecord,
  LIMIT_MAX,
  type Page,
  toTimestamp,
} from '@freehold/contracts';
import { queryFields, textReader } from '@freehold/contracts/http';
import type { Hono } from 'hono';
import type { z } from 'zod';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import type { AddressedRecord } from '../declaration/records.ts';
import { actingCaller, directoryOf, requireNode, requirePermission, scopeOf } from '../request/caller.ts';
import { nameActors } from '../request/people.ts';
import { readRecord } from '../request/records.ts';
import { mountRoutes, readPage } from '../request/routes.ts';
import {
  type DenialEntry,
  type HistoryEntry,
  type historyResponse,
  type IdentityEventEntry,
  type IdentityEventKind,
  identityEventsQuery,
  kindOfIdentityEvent,
} from '../wire/wire.ts';

/** The pages of events that one request searches for a kind. Older ones come with the next request. */
const PAGES_SCANNED_MAX = 5;

type PageQuery = ReturnType<typeof readPage>;

export function mountLogs(app: Hono<AppEnv>, services: Services): void {
  mountRoutes(app, [
    ...services.app.records.map((record) => ({
      method: 'GET' as const,
      path: `${record.path}/history`,
      answer: async (c: AppContext) =>
        c.json(
          await recordHistory(services, c, {
            record,
            id: c.req.param(record.parameter) ?? '',
            query: readPage(c),
          }),
        ),
    })),
    {
      method: 'GET',
      path: '/api/denials',
      answer: async (c) => c.json(await denials(services, c, () => readPage(c))),
    },
    {
      method: 'GET',
      path: '/api/identity-events',
      answer: async (c) =>
        c.json(
          await identityEvents(services, c, () => readIdentityEventsQuery(queryFields(new URL(c.req.url)))),
        ),
    },
  ]);
}

/** The history of one record, oldest first. @throws PlatformError as reading the record does. */
export async function recordHistory(
  services: Services,
  c: AppContext,
  { record, id, query }: { readonly record: AddressedRecord; readonly id: string; readonly query: PageQuery },
): Promise<z.input<typeof historyResponse>> {
  // A member who may read the record may read its history; a refusal is recorded like any other.
  const { entity } = await readRecord(services, c, record, id);
  return storyOf(services, c, { ...entity, ...query });
}

async function storyOf(
  services: Services,
  c: AppContext,
  { type, id, ...query }: EntityRef & PageQuery,
): Promise<z.input<typeof historyResponse>> {
  const scope = scopeOf(services, c);
  const { principal: reader, ...through } = await actingCaller(services, c);
  const page = await scope.history({ entity: { type, id }, reader, ...through, ...query });
  const actorOf = await nameActors(
    services,
    c,
    page.items.map(({ actor }) => actor),
  );
  const items = await Promise.all(
    page.items.map(async (event): Promise<HistoryEntry> => {
      const effects = await scope.effects({ event: event.id, reader, ...through });
      return {
        ...happening(event),
        actor: actorOf(event.actor),
        ...(event.program === undefined ? {} : { program: event.program }),
        effects: effects.items.map(happening),
        withheld: effects.withheld === true,
      };
    }),
  );
  return { items, nextCursor: page.nextCursor, withheld: page.withheld === true };
}

/** A page of refused attempts. The query is read after the permission was checked. @throws PlatformError `permission_denied` */
export async function denials(
  services: Services,
  c: AppContext,
  readQuery: () => PageQuery,
): Promise<Page<DenialEntry>> {
  await requirePermission(services, c, 'audit.read');
  const page = await scopeOf(services, c).listDenials(readQuery());
  const actorOf = await nameActors(
    services,
    c,
    page.items.map(({ actor }) => actor),
  );
  const items = page.items.map(
    ({ actor, ...denial }): DenialEntry => ({
      ...denial,
      actor: actorOf(actor),
      wanted: services.manifest.permissions[denial.permission] ?? denial.permission,
    }),
  );
  return { items, nextCursor: page.nextCursor };
}

function happening({ id, type, entity, payload, at }: EventRecord) {
  return { id, type, entity, payload, at };
}

const readIdentityEventsQuery = textReader('The query', identityEventsQuery);

/** A page of identity events. The query is read after the permission was checked. @throws PlatformError `permission_denied` */
export async function identityEvents(
  services: Services,
  c: AppContext,
  readQuery: () => z.output<typeof identityEventsQuery>,
): Promise<Page<IdentityEventEntry>> {
  await requirePermission(services, c, 'member.manage');
  const { limit, cursor, kind } = readQuery();
  const list = (at: string | undefined, count: number) =>
    directoryOf(services, c).listIdentityEvents({
      scopeId: requireNode(c).scope,
      limit: count,
      ...(at === undefined ? {} : { cursor: at }),
    });
  const page = await (kind === undefined ? list(cursor, limit) : listOfKind(list, { kind, limit, cursor }));
  const principals = await principalsNow(services, c, page.items);
  const concerned = page.items.map((event) => ({
    event,
    person: personOf(event) ?? principals.get(keyOf(event.subject)) ?? null,
  }));
  const actorOf = await nameActors(
    services,
    c,
    concerned.flatMap(({ event, person }) => [person, event.actor].filter((each) => each !== null)),
  );
  const items = concerned.map(({ event, person }): IdentityEventEntry => {
    return {
      id: event.id as EventId,
      type: event.type,
      at: toTimestamp(event.atMs),
      person: person === null ? null : actorOf(person),
      actor: event.actor === null ? null : actorOf(event.actor),
      detail: showable(event.detail),
    };
  });
  return { items, nextCursor: page.nextCursor };
}

/** A page of one kind. It can be short, or empty, and yet not be the last: the cursor says where to look on. */
async function listOfKind(
  list: (cursor: string | undefined, limit: number) => Promise<Page<IdentityEvent>>,
  wanted: { readonly kind: IdentityEventKind; readonly limit: number; readonly cursor: string | undefined },
): Promise<Page<IdentityEvent>> {
  const items: IdentityEvent[] = [];
  let cursor = wanted.cursor;
  for (let pages = 0; pages < PAGES_SCANNED_MAX; pages++) {
    const page = await list(cursor, LIMIT_MAX);
    for (const [index, event] of page.items.entries()) {
      if (kindOfIdentityEvent(event.type) !== wanted.kind) continue;
      items.push(event);
      const isLast = index === page.items.length - 1 && page.nextCursor === null;
      if (items.length === wanted.limit)
        return { items, nextCursor: isLast ? null : identityEventCursor(event) };
    }
    if (page.nextCursor === null) return { items, nextCursor: null };
    cursor = page.nextCursor;
  }
  return { items, nextCursor: cursor ?? null };
}

/** The present principals of events' subjects: a person signs in before becoming a member. */
async function principalsNow(
  services: Services,
  c: AppContext,
  events: readonly IdentityEvent[],
): Promise<ReadonlyMap<string, string>> {
  const scopeId = requireNode(c).scope;
  const subjects = new Map<string, Subject>();
  for (const event of events)
    if (personOf(event) === null && event.subject !== null) subjects.set(keyOf(event.subject), event.subject);
  const found = await Promise.all(
    [...subjects].map(async ([key, { issuer, sub }]) => {
      const subject = { issuer, sub, email: null, name: null };
      const { principal } = await directoryOf(services, c).findPrincipal({ scopeId, subject });
      return [key, principal] as const;
    }),
  );
  return new Map(
    found.flatMap(([key, principal]) => (principal === null ? [] : [[key, principal] as const])),
  );
}

type Subject = NonNullable<IdentityEvent['subject']>;

/** The person that an event is about. A refused invite names the principal it is for, not the person who tried it. */
function personOf({ type, principal }: IdentityEvent): string | null {
  return type === 'invite_refused' ? null : principal;
}

/** An identity is the pair: the same `sub` at two issuers is two people. */
function keyOf(subject: Subject | null): string {
  return subject === null ? '' : JSON.stringify([subject.issuer, subject.sub]);
}

/**
 * The fields of an event that may be shown beside its type. Others stay in the directory until they are known to be
 * harmless.
 */
const SHOWN_DETAILS: ReadonlySet<string> = new Set([
  'by',
  'changed',
  'credential',
  'factor',
  'further',
  'how',
  'keys',
  'reason',
  'role',
  'until',
]);

function showable(detail: IdentityEvent['detail']): IdentityEvent['detail'] {
  return Object.fromEntries(Object.entries(detail).filter(([key]) => SHOWN_DETAILS.has(key)));
}
