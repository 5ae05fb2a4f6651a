/** The methods of a scope that look into its logs, its requests to the platform and its tables. */
import {
  type ActorId,
  actorId,
  deadLettersQuery,
  entityRef,
  facetsQuery,
  nameCursors,
  type ProgramGrant,
  pageQuery,
  parseInput,
  platformRequestHistoryQuery,
  platformRequestsQuery,
  settleRequest,
  tableQuery,
  toTimestamp,
} from '@freehold/contracts';
import { appliedMigrations } from '@freehold/store';
import { z } from 'zod';
import type { ScopeMethods } from './contract/scope-methods.ts';
import { listTables, readTable } from './data-window/tables.ts';
import { makeDeadLetters } from './deliveries/dead-letters.ts';
import { makeFacets } from './events/facets.ts';
import { makeEventLog, type Reading } from './events/log.ts';
import { makeReaders } from './events/readers.ts';
import { programGrant } from './lib/programs.ts';
import type { ScopeParts } from './scope-unit.ts';

/** Their cursors carry their names. */
const LISTS = [
  'history',
  'deadLetters',
  'listPlatformRequests',
  'platformRequestHistory',
  'table',
  'listDenials',
] as const satisfies readonly (keyof ScopeMethods)[];

const REF = { tenantId: true, scopeId: true } as const;
const historyInput = z.strictObject({
  entity: entityRef,
  sealed: z.boolean().optional(),
  reader: actorId.optional(),
  program: programGrant.optional(),
  ...pageQuery,
});
const deadLettersInput = deadLettersQuery.omit(REF);
const requestsInput = platformRequestsQuery.omit(REF);
const requestHistoryInput = platformRequestHistoryQuery.omit(REF);
const settleInput = settleRequest.omit(REF);
const tableInput = tableQuery.omit(REF);
const facetsInput = facetsQuery.omit(REF);
const denialsInput = z.strictObject({
  actor: z.string().optional(),
  permission: z.string().optional(),
  ...pageQuery,
});

export function makeReadMethods({
  unit,
  events,
  pruned,
  denials,
  requests,
  lanes,
  deliveries,
  ...parts
}: ScopeParts) {
  const { db } = unit;
  const log = makeEventLog(events, pruned);
  const facets = makeFacets(db, pruned);
  const deadLetters = makeDeadLetters({ unit, lanes, store: deliveries, events });
  const readers = makeReaders({ unit, ...parts });
  const readingOf = (asked: {
    reader?: ActorId | undefined;
    program?: ProgramGrant | undefined;
    sealed?: boolean | undefined;
  }): Reading => ({
    mayRead: readers(asked.reader, asked.program),
    sealed: asked.sealed ?? false,
  });
  const methods = {
    history: (input) => {
      const { reader, program, sealed, ...query } = parseInput('The query', historyInput, input);
      return log.history({
        ...query,
        ...readingOf({ reader: reader as ActorId | undefined, program, sealed }),
      });
    },
    cause: ({ event, ...asked }) => log.cause(event, readingOf(asked)),
    effects: ({ event, ...asked }) => log.effects(event, readingOf(asked)),
    invocation: ({ invocation, ...asked }) => log.invocation(invocation, readingOf(asked)),
    facets: (input) => facets(parseInput('The query', facetsInput, input), unit.now()),
    deadLetters: (input) => deadLetters.list(parseInput('The query', deadLettersInput, input)),
    retryDeadLetter: (input) => {
      deadLetters.retry(input);
      parts.wakeAfterCommit();
      return null;
    },
    listPlatformRequests: (input) => requests.list(parseInput('The query', requestsInput, input)),
    platformRequestHistory: (input) => requests.history(parseInput('The query', requestHistoryInput, input)),
    settlePlatformRequest: (input) => requests.settle(parseInput('The answer', settleInput, input)),
    tables: () => listTables(db),
    table: (input) => readTable(db, parseInput('The query', tableInput, input)),
    listDenials: (input) => denials.list(parseInput('The query', denialsInput, input)),
    summarizeDenials: ({ groupBy }) => denials.summarize(groupBy),
    appliedMigrations: () =>
      appliedMigrations(db).map(({ appliedAtMs, ...each }) => ({
        ...each,
        appliedAt: toTimestamp(appliedAtMs),
      })),
  } satisfies Partial<ScopeMethods>;
  return nameCursors(methods, LISTS);
}
